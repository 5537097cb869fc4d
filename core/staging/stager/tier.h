// SPDX-License-Identifier: Apache-2.0
// The performance tier of one view: a directory on a faster device into which
// a thread copies what is read next, whole files or ranges of them, and from
// which it is then read. Whatever fails there, the source answers.
#ifndef SHUFFLEFS_CORE_STAGING_STAGER_TIER_H_
#define SHUFFLEFS_CORE_STAGING_STAGER_TIER_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "core/catalogue/catalogue.h"
#include "core/io/file_reader.h"
#include "core/io/reader_options.h"
#include "core/pool/sample_source.h"
#include "core/staging/staging_plan.h"
#include "core/staging/tier_status.h"

namespace shufflefs {

// Thread-safe. Only Open and Stop block, and the destructor, which stops. A
// device may be slow, but one that never answers is waited for.
//
// A range takes whole pages of 4 KiB, as most file systems count it, and a part
// of some ranges (2 to 4 MiB together, by memory_bytes) some 2 % more for
// its table: sets that are to be there together should leave that of
// `capacity`. What is left over of sets that are wanted no more goes before
// others come. A range that a reader brings from the source as a whole, alone
// or with what is around it, and that is wanted, is kept, so that it is read
// once; and what is on its way is not read a second time.
//
// What is in the tier has the bytes that the source had when it was copied: the
// file of the catalogue, by its identity, even if the source changed since.
class Tier {
 public:
  struct Options {
    std::string path;       // the user's directory: ours is made below it
    std::string view;       // name of the view: each has a directory of its own
    uint64_t capacity = 0;  // bytes of the device, at most
    uint64_t bandwidth = 0;           // bytes a second copied, at most; 0 = all
    uint64_t memory_bytes = 8 << 20;  // for what is being copied; >= 2 MiB
    // Bytes asked of the source at a time while copying ahead; 0: a batch. A
    // disk that seeks is then busy for a short while only when a reader comes.
    uint64_t step_ahead = 0;
    // Reads of the source for readers, counted up, by anybody in the process:
    // copying ahead gives way to them. May be empty.
    std::function<uint64_t()> foreground_reads;
    // What the pace of copying goes by; empty: the clock.
    std::function<std::chrono::steady_clock::time_point()> now;
    // Of each file of the source many pieces are read: files may stay open.
    bool many_pieces = false;
    // How the parts are read.
    FileReaderOptions reader;
    // What fails is tried again after this long.
    std::chrono::milliseconds retry{5000};
  };

  // Locks the directory below `path`, takes up what an earlier run left of the
  // same catalogue and removes the rest of ours. `source` reads the catalogue's
  // source and outlives this. A directory that is missing or cannot be used is
  // no error: it is tried again later, see TierStatus::trouble. Errors:
  // FailedPrecondition where another process uses it.
  static absl::StatusOr<std::unique_ptr<Tier>> Open(
      Options options, std::shared_ptr<const Catalogue> catalogue,
      FileReader* source);
  virtual ~Tier() = default;

  // Reads what is in the tier from there and all else from the source. Goes on
  // after the tier is gone, from the source.
  virtual std::unique_ptr<SampleSource> Source() = 0;
  // Whether one copy in the tier holds all of a range now; or of a file, that
  // is not empty.
  virtual bool Has(const StagedRange& range) const = 0;
  virtual bool Has(EntryId file) const = 0;
  // Copies what the plan wants from now on. The last one that is still there
  // and wants something counts.
  virtual void Follow(std::weak_ptr<StagingPlan> plan) = 0;
  // A plan wants other sets than before. Never blocks.
  virtual void Changed() = 0;
  // The same, and what readers bring from now on is kept if it is wanted now:
  // the plan is asked at once. REQUIRES: no lock of the plan's is held.
  virtual void AskNow() = 0;
  virtual TierStatus status() const = 0;
  // Ends the copying; what is there stays for the next mount.
  virtual void Stop() = 0;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_STAGING_STAGER_TIER_H_
