// SPDX-License-Identifier: Apache-2.0
// For which datasets `auto` takes which kind of policy, and what it says of
// them; see policies/auto/auto_choice.h. The entries of the policies refer to
// these.
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

// Names that show what is in memory; of the policy so called.
absl::optional<Suitability> SuitsOnDemand(const DatasetFacts& facts,
                                          absl::string_view policy);
// Records of containers, shuffled by the policy so called.
absl::optional<Suitability> SuitsRecords(const DatasetFacts& facts,
                                         absl::string_view policy);
// What readers will open, found out and read ahead.
absl::optional<Suitability> SuitsReadAhead(const DatasetFacts& facts);
// The source as it is, with what could be asked for.
absl::optional<Suitability> SuitsAlways(const DatasetFacts& facts);

// "1.5 GiB".
std::string BytesText(uint64_t bytes);
bool FitsInMemory(const DatasetFacts& facts);

}  // namespace shufflefs

#endif  // SHUFFLEFS_POLICIES_AUTO_SUITABILITY_H_
