// SPDX-License-Identifier: Apache-2.0
// How many files a part of the source has, and how large they are together.
#ifndef SHUFFLEFS_CORE_CATALOGUE_FILE_TOTALS_H_
#define SHUFFLEFS_CORE_CATALOGUE_FILE_TOTALS_H_

#include <cstdint>

#include "core/catalogue/catalogue.h"

namespace shufflefs {

struct FileTotals {
  uint64_t files = 0;  // regular files
  uint64_t bytes = 0;  // sum of their sizes
};

// Of all files below a directory. Linear in their number, unless it is the
// root.
inline FileTotals TotalsBelow(const Catalogue& catalogue, DirId dir) {
  if (dir.value() == 0) {
    // Counted while it was made.
    return {catalogue.file_count(), catalogue.total_bytes()};
  }
  FileTotals totals;
  const uint32_t end = catalogue.entries_end(dir).value();
  for (uint32_t e = catalogue.first_entry(dir).value(); e < end; ++e) {
    const EntryId entry(e);
    if (catalogue.kind(entry) != EntryKind::kFile) continue;
    ++totals.files;
    totals.bytes += catalogue.file_size(entry);
  }
  return totals;
}

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_CATALOGUE_FILE_TOTALS_H_
