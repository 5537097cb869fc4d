// SPDX-License-Identifier: Apache-2.0
// SizedNames holds samples that threads got by a lookup and have not opened
// since. Such a thread may have asked for the size and may soon open a file of
// that size. So the name must show the same sample after a boundary in between.
#ifndef SHUFFLEFS_CORE_BINDING_SIZED_NAMES_H_
#define SHUFFLEFS_CORE_BINDING_SIZED_NAMES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/types.h"

namespace shufflefs {

// Not thread-safe: the view's lock guards it. Only the last kMostOfReader
// samples per thread are kept, also for a thread that stats a whole tree.
class SizedNames {
 public:
  static constexpr size_t kMost = 1024;
  static constexpr size_t kMostOfReader = 8;
  // Thread 0 stands for all hidden threads.
  static constexpr size_t kMostHidden = 64;

  void NoteLookup(SampleId sample, uint32_t reader);
  // The thread opens the sample. Returns how often it looked up the sample
  // since its last open; the walk to the file itself counts as one.
  uint32_t TakeOpen(SampleId sample, uint32_t reader);
  // The same for an open that is known late: lookups of the sample except one
  // may have followed it. If lookups were dropped, its own may be among them,
  // and the one that is kept may be followed by an open that is not known yet.
  // Then it takes nothing: to keep a sample too long is harmless.
  void TakeOne(SampleId sample, uint32_t reader);
  void AppendTo(std::vector<SampleId>& samples) const;
  void Clear();

 private:
  struct Told {
    SampleId sample;
    uint32_t reader = 0;
    uint32_t times = 1;
  };
  std::vector<Told>::iterator Find(SampleId sample, uint32_t reader);

  // Oldest first. Short: mostly one entry per thread that is about to open a
  // file.
  std::vector<Told> told_;
  bool dropped_ = false;  // told_ would have been too long
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_BINDING_SIZED_NAMES_H_
