// SPDX-License-Identifier: Apache-2.0
// BypassReads reads pieces of files that readers wait for and that no pool
// holds. It has a small memory of its own, for all views of an engine. If the
// part of a device is used up, the next piece of it is read as soon as another
// read of that device has ended. So a device that hangs stops no other.
#ifndef SHUFFLEFS_CORE_POOL_BYPASS_READS_H_
#define SHUFFLEFS_CORE_POOL_BYPASS_READS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "core/base/metrics.h"
#include "core/base/mutex.h"
#include "core/base/types.h"
#include "core/catalogue/catalogue.h"
#include "core/pool/content_provider.h"
#include "core/pool/device_lanes.h"
#include "core/pool/fetcher.h"
#include "core/pool/file_extent.h"
#include "core/pool/memory/arena.h"
#include "core/pool/sample_source.h"

namespace shufflefs {

// Thread-safe. No call waits for a device. May be destroyed while reads are
// under way.
class BypassReads : public std::enable_shared_from_this<BypassReads> {
 public:
  // The most that one read reads. The kernel asks for no more.
  static constexpr uint64_t kLongestRead = 1 << 20;

  // The part of the key `memory` that such reads take, in bytes.
  static uint64_t BytesOf(uint64_t memory);

  // Allocates nothing yet. `stall` outlives this; may be null. REQUIRES: bytes
  // >= 2 * kLongestRead.
  BypassReads(uint64_t bytes, StallClock* stall);

  // Allocates the memory, the first time, and divides it evenly among the
  // devices that have files. Each part has room for a longest read, and there
  // are at most ReadQueue::kDevices. Further devices share the last. All reads
  // together take no more than `bytes`, and if there are several parts, a page
  // for each. Errors: those of mmap.
  absl::Status Prepare(absl::Span<const uint32_t> devices);

  // Returns the part of a read that is within the file, at most kLongestRead
  // bytes. Its length is 0 if no part is.
  static ReadWaiter Clip(const Catalogue& catalogue, EntryId file,
                         ReadWaiter read);

  // REQUIRES: Prepare returned OK, and waiter.length <= kLongestRead.
  // After Stop, the answer is Cancelled.
  void Read(std::shared_ptr<SampleSource> source, EntryId file,
            ReadWaiter waiter);
  // Answers Cancelled to reads that wait for memory. From then on no source is
  // asked for anything. Call it before you destroy the first reader of a
  // source: whichever read ends asks the source of the next one. Do not call it
  // from a `done`.
  void Stop();
  uint64_t used() const;

 private:
  struct Wish {
    std::shared_ptr<SampleSource> source;
    EntryId file;
    ReadWaiter waiter;
    // While it is read.
    size_t lane = 0;
    uint64_t bytes = 0;  // of used_[lane]
    std::shared_ptr<MemoryBlock> memory{};
  };
  // Takes memory for the wish. Returns false if there is none.
  bool TakeRoom(size_t lane, Wish& wish) ABSL_LOCKS_EXCLUDED(mu_);
  void Begin(Wish wish);
  void Ended(Wish wish, const absl::Status& status);
  void Cancel(const ReadWaiter& waiter) const;

  // Constant after construction.
  const uint64_t bytes_;
  StallClock* const stall_;
  // Self-synchronised.
  Fetcher<Wish> fetcher_;

  mutable Mutex mu_;
  std::unique_ptr<Arena> memory_ ABSL_GUARDED_BY(mu_);  // null: not prepared
  DeviceLanes lanes_ ABSL_GUARDED_BY(mu_);
  std::vector<uint64_t> used_ ABSL_GUARDED_BY(mu_){0};  // bytes, by lane
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_POOL_BYPASS_READS_H_
