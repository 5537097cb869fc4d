// SPDX-License-Identifier: Apache-2.0
// Directories whose files belong together one by one: images/ and labels/,
// images and masks, high and low resolution, left and right.
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
  DirId root{0};  // at least one of the two lies at or below it
  // By DirId: directories not to look at (splits, hidden ones).
  const std::vector<bool>* excluded = nullptr;
  uint32_t percent = 50;  // of the smaller directory's stems
};

// One clause that names the first pair found, or nothing. Looks at the whole
// catalogue. Two directories pair when `percent` of the smaller one's stems
// are in the other; when 90 % are, once the ending that all stems of a
// directory have is cut off (x and x_mask); when their sets of stems are
// equal once a common beginning is cut off too (left_1, right_1); and when
// they lie at the same place below two sibling directories that have equal
// numbers of files everywhere (leftImg8bit/aachen, gtFine/aachen).
absl::optional<std::string> FindPairedDirectories(
    const Catalogue& catalogue, const PairingOptions& options);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_DATASET_PAIRING_H_
