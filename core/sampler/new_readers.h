// SPDX-License-Identifier: Apache-2.0
// NewReaders finds out whether new threads have replaced the earlier ones. A
// DataLoader starts new workers in each epoch. So this shows a new epoch even
// if no file is opened again yet. This happens if the last epoch was stopped
// early or seen only in part.
//
// Use it from one thread. Pure except for what it is given. Memory: some
// thousand opens.
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
  // Returns whether a thread has ended. If a worker merely starts late, the
  // other threads still exist.
  using IsGone = std::function<bool(uint64_t thread)>;
  explicit NewReaders(IsGone is_gone) : is_gone_(std::move(is_gone)) {}

  // Records an open. If the result is not empty, all of these last opens are of
  // new threads, and all earlier threads are gone. `open` is the last of them.
  std::vector<EpochOpens::Open> Note(const EpochOpens::Open& open);
  // An epoch began for another reason. `first` are its first opens.
  void Begin(const std::vector<EpochOpens::Open>& first);

 private:
  static constexpr size_t kLeastOpens = 16;  // then it is checked less often
  static constexpr size_t kOpensEach = 4;    // per new thread
  static constexpr size_t kMostOpens = 4096;
  static constexpr size_t kMostNew = 512;  // threads
  static constexpr size_t kMostThreads = 1024;

  bool AreOthersGone() const;
  // The new threads read beside the old ones.
  void Join();

  const IsGone is_gone_;
  absl::flat_hash_set<uint64_t> known_;
  absl::flat_hash_set<uint64_t> new_;
  std::vector<EpochOpens::Open> opens_;  // of new_, since one of known_ read
  size_t look_ = kLeastOpens;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_SAMPLER_NEW_READERS_H_
