// SPDX-License-Identifier: Apache-2.0
// ListedPiece is the names of one group in one directory, in the order in which
// an epoch lists them.
#ifndef SHUFFLEFS_CORE_BINDING_LISTED_PIECE_H_
#define SHUFFLEFS_CORE_BINDING_LISTED_PIECE_H_

#include <cstdint>
#include <memory>

#include "core/base/types.h"
#include "core/binding/binding.h"
#include "core/dataset/grouping.h"

namespace shufflefs {

// Immutable; any thread may call. `binding` outlives it.
class ListedPiece {
 public:
  ListedPiece(const Binding& binding, DirId dir, const Grouping::Piece& piece);

  uint64_t samples() const { return piece_.count; }
  GroupId group() const { return piece_.group; }
  // The k-th name, as its sample's index in the group, and the reverse.
  // REQUIRES: k < samples(); `index` is one of the piece.
  uint64_t IndexAt(uint64_t k) const;
  uint64_t PlaceOf(uint64_t index) const;

 private:
  // Constant after construction.
  const Binding& binding_;
  const Grouping::Piece piece_;
  // If names move: k -> place in the piece. Else null: the k-th sample of the
  // plan.
  std::unique_ptr<const Order> moved_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_BINDING_LISTED_PIECE_H_
