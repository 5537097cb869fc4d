// SPDX-License-Identifier: Apache-2.0
// The groups of rows of a columnar container as its footer lists them, and
// where in the file one ends: who reads on inside a group goes on to its end,
// and from there to any other.
#ifndef SHUFFLEFS_CORE_FORMATS_COLUMNAR_COLUMNAR_GROUPS_H_
#define SHUFFLEFS_CORE_FORMATS_COLUMNAR_COLUMNAR_GROUPS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/formats/columnar/columnar_footer.h"
#include "core/formats/record_table.h"

namespace shufflefs {

// Immutable; any thread may call; no call blocks.
class ColumnarGroups {
 public:
  explicit ColumnarGroups(std::unique_ptr<const ColumnarFooter> footer);

  const ColumnarFooter& footer() const { return *footer_; }
  // Where the next group begins behind byte `offset` of the file; behind the
  // last where the footer's list does, or `offset` if that is not behind it.
  uint64_t NextBegin(uint64_t offset) const;
  uint64_t memory_bytes() const;
  // Each group taken for a record of one byte: what a policy orders.
  std::shared_ptr<const RecordTable> AsRecords() const {
    return std::make_shared<FixedTable>(0, 1, footer_->count());
  }

 private:
  // Constant after construction.
  const std::unique_ptr<const ColumnarFooter> footer_;
  const std::vector<uint64_t> begins_;  // ascending
};

// The two formats, as the end of a file says. Of an Arrow file that is no
// stream (core/formats/columnar/arrow_stream.h).
enum class ColumnarFormat { kParquet, kArrowFile };

// At the end of a file lies what says where its footer is, and most often all
// of it: so much is read at once.
inline constexpr uint64_t kColumnarTailBytes = uint64_t{64} << 10;

// Whether a file that ends so may be an Arrow file.
bool EndsLikeArrowFile(absl::string_view tail);

// The footer of the open file `fd` of `file_bytes`, of which `tail` holds the
// last kColumnarTailBytes bytes, or all: what is missing of a larger one is
// read, in one read. Blocks for that. Errors: those of ColumnarFooter, and of
// a read.
absl::StatusOr<std::shared_ptr<const ColumnarGroups>> ReadColumnarGroups(
    int fd, uint64_t file_bytes, ColumnarFormat format, absl::string_view tail);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_FORMATS_COLUMNAR_COLUMNAR_GROUPS_H_
