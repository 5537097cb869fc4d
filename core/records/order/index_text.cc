// SPDX-License-Identifier: Apache-2.0
#include "core/records/order/index_text.h"

#include <algorithm>
#include <string>
#include <utility>

#include "core/formats/tfrecord/tfrecord_index.h"

namespace shufflefs {

IndexText::IndexText(ContainerShape shape,
                     std::unique_ptr<const RecordOrder> order)
    : shape_(std::move(shape)),
      order_(std::move(order)),
      lines_(*shape_.index),
      line_bytes_(lines_.widths.offset + lines_.widths.bytes + 2) {}

uint64_t IndexText::part_begin(uint64_t part) const {
  return LineBegin(order_->part_first(part));
}

uint64_t IndexText::PartAt(uint64_t offset) const {
  const uint64_t behind = offset - std::min(offset, lines_.blanks);
  return order_->PartOf(behind / line_bytes_);
}

PartPlan IndexText::Plan(uint64_t part) const {
  TfrecordSpan span;
  span.offset = order_->part_begin(part);
  std::string text;
  if (order_->part_first(part) == 0) text.assign(lines_.blanks, ' ');
  for (const uint64_t record : order_->Records(part)) {
    span.bytes = shape_.records->bytes(record);
    AppendTfrecordIndexLine(span, lines_.widths, &text);
    span.offset += span.bytes;
  }
  PartPlan plan;
  plan.bytes = text.size();
  plan.literals.push_back({0, std::move(text)});
  return plan;
}

}  // namespace shufflefs
