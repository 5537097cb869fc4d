// SPDX-License-Identifier: Apache-2.0
// Decides for which datasets `auto` takes which kind of policy, and what it
// says about them; see policies/auto/auto_choice.h. The entries of the policies
// refer to these functions.
//
// Pure functions; any thread may call.
#ifndef SHUFFLEFS_POLICIES_AUTO_SUITABILITY_H_
#define SHUFFLEFS_POLICIES_AUTO_SUITABILITY_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "core/policy/policy_entry.h"

namespace shufflefs {

// For `policy`, whose names show what is in memory.
absl::optional<Suitability> SuitsOnDemand(const DatasetFacts& facts,
                                          absl::string_view policy);
// For `policy`, which shuffles records of containers.
absl::optional<Suitability> SuitsRecords(const DatasetFacts& facts,
                                         absl::string_view policy);
// For a policy that predicts and prefetches what readers will open.
absl::optional<Suitability> SuitsReadAhead(const DatasetFacts& facts);
// For the source as it is, with suggestions for the user.
absl::optional<Suitability> SuitsAlways(const DatasetFacts& facts);

// "1.5 GiB".
std::string BytesText(uint64_t bytes);
bool FitsInMemory(const DatasetFacts& facts);

}  // namespace shufflefs

#endif  // SHUFFLEFS_POLICIES_AUTO_SUITABILITY_H_
