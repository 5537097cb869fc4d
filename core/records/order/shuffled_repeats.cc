// SPDX-License-Identifier: Apache-2.0
// The part of ShuffledFile for mini-epochs: where they come in the file, and
// where their records are.
#include <algorithm>

#include "core/records/order/shuffled_file.h"

namespace shufflefs {

ShuffledFile::OrderParts ShuffledFile::ShownParts() const {
  const Stretch shown = stretch();
  return {shown.first_part, shown.last_part};
}

absl::optional<uint64_t> ShuffledFile::OrderPartAt(uint64_t offset) const {
  const Stretch shown = stretch();
  if (offset < head_bytes_ || offset - head_bytes_ >= shown.bytes()) {
    return absl::nullopt;
  }
  return order()->PartAt(shown.begin + offset - head_bytes_);
}

std::vector<PartCopy> ShuffledFile::PlacesOf(
    const PartRecords::Run& run) const {
  const FamilyTable& family = *family_->table;
  std::vector<PartCopy> places;
  for (uint64_t at = run.first; at < run.last;) {
    const size_t member = family.MemberOf(at);
    const ContainerShape& shape = family.member(member);
    const RecordTable& table =
        shape.placed != nullptr ? *shape.placed : *shape.records;
    const uint64_t first = at - family.first(member);
    const uint64_t last =
        std::min(run.last - family.first(member), shape.records->count());
    const uint64_t begin = table.begin(first);
    // A missing line end is not in the file.
    const uint64_t end =
        std::min(table.begin(last - 1) + shape.records->bytes(last - 1),
                 shape.file_bytes);
    if (end > begin) places.push_back({begin, end - begin, 0, member});
    at = family.first(member) + last;
  }
  return places;
}

// The end of the repetitions of the current mini-epoch. In the last repetition,
// also includes those of the next one, because it was copied to the faster tier
// meanwhile.
uint64_t ShuffledFile::EndOfMiniEpochs(uint64_t offset) const {
  const OrderParts shown = ShownParts();
  if (shown.first == shown.last) return bytes();
  const uint64_t part = OrderPartAt(offset).value_or(
      offset < head_bytes_ ? shown.first : shown.last - 1);
  const RepeatOrder& order = *repeats();
  const bool is_last = order.RepetitionOf(part) + 1 == order.options().factor;
  const uint64_t end =
      order.EndOfMiniEpoch(order.MiniEpochOf(part) + (is_last ? 1 : 0));
  if (end >= shown.last) return bytes();
  return head_bytes_ + MiddleBegin(stretch(), end - shown.first);
}

}  // namespace shufflefs
