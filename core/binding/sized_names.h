// SPDX-License-Identifier: Apache-2.0
// Samples that threads were told of by a lookup and have not opened since. Such
// a thread may have asked for the size, and will open what has that size; so
// over a boundary in between the name must go on showing it.
#ifndef SHUFFLEFS_CORE_BINDING_SIZED_NAMES_H_
#define SHUFFLEFS_CORE_BINDING_SIZED_NAMES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/types.h"

namespace shufflefs {

// Not thread-safe: the view's lock guards it. The last kMostOfReader samples
// of a thread are kept, so who sizes a whole tree keeps no more than these.
class SizedNames {
 public:
  static constexpr size_t kMost = 1024;
  static constexpr size_t kMostOfReader = 8;
  // Thread 0 stands for all that are hidden.
  static constexpr size_t kMostHidden = 64;

  void NoteLookup(SampleId sample, uint32_t reader);
  // The thread opens it. Returns how often it was told of it since its last
  // open: the walk to the file itself is once.
  uint32_t TakeOpen(SampleId sample, uint32_t reader);
  void AppendTo(std::vector<SampleId>& samples) const;
  void Clear() { told_.clear(); }

 private:
  struct Told {
    SampleId sample;
    uint32_t reader = 0;
    uint32_t times = 1;
  };
  // Oldest first. Short: mostly one a thread that is just on its way.
  std::vector<Told> told_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_BINDING_SIZED_NAMES_H_
