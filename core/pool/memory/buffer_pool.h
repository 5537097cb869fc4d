// SPDX-License-Identifier: Apache-2.0
// BufferPool is the memory of an engine. One region of a fixed size serves all
// views. Each user of it has a PoolShare: an amount that is guaranteed to it.
// What others do not need now, a share may use as well. It gives that back if
// they want it.
#ifndef SHUFFLEFS_CORE_POOL_MEMORY_BUFFER_POOL_H_
#define SHUFFLEFS_CORE_POOL_MEMORY_BUFFER_POOL_H_

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "core/base/mutex.h"
#include "core/base/worker.h"
#include "core/pool/memory/arena.h"

namespace shufflefs {

class PoolShare;

// Thread-safe. Only Stop blocks. Blocks and shares keep the pool alive.
//
// A share is *active* for a while after it asked for memory. The pool keeps
// what an active share is guaranteed. All else may be lent. If a share finds no
// memory although it is guaranteed, a thread of the pool asks the borrowers to
// give back. Meanwhile the share has to do without.
class BufferPool : public std::enable_shared_from_this<BufferPool> {
 public:
  struct Options {
    // Of all shares. Exceeded only by the floor of a new share, until others
    // have given back.
    uint64_t bytes = 0;
    // A share is active for so long after it asked for memory.
    std::chrono::steady_clock::duration active_for = std::chrono::seconds(10);
  };
  // Allocates nothing yet.
  static std::shared_ptr<BufferPool> Make(const Options& options);
  ~BufferPool();

  struct ShareOptions {
    std::string name;  // for messages: the view's
    // Together the guarantees of the shares may exceed `bytes` for a while, for
    // example if a policy replaces another. Then a share may have to wait until
    // others have given back.
    uint64_t guarantee = 0;
    // Always there for this share, even if others use all the rest. At most
    // `guarantee`.
    uint64_t floor = 0;
    // The share never uses more.
    uint64_t most = std::numeric_limits<uint64_t>::max();
  };
  // The first call allocates the region. Errors: those of mmap;
  // ResourceExhausted if there is no room for the floor.
  absl::StatusOr<std::unique_ptr<PoolShare>> Open(ShareOptions options);
  // Asks nobody any more to give back. Waits for a call that is under way.
  // REQUIRES: not called by such a call.
  void Stop();

  uint64_t capacity() const { return capacity_; }
  uint64_t used() const;

 private:
  friend class PoolShare;
  class Account;
  using Clock = std::chrono::steady_clock;
  // What a share has. It stays until the last block of the share is freed.
  // mu_ guards all of it.
  struct State {
    ShareOptions options;
    uint64_t used = 0;  // bytes
    Clock::time_point active_until;
    std::function<void(uint64_t bytes)> give_back;
    std::function<void()> has_room;
    bool wants = false;  // what it is guaranteed; has_room is to be called

    uint64_t guaranteed() const {
      return std::min(options.guarantee, options.most);
    }
    // What nobody else may use.
    uint64_t kept() const { return std::max(used, options.floor); }
    // What nobody else may borrow.
    uint64_t wanted(Clock::time_point now) const {
      return std::max(kept(), now < active_until ? guaranteed() : 0);
    }
  };

  explicit BufferPool(const Options& options);
  std::unique_ptr<MemoryBlock> Allocate(const std::shared_ptr<Account>& account,
                                        uint64_t bytes);
  uint64_t Room(State& state);
  void Close(State& state);
  void Freed(State& state, uint64_t bytes);
  void Forget(const State& state);

  // The bytes that the share may use now.
  uint64_t Limit(const State& state, Clock::time_point now) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Has others give back what the share is guaranteed and does not get.
  void Want(State& state, Clock::time_point now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Has others give back so much, once for all who ask meanwhile.
  void AskFor(uint64_t bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void HaveGivenBack();
  struct Request {
    std::function<void(uint64_t bytes)> give_back;
    uint64_t bytes = 0;
  };
  std::vector<Request> WhomToAsk() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  std::vector<std::function<void()>> WhoWants()
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // Constant after construction.
  const uint64_t capacity_;
  const Clock::duration active_for_;

  Clock::time_point asked_last_;  // of the worker's thread

  mutable Mutex mu_;
  std::unique_ptr<Arena> arena_ ABSL_GUARDED_BY(mu_);  // null: no share yet
  std::vector<std::unique_ptr<State>> states_ ABSL_GUARDED_BY(mu_);
  uint64_t short_of_ ABSL_GUARDED_BY(mu_) = 0;  // bytes; > 0: a job is posted
  bool stopped_ ABSL_GUARDED_BY(mu_) = false;
  std::unique_ptr<Worker> worker_ ABSL_GUARDED_BY(mu_);  // null: one share
};

// Thread-safe. Nothing blocks. Its blocks may outlive it.
class PoolShare {
 public:
  ~PoolShare();
  PoolShare(const PoolShare&) = delete;
  PoolShare& operator=(const PoolShare&) = delete;

  // Returns null if the share may not have `bytes` bytes more now. REQUIRES:
  // bytes > 0.
  std::unique_ptr<MemoryBlock> Allocate(uint64_t bytes);
  // How many bytes Allocate would give now. Others may be faster.
  uint64_t Room();
  uint64_t guarantee() const;
  uint64_t pool_capacity() const;
  uint64_t used() const;

  // `give_back` is to free some `bytes` bytes, best those that are needed last.
  // `has_room` is called if the share got less than it is guaranteed, after
  // others were asked to give back; it may be empty. A thread of the pool calls
  // them with no lock of the pool held. It may call them once more while, and
  // just after, the share is destroyed.
  void Follow(std::function<void(uint64_t bytes)> give_back,
              std::function<void()> has_room = nullptr);

 private:
  friend class BufferPool;
  explicit PoolShare(std::shared_ptr<BufferPool::Account> account);
  const std::shared_ptr<BufferPool::Account> account_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_POOL_MEMORY_BUFFER_POOL_H_
