// SPDX-License-Identifier: Apache-2.0
// What waits to be read, in the order in which a device reads it best: on a
// disk that seeks, its arm goes over it from the lowest address to the highest,
// round and round, and takes along what has come to lie ahead of it meanwhile.
// Of two sweeps that share a window of W reads each would go over W / 2 of
// them; one that never ends goes over W.
//
// Plain values; belongs to one thread.
#ifndef SHUFFLEFS_CORE_SAMPLER_SWEEP_H_
#define SHUFFLEFS_CORE_SAMPLER_SWEEP_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

namespace shufflefs {

class Sweep {
 public:
  struct Wish {
    uint64_t job = 0;
    uint32_t index = 0;  // of a file of the job
  };

  // At an address of the device; where that does not matter, all at one: then
  // what came first is first.
  void Add(uint64_t address, const Wish& wish) {
    waiting_.insert({address, wish});
  }
  // The next one that the arm comes to.
  std::optional<Wish> Take() {
    if (waiting_.empty()) return std::nullopt;
    auto next = waiting_.lower_bound(arm_);
    if (next == waiting_.end()) next = waiting_.begin();
    arm_ = next->first;
    const Wish wish = next->second;
    waiting_.erase(next);
    return wish;
  }

  size_t size() const { return waiting_.size(); }

 private:
  std::multimap<uint64_t, Wish> waiting_;
  uint64_t arm_ = 0;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_SAMPLER_SWEEP_H_
