// SPDX-License-Identifier: Apache-2.0
// Names of an epoch that were opened before a job went on with it from a
// checkpoint, and not opened since. The job reads the names that are left. It
// may also open some of these once more: loaders read ahead of what is trained,
// and the job may have gone on after it saved. Such an open is no sign of a new
// pass.
#ifndef SHUFFLEFS_CORE_BINDING_RESUMED_NAMES_H_
#define SHUFFLEFS_CORE_BINDING_RESUMED_NAMES_H_

#include <cstdint>

#include "absl/types/span.h"
#include "core/base/name_bits.h"

namespace shufflefs {

// Not thread-safe. Memory: a bit a name once an epoch was resumed.
class ResumedNames {
 public:
  // Of `names` names `known` were opened before, and `unknown` others.
  void Begin(uint64_t names, absl::Span<const uint64_t> known,
             uint64_t unknown);
  void Clear();

  // How many were opened before and not since.
  uint64_t count() const { return known_ + unknown_; }
  uint64_t unknown() const { return unknown_; }
  // Whether `name` is one of those that are known.
  bool Knows(uint64_t name) const { return known_ > 0 && bits_.Get(name); }

  // The first open of one of the epoch's names since; of one that Knows says
  // yes to, of one that is left, and of one that may be an unknown one.
  void TakeKnown(uint64_t name);
  void TakeLeft() { ++left_; }
  void TakeUnknown() { unknown_ -= unknown_ > 0 ? 1 : 0; }

  // All that were left are read. Whether the job skipped what it had read: it
  // opened few of those names. Else it may be going over all names anew, and
  // its pass goes on.
  bool WereSkipped() const;
  template <typename Visit>
  void ForEachKnown(Visit&& visit) const {
    if (known_ > 0) bits_.ForEach(visit);
  }

 private:
  NameBits bits_{0};
  uint64_t known_ = 0;
  uint64_t unknown_ = 0;
  uint64_t left_ = 0;   // opened since, of those that were left
  uint64_t again_ = 0;  // and of those that were not
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_BINDING_RESUMED_NAMES_H_
