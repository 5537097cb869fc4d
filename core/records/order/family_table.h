// SPDX-License-Identifier: Apache-2.0
// Containers whose records are shuffled as if they were those of one: the
// records of each behind those of the one before it, heads and tails left out.
#ifndef SHUFFLEFS_CORE_RECORDS_ORDER_FAMILY_TABLE_H_
#define SHUFFLEFS_CORE_RECORDS_ORDER_FAMILY_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/types/optional.h"
#include "core/base/types.h"
#include "core/formats/columnar/columnar_groups.h"
#include "core/formats/record_table.h"
#include "core/formats/tfrecord/tfrecord_index.h"
#include "core/records/order/record_order.h"

namespace shufflefs {

struct ContainerFamily;

// The text of an index of a container (tfrecord_index.h), whatever the order
// of its records: as many bytes in each. Every line is as long as the others,
// but for the first, which has blanks before it.
struct IndexLines {
  TfrecordIndexWidths widths;
  uint64_t blanks = 0;
  uint64_t bytes = 0;  // of the text
};

// Where the records of a file lie.
struct ContainerShape {
  uint64_t file_bytes = 0;  // as it is shown
  // Null: nothing moves. Else its records lie within the file, but for:
  std::shared_ptr<const RecordTable> records;
  // The last record lacks the line's end that the others have: it is taken for
  // one byte longer than the file. Behind whichever record comes last that
  // byte is left out.
  bool lacks_newline = false;
  // Not null: a columnar container. Its `records` are columnar->AsRecords(),
  // which say what is ordered but not where it lies.
  std::shared_ptr<const ColumnarGroups> columnar;
  // Where the records lie in the file, where there is padding between them,
  // which is not shown: placed->begin() of each, of as many bytes as `records`
  // says; what follows up to the next one is padding. Null: as `records` says.
  std::shared_ptr<const RecordTable> placed;
  // They are shown in the order of the file, whatever the policy.
  bool keeps_order = false;
  // Of the index beside the file that is shown with its lines in the order of
  // the records; nothing: none is.
  absl::optional<IndexLines> index;
  // The records of the container by whose blocks the order is made; it has as
  // many. Null: its own.
  std::shared_ptr<const RecordTable> order_by;
  // The order is that of other containers, too.
  bool aligned = false;
  // Of the bytes before the first record, where that was asked for.
  uint64_t head_hash = 0;
  // Null: it shows its own records. Else it is this member.
  std::shared_ptr<const ContainerFamily> family;
  size_t member = 0;

  // Whether an epoch may show some of its records several times and others not
  // at all: nothing else in the view speaks of them by their places.
  bool may_repeat() const {
    return records != nullptr && records->count() > 0 && columnar == nullptr &&
           !keeps_order && !aligned && !index && order_by == nullptr;
  }
};

// Immutable; any thread may call; no call blocks. Its offsets are no offsets of
// a file: the first record begins at 0.
class FamilyTable : public RecordTable {
 public:
  // REQUIRES: each member has records, which may be none.
  explicit FamilyTable(std::vector<ContainerShape> members);

  uint64_t count() const override { return firsts_.back(); }
  uint64_t begin(uint64_t record) const override;
  uint64_t FirstFrom(uint64_t offset) const override;
  uint64_t memory_bytes() const override;

  size_t members() const { return members_.size(); }
  const ContainerShape& member(size_t m) const { return members_[m]; }
  // Records of the members before `m`. REQUIRES: m <= members().
  uint64_t first(size_t m) const { return firsts_[m]; }
  // Which member holds a record. REQUIRES: record < count().
  size_t MemberOf(uint64_t record) const;

 private:
  const std::vector<ContainerShape> members_;
  std::vector<uint64_t> firsts_;  // records before each, and of all
  std::vector<uint64_t> bases_;   // bytes before each, and of all
};

// Containers whose records come from all of them.
struct ContainerFamily {
  std::shared_ptr<const FamilyTable> table;
  std::shared_ptr<const std::vector<EntryId>> files;  // by member
};

// The order of all records of a family in an epoch.
struct FamilyOrder {
  std::shared_ptr<const FamilyTable> table;
  std::unique_ptr<const RecordOrder> order;  // of as many records
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_RECORDS_ORDER_FAMILY_TABLE_H_
