// SPDX-License-Identifier: Apache-2.0
// Copies a list of ranges from the source into parts: a batch is filled by
// reads while the one before it is written.
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
#include "core/staging/tier/tier_dir.h"
#include "core/staging/tier/tier_doomed.h"
#include "core/staging/tier/tier_ranges.h"

namespace shufflefs {

// For one thread, but for the counters; blocks for both devices.
class TierCopy {
 public:
  struct Options {
    uint64_t capacity = 0;
    uint64_t bandwidth = 0;
    uint64_t step_ahead = 0;                     // as Tier::Options'
    std::function<uint64_t()> foreground_reads;  // may be empty
    // Asked between batches: there is something better to do.
    std::function<bool()> interrupted;
    std::function<TierPace::Time()> now;  // as Tier::Options'
  };
  TierCopy(std::shared_ptr<TierReads> reads, Options options)
      : reads_(std::move(reads)),
        options_(std::move(options)),
        pace_(options_.bandwidth, options_.step_ahead) {}

  enum class Outcome {
    kDone,  // whatever could be read is there, or a reader brings it
    kCut,   // interrupted, or stopped
    kFull,  // `capacity` is reached
  };
  // Errors: those of the tier. What the source refuses is left out, and added
  // to unreadable().
  absl::StatusOr<Outcome> Copy(TierDir& dir, const TierRanges& ranges,
                               bool ahead);

  // Until the next Copy readers' ranges are taken in, which it writes first.
  void OpenForReaders();

  // They count as used until they are removed, which Copy does where it needs
  // their room.
  TierDoomed& doomed() { return doomed_; }

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
    bool device_is_short = false;  // has less than `capacity` leaves
    absl::optional<int> pending;   // a batch that is to be written
    uint64_t pending_bytes = 0;    // that it may take
  };

  bool Cut() const { return reads_->signal().stopped(); }
  Clock::time_point Now() const {
    return options_.now ? options_.now() : Clock::now();
  }
  // Removes what is doomed until there is room for so many bytes.
  absl::Status MakeRoom(Run& run, uint64_t bytes);
  // Whether the next range is larger than a batch.
  bool IsLarge(const Run& run) const;
  // How much is left for ranges, in `capacity` and on the device.
  absl::StatusOr<uint64_t> Room(Run& run) const;
  // A range does not fit: ENOSPC where it is the device that has no more.
  absl::Status NoRoom(Run& run) const;
  // What readers brought since the last Copy is to be written first.
  absl::Status TakeBrought(Run& run);
  // Opens those in which nothing is, all but one.
  void OpenBeside(int batch);
  // Which to fill: one in which readers' ranges are, if there is one.
  int NextBatch(const Run& run) const;
  // Has a batch written next, unless it is empty or the tier has no room.
  absl::Status SetPending(Run& run, int batch);
  // What is in the batches, none of which is open after it.
  absl::Status WriteOpen(Run& run);
  bool Drop(int batch);
  // Whether there is room for so many bytes of ranges, or can be made.
  absl::StatusOr<bool> Fits(Run& run, uint64_t bytes);
  // Begins reads into a batch; they may be under way after it.
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
  // Rests as the pace says.
  void Rest(bool ahead);
  void Count(uint64_t copied, uint64_t captured);

  const std::shared_ptr<TierReads> reads_;
  const Options options_;
  TierPace pace_;
  TierDoomed doomed_;
  absl::btree_set<StagedRange> unreadable_;
  Clock::time_point counted_{};
  std::atomic<uint64_t> copied_{0};
  std::atomic<uint64_t> captured_{0};
  std::atomic<double> rate_{0};
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_STAGING_STAGER_TIER_COPY_H_
