// SPDX-License-Identifier: Apache-2.0
#include "core/dataset/grouping.h"

#include <algorithm>
#include <utility>

#include "core/base/status.h"
#include "core/dataset/grouping_builder.h"

namespace shufflefs {

absl::StatusOr<Grouping> Grouping::Make(const Catalogue& catalogue,
                                        const GroupingOptions& options) {
  ASSIGN_OR_RETURN(GroupLabels labels,
                   ParseGroupsFile(catalogue, options.root, options.groups_text,
                                   options.groups_name));
  return GroupingBuilder(catalogue, options, std::move(labels)).Build();
}

Grouping Grouping::WithoutFiles(absl::Span<const uint32_t> sizes) {
  Grouping grouping;
  grouping.moves_ = true;
  for (const uint32_t size : sizes) {
    Group group;
    group.first_sample = grouping.sample_count_;
    group.samples = size;
    group.columns = 1;
    group.key = grouping.groups_.size();
    grouping.groups_.push_back(group);
    grouping.sample_count_ += size;
  }
  return grouping;
}

absl::optional<Grouping::Place> Grouping::place(EntryId entry) const {
  // Entries before the view wrap around to large numbers.
  uint32_t row = entry.value() - first_entry_;
  if (row >= slot_.size() || slot_[row] == GroupingBuilder::kFixed) {
    return absl::nullopt;
  }
  const uint32_t id = GroupAt(slot_[row]);
  const Group& group = groups_[id];
  const uint32_t offset = slot_[row] - group.first_slot;
  return Place{GroupId(id), offset / group.columns, offset % group.columns};
}

uint32_t Grouping::GroupAt(uint32_t slot) const {
  const auto behind =
      std::upper_bound(first_slots_.begin(), first_slots_.end(), slot);
  return static_cast<uint32_t>(behind - first_slots_.begin() - 1);
}

EntryId Grouping::member(GroupId id, uint32_t index, uint32_t column) const {
  const Group& group = groups_[id.value()];
  return EntryId(members_[group.first_slot + index * group.columns + column]);
}

SampleId Grouping::sample(EntryId entry) const {
  Place at = *place(entry);
  return SampleId(groups_[at.group.value()].first_sample + at.index);
}

GroupId Grouping::group_of(SampleId sample) const {
  auto behind = std::upper_bound(
      groups_.begin(), groups_.end(), sample.value(),
      [](uint64_t s, const Group& group) { return s < group.first_sample; });
  return GroupId(static_cast<uint32_t>(behind - groups_.begin() - 1));
}

uint32_t Grouping::columns(SampleId sample) const {
  return group(group_of(sample)).columns;
}

EntryId Grouping::member(SampleId sample, uint32_t column) const {
  const GroupId id = group_of(sample);
  return member(id,
                static_cast<uint32_t>(sample.value() - group(id).first_sample),
                column);
}

EntryId Grouping::first_member(SampleId sample) const {
  return member(sample, 0);
}

absl::Span<const Grouping::Piece> Grouping::groups_in(DirId dir) const {
  uint32_t row = dir.value() - first_dir_.value();
  if (row + 1 >= piece_of_.size() || dir < first_dir_) return {};
  return absl::MakeConstSpan(pieces_).subspan(
      piece_of_[row], piece_of_[row + 1] - piece_of_[row]);
}

uint64_t Grouping::memory_bytes() const {
  return groups_.capacity() * sizeof(Group) +
         (slot_.capacity() + members_.capacity() + first_slots_.capacity() +
          piece_of_.capacity()) *
             sizeof(uint32_t) +
         pieces_.capacity() * sizeof(Piece);
}

}  // namespace shufflefs
