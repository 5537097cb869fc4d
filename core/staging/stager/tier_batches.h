// SPDX-License-Identifier: Apache-2.0
// Ranges of files on their way into the tier, in memory: batches, of which one
// is filled by reads while another is written, and the rest wait for what
// readers want next. What a reader wants and is on its way is not read a second
// time, and a whole range that a reader brings from the source goes in here
// too.
//
// A batch is laid out as the part that it becomes: range after range, each from
// a page on.
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
#include "core/pool/arena.h"
#include "core/pool/sample_source.h"
#include "core/staging/staging_plan.h"
#include "core/staging/tier/tier_ranges.h"

namespace shufflefs {

// Thread-safe. The first group of methods is called by readers and by their
// reads, the second by the one thread that copies. Only Drained and Release
// wait.
class TierBatches {
 public:
  // Of less memory there are two.
  static constexpr int kMostBatches = 4;
  static constexpr uint64_t kLeastOfMany = uint64_t{4} << 20;  // bytes of one

  // `again` reads a piece from the source, whose range could not be brought.
  TierBatches(std::unique_ptr<Arena> memory,
              std::function<void(FilePiece)> again);

  // If all of it is here or on its way in one range: answers the piece, now or
  // when it is there, and takes it.
  bool Join(FilePiece& piece);
  TierCover Around(EntryId file, uint64_t at) const;
  // Whether a range that is read from the source for a reader is to be kept. If
  // so EndCapture must follow; its first byte is then `skip` bytes behind the
  // first of `bytes` (null: none came).
  bool BeginCapture(const StagedRange& range);
  void EndCapture(const StagedRange& range, const std::vector<iovec>* bytes,
                  uint64_t skip);
  // Room for a range that a reader wants a piece of, which is to be read from
  // the source as a whole, into `place`, and is on its way from now on; nothing
  // where it is on its way already, or no batch has room. Arrived must follow.
  struct Place {
    size_t slot = 0;
    char* memory = nullptr;
  };
  struct Demanded {
    int batch = 0;
    Place place;
  };
  absl::optional<Demanded> Demand(const StagedRange& range);
  // The reads of ranges that have room give this.
  void Arrived(int batch, size_t slot, const absl::Status& status);

  // It takes `limit` bytes at most, with what it has. From now on ranges may be
  // captured into it, too.
  void Open(int batch, uint64_t limit);
  bool IsEmpty(int batch) const;
  // Nothing more is captured. What it takes of a part: bytes.
  uint64_t Shut(int batch);
  enum class Reserved { kYes, kFull, kElsewhere };
  // Room for a range, that is on its way from now on; kElsewhere if it, or one
  // that begins there, is already.
  Reserved Reserve(int batch, const StagedRange& range, Place& place);
  // Waits until all that was reserved arrived; false once `stopped` says so,
  // which is asked again after Wake and must be quick. Stays open.
  bool Drained(int batch, const std::function<bool()>& stopped);
  void Wake();
  struct Content {
    StagedRange range;
    uint64_t offset = 0;
    bool captured = false;
    bool here = false;  // false: it could not be read
  };
  // By offset. Nothing more is taken in.
  std::vector<Content> Close(int batch);
  // REQUIRES: closed. The ranges are in the tier now, or nowhere.
  void Release(int batch);
  // Whether a reader brings it just now.
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
  // The slot of the last range that begins at `at` or before, and did not fail;
  // null if it does not hold it.
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
