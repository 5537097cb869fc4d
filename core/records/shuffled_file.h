// SPDX-License-Identifier: Apache-2.0
// A container file with its records in another order: which bytes of the
// source stand where. What lies before the first record and behind the last
// stays. The size is that of the source.
//
// The file is cut into parts, each read and held as a whole: head and tail
// into equal ones, the records as their order says.
#ifndef SHUFFLEFS_CORE_RECORDS_SHUFFLED_FILE_H_
#define SHUFFLEFS_CORE_RECORDS_SHUFFLED_FILE_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "core/records/record_order.h"
#include "core/records/record_table.h"

namespace shufflefs {

// Where the records of a file lie.
struct ContainerShape {
  uint64_t file_bytes = 0;
  // Null: nothing moves. Else its records lie within the file, but for:
  std::shared_ptr<const RecordTable> records;
  // The last record lacks the line's end that the others have: it is taken for
  // one byte longer than the file. Behind whichever record comes last that
  // byte is left out.
  bool lacks_newline = false;
  // The records of the container by whose blocks the order is made; it has as
  // many. Null: its own.
  std::shared_ptr<const RecordTable> order_by;
};

// `bytes` bytes of the source from `from` stand at `to` of a part.
struct PartCopy {
  uint64_t from = 0;
  uint64_t bytes = 0;
  uint64_t to = 0;
};

// The content of a part.
struct PartPlan {
  uint64_t bytes = 0;
  std::vector<PartCopy> copies;    // by `from`
  std::vector<uint64_t> newlines;  // bytes of the part that are '\n'
};

// Thread-safe, as RecordOrder.
class ShuffledFile {
 public:
  // `order` is of shape.records; null if that is.
  ShuffledFile(ContainerShape shape, std::unique_ptr<const RecordOrder> order);

  uint64_t bytes() const { return shape_.file_bytes; }
  uint64_t part_count() const { return head_parts_ + middle_ + tail_parts_; }
  // REQUIRES: part <= part_count().
  uint64_t part_begin(uint64_t part) const;
  // REQUIRES: offset < bytes().
  uint64_t PartAt(uint64_t offset) const;
  // REQUIRES: part < part_count().
  PartPlan Plan(uint64_t part) const;
  // Whether no call takes longer than some milliseconds.
  bool is_quick() const { return order_ == nullptr || order_->is_quick(); }
  // Of a copy of a plan, on average; > 0.
  uint64_t mean_copy_bytes() const;

 private:
  PartPlan PlanRecords(uint64_t part) const;

  // Constant after construction.
  const ContainerShape shape_;
  const std::unique_ptr<const RecordOrder> order_;
  uint64_t head_bytes_ = 0;  // before the first record
  uint64_t tail_begin_ = 0;  // behind the last
  uint64_t head_parts_ = 0;
  uint64_t middle_ = 0;
  uint64_t tail_parts_ = 0;
};

// The part of a plan that gives the bytes [from, to) of the part.
PartPlan Clip(const PartPlan& plan, uint64_t from, uint64_t to);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_RECORDS_SHUFFLED_FILE_H_
