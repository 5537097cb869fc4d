// SPDX-License-Identifier: Apache-2.0
// The order in which a directory of the live view lists its names in one
// epoch, computed name by name, so that an open directory of a million names
// costs no table and seeks in constant time.
#ifndef SHUFFLEFS_CORE_BINDING_LISTING_H_
#define SHUFFLEFS_CORE_BINDING_LISTING_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "core/base/types.h"
#include "core/binding/binding.h"
#include "core/binding/listed_piece.h"

namespace shufflefs {

// Immutable; any thread may call. Keeps its epoch's binding alive, so a
// directory handle lists one order however long it stays open.
//
// A directory whose policy is the source's lists in the source's readdir
// order. Otherwise files that keep their own content and directories come
// first, in source order, then the samples, group by group: where names show
// other samples, so that a reader in listing order gets a rotation of the
// plan; where they do not, in plan order.
class Listing {
 public:
  Listing(std::shared_ptr<const Binding> binding, DirId dir);

  uint32_t size() const { return size_; }
  // The k-th name. REQUIRES: k < size().
  EntryId At(uint32_t k) const;
  const Binding& binding() const { return *binding_; }

 private:
  struct Piece {
    uint64_t end = 0;  // listing positions of this piece end here
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
