// SPDX-License-Identifier: Apache-2.0
#include "core/records/index/padded_builder.h"

#include "core/formats/tfrecord/tfrecord_scanner.h"

namespace shufflefs {

void SomeGaps::Add(const PaddingGap& gap) {
  if (seen_++ % every_ != 0) return;
  if (kept_.size() == kMost) Thin();
  // The last gap seen is kept only if it still has its turn.
  if ((seen_ - 1) % every_ == 0) kept_.push_back(gap);
}

void SomeGaps::Thin() {
  for (size_t i = 0; 2 * i < kept_.size(); ++i) kept_[i] = kept_[2 * i];
  kept_.resize((kept_.size() + 1) / 2);
  every_ *= 2;
}

bool PaddedBuilder::Take(const TfrecordSpan& span) {
  const uint64_t end = last_.offset + last_.bytes;
  if (span.offset < end || span.offset > file_.padded_bytes ||
      span.bytes < kTfrecordHeadBytes + kTfrecordTailBytes ||
      span.bytes > file_.padded_bytes - span.offset) {
    return false;
  }
  if (span.offset > end) gaps_.Add({end, span.offset - end});
  // Bytes between a record and the next one belong to it.
  if (shown_.count() > 0) {
    placed_.Add(span.offset - last_.offset);
  } else if (span.offset != 0) {
    return false;
  }
  shown_.Add(span.bytes);
  lines_.Add(span.bytes);
  last_ = span;
  return true;
}

bool PaddedBuilder::Finish(uint64_t idx_bytes, ContainerShape* shape) {
  if (shown_.count() != file_.records || shown_.count() == 0 ||
      shown_.end() != file_.stripped_bytes ||
      last_.offset + last_.bytes != file_.padded_bytes) {
    return false;
  }
  placed_.Add(last_.bytes);
  shape->file_bytes = file_.stripped_bytes;
  shape->index = lines_.Finish(idx_bytes);
  shape->records = shown_.Finish();
  shape->placed = placed_.Finish();
  shape->order_by = shape->placed;  // pages are those of the file
  return true;
}

}  // namespace shufflefs
