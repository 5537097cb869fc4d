// SPDX-License-Identifier: Apache-2.0
// Tier is the performance tier of one view: a directory on a faster device. A
// thread copies into it what is read next, whole files or ranges of them, and
// readers then read from it. If anything fails there, the source answers.
#ifndef SHUFFLEFS_CORE_STAGING_STAGER_TIER_H_
#define SHUFFLEFS_CORE_STAGING_STAGER_TIER_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "core/base/files/reach.h"
#include "core/catalogue/catalogue.h"
#include "core/io/file_reader.h"
#include "core/io/reader_options.h"
#include "core/pool/sample_source.h"
#include "core/staging/staging_plan.h"
#include "core/staging/tier_status.h"

namespace shufflefs {

// Thread-safe. Only Open, Stop and the destructor, which stops, block. They
// wait for a slow device, and without end for one that never answers.
//
// A range takes whole pages of 4 KiB, as most file systems count it. A part of
// some ranges (2 to 4 MiB together, by memory_bytes) takes some 2 % more for
// its table. Sets that are to be in the tier together should leave that much of
// `capacity` free. Leftovers of sets that are no longer wanted are removed
// before others come. If a reader brings a whole wanted range from the source,
// alone or with data around it, the tier keeps it, so that it is read once. A
// range on its way is not read a second time.
//
// The tier has the bytes that the source had when they were copied. They are
// those of the catalogue's file, by its identity, even if the source changed
// since.
class Tier {
 public:
  static constexpr uint64_t kLeastMemory = uint64_t{2} << 20;
  // Memory of reads that are widened to whole checksums, beside memory_bytes:
  // for two of the largest reads, or for many small ones.
  static constexpr uint64_t kWiderBytes = uint64_t{5} << 19;

  struct Options {
    std::string path;        // the user's directory; ours is below it
    PathReach reach;         // opens it; may be empty
    std::string view;        // the view's name; each has its own directory
    uint64_t capacity = 0;   // bytes of the device, at most
    uint64_t bandwidth = 0;  // most bytes copied per second; 0: no limit
    uint64_t memory_bytes = 8 << 20;  // for data being copied; >= kLeastMemory
    // Bytes requested from the source at a time while copying ahead; 0: a
    // batch. A small value keeps a disk that seeks busy only briefly when a
    // reader comes.
    uint64_t step_ahead = 0;
    // Returns how many reads of the source anybody in the process made for
    // readers so far. Copying ahead gives way to them. May be empty.
    std::function<uint64_t()> foreground_reads;
    // The time for the pace of copying; empty: the clock.
    std::function<std::chrono::steady_clock::time_point()> now;
    // Each file of the source is read in many pieces, so files may stay open.
    bool many_pieces = false;
    // Options for reading parts.
    FileReaderOptions reader;
    // The tier retries after this time if something fails.
    std::chrono::milliseconds retry{5000};
  };

  // Locks the directory below `path`, takes over what an earlier run left of
  // the same catalogue, and removes our other files. `source` reads the
  // catalogue's source and outlives this object. A directory that is missing or
  // cannot be used is no error: the tier tries again later, see
  // TierStatus::health. Errors: FailedPrecondition if another process uses it.
  static absl::StatusOr<std::unique_ptr<Tier>> Open(
      Options options, std::shared_ptr<const Catalogue> catalogue,
      FileReader* source);
  virtual ~Tier() = default;

  // Makes a source that reads from the tier what is there, and everything else
  // from the source. It continues after the tier is gone, from the source.
  virtual std::unique_ptr<SampleSource> Source() = 0;
  // Returns whether one copy in the tier holds all of a range now, or all of a
  // file that is not empty.
  virtual bool Has(const StagedRange& range) const = 0;
  virtual bool Has(EntryId file) const = 0;
  // From now on the tier copies what `plan` wants. If it follows several plans,
  // the last one that still exists and wants something counts.
  virtual void Follow(std::weak_ptr<StagingPlan> plan) = 0;
  // Call it when a plan wants other sets than before. Never blocks.
  virtual void Changed() = 0;
  // Like Changed, but asks the plan at once. From now on the tier keeps what
  // readers bring if the plan wants it now. REQUIRES: no lock of the plan is
  // held.
  virtual void AskNow() = 0;
  virtual TierStatus status() const = 0;
  // Ends the copying. The tier's contents stay for the next mount.
  virtual void Stop() = 0;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_STAGING_STAGER_TIER_H_
