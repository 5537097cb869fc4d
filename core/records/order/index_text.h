// SPDX-License-Identifier: Apache-2.0
// IndexText is the index of a container (tfrecord_index.h) with its lines in
// the order in which an epoch shows the records. Its parts are those of the
// order. None needs a read of the source.
#ifndef SHUFFLEFS_CORE_RECORDS_ORDER_INDEX_TEXT_H_
#define SHUFFLEFS_CORE_RECORDS_ORDER_INDEX_TEXT_H_

#include <cstdint>
#include <memory>
#include <string>

#include "core/records/order/family_table.h"
#include "core/records/order/parted_file.h"
#include "core/records/order/record_order.h"
#include "core/records/order/shuffled_file.h"

namespace shufflefs {

class IndexText : public PartedFile {
 public:
  // `order` is of shape.records. REQUIRES: the shape has an index and records,
  // and no family; there is an order; the first record begins at 0.
  IndexText(ContainerShape shape, std::unique_ptr<const RecordOrder> order);

  uint64_t bytes() const override { return lines_.bytes; }
  uint64_t part_count() const override;
  uint64_t part_begin(uint64_t part) const override;
  uint64_t PartAt(uint64_t offset) const override;
  PartPlan Plan(uint64_t part) const override;
  PartPlan PlanSeams(uint64_t part, const TakeSeam&) const override {
    return Plan(part);
  }
  bool is_quick() const override { return order_->is_quick(); }
  // Includes the text in its plan.
  uint64_t mean_copy_bytes() const override { return sizeof(PartCopy); }
  uint64_t AheadEnd(uint64_t /*offset*/, uint64_t /*run*/) const override {
    return bytes();
  }

 private:
  // The first line of a part behind the blanks.
  uint64_t LineOf(uint64_t part) const;
  // The text of the lines [first, last).
  std::string Lines(uint64_t first, uint64_t last) const;

  // Constant after construction.
  const ContainerShape shape_;
  const std::unique_ptr<const RecordOrder> order_;
  const IndexLines lines_;
  const uint64_t line_bytes_;  // without the blanks before the first line
  const uint64_t part_lines_;
  const uint64_t blank_parts_;  // have only blanks
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_RECORDS_ORDER_INDEX_TEXT_H_
