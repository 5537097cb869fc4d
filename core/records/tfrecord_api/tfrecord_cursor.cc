// SPDX-License-Identifier: Apache-2.0
#include "core/records/tfrecord_api/tfrecord_cursor.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/base/status.h"
#include "core/formats/tfrecord/tfrecord_frame.h"
#include "core/policy/policy.h"
#include "core/random/random.h"

namespace shufflefs {
namespace {

constexpr uint64_t kCursorPart = uint64_t{1} << 20;

// The policy that MakeRecordOrder needs, for the records of one file.
class FilePolicy : public Policy {
 public:
  explicit FilePolicy(const TfrecordOrder& order) : order_(order) {}

  absl::string_view name() const override { return "tfrecord"; }
  Consumption consumption() const override { return Consumption::kPlanned; }
  bool shuffles_records() const override {
    return order_.unit != TfrecordOrder::Unit::kNone;
  }
  RecordBlocks record_blocks() const override {
    const bool pages = order_.unit == TfrecordOrder::Unit::kPage;
    return {.bytes = pages ? order_.page_bytes : 0, .window = 1};
  }

 private:
  const TfrecordOrder order_;
};

uint64_t CountParts(uint64_t a, uint64_t b) { return a / b + (a % b != 0); }

}  // namespace

absl::StatusOr<TfrecordCursor> TfrecordCursor::Make(
    std::shared_ptr<const TfrecordFile> file, const TfrecordOrder& order) {
  if (order.unit == TfrecordOrder::Unit::kPage && order.page_bytes == 0) {
    return absl::InvalidArgumentError("a page must have at least one byte");
  }
  return TfrecordCursor(std::move(file), order);
}

TfrecordCursor::TfrecordCursor(std::shared_ptr<const TfrecordFile> file,
                               const TfrecordOrder& order)
    : file_(std::move(file)),
      order_(order),
      policy_(std::make_unique<FilePolicy>(order)) {
  Start(Epoch(0));
}

void TfrecordCursor::Start(Epoch epoch) {
  held_.clear();
  next_ = 0;
  part_ = 0;
  part_count_ = 0;
  const OffsetTable& table = file_->table();
  if (table.count() == 0) return;
  RecordOrderOptions options;
  options.key = order_.key;
  options.seed = order_.seed;
  options.epoch = epoch;
  records_ = MakeRecordOrder(*policy_, table, options);
  if (records_ != nullptr) {
    part_count_ = records_->part_count();
    return;
  }
  const uint64_t mean = table.begin(table.count()) / table.count();
  per_part_ = std::max<uint64_t>(kCursorPart / mean, 1);
  part_count_ = CountParts(table.count(), per_part_);
}

std::vector<uint64_t> TfrecordCursor::RecordsOf(uint64_t part) const {
  if (records_ != nullptr) return records_->Records(part);
  const uint64_t first = part * per_part_;
  std::vector<uint64_t> records(std::min(per_part_, file_->count() - first));
  std::iota(records.begin(), records.end(), first);
  return records;
}

absl::Status TfrecordCursor::ReadPart(uint64_t part) {
  const OffsetTable& table = file_->table();
  const std::vector<uint64_t> records = RecordsOf(part);
  held_.resize(records.size());
  next_ = 0;
  // Indices in `records`, sorted by the records' positions in the file.
  std::vector<size_t> by_place(records.size());
  std::iota(by_place.begin(), by_place.end(), size_t{0});
  std::sort(by_place.begin(), by_place.end(),
            [&](size_t a, size_t b) { return records[a] < records[b]; });
  uint64_t bytes = 0;
  for (const size_t place : by_place) {
    held_[place] = {.id = records[place], .at = bytes};
    bytes += table.bytes(records[place]);
  }
  buffer_.resize(bytes);
  for (size_t i = 0; i < by_place.size();) {
    const Held& first = held_[by_place[i]];
    size_t run = 1;
    while (i + run < by_place.size() &&
           held_[by_place[i + run]].id == first.id + run) {
      ++run;
    }
    const uint64_t begin = table.begin(first.id);
    RETURN_IF_ERROR(file_->ReadAt(
        begin, absl::MakeSpan(&buffer_[first.at],
                              table.begin(first.id + run) - begin)));
    i += run;
  }
  return absl::OkStatus();
}

absl::StatusOr<TfrecordInstance> TfrecordCursor::Next() {
  while (next_ == held_.size()) {
    if (part_ == part_count_) {
      return absl::OutOfRangeError("the epoch is over");
    }
    const absl::Status read = ReadPart(part_);
    if (!read.ok()) {
      held_.clear();
      next_ = 0;
      ++part_;
      return read;
    }
    ++part_;
  }
  const Held& held = held_[next_++];
  const OffsetTable& table = file_->table();
  const absl::StatusOr<absl::string_view> data = TfrecordData(
      {buffer_.data() + held.at, table.bytes(held.id)}, table.begin(held.id));
  if (!data.ok()) return Annotate(data.status(), file_->path());
  return TfrecordInstance{.id = held.id, .data = *data};
}

}  // namespace shufflefs
