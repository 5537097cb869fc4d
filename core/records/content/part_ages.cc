// SPDX-License-Identifier: Apache-2.0
#include "core/records/content/part_ages.h"

#include <iterator>

namespace shufflefs {

void PartAges::Forget(const absl::flat_hash_set<uint64_t>& ids) {
  std::erase_if(ages_,
                [&ids](const Age& age) { return ids.contains(age.key.first); });
}

absl::optional<PartAges::Key> PartAges::TakeFor(PartNeed need, uint64_t now) {
  if (ages_.empty()) return absl::nullopt;
  const uint64_t gone = need == PartNeed::kPart ? memory_ / 2 : kGone * memory_;
  const auto ahead = ages_.lower_bound(Age{true, 0, {}});
  auto goes = ages_.begin();
  if (goes != ahead && goes->since + gone <= now) {
    // Its reader is gone.
  } else if (ahead != ages_.end() && ahead->since + 4 * memory_ <= now) {
    goes = ahead;  // no reader came to it
  } else if (need != PartNeed::kPart) {
    return absl::nullopt;  // a reader would fetch it again
  } else if (ahead != ages_.end()) {
    goes = std::prev(ages_.end());
  }
  const Key key = goes->key;
  ages_.erase(goes);
  return key;
}

}  // namespace shufflefs
