// SPDX-License-Identifier: Apache-2.0
#include "core/binding/listing.h"

#include <algorithm>
#include <utility>

#include "core/dataset/grouping.h"

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
    const uint32_t columns = grouping.group(part.group).columns;
    end += uint64_t{part.count} * columns;
    pieces_.push_back(Piece{end, columns, ListedPiece(*binding_, dir_, part)});
  }
}

EntryId Listing::At(uint32_t k) const {
  const Dataset& dataset = binding_->plan().dataset();
  if (source_order_) return dataset.catalogue().in_source_order(dir_, k);
  if (k < fixed_.size()) return fixed_[k];
  auto piece = std::upper_bound(
      pieces_.begin(), pieces_.end(), static_cast<uint64_t>(k),
      [](uint64_t value, const Piece& p) { return value < p.end; });
  const uint64_t begin = piece->end - piece->names.samples() * piece->columns;
  const uint64_t position = (k - begin) / piece->columns;
  const uint32_t column = (k - begin) % piece->columns;
  return dataset.grouping().member(piece->names.group(),
                                   piece->names.IndexAt(position), column);
}

}  // namespace shufflefs
