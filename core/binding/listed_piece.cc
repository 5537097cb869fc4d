// SPDX-License-Identifier: Apache-2.0
#include "core/binding/listed_piece.h"

namespace shufflefs {

ListedPiece::ListedPiece(const Binding& binding, DirId dir,
                         const Grouping::Piece& piece)
    : binding_(binding), piece_(piece) {
  const Grouping& grouping = binding.plan().dataset().grouping();
  // A group that spans directories also lists its own names here: the plan's
  // order crosses directories, but a listing cannot.
  if (!binding.identity() ||
      piece.count != grouping.group(piece.group).samples) {
    moved_ = binding.plan().Listing(piece.group, dir.value(), piece.count);
  }
}

uint64_t ListedPiece::IndexAt(uint64_t k) const {
  return moved_ != nullptr
             ? piece_.first + moved_->SampleAt(k)
             : binding_.plan().group_order(piece_.group).SampleAt(k);
}

uint64_t ListedPiece::PlaceOf(uint64_t index) const {
  return moved_ != nullptr
             ? moved_->PositionOf(index - piece_.first)
             : binding_.plan().group_order(piece_.group).PositionOf(index);
}

}  // namespace shufflefs
