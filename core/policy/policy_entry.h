// SPDX-License-Identifier: Apache-2.0
// A policy as the rest of the program knows it: an entry with its name, its
// keys and how it is made. Adding a policy is its pair of files and its entry's
// line in policies/registry.cc.
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
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "core/base/device.h"
#include "core/config/policy_options.h"
#include "core/policy/policy.h"

namespace shufflefs {

// What of a view a policy that shares the tier is made for, beside its keys.
// The same in every mount of a configuration, as its orders must be.
struct StagedView {
  bool ranked = false;  // names by rank
  bool moves = false;   // names may show other samples
  uint64_t samples = 0;
  uint64_t sample_bytes = 0;  // of all of them, as memory holds them
  uint64_t file_bytes = 0;    // of all files
  uint64_t tier_bytes = 0;    // its part of tier.capacity; 0: not given
  uint64_t record_bytes = 0;  // at most, of records that a container has in
                              // the tier at a time; 0: any
};

// How well a policy suits a dataset, for `auto`.
struct Suitability {
  int rank = 0;     // auto takes the policy of the highest one
  std::string why;  // what to expect of it: one clause, or several
};

struct PolicyEntry {
  absl::string_view name;
  absl::string_view help;  // one line, no full stop
  absl::Span<const PolicyOption> keys = {};
  // Where its keys stand in help texts: lower ranks first, equal ones as
  // registered; those of kBaselineRank behind all keys of the view.
  static constexpr int kBaselineRank = 100;
  int keys_rank = 0;
  // Whether its views share the performance tier; others are made without a
  // StagedView.
  bool shares_tier = false;
  // The options are checked. `view` may be null: nothing is mounted.
  std::unique_ptr<const Policy> (*make)(const PolicyOptions& options,
                                        const StagedView* view) = nullptr;
  // Nothing where it does not; null: auto never takes it.
  absl::optional<Suitability> (*suits)(const DatasetFacts& facts) = nullptr;
  // Which of its keys speaks against it on such a device; "" or null: none.
  std::string (*held_back)(const PolicyOptions& options,
                           DeviceKind device) = nullptr;
  // For which clients it is right, for the report of a check.
  absl::string_view use = "for clients that read containers from start to end";
  // Why an order cannot be simulated; "": it can.
  absl::string_view not_simulated = {};
};

// In the order in which help texts list them. `auto` is not one of them.
using PolicyTable = absl::Span<const PolicyEntry* const>;

// Null when there is no such policy.
const PolicyEntry* FindPolicy(PolicyTable policies, absl::string_view name);

// "native, lirs, …", the last one behind `last_separator`.
std::string NamesOf(PolicyTable policies, absl::string_view last_separator);

// All options are held against their limits, also those of other policies, so
// that a later switch by name cannot fail on them. InvalidArgument names the
// key, the value and what is allowed.
[[nodiscard]] absl::Status CheckPolicyOptions(PolicyTable policies,
                                              const PolicyOptions& options);

// Errors: InvalidArgument that lists the names, or as CheckPolicyOptions.
[[nodiscard]] absl::StatusOr<std::unique_ptr<const Policy>> MakePolicy(
    PolicyTable policies, absl::string_view name, const PolicyOptions& options,
    const StagedView* view = nullptr);

// Values that change bindings, each with the place where the text of a hash
// has it, ready to be sorted among those of a view.
using PlacedText = std::pair<int, std::string>;
std::vector<PlacedText> BindingTexts(PolicyTable policies,
                                     const PolicyOptions& options);

// Whether all keys of the policy hold the same values.
bool SameKeys(const PolicyEntry& policy, const PolicyOptions& a,
              const PolicyOptions& b);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_POLICY_POLICY_ENTRY_H_
