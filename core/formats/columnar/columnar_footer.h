// SPDX-License-Identifier: Apache-2.0
// ColumnarFooter is the part of a columnar file that lists its groups of rows
// (row groups of Parquet, record batches of an Arrow IPC file). Readers take
// the groups in the order of that list, wherever in the file they are. So
// listing them in another order shuffles the file, and no byte of data moves.
#ifndef SHUFFLEFS_CORE_FORMATS_COLUMNAR_COLUMNAR_FOOTER_H_
#define SHUFFLEFS_CORE_FORMATS_COLUMNAR_COLUMNAR_FOOTER_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/optional.h"

namespace shufflefs {

// Immutable; any thread may call. The functions that make one return these
// errors, which do not name the file. FailedPrecondition: this file must not be
// shuffled, and why ("its footer is encrypted"). DataLoss: it is damaged, and
// at which byte of the file.
class ColumnarFooter {
 public:
  virtual ~ColumnarFooter() = default;

  // Number of groups; may be 0.
  virtual uint64_t count() const = 0;
  // Rows of all groups together, if the footer says so. Unchecked.
  virtual absl::optional<uint64_t> rows() const { return absl::nullopt; }
  // The bytes of the file that are replaced: [begin, begin + size).
  virtual uint64_t begin() const = 0;
  virtual uint64_t size() const = 0;
  using GroupAt = std::function<uint64_t(uint64_t)>;
  // The bytes [from, to) of the replacement, if position p shows group
  // `group_at(p)`. Takes memory for these only. REQUIRES: from <= to <= size();
  // group_at is a permutation of [0, count()). It may be called more than once
  // for a position.
  virtual std::string ReorderedBytes(const GroupAt& group_at, uint64_t from,
                                     uint64_t to) const = 0;

  // For each group in the source's order: the lowest byte of the file with data
  // of it, and the number of its bytes. They tell where to read ahead and how
  // well the file can mix. The bytes of a group need not be contiguous.
  virtual std::vector<uint64_t> group_begins() const = 0;
  virtual std::vector<uint64_t> group_bytes() const = 0;
  // Bytes that the object takes.
  virtual uint64_t memory_bytes() const = 0;
};

// In bytes.
struct FooterSizes {
  uint64_t wanted = 0;  // size of the footer by the file's last bytes
  uint64_t read = 0;    // bytes of it that were read
  uint64_t head = 0;    // bytes before it, at least
  uint64_t file = 0;
};

// DataLoss unless a footer of `wanted` bytes is in the file and was read as a
// whole.
absl::Status CheckFooterSizes(const FooterSizes& sizes);

// FailedPrecondition if the file states a footer length that is too large. That
// length is allocated before anything else of the footer is checked.
absl::Status CheckFooterLength(uint64_t bytes);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_FORMATS_COLUMNAR_COLUMNAR_FOOTER_H_
