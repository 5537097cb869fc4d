// SPDX-License-Identifier: Apache-2.0
// Judgements of a dataset that the advice of several policies shares (see
// core/policy/policy_advice.h): when `auto` takes which kind of policy.
//
// Pure functions; any thread may call.
#ifndef SHUFFLEFS_POLICIES_AUTO_SUITABILITY_H_
#define SHUFFLEFS_POLICIES_AUTO_SUITABILITY_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "core/policy/policy_advice.h"

namespace shufflefs {

// The fastest reader comes first. Two policies of one rank never suit the same
// dataset.
inline constexpr int kOnDemandRank = 40;
inline constexpr int kRecordsUnderWayRank = 31;
inline constexpr int kRecordsRank = 30;
inline constexpr int kReadAheadRank = 20;
inline constexpr int kAlwaysRank = 10;

// Of a policy that is taken only because its epoch is under way.
inline constexpr char kNotFinished[] = "for its epoch is not finished";

// "1.5 GiB".
std::string BytesText(uint64_t bytes);
bool FitsInMemory(const DatasetFacts& facts);
// Returns whether the device seeks or has a high latency.
bool IsSlow(DeviceKind device);
bool IsMostlyContainers(const DatasetFacts& facts);

// For `policy`, which shuffles records of containers. `pays`: it does so faster
// than others on such a device.
absl::optional<Suitability> SuitsRecords(const DatasetFacts& facts,
                                         absl::string_view policy, bool pays,
                                         absl::string_view how);

}  // namespace shufflefs

#endif  // SHUFFLEFS_POLICIES_AUTO_SUITABILITY_H_
