// SPDX-License-Identifier: Apache-2.0
// Files on their way into the tier, in memory: two batches, of which one is
// filled by reads while the other is written. What a reader wants and is on its
// way is not read a second time, and a whole file that a reader brings from
// the source goes in here too.
//
// A batch is laid out as the part that it becomes: file after file, each from
// a page on.
#ifndef SHUFFLEFS_CORE_TIERS_TIER_BATCHES_H_
#define SHUFFLEFS_CORE_TIERS_TIER_BATCHES_H_

#include <sys/uio.h>

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "core/mutex.h"
#include "core/supply/arena.h"
#include "core/supply/sample_source.h"
#include "core/types.h"

namespace shufflefs {

// Thread-safe. The first group of methods is called by readers and by their
// reads, the second by the one thread that copies. Only Drained and Release
// wait.
class TierBatches {
 public:
  static constexpr int kBatches = 2;

  // `again` reads a piece from the source, whose file could not be brought.
  TierBatches(std::unique_ptr<Arena> memory,
              std::function<void(FilePiece)> again);

  // If the file is here or on its way: answers the piece, now or when it is
  // there, and takes it.
  bool Join(FilePiece& piece);
  // Whether a whole file that is read from the source for a reader is to be
  // kept. If so EndCapture must follow, where the bytes are (null: none came).
  bool BeginCapture(EntryId file, uint64_t length);
  void EndCapture(EntryId file, uint64_t length,
                  const std::vector<iovec>* bytes);
  // The reads of the copying thread give this.
  void Arrived(int batch, size_t slot, const absl::Status& status);

  // REQUIRES: it is empty. It takes `limit` bytes at most. From now on files
  // may be captured into it, too.
  void Open(int batch, uint64_t limit);
  // Nothing more is captured. What it takes of a part: bytes.
  uint64_t Shut(int batch);
  enum class Reserved { kYes, kFull, kElsewhere };
  struct Place {
    size_t slot = 0;
    char* memory = nullptr;
  };
  // Room for a file, that is on its way from now on; kElsewhere if it is
  // already. `spare` bytes are left for captures.
  Reserved Reserve(int batch, EntryId file, uint64_t length, uint64_t spare,
                   Place& place);
  // Waits until all that was reserved arrived; false once `stopped` says so,
  // which is asked again after Wake and must be quick. Stays open.
  bool Drained(int batch, const std::function<bool()>& stopped);
  void Wake();
  struct Content {
    EntryId file;
    uint64_t offset = 0;
    uint64_t length = 0;
    bool captured = false;
    bool here = false;  // false: it could not be read
  };
  // By offset. Nothing more is taken in.
  std::vector<Content> Close(int batch);
  // REQUIRES: closed. The files are in the tier now, or nowhere.
  void Release(int batch);
  // Whether a reader brings it just now.
  bool IsCaptured(EntryId file) const;
  // Whether readers wanted files that were missing since the last call.
  bool TakeCaptureWish();

  absl::Span<char> memory(int batch) const;
  uint64_t batch_bytes() const { return batch_bytes_; }

 private:
  enum class State { kComing, kHere, kFailed };
  struct Slot {
    EntryId file;
    uint64_t offset = 0;
    uint64_t length = 0;
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

  Where Take(int batch, EntryId file, uint64_t length)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  char* AddressOf(int batch, uint64_t offset) const;
  void CopyOut(Where from, uint64_t offset, FilePiece piece);
  void Leave(int batch);

  // Constant after construction.
  const std::unique_ptr<Arena> memory_;
  const uint64_t batch_bytes_;
  const std::function<void(FilePiece)> again_;
  // Self-synchronised.
  CondVar changed_;

  mutable Mutex mu_;
  std::array<Batch, kBatches> batches_ ABSL_GUARDED_BY(mu_);
  absl::flat_hash_map<EntryId, Where> where_ ABSL_GUARDED_BY(mu_);
  absl::flat_hash_set<EntryId> captures_ ABSL_GUARDED_BY(mu_);
  bool capture_wish_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_TIERS_TIER_BATCHES_H_
