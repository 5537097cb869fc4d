// SPDX-License-Identifier: Apache-2.0
#include "core/records/order/index_text.h"

#include <algorithm>
#include <string>
#include <utility>

#include "core/formats/record_math.h"
#include "core/formats/tfrecord/tfrecord_index.h"

namespace shufflefs {
namespace {

// Of the text, if lines are not longer. A part of the records may have many
// times more text than bytes.
constexpr uint64_t kTextPartBytes = uint64_t{1} << 20;

}  // namespace

IndexText::IndexText(ContainerShape shape,
                     std::unique_ptr<const RecordOrder> order)
    : shape_(std::move(shape)),
      order_(std::move(order)),
      lines_(*shape_.index),
      line_bytes_(lines_.widths.offset + lines_.widths.bytes + 2),
      part_lines_(std::max<uint64_t>(kTextPartBytes / line_bytes_, 1)),
      blank_parts_(DivideUp(lines_.blanks, kTextPartBytes)) {}

uint64_t IndexText::part_count() const {
  return blank_parts_ + DivideUp(shape_.records->count(), part_lines_);
}

uint64_t IndexText::LineOf(uint64_t part) const {
  return std::min((part - blank_parts_) * part_lines_, shape_.records->count());
}

uint64_t IndexText::part_begin(uint64_t part) const {
  if (part < blank_parts_) return part * kTextPartBytes;
  return lines_.blanks + LineOf(part) * line_bytes_;
}

uint64_t IndexText::PartAt(uint64_t offset) const {
  if (offset < lines_.blanks) return offset / kTextPartBytes;
  return blank_parts_ + (offset - lines_.blanks) / line_bytes_ / part_lines_;
}

std::string IndexText::Lines(uint64_t first, uint64_t last) const {
  std::string text;
  text.reserve((last - first) * line_bytes_);
  for (uint64_t part = order_->PartOf(first); first < last; ++part) {
    TfrecordSpan span;
    span.offset = order_->part_begin(part);
    uint64_t at = order_->part_first(part);
    for (const uint64_t record : order_->Records(part)) {
      span.bytes = shape_.records->bytes(record);
      if (at++ == first) {
        AppendTfrecordIndexLine(span, lines_.widths, &text);
        if (++first == last) break;
      }
      span.offset += span.bytes;
    }
  }
  return text;
}

PartPlan IndexText::Plan(uint64_t part) const {
  PartPlan plan;
  plan.bytes = part_begin(part + 1) - part_begin(part);
  plan.literals.push_back({0, part < blank_parts_
                                  ? std::string(plan.bytes, ' ')
                                  : Lines(LineOf(part), LineOf(part + 1))});
  return plan;
}

}  // namespace shufflefs
