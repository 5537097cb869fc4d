// SPDX-License-Identifier: Apache-2.0
// Whether threads that were not there before have taken over from those that
// were: a DataLoader starts its workers anew in each epoch. So an epoch is seen
// to begin of which nothing comes again yet, because the one before was broken
// off early, or seen in part only.
//
// Pure; belongs to one thread. Memory: some thousand opens.
#ifndef SHUFFLEFS_CORE_CLAIRVOYANT_NEW_READERS_H_
#define SHUFFLEFS_CORE_CLAIRVOYANT_NEW_READERS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "core/clairvoyant/epoch_opens.h"

namespace shufflefs {

class NewReaders {
 public:
  // Takes note. Not empty: these opens in a row, of which this is the last, are
  // all of new threads, and of the others none came in between.
  std::vector<EpochOpens::Open> Note(const EpochOpens::Open& open);
  // An epoch began for another reason; these are its first opens.
  void Begin(const std::vector<EpochOpens::Open>& first);

 private:
  static constexpr size_t kLeastOpens = 24;
  static constexpr size_t kOpensEach = 8;  // of a new thread
  static constexpr size_t kMostNew = 512;  // threads
  static constexpr size_t kMostThreads = 4096;

  // The new ones read beside the old ones.
  void Join();

  absl::flat_hash_set<uint64_t> known_;
  absl::flat_hash_set<uint64_t> new_;
  std::vector<EpochOpens::Open> opens_;  // of new_, since one of known_ came
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_CLAIRVOYANT_NEW_READERS_H_
