// SPDX-License-Identifier: Apache-2.0
// The part of a columnar file that lists its groups of rows (row groups of
// Parquet, record batches of an Arrow IPC file). Readers take the groups in the
// order of that list, wherever in the file they lie: to list them in another
// order shuffles the file, and no byte of data moves.
#ifndef SHUFFLEFS_CORE_FORMATS_COLUMNAR_COLUMNAR_FOOTER_H_
#define SHUFFLEFS_CORE_FORMATS_COLUMNAR_COLUMNAR_FOOTER_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace shufflefs {

// Immutable; any thread may call. The functions that make one report:
// FailedPrecondition: this file is not to be shuffled, and why ("its footer is
// encrypted"); DataLoss: it is damaged, and at which byte of the file. Neither
// names the file.
class ColumnarFooter {
 public:
  virtual ~ColumnarFooter() = default;

  // Groups; may be 0.
  virtual uint64_t count() const = 0;
  // The bytes of the file that are replaced: [begin, begin + size).
  virtual uint64_t begin() const = 0;
  virtual uint64_t size() const = 0;
  // What stands there when position p shows group `group_at(p)`, size() bytes.
  // REQUIRES: group_at is a permutation of [0, count()); it may be called more
  // than once for a position.
  virtual std::string Reordered(
      const std::function<uint64_t(uint64_t)>& group_at) const = 0;

  // Of each group as the source lists them: the lowest byte of the file that
  // holds data of it, and how many do. They say where to read ahead and how
  // well the file can mix; the bytes of a group need not be in one piece.
  virtual std::vector<uint64_t> group_begins() const = 0;
  virtual std::vector<uint64_t> group_bytes() const = 0;
  // Bytes held.
  virtual uint64_t memory_bytes() const = 0;
};

// In bytes.
struct FooterSizes {
  uint64_t wanted = 0;  // the footer, by what the file's last bytes say
  uint64_t read = 0;    // of it
  uint64_t head = 0;    // what comes before it at least
  uint64_t file = 0;
};

// Whether a footer of `wanted` bytes is in the file and was read whole.
// Errors: DataLoss.
absl::Status CheckFooterSizes(const FooterSizes& sizes);

// What a file may say of its footer's length, which is allocated before
// anything else of it is checked. Errors: FailedPrecondition.
absl::Status CheckFooterLength(uint64_t bytes);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_FORMATS_COLUMNAR_COLUMNAR_FOOTER_H_
