// SPDX-License-Identifier: Apache-2.0
#include "core/records/shuffled_file.h"

#include <algorithm>
#include <utility>

namespace shufflefs {
namespace {

constexpr uint64_t kPlainPart = uint64_t{1} << 20;  // of head and tail

uint64_t PartsOf(uint64_t bytes) {
  return bytes / kPlainPart + (bytes % kPlainPart != 0);
}

}  // namespace

ShuffledFile::ShuffledFile(ContainerShape shape,
                           std::unique_ptr<const RecordOrder> order)
    : shape_(std::move(shape)), order_(std::move(order)) {
  if (order_ == nullptr) {
    head_bytes_ = tail_begin_ = shape_.file_bytes;
  } else {
    const RecordTable& table = *shape_.records;
    head_bytes_ = table.begin(0);
    tail_begin_ = std::min(table.begin(table.count()), shape_.file_bytes);
    middle_ = order_->part_count();
  }
  head_parts_ = PartsOf(head_bytes_);
  tail_parts_ = PartsOf(shape_.file_bytes - tail_begin_);
}

uint64_t ShuffledFile::part_begin(uint64_t part) const {
  if (part < head_parts_) return part * kPlainPart;
  part -= head_parts_;
  // Parts without a record behind the last may begin at the line's end that it
  // gave up.
  if (part < middle_) {
    return std::min(head_bytes_ + order_->part_begin(part), tail_begin_);
  }
  part -= middle_;
  return std::min(tail_begin_ + part * kPlainPart, shape_.file_bytes);
}

uint64_t ShuffledFile::PartAt(uint64_t offset) const {
  if (offset < head_bytes_) return offset / kPlainPart;
  if (offset < tail_begin_) {
    return head_parts_ + order_->PartAt(offset - head_bytes_);
  }
  return head_parts_ + middle_ + (offset - tail_begin_) / kPlainPart;
}

PartPlan ShuffledFile::Plan(uint64_t part) const {
  if (part >= head_parts_ && part < head_parts_ + middle_) {
    return PlanRecords(part - head_parts_);
  }
  PartPlan plan;
  const uint64_t from = part_begin(part);
  const uint64_t end = part < head_parts_
                           ? std::min((part + 1) * kPlainPart, head_bytes_)
                           : part_begin(part + 1);
  plan.bytes = end - from;
  plan.copies.push_back({from, plan.bytes, 0});
  return plan;
}

uint64_t ShuffledFile::mean_copy_bytes() const {
  if (order_ == nullptr) return kPlainPart;
  const uint64_t count = std::max<uint64_t>(shape_.records->count(), 1);
  return std::max<uint64_t>((tail_begin_ - head_bytes_) / count, 1);
}

PartPlan ShuffledFile::PlanRecords(uint64_t part) const {
  const RecordTable& table = *shape_.records;
  const uint64_t most = tail_begin_ - part_begin(head_parts_ + part);
  PartPlan plan;
  for (const uint64_t record : order_->Records(part)) {
    const uint64_t from = table.begin(record);
    uint64_t bytes = table.bytes(record);
    if (shape_.lacks_newline && record + 1 == table.count()) {
      --bytes;
      plan.newlines.push_back(plan.bytes + bytes);
    }
    if (bytes > 0) plan.copies.push_back({from, bytes, plan.bytes});
    plan.bytes += table.bytes(record);
  }
  // The record that comes last gives up its line's end.
  if (plan.bytes > most) return Clip(plan, 0, most);
  std::sort(
      plan.copies.begin(), plan.copies.end(),
      [](const PartCopy& a, const PartCopy& b) { return a.from < b.from; });
  return plan;
}

PartPlan Clip(const PartPlan& plan, uint64_t from, uint64_t to) {
  PartPlan clipped;
  clipped.bytes = to - from;
  for (const PartCopy& copy : plan.copies) {
    const uint64_t begin = std::max(copy.to, from);
    const uint64_t end = std::min(copy.to + copy.bytes, to);
    if (begin >= end) continue;
    clipped.copies.push_back(
        {copy.from + (begin - copy.to), end - begin, begin - from});
  }
  for (const uint64_t at : plan.newlines) {
    if (at >= from && at < to) clipped.newlines.push_back(at - from);
  }
  std::sort(
      clipped.copies.begin(), clipped.copies.end(),
      [](const PartCopy& a, const PartCopy& b) { return a.from < b.from; });
  return clipped;
}

}  // namespace shufflefs
