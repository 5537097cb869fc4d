// SPDX-License-Identifier: Apache-2.0
// Strong types for ids: the compiler never takes one kind of id for another.
// All are plain values that you can copy, compare and hash.
#ifndef SHUFFLEFS_CORE_BASE_TYPES_H_
#define SHUFFLEFS_CORE_BASE_TYPES_H_

#include <compare>
#include <cstdint>
#include <utility>

namespace shufflefs {

// An integer with a tag. Both conversions are explicit.
template <typename Tag, typename Rep>
class StrongInt {
 public:
  using rep = Rep;
  constexpr StrongInt() = default;
  constexpr explicit StrongInt(Rep value) : value_(value) {}
  constexpr Rep value() const { return value_; }
  friend constexpr auto operator<=>(StrongInt, StrongInt) = default;
  template <typename H>
  friend H AbslHashValue(H h, StrongInt id) {
    return H::combine(std::move(h), id.value_);
  }

 private:
  Rep value_ = 0;
};

// A name in the catalogue: a file, link, special file or subdirectory. Ids are
// dense. Those of one directory are adjacent and sorted by name bytes.
using EntryId = StrongInt<struct EntryTag, uint32_t>;
// A directory of the catalogue; 0 is the root of the source.
using DirId = StrongInt<struct DirTag, uint32_t>;
// A group of samples that may stand in for each other, within one view.
using GroupId = StrongInt<struct GroupTag, uint32_t>;
// A sample of one view. Ids are dense from 0, group by group.
using SampleId = StrongInt<struct SampleTag, uint64_t>;
// One pass over a view.
using Epoch = StrongInt<struct EpochTag, uint64_t>;
// The user's seed of every plan.
using Seed = StrongInt<struct SeedTag, uint64_t>;

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_BASE_TYPES_H_
