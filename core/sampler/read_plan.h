// SPDX-License-Identifier: Apache-2.0
// What to read ahead of the threads that read along a known order. A loader's
// workers stand at different places, each in a batch of its own, so what is
// wanted next is what follows each of them.
//
// Pure; belongs to one thread.
#ifndef SHUFFLEFS_CORE_SAMPLER_READ_PLAN_H_
#define SHUFFLEFS_CORE_SAMPLER_READ_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"

namespace shufflefs {

class ReadPlan {
 public:
  // `order`: the indices of the epoch, each below n, from its begin; where one
  // comes again (a sampler's padding) its first place counts. `opened`, of n:
  // what was opened of them before, and is not to be read ahead.
  ReadPlan(std::vector<uint32_t> order, std::vector<bool> opened);

  // A thread that reads along the order opened `index`.
  void Came(uint64_t thread, uint32_t index);
  // Anybody opened it: it is not to be read ahead any more.
  void Opened(uint32_t index);

  // Up to `most` indices that are wanted next, those first that are wanted
  // first; taken as read from now on. Nothing before a thread has come.
  std::vector<uint32_t> Next(size_t most);

  // Whether what was read at `index` may still be opened.
  bool Awaits(uint32_t index) const { return states_[index] == State::kRead; }
  // Indices that Next() gave, that were not opened, and that not all threads
  // have passed by.
  uint64_t ahead() const { return ahead_; }

 private:
  enum class State : uint8_t { kUnread, kRead, kOpened };  // or passed by
  struct Front {
    uint32_t place = 0;  // behind the last that was opened
    uint32_t scan = 0;   // what lies between has been given, or opened
    uint64_t came = 0;   // clock_ then
  };

  void DropIdle();
  void PassBy();

  std::vector<uint32_t> order_;
  std::vector<uint32_t> places_;  // by index; order_.size(): none
  std::vector<State> states_;     // by index
  absl::flat_hash_map<uint64_t, Front> fronts_;  // by thread
  uint64_t clock_ = 0;                           // Came()
  uint64_t ahead_ = 0;
  uint32_t passed_ = 0;  // place: of what lies before nothing is awaited
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_SAMPLER_READ_PLAN_H_
