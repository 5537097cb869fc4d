// SPDX-License-Identifier: Apache-2.0
// Finds directories whose files belong together one by one: images/ and
// labels/, images and masks, high and low resolution, left and right.
#ifndef SHUFFLEFS_CORE_DATASET_PAIRING_H_
#define SHUFFLEFS_CORE_DATASET_PAIRING_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/optional.h"
#include "core/base/types.h"
#include "core/catalogue/catalogue.h"

namespace shufflefs {

struct PairingOptions {
  DirId root{0};  // at least one of a pair is at or below it
  // By DirId: directories to ignore (splits, hidden ones).
  const std::vector<bool>* excluded = nullptr;
  uint32_t percent = 50;  // percentage of the smaller directory's stems
};

// One clause that names the first pair found. Empty if there is none. Searches
// the whole catalogue. Two directories pair in these cases:
// * `percent` of the smaller one's stems are in the other.
// * 90 % are, after the ending that all stems of a directory share is cut off
//   (x and x_mask).
// * Their sets of stems are equal after a common beginning is cut off too
//   (left_1, right_1).
// * They have the same path below two sibling directories with equal numbers of
//   files everywhere (leftImg8bit/aachen, gtFine/aachen).
absl::optional<std::string> FindPairedDirectories(
    const Catalogue& catalogue, const PairingOptions& options);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_DATASET_PAIRING_H_
