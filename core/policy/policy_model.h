// SPDX-License-Identifier: Apache-2.0
// What `shufflectl simulate` computes of one policy besides how it mixes. A
// policy declares the options for it in its entry.
//
// Constant; any thread may call.
#ifndef SHUFFLEFS_CORE_POLICY_POLICY_MODEL_H_
#define SHUFFLEFS_CORE_POLICY_POLICY_MODEL_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/base/types.h"
#include "core/config/policy_options.h"
#include "core/policy/binder.h"

namespace shufflefs {

// An option of `shufflectl simulate` that one policy has.
struct ModelOption {
  // The function of PolicyModel that takes it.
  enum class Use { kByItself, kOverData, kBinder };
  absl::string_view name;  // "--nodes"
  absl::string_view type;  // of its value: "N"
  absl::string_view help;  // one line
  Use use = Use::kByItself;
};

struct ModelRequest {
  std::vector<std::string> words;  // key=value, and the source
  PolicyOptions keys;              // as the words set them
  // The values of the options that were given, by name.
  std::map<std::string, std::string, std::less<>> given;
  uint64_t memory_bytes = 0;  // as the key `memory`
  Seed seed{0};
  Epoch epoch{0};

  // "" if it was not given.
  std::string option(absl::string_view name) const {
    const auto found = given.find(name);
    return found == given.end() ? "" : found->second;
  }
};

// The data of a simulation. They outlive the call.
struct ModelData {
  const BinderInput* binder = nullptr;  // as in a mount with that memory
  std::string how;                      // how its chunks were composed
  const std::vector<uint64_t>* bytes = nullptr;  // by sample, of all its files
};

struct ModelReport {
  std::string text;
  std::string json;  // one object
};

// The functions of options that the policy does not have are null. Errors:
// InvalidArgument, which names the option or the word.
struct PolicyModel {
  absl::Span<const ModelOption> options;
  // A report that needs no data.
  absl::StatusOr<ModelReport> (*by_itself)(const ModelRequest& request) =
      nullptr;
  absl::StatusOr<ModelReport> (*over_data)(const ModelRequest& request,
                                           const ModelData& data) = nullptr;
  // The binder to simulate, instead of the policy's. `input` outlives it.
  absl::StatusOr<std::unique_ptr<Binder>> (*binder)(
      const ModelRequest& request, const BinderInput& input) = nullptr;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_POLICY_POLICY_MODEL_H_
