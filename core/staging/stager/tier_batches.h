// SPDX-License-Identifier: Apache-2.0
// TierBatches holds, in memory, ranges of files on their way into the tier.
// Reads fill one batch while another is written, and the rest are free for what
// readers want next. What a reader wants and is on its way is not read a second
// time. A whole range that a reader brings from the source also goes in here.
//
// A batch has the layout of the part that it becomes: range after range, each
// from the start of a page.
#ifndef SHUFFLEFS_CORE_STAGING_STAGER_TIER_BATCHES_H_
#define SHUFFLEFS_CORE_STAGING_STAGER_TIER_BATCHES_H_

#include <sys/uio.h>

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "core/base/mutex.h"
#include "core/base/types.h"
#include "core/pool/memory/arena.h"
#include "core/pool/sample_source.h"
#include "core/staging/staging_plan.h"
#include "core/staging/tier/tier_ranges.h"

namespace shufflefs {

// Thread-safe. Readers and their reads call the first group of methods; only
// the copying thread calls the second. Only Drained and Release wait.
class TierBatches {
 public:
  // With less memory there are two.
  static constexpr int kMostBatches = 4;
  static constexpr uint64_t kLeastOfMany = uint64_t{4} << 20;  // bytes of one

  // `again` reads a piece from the source if its range could not be brought.
  TierBatches(std::unique_ptr<Arena> memory,
              std::function<void(FilePiece)> again);

  // If one range that is here or on its way holds all of the piece: takes the
  // piece, answers it now or when the range is here, and returns true.
  bool Join(FilePiece& piece);
  TierCover Around(EntryId file, uint64_t at) const;
  // Returns whether to keep a range that is read from the source for a reader.
  // If so, EndCapture must follow. Its first byte is then `skip` bytes after
  // the first of `bytes` (null: no bytes came).
  bool BeginCapture(const StagedRange& range);
  void EndCapture(const StagedRange& range, const std::vector<iovec>* bytes,
                  uint64_t skip);
  // Reserves room for a range because a reader wants a piece of it. The caller
  // must read the whole range from the source into `place`. It is on its way
  // from now on, and Arrived must follow. Returns nothing if it is already on
  // its way or if no batch has room.
  struct Place {
    size_t slot = 0;
    char* memory = nullptr;
  };
  struct Demanded {
    int batch = 0;
    Place place;
  };
  absl::optional<Demanded> Demand(const StagedRange& range);
  // Call it when the read of a reserved range ended.
  void Arrived(int batch, size_t slot, const absl::Status& status);

  // The batch takes at most `limit` bytes, including what it has. From now on
  // ranges may be captured into it, too.
  void Open(int batch, uint64_t limit);
  bool IsEmpty(int batch) const;
  // Ends capturing into the batch. Returns the bytes that it takes of a part.
  uint64_t Shut(int batch);
  enum class Reserved { kYes, kFull, kElsewhere };
  // Reserves room for a range, which is on its way from now on. kElsewhere:
  // that range, or one with the same beginning, is on its way already.
  Reserved Reserve(int batch, const StagedRange& range, Place& place);
  // Waits until everything that was reserved has arrived. Returns false if
  // `stopped` returns true; it is called again after Wake and must be quick.
  // The batch stays open.
  bool Drained(int batch, const std::function<bool()>& stopped);
  void Wake();
  struct Content {
    StagedRange range;
    uint64_t offset = 0;
    bool captured = false;
    bool here = false;  // false: it could not be read
  };
  // Returns the content by offset. The batch takes in nothing more.
  std::vector<Content> Close(int batch);
  // REQUIRES: closed. Its ranges are now in the tier, or nowhere.
  void Release(int batch);
  // Returns whether a reader is bringing the range now.
  bool IsCaptured(const StagedRange& range) const;

  absl::Span<char> memory(int batch) const;
  uint64_t batch_bytes() const { return batch_bytes_; }
  int count() const { return count_; }

 private:
  enum class State { kComing, kHere, kFailed };
  struct Slot {
    StagedRange range;
    uint64_t offset = 0;
    State state = State::kComing;
    bool captured = false;
    std::vector<FilePiece> waiting;
  };
  struct Batch {
    std::vector<Slot> slots;
    uint64_t used = 0;  // bytes
    uint64_t limit = 0;
    uint64_t busy = 0;  // slots that come, and copies under way
    bool open = false;
  };
  struct Where {
    int batch = 0;
    size_t slot = 0;
  };

  Where Take(int batch, const StagedRange& range)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // The slot of the last range that begins at `at` or before and did not fail.
  // Null if that range does not hold `at`.
  const Where* Holder(EntryId file, uint64_t at) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  const Slot& SlotAt(Where where) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return batches_[where.batch].slots[where.slot];
  }
  char* AddressOf(int batch, uint64_t offset) const;
  void CopyOut(int batch, uint64_t offset, uint64_t from, FilePiece piece);
  void Leave(int batch);

  // Constant after construction.
  const std::unique_ptr<Arena> memory_;
  const int count_;
  const uint64_t batch_bytes_;
  const std::function<void(FilePiece)> again_;
  // Self-synchronised.
  CondVar changed_;

  mutable Mutex mu_;
  std::array<Batch, kMostBatches> batches_ ABSL_GUARDED_BY(mu_);
  absl::btree_map<TierKey, Where> where_ ABSL_GUARDED_BY(mu_);
  absl::flat_hash_set<TierKey> captures_ ABSL_GUARDED_BY(mu_);
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_STAGING_STAGER_TIER_BATCHES_H_
