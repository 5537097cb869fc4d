// SPDX-License-Identifier: Apache-2.0
// ColumnarGroups is the groups of rows of a columnar container as its footer
// lists them, and where in the file each ends. A reader inside a group reads on
// to its end, and continues at any other.
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
  // Where the next group after byte `offset` of the file begins. After the last
  // group: the beginning of the footer's list, or `offset` if that is not
  // before it.
  uint64_t NextBegin(uint64_t offset) const;
  uint64_t memory_bytes() const;
  // Treats each group as a record of one byte: this is what a policy orders.
  std::shared_ptr<const RecordTable> AsRecords() const {
    return std::make_shared<FixedTable>(0, 1, footer_->count());
  }

 private:
  // Constant after construction.
  const std::unique_ptr<const ColumnarFooter> footer_;
  const std::vector<uint64_t> begins_;  // ascending
};

// The two formats that the end of a file shows. kArrowFile excludes streams
// (core/formats/columnar/arrow_stream.h).
enum class ColumnarFormat { kParquet, kArrowFile };

// The end of a file says where its footer is, and mostly contains all of it. So
// this much is read at once.
inline constexpr uint64_t kColumnarTailBytes = uint64_t{64} << 10;

// Returns whether a file with this tail may be an Arrow file.
bool EndsLikeArrowFile(absl::string_view tail);

// Parses the footer of the open file `fd` of `file_bytes`. `tail` holds the
// last kColumnarTailBytes bytes, or the whole file. If the footer is larger,
// reads the missing part in one read, and blocks for that. Errors: those of
// ColumnarFooter, and of a read.
absl::StatusOr<std::shared_ptr<const ColumnarGroups>> ReadColumnarGroups(
    int fd, uint64_t file_bytes, ColumnarFormat format, absl::string_view tail);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_FORMATS_COLUMNAR_COLUMNAR_GROUPS_H_
