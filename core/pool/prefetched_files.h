// SPDX-License-Identifier: Apache-2.0
// PrefetchedFiles keeps whole files that were fetched ahead of their readers.
// Each is in memory or on its way. A file leaves when it was read to its end,
// or when it was closed after a part of it was read. A file that no reader asks
// for leaves when its owner says so.
#ifndef SHUFFLEFS_CORE_POOL_PREFETCHED_FILES_H_
#define SHUFFLEFS_CORE_POOL_PREFETCHED_FILES_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "core/base/metrics.h"
#include "core/base/mutex.h"
#include "core/base/types.h"
#include "core/catalogue/catalogue.h"
#include "core/pool/bypass_reads.h"
#include "core/pool/content_provider.h"
#include "core/pool/file_extent.h"
#include "core/pool/memory/buffer_pool.h"
#include "core/pool/memory/extents.h"
#include "core/pool/pool_memory.h"
#include "core/pool/sample_source.h"

namespace shufflefs {

// Thread-safe. No call waits for a device. May be destroyed on any thread, also
// while reads are under way.
class PrefetchedFiles : public std::enable_shared_from_this<PrefetchedFiles> {
 public:
  static constexpr uint64_t kLeastMemory = 6 << 20;

  struct Parts {
    std::shared_ptr<const Catalogue> catalogue;
    std::unique_ptr<SampleSource> source;
    PoolMemory memory;            // guarantees at least kLeastMemory
    StallClock* stall = nullptr;  // outlives this; may be null
  };
  static absl::StatusOr<std::shared_ptr<PrefetchedFiles>> Make(Parts parts);

  // Says what a file was fetched for. Only the owner knows the meaning of the
  // numbers.
  struct Owner {
    uint64_t id = 0;
    uint64_t place = 0;
  };
  using Pieces = std::vector<FilePiece>;

  // Returns false if the file is too large to be held. Then the kernel reads
  // ahead.
  bool MayHold(EntryId file) const;
  // Allocates memory for a file and appends the piece that fetches it. Returns
  // false if there is no memory. REQUIRES: MayHold(file), and it is not held.
  bool Start(EntryId file, Owner owner, Pieces& pieces);
  // Reads the pieces that Start appended, best in this order.
  void Fetch(Pieces pieces) { source_->Fetch(std::move(pieces)); }

  bool IsResident(EntryId file) const;
  // Returns whether the file is in memory already.
  bool IsHere(EntryId file) const;
  // Works as ContentProvider's. A file that is not held is read alone.
  void Read(EntryId file, uint64_t offset, uint64_t length,
            ContentProvider::ReadDone done);
  // Returns true if this freed its memory.
  bool Close(EntryId file);
  // Drops the files that arrived and for which `is_awaited` returns false.
  // Calls `is_awaited` with the lock held.
  void Reclaim(const std::function<bool(const Owner&)>& is_awaited);

  // The bytes that files may take now, with those that they have.
  uint64_t capacity() const { return pool_->used() + pool_->Room(); }
  // The number of files on their way.
  uint64_t coming() const;
  // Returns whether the source was stopped. Then it reads nothing more.
  bool stopped() const;
  // Bytes that were fetched, and of these the bytes that were dropped and never
  // read.
  uint64_t fetched_bytes() const;
  uint64_t wasted_bytes() const;
  // Memory, and the source's counts. The owner counts hits and misses.
  ProducerStatus status() const;

 private:
  struct Held : FileExtent {
    Owner owner;
  };

  PrefetchedFiles(Parts parts, std::unique_ptr<PoolShare> pool);
  // Frees about `bytes` bytes of files for other users of the pool.
  void GiveBack(uint64_t bytes);
  void Arrived(EntryId file, const std::shared_ptr<Held>& held,
               const absl::Status& status);
  void Deliver(EntryId file, const std::shared_ptr<Held>& held,
               const ReadWaiter& waiter);

  // Constant after construction.
  const std::shared_ptr<const Catalogue> catalogue_;
  const uint64_t memory_bytes_;
  StallClock* const stall_;
  // Self-synchronised.
  const std::shared_ptr<SampleSource> source_;
  const std::unique_ptr<PoolShare> pool_;
  const std::shared_ptr<BypassReads> bypass_;

  mutable Mutex mu_;
  ExtentTable<EntryId, Held> held_ ABSL_GUARDED_BY(mu_);
  uint64_t coming_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t fetched_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t wasted_ ABSL_GUARDED_BY(mu_) = 0;
  bool stopped_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_POOL_PREFETCHED_FILES_H_
