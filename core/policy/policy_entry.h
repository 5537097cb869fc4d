// SPDX-License-Identifier: Apache-2.0
// PolicyEntry is a policy as the rest of the program knows it: its name, its
// keys, and how it is made. To add a policy, add its pair of files and the line
// of its entry in policies/registry.cc.
//
// Constant; any thread may call.
#ifndef SHUFFLEFS_CORE_POLICY_POLICY_ENTRY_H_
#define SHUFFLEFS_CORE_POLICY_POLICY_ENTRY_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/config/policy_options.h"
#include "core/policy/policy.h"
#include "core/policy/policy_advice.h"
#include "core/policy/policy_model.h"

namespace shufflefs {

// Properties of a view, besides its keys, for which a policy that shares the
// tier is made. They are the same in every mount of a configuration, because
// the orders must be.
struct StagedView {
  bool ranked = false;  // names by rank
  bool moves = false;   // names may show other samples
  uint64_t samples = 0;
  uint64_t sample_bytes = 0;  // of all of them, as they take memory
  uint64_t file_bytes = 0;    // of all files
  uint64_t tier_bytes = 0;    // its share of tier.capacity; 0: not given
  // Maximum bytes of records that a container has in the tier at a time; 0:
  // any.
  uint64_t record_bytes = 0;
};

struct PolicyEntry {
  absl::string_view name;
  absl::string_view help;  // one line, no full stop
  absl::Span<const PolicyOption> keys = {};
  // The position of its keys in help texts. Lower ranks come first, equal ranks
  // in the order of registration. Keys of kBaselineRank come after all keys of
  // the view.
  static constexpr int kBaselineRank = 100;
  int keys_rank = 0;
  // Its views share the performance tier. Other policies are made without a
  // StagedView.
  bool shares_tier = false;
  // It uses what the job reports, such as its loss.
  bool takes_feedback = false;
  // Makes the policy. The options are already checked. `view` may be null:
  // nothing is mounted.
  std::unique_ptr<const Policy> (*make)(const PolicyOptions& options,
                                        const StagedView* view) = nullptr;
  // What it says of a dataset.
  PolicyAdviser advice = {};
  // Why its order cannot be simulated. "": it can.
  absl::string_view not_simulated = {};
  // What else can be simulated of it.
  PolicyModel model = {};
};

// In the order of help texts. `auto` is not in it.
using PolicyTable = absl::Span<const PolicyEntry* const>;

// Null if there is no such policy.
const PolicyEntry* FindPolicy(PolicyTable policies, absl::string_view name);

// "native, lirs, …", with `last_separator` before the last name.
std::string NamesOf(PolicyTable policies, absl::string_view last_separator);

// Checks all options against their limits, also those of other policies, so
// that a later switch by name cannot fail on them. InvalidArgument names the
// key, the value and the allowed values.
[[nodiscard]] absl::Status CheckPolicyOptions(PolicyTable policies,
                                              const PolicyOptions& options);

// Errors: InvalidArgument, which lists the names; those of CheckPolicyOptions.
[[nodiscard]] absl::StatusOr<std::unique_ptr<const Policy>> MakePolicy(
    PolicyTable policies, absl::string_view name, const PolicyOptions& options,
    const StagedView* view = nullptr);

// The values that change bindings, each with its place in the text of the hash,
// ready to be sorted among those of a view.
using PlacedText = std::pair<int, std::string>;
std::vector<PlacedText> BindingTexts(PolicyTable policies,
                                     const PolicyOptions& options);

// Returns whether all keys of the policy have equal values.
bool SameKeys(const PolicyEntry& policy, const PolicyOptions& a,
              const PolicyOptions& b);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_POLICY_POLICY_ENTRY_H_
