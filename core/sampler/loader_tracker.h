// SPDX-License-Identifier: Apache-2.0
// LoaderTracker finds out whether the opens of one job really come from several
// jobs that read the same files in different orders. One family of processes,
// such as a shell script, may have started two. The ranks of one job read along
// one order, so they are one job. A search for this order needs the opens of
// all of them.
//
// If an order is known, a loader that does not read along it is another job. If
// none is known, the files that loaders share decide. Each file is read by one
// rank of a job. But two shuffles of n files with a and b opens have about
// a*b/n files in common. The daemon does not see a second read of what the
// kernel has in memory. So this evidence may come late.
//
// Pure. Use it from one thread. Memory: about sqrt(n) opens per loader.
#ifndef SHUFFLEFS_CORE_SAMPLER_LOADER_TRACKER_H_
#define SHUFFLEFS_CORE_SAMPLER_LOADER_TRACKER_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/sampler/epoch_opens.h"
#include "core/sampler/search/recogniser.h"

namespace shufflefs {

class LoaderTracker {
 public:
  struct Loader {
    uint32_t process = 0;                 // JobTracker::LoaderOf
    std::vector<EpochOpens::Open> opens;  // the first opens of the epoch
    // Counts since the current order was found.
    uint64_t steps = 0;
    uint64_t expected = 0;  // of these

    bool is_followed() const {
      return steps >= kProof && 2 * expected >= steps;
    }
    bool is_astray() const { return steps >= kDoubt && 2 * expected < steps; }
  };
  // The epoch of the job, and the number of orders found so far.
  struct Moment {
    uint64_t epoch = 0;
    uint64_t claim = 0;
    friend bool operator==(const Moment&, const Moment&) = default;
  };

  // `files` is the number of files of the job.
  explicit LoaderTracker(uint32_t files);

  // Records an open of the loader. If the result is not empty, these loaders
  // are separate jobs. One of them may be the job that is followed.
  std::vector<Loader> Note(uint32_t loader, const EpochOpens::Open& open,
                           OpenStep step, const Moment& moment);
  // Call it after Note. If the result is not empty, no common order was found
  // after many opens. Then test what each of these loaders opened by itself.
  // The next result comes after twice as many opens.
  std::vector<Loader> Doubtful();
  // The loaders that opened enough in this epoch to be judged, with their opens
  // up to now.
  std::vector<Loader> Busy() const;

 private:
  static constexpr uint64_t kProof = 16;  // steps
  // Fewer than the unexpected steps after which an order is dropped.
  static constexpr uint64_t kDoubt = 32;
  static constexpr uint64_t kWindow = 1024;  // steps of all; then halved
  static constexpr uint64_t kLeastShare = 16;
  static constexpr size_t kMostLoaders = 64;
  static constexpr size_t kFirstLook = 256;  // opens
  // Two shuffles would share this many files, so the shared files decide.
  static constexpr double kTelling = 16;
  static constexpr double kLeastOfIt = 3;  // a third of it is enough

  void BeginEpoch();
  Loader* Find(uint32_t process);
  void Keep(Loader& loader, const EpochOpens::Open& open);
  void Judge(Loader& loader, OpenStep step);
  bool IsOneAstray() const;
  bool ShareTooMuch() const;

  // Constant after construction.
  const double files_;
  const size_t most_opens_;  // kept per loader

  Moment moment_;
  std::vector<Loader> loaders_;  // ordered by their first opens
  uint64_t steps_ = 0;           // of all loaders
  // The first loader of each file among the opens that are kept. shared_ counts
  // those opens whose file another loader had opened first.
  absl::flat_hash_map<uint32_t, uint32_t> first_;
  uint64_t shared_ = 0;
  size_t kept_ = 0;  // opens
  size_t look_ = kFirstLook;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_SAMPLER_LOADER_TRACKER_H_
