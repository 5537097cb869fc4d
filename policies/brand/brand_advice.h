// SPDX-License-Identifier: Apache-2.0
// For which datasets `brand` pays, and what is said of it; see
// core/policy/policy_advice.h.
//
// Pure functions; any thread may call.
#ifndef SHUFFLEFS_POLICIES_BRAND_BRAND_ADVICE_H_
#define SHUFFLEFS_POLICIES_BRAND_BRAND_ADVICE_H_

#include <vector>

#include "absl/types/optional.h"
#include "core/policy/policy_advice.h"

namespace shufflefs {

// If it is safe and pays, or is safe and its epoch is under way.
absl::optional<Suitability> BrandSuits(const DatasetFacts& facts);
// On a slow source that is larger than memory, if names may move.
PolicyAdvice BrandAdvises(const DatasetFacts& facts, bool is_faster);
// If names may move.
std::vector<PolicyGain> BrandGains(const DatasetFacts& facts);
std::vector<PolicySuggestion> BrandSuggests(const DatasetFacts& facts);

}  // namespace shufflefs

#endif  // SHUFFLEFS_POLICIES_BRAND_BRAND_ADVICE_H_
