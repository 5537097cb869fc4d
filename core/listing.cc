// SPDX-License-Identifier: Apache-2.0
#include "core/listing.h"

#include <algorithm>
#include <utility>

#include "core/grouping.h"

namespace shufflefs {

Listing::Listing(std::shared_ptr<const Binding> binding, DirId dir)
    : binding_(std::move(binding)),
      dir_(dir),
      size_(binding_->plan().dataset().catalogue().dir_size(dir)) {
  const Grouping& grouping = binding_->plan().dataset().grouping();
  source_order_ =
      binding_->plan().policy().consumption() == Consumption::kSource ||
      grouping.groups_in(dir).empty();
  if (!source_order_) AddPieces();
}

void Listing::AddPieces() {
  const Dataset& dataset = binding_->plan().dataset();
  const Grouping& grouping = dataset.grouping();
  for (uint32_t k = 0; k < size_; ++k) {
    const EntryId entry = dataset.catalogue().in_source_order(dir_, k);
    if (!grouping.place(entry)) fixed_.push_back(entry);
  }
  uint64_t end = fixed_.size();
  for (const Grouping::Piece& part : grouping.groups_in(dir_)) {
    const Grouping::Group group = grouping.group(part.group);
    Piece piece;
    piece.group = part.group;
    piece.columns = group.columns;
    piece.first_index = part.first;
    piece.samples = part.count;
    end += piece.samples * piece.columns;
    piece.end = end;
    // A group that spans directories is listed by its own names here too:
    // the plan's order crosses directories, a listing cannot.
    if (!binding_->identity() || piece.samples != group.samples) {
      piece.moved = binding_->plan().Listing(part.group, dir_.value(),
                                             piece.samples);
    }
    pieces_.push_back(std::move(piece));
  }
}

EntryId Listing::At(uint32_t k) const {
  const Dataset& dataset = binding_->plan().dataset();
  if (source_order_) return dataset.catalogue().in_source_order(dir_, k);
  if (k < fixed_.size()) return fixed_[k];
  auto piece = std::upper_bound(
      pieces_.begin(), pieces_.end(), static_cast<uint64_t>(k),
      [](uint64_t value, const Piece& p) { return value < p.end; });
  const uint64_t begin = piece->end - piece->samples * piece->columns;
  const uint64_t position = (k - begin) / piece->columns;
  const uint32_t column = (k - begin) % piece->columns;
  const uint64_t index =
      piece->moved != nullptr
          ? piece->first_index + piece->moved->SampleAt(position)
          : binding_->plan().group_order(piece->group).SampleAt(position);
  return dataset.grouping().member(piece->group, index, column);
}

}  // namespace shufflefs
