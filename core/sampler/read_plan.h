// SPDX-License-Identifier: Apache-2.0
// ReadPlan says what to prefetch for the threads that read along a known order.
// The workers of a loader are at different places, each in its own batch. So
// the plan goes on behind each of them.
//
// Pure. Use it from one thread.
#ifndef SHUFFLEFS_CORE_SAMPLER_READ_PLAN_H_
#define SHUFFLEFS_CORE_SAMPLER_READ_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"

namespace shufflefs {

class ReadPlan {
 public:
  // `order` has the indices of the epoch from its begin, each below n. If an
  // index is repeated (the padding of a sampler), its first place counts.
  // `opened` has n bits: the files that were already opened and are not
  // prefetched.
  ReadPlan(std::vector<uint32_t> order, std::vector<bool> opened);

  // A thread that reads along the order opened `index`.
  void Came(uint64_t thread, uint32_t index);
  // Any thread opened `index`. It is no longer prefetched.
  void Opened(uint32_t index);

  // Returns up to `most` indices to prefetch, the most urgent first. They count
  // as read from now on. Returns nothing before a thread has come.
  std::vector<uint32_t> Next(size_t most);

  // Returns whether the prefetched file `index` may still be opened.
  bool Awaits(uint32_t index) const { return states_[index] == State::kRead; }
  // The number of indices that Next() returned, that were not opened and that
  // not all threads have passed.
  uint64_t ahead() const { return ahead_; }

 private:
  enum class State : uint8_t { kUnread, kRead, kOpened };  // or passed
  struct Front {
    uint32_t place = 0;  // one past the last that was opened
    uint32_t scan = 0;   // everything in between was returned or opened
    uint64_t came = 0;   // clock_ at its last open
  };

  void DropIdle();
  void PassBy();

  std::vector<uint32_t> order_;
  std::vector<uint32_t> places_;  // by index; order_.size(): none
  std::vector<State> states_;     // by index
  absl::flat_hash_map<uint64_t, Front> fronts_;  // by thread
  uint64_t clock_ = 0;                           // calls of Came()
  uint64_t ahead_ = 0;
  uint32_t passed_ = 0;  // place; nothing before it is awaited
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_SAMPLER_READ_PLAN_H_
