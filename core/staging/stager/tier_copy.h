// SPDX-License-Identifier: Apache-2.0
// TierCopy copies a list of ranges from the source into parts. Reads fill one
// batch while the one before it is written.
#ifndef SHUFFLEFS_CORE_STAGING_STAGER_TIER_COPY_H_
#define SHUFFLEFS_CORE_STAGING_STAGER_TIER_COPY_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/container/btree_set.h"
#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "core/base/types.h"
#include "core/staging/stager/tier_pace.h"
#include "core/staging/stager/tier_reads.h"
#include "core/staging/staging_plan.h"
#include "core/staging/tier/pending_deletes.h"
#include "core/staging/tier/tier_dir.h"
#include "core/staging/tier/tier_ranges.h"

namespace shufflefs {

// For one thread, except for the counters. Blocks on both devices.
class TierCopy {
 public:
  struct Options {
    uint64_t capacity = 0;
    uint64_t bandwidth = 0;
    uint64_t step_ahead = 0;                     // see Tier::Options
    std::function<uint64_t()> foreground_reads;  // may be empty
    // Returns, between batches, whether something else is more urgent.
    std::function<bool()> interrupted;
    std::function<TierPace::Time()> now;  // see Tier::Options
  };
  TierCopy(std::shared_ptr<TierReads> reads, Options options)
      : reads_(std::move(reads)),
        options_(std::move(options)),
        pace_(options_.bandwidth, options_.step_ahead) {}

  enum class Outcome {
    kDone,  // all that could be read is there, or readers bring it
    kCut,   // interrupted, or stopped
    kFull,  // `capacity` is reached
  };
  // Errors: those of the tier. A range that the source refuses is skipped and
  // added to unreadable().
  absl::StatusOr<Outcome> Copy(TierDir& dir, const TierRanges& ranges,
                               bool ahead);

  // Takes in readers' ranges until the next Copy, which writes them first.
  void OpenForReaders();

  // Doomed parts count as used until they are removed. Copy removes them when
  // it needs their room.
  PendingDeletes& pending_deletes() { return pending_deletes_; }

  absl::btree_set<StagedRange>& unreadable() { return unreadable_; }
  bool is_unreadable(const StagedRange& range) const {
    return unreadable_.contains(range);
  }
  // Any thread:
  uint64_t copied_bytes() const { return copied_.load(); }
  uint64_t captured_bytes() const { return captured_.load(); }
  double bytes_per_second() const { return rate_.load(); }

 private:
  using Clock = std::chrono::steady_clock;
  struct Run {
    TierDir& dir;
    const TierRanges& ranges;
    bool ahead;
    size_t at = 0;  // the next range
    bool full = false;
    bool device_is_short = false;  // has less free than `capacity` leaves
    absl::optional<int> pending;   // the batch to write next
    uint64_t pending_bytes = 0;    // that it may take
  };

  bool Cut() const { return reads_->signal().stopped(); }
  Clock::time_point Now() const {
    return options_.now ? options_.now() : Clock::now();
  }
  // Removes doomed parts until there is room for `bytes` bytes.
  absl::Status MakeRoom(Run& run, uint64_t bytes);
  // Returns whether the next range is larger than a batch.
  bool IsLarge(const Run& run) const;
  // The bytes left for ranges, in `capacity` and on the device.
  absl::StatusOr<uint64_t> Room(Run& run) const;
  // Call it if a range does not fit. Returns ENOSPC if the device is full.
  absl::Status NoRoom(Run& run) const;
  // Has what readers brought since the last Copy written first.
  absl::Status TakeBrought(Run& run);
  // Opens all empty batches except `batch`.
  void OpenBeside(int batch);
  // The batch to fill: one that has readers' ranges, if there is one.
  int NextBatch(const Run& run) const;
  // Makes a batch the next one to write, unless it is empty or the tier has no
  // room.
  absl::Status SetPending(Run& run, int batch);
  // Writes what is in the batches. None is open afterwards.
  absl::Status WriteOpen(Run& run);
  bool Drop(int batch);
  // Returns whether there is room for `bytes` bytes of ranges, or can be made.
  absl::StatusOr<bool> Fits(Run& run, uint64_t bytes);
  // Begins reads into a batch. They may be under way when it returns.
  absl::Status Fill(Run& run, int batch);
  void Begin(int batch, const std::vector<StagedRange>& ranges,
             const std::vector<TierBatches::Place>& places);
  bool Drain(int batch);
  absl::Status WritePending(Run& run);
  absl::Status WriteBatch(Run& run, int batch);
  absl::Status CopyLarge(Run& run, const StagedRange& range);
  struct LargeRead;
  std::shared_ptr<LargeRead> BeginLarge(EntryId file, int batch,
                                        uint64_t offset, uint64_t length);
  absl::Status Write(TierDir& dir, class TierWriter& writer,
                     absl::Span<const char> bytes, bool ahead);
  absl::Status Publish(class TierWriter& writer, const TierTable& table,
                       uint64_t bytes);
  // Rests as long as the pace says.
  void Rest(bool ahead);
  void Count(uint64_t copied, uint64_t captured);

  const std::shared_ptr<TierReads> reads_;
  const Options options_;
  TierPace pace_;
  PendingDeletes pending_deletes_;
  absl::btree_set<StagedRange> unreadable_;
  Clock::time_point counted_{};
  std::atomic<uint64_t> copied_{0};
  std::atomic<uint64_t> captured_{0};
  std::atomic<double> rate_{0};
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_STAGING_STAGER_TIER_COPY_H_
