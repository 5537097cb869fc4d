// SPDX-License-Identifier: Apache-2.0
// TestMemory makes memory for one pool, which has it alone. A Neighbour is
// another user of a pool.
#ifndef SHUFFLEFS_TESTS_CORE_POOL_TEST_MEMORY_H_
#define SHUFFLEFS_TESTS_CORE_POOL_TEST_MEMORY_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "core/base/metrics.h"
#include "core/pool/pool_memory.h"
#include "core/random/random.h"

namespace shufflefs::testing_support {

inline PoolMemory TestMemory(uint64_t bytes, StallClock* stall = nullptr) {
  return {BufferPool::Make({.bytes = bytes}),
          std::make_shared<BypassReads>(BypassReads::BytesOf(bytes), stall),
          bytes, "test"};
}

// A pool of which a view is guaranteed half, and a neighbour the other half.
inline PoolMemory SharedMemory(uint64_t bytes, StallClock* stall = nullptr) {
  PoolMemory memory = TestMemory(bytes, stall);
  memory.pool = BufferPool::Make({.bytes = 2 * bytes});
  return memory;
}

// Takes what it is guaranteed, and lets it go. Not thread-safe.
class Neighbour {
 public:
  explicit Neighbour(const PoolMemory& memory)
      : bytes_(memory.guarantee),
        share_(*memory.pool->Open(
            {.name = "neighbour", .guarantee = bytes_, .most = bytes_})) {}

  // Takes a few pieces, or lets some or all go.
  void Step(Rng& rng) {
    const uint64_t count = rng.Bounded(4);
    for (uint64_t i = 0; i < count; ++i) Take();
    if (rng.Bounded(8) == 0) blocks_.clear();
  }
  // Returns whether it got all that it is guaranteed. Waits for others.
  bool TakeAll() {
    const auto end =
        std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (share_->used() + kPiece <= bytes_) {
      if (Take()) continue;
      if (std::chrono::steady_clock::now() > end) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return true;
  }

 private:
  static constexpr uint64_t kPiece = uint64_t{64} << 10;
  bool Take() {
    auto block = share_->Allocate(kPiece);
    if (block == nullptr) return false;
    blocks_.push_back(std::move(block));
    return true;
  }

  const uint64_t bytes_;
  const std::unique_ptr<PoolShare> share_;
  std::vector<std::unique_ptr<MemoryBlock>> blocks_;
};

}  // namespace shufflefs::testing_support

#endif  // SHUFFLEFS_TESTS_CORE_POOL_TEST_MEMORY_H_
