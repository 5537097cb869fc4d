// SPDX-License-Identifier: Apache-2.0
// LoneReads reads pieces of files that readers wait for. It reads past the
// pool, into a small memory of its own. If that is used up, the next piece is
// read as soon as another read has ended.
#ifndef SHUFFLEFS_CORE_POOL_LONE_READS_H_
#define SHUFFLEFS_CORE_POOL_LONE_READS_H_

#include <cstdint>
#include <deque>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "core/base/metrics.h"
#include "core/base/mutex.h"
#include "core/base/types.h"
#include "core/pool/arena.h"
#include "core/pool/sample_memory.h"
#include "core/pool/sample_source.h"

namespace shufflefs {

// A reader that waits for bytes of a file.
struct ReadWaiter {
  uint64_t offset = 0;  // offset + length is within the file
  uint64_t length = 0;  // > 0
  SampleMemory::ReadDone done;
};

// Thread-safe. No call waits for a device. May be destroyed while reads are
// under way.
class LoneReads : public std::enable_shared_from_this<LoneReads> {
 public:
  // The most that one read reads. The kernel asks for no more.
  static constexpr uint64_t kLongestRead = 1 << 20;

  // `stall` outlives this; may be null. REQUIRES: bytes >= 2 * kLongestRead.
  static absl::StatusOr<std::shared_ptr<LoneReads>> Make(
      uint64_t bytes, std::shared_ptr<SampleSource> source, StallClock* stall);

  // Returns the part of a read that is within a file of `size` bytes, at most
  // kLongestRead bytes. Its length is 0 if no part is.
  static ReadWaiter Clip(uint64_t size, ReadWaiter read);

  // REQUIRES: waiter.length <= kLongestRead.
  void Read(EntryId file, ReadWaiter waiter);
  uint64_t used() const { return memory_->used(); }

 private:
  struct Wish {
    EntryId file;
    ReadWaiter waiter;
  };
  LoneReads(std::unique_ptr<Arena> memory, std::shared_ptr<SampleSource> source,
            StallClock* stall);
  void Go();

  // Constant after construction.
  StallClock* const stall_;
  // Self-synchronised.
  const std::shared_ptr<SampleSource> source_;
  const std::unique_ptr<Arena> memory_;

  Mutex mu_;
  std::deque<Wish> waiting_ ABSL_GUARDED_BY(mu_);  // for memory
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_POOL_LONE_READS_H_
