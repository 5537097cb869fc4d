// SPDX-License-Identifier: Apache-2.0
// Containers whose records are shuffled as if they were one container: the
// records of all members in succession, without heads and tails.
#ifndef SHUFFLEFS_CORE_RECORDS_ORDER_FAMILY_TABLE_H_
#define SHUFFLEFS_CORE_RECORDS_ORDER_FAMILY_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/types/optional.h"
#include "core/base/types.h"
#include "core/formats/columnar/columnar_groups.h"
#include "core/formats/record_scanner.h"
#include "core/formats/record_table.h"
#include "core/formats/tfrecord/tfrecord_index.h"
#include "core/records/order/record_order.h"

namespace shufflefs {

struct ContainerFamily;

// The text of a container's index (tfrecord_index.h), which has the same size
// for every order of its records. All lines have the same length, except the
// first, which has blanks before it.
struct IndexLines {
  TfrecordIndexWidths widths;
  uint64_t blanks = 0;
  uint64_t bytes = 0;  // size of the text
};

// How the lines of a file end.
enum class LineEnd : uint8_t { kUnknown, kLf, kCrLf };

// ContainerShape says where the records of a file are.
struct ContainerShape {
  uint64_t file_bytes = 0;  // as it is shown
  // Null: nothing moves. Otherwise its records are within the file, with this
  // exception:
  std::shared_ptr<const RecordTable> records;
  // The last record lacks the line end that the others have. It counts as so
  // many bytes longer than the file. They are left out after whichever record
  // comes last, unless the records of several containers are mixed.
  bool lacks_newline = false;
  // Of the last line that has an end.
  LineEnd line_end = LineEnd::kUnknown;
  // Not null: a columnar container. Its `records` are columnar->AsRecords().
  // They say what is ordered, but not where it is.
  std::shared_ptr<const ColumnarGroups> columnar;
  // Positions of the records in a file with padding between them, which is not
  // shown. placed->begin() is where a record begins, `records` has its size,
  // and the rest up to the next one is padding. Null: `records` has the
  // positions.
  std::shared_ptr<const RecordTable> placed;
  // Its records are shown in file order, whatever the policy.
  bool keeps_order = false;
  // The index beside the file. It is shown with its lines in the order of the
  // records. Empty: there is none.
  absl::optional<IndexLines> index;
  // The records of the container whose blocks determine the order. It has as
  // many records. Null: its own.
  std::shared_ptr<const RecordTable> order_by;
  // Other containers have the same order.
  bool aligned = false;
  // Hash of the bytes before the first record, if requested.
  uint64_t head_hash = 0;
  // Names in the file, if requested and if its format has_names(). Only until
  // its family is made: they take 8 bytes per record.
  std::shared_ptr<const NameHashes> names;
  // Null: it shows its own records. Otherwise it is member number `member` of
  // this family.
  std::shared_ptr<const ContainerFamily> family;
  size_t member = 0;

  // Bytes of the line end that the last record lacks.
  uint64_t lent_bytes() const {
    if (!lacks_newline) return 0;
    return line_end == LineEnd::kCrLf ? 2 : 1;
  }

  // Returns whether an epoch may show some of its records several times and
  // others not at all. This requires that nothing else in the view refers to
  // their positions.
  bool may_repeat() const {
    return records != nullptr && records->count() > 0 && columnar == nullptr &&
           !keeps_order && !aligned && !index && order_by == nullptr;
  }
};

// Immutable; any thread may call; no call blocks. Its offsets are not those of
// a file: the first record begins at 0.
class FamilyTable : public RecordTable {
 public:
  // REQUIRES: each member has a record table, which may be empty.
  explicit FamilyTable(std::vector<ContainerShape> members);

  uint64_t count() const override { return firsts_.back(); }
  uint64_t begin(uint64_t record) const override;
  uint64_t FirstFrom(uint64_t offset) const override;
  uint64_t memory_bytes() const override;

  size_t members() const { return members_.size(); }
  const ContainerShape& member(size_t m) const { return members_[m]; }
  // Records of the members before `m`. REQUIRES: m <= members().
  uint64_t first(size_t m) const { return firsts_[m]; }
  // The member that holds a record. REQUIRES: record < count().
  size_t MemberOf(uint64_t record) const;

 private:
  const std::vector<ContainerShape> members_;
  std::vector<uint64_t> firsts_;  // records before each member, and of all
  std::vector<uint64_t> bases_;   // bytes before each member, and of all
};

// Containers whose records are mixed.
struct ContainerFamily {
  std::shared_ptr<const FamilyTable> table;
  std::shared_ptr<const std::vector<EntryId>> files;  // by member
};

// The order of all records of a family in an epoch.
struct FamilyOrder {
  std::shared_ptr<const FamilyTable> table;
  std::unique_ptr<const RecordOrder> order;  // has as many records
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_RECORDS_ORDER_FAMILY_TABLE_H_
