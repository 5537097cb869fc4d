// SPDX-License-Identifier: Apache-2.0
// Whether the opens that were taken for those of one job are of several, which
// read the same files in orders of their own: a family of processes (one shell
// script) may have started two. Ranks read along one order and are one job.
//
// Pure; belongs to one thread. Memory: some thousand opens.
#ifndef SHUFFLEFS_CORE_CLAIRVOYANT_LOADER_WATCH_H_
#define SHUFFLEFS_CORE_CLAIRVOYANT_LOADER_WATCH_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/clairvoyant/epoch_opens.h"

namespace shufflefs {

class LoaderWatch {
 public:
  struct Loader {
    uint32_t process = 0;  // ReaderFamilies::LoaderOf
    uint64_t expected = 0;
    std::vector<EpochOpens::Open> opens;

    // Most of its opens were to be expected.
    bool is_followed() const { return 2 * expected >= opens.size(); }
  };

  // Takes note of an open of the loader; `expected`: it was along the order
  // that is followed. Not empty: these loaders are jobs of their own, one of
  // which may be the one that is followed, with what each opened lately.
  std::vector<Loader> Note(uint32_t loader, const EpochOpens::Open& open,
                           bool expected);

 private:
  static constexpr size_t kLook = 256;   // opens; then twice as many
  static constexpr size_t kMost = 1024;  // and then anew
  static constexpr size_t kEnough = 64;  // opens of each of the loaders

  std::vector<Loader> loaders_;  // by their first opens
  size_t opens_ = 0;
  size_t look_ = kLook;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_CLAIRVOYANT_LOADER_WATCH_H_
