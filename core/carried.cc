// SPDX-License-Identifier: Apache-2.0
#include "core/carried.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace shufflefs {

absl::StatusOr<CarriedNames> CarriedNames::Make(
    std::vector<CarriedPair> pairs) {
  CarriedNames carried;
  carried.sample_of_.reserve(pairs.size());
  carried.name_of_.reserve(pairs.size());
  for (const CarriedPair& pair : pairs) {
    if (!carried.sample_of_.emplace(pair.name, pair.sample).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("name ", pair.name, " is carried twice"));
    }
    if (!carried.name_of_.emplace(pair.sample, pair.name).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("sample ", pair.sample, " is carried twice"));
    }
  }
  carried.pairs_ = std::move(pairs);
  return carried;
}

}  // namespace shufflefs
