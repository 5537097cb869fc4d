// SPDX-License-Identifier: Apache-2.0
// Listing is the order in which a directory of the live view lists its names in
// one epoch. It computes each name by its position. So an open directory of a
// million names needs no table and seeks in constant time.
#ifndef SHUFFLEFS_CORE_BINDING_LISTING_H_
#define SHUFFLEFS_CORE_BINDING_LISTING_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "core/base/types.h"
#include "core/binding/binding.h"
#include "core/binding/listed_piece.h"

namespace shufflefs {

// Immutable; any thread may call. It keeps its epoch's binding alive, so a
// directory handle lists one order however long it stays open.
//
// If the policy's order is the source's, the directory lists in the source's
// readdir order. Otherwise directories and files that keep their own content
// come first, in source order. Then come the samples, group by group. If names
// show other samples, the reader gets a rotation of the plan in listing order.
// If not, names are listed in plan order.
class Listing {
 public:
  Listing(std::shared_ptr<const Binding> binding, DirId dir);

  uint32_t size() const { return size_; }
  // The k-th name. REQUIRES: k < size().
  EntryId At(uint32_t k) const;
  const Binding& binding() const { return *binding_; }

 private:
  struct Piece {
    uint64_t end = 0;  // end of this piece in listing positions
    uint32_t columns = 1;
    ListedPiece names;
  };
  void AddPieces();

  // Constant after construction.
  const std::shared_ptr<const Binding> binding_;
  const DirId dir_;
  const uint32_t size_;
  bool source_order_ = false;
  std::vector<EntryId> fixed_;
  std::vector<Piece> pieces_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_BINDING_LISTING_H_
