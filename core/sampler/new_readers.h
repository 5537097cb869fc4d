// SPDX-License-Identifier: Apache-2.0
// Whether threads that were not there before have taken over from those that
// were: a DataLoader starts its workers anew in each epoch. So an epoch is seen
// to begin of which nothing comes again yet, because the one before was broken
// off early, or seen in part only.
//
// Belongs to one thread; pure but for what it is given. Memory: some thousand
// opens.
#ifndef SHUFFLEFS_CORE_SAMPLER_NEW_READERS_H_
#define SHUFFLEFS_CORE_SAMPLER_NEW_READERS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "core/sampler/epoch_opens.h"

namespace shufflefs {

class NewReaders {
 public:
  // Whether a thread has ended. A worker that merely begins later than the
  // others finds them there.
  using IsGone = std::function<bool(uint64_t thread)>;
  explicit NewReaders(IsGone is_gone) : is_gone_(std::move(is_gone)) {}

  // Takes note. Not empty: these opens in a row, of which this is the last, are
  // all of new threads, and the others are gone.
  std::vector<EpochOpens::Open> Note(const EpochOpens::Open& open);
  // An epoch began for another reason; these are its first opens.
  void Begin(const std::vector<EpochOpens::Open>& first);

 private:
  static constexpr size_t kLeastOpens = 16;  // then looked at more seldom
  static constexpr size_t kOpensEach = 4;    // of a new thread
  static constexpr size_t kMostOpens = 4096;
  static constexpr size_t kMostNew = 512;  // threads
  static constexpr size_t kMostThreads = 1024;

  bool AreOthersGone() const;
  // The new ones read beside the old ones.
  void Join();

  const IsGone is_gone_;
  absl::flat_hash_set<uint64_t> known_;
  absl::flat_hash_set<uint64_t> new_;
  std::vector<EpochOpens::Open> opens_;  // of new_, since one of known_ came
  size_t look_ = kLeastOpens;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_SAMPLER_NEW_READERS_H_
