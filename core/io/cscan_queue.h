// SPDX-License-Identifier: Apache-2.0
// CScanQueue keeps what waits to be read, in the order that suits the device
// best. On a disk that seeks, its arm moves from the lowest address to the
// highest, again and again. On the way it takes what was added ahead of it. If
// two sweeps shared a window of W reads, each would cover W / 2 of them. One
// endless queue covers W.
//
// Plain values. Use it from one thread.
#ifndef SHUFFLEFS_CORE_IO_CSCAN_QUEUE_H_
#define SHUFFLEFS_CORE_IO_CSCAN_QUEUE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

namespace shufflefs {

template <typename Request>
class CScanQueue {
 public:
  // Adds a request at an address of the device. If addresses do not matter, use
  // one for all; then the first request comes first.
  void Add(uint64_t address, Request request) {
    waiting_.emplace(address, std::move(request));
  }
  // Takes the next request that the arm comes to.
  std::optional<Request> Take() {
    if (waiting_.empty()) return std::nullopt;
    auto next = waiting_.lower_bound(arm_);
    if (next == waiting_.end()) next = waiting_.begin();
    arm_ = next->first;
    Request request = std::move(next->second);
    waiting_.erase(next);
    return request;
  }

  size_t size() const { return waiting_.size(); }

 private:
  std::multimap<uint64_t, Request> waiting_;
  uint64_t arm_ = 0;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_IO_CSCAN_QUEUE_H_
