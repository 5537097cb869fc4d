// SPDX-License-Identifier: Apache-2.0
#include "core/policy/carried.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace shufflefs {

absl::StatusOr<CarriedNames> CarriedNames::Make(
    std::vector<CarriedPair> pairs) {
  return Make(std::move(pairs), /*repeats=*/false);
}

absl::StatusOr<CarriedNames> CarriedNames::MakeRepeating(
    std::vector<CarriedPair> pairs) {
  return Make(std::move(pairs), /*repeats=*/true);
}

absl::StatusOr<CarriedNames> CarriedNames::Make(std::vector<CarriedPair> pairs,
                                                bool repeats) {
  CarriedNames carried;
  carried.sample_of_.reserve(pairs.size());
  carried.name_of_.reserve(pairs.size());
  for (const CarriedPair& pair : pairs) {
    if (!carried.sample_of_.emplace(pair.name, pair.sample).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("name ", pair.name, " is carried twice"));
    }
    const auto [named, first] =
        carried.name_of_.emplace(pair.sample, pair.name);
    if (first) continue;
    if (!repeats) {
      return absl::InvalidArgumentError(
          absl::StrCat("sample ", pair.sample, " is carried twice"));
    }
    named->second = pair.name;
  }
  carried.pairs_ = std::move(pairs);
  return carried;
}

std::vector<CarriedPair> CarriedNames::FirstOfEach(
    std::vector<CarriedPair> pairs) {
  absl::flat_hash_set<uint64_t> samples;
  pairs.erase(std::remove_if(pairs.begin(), pairs.end(),
                             [&](const CarriedPair& pair) {
                               return !samples.insert(pair.sample).second;
                             }),
              pairs.end());
  return pairs;
}

}  // namespace shufflefs
