// SPDX-License-Identifier: Apache-2.0
// Whether the opens that were taken for those of one job are of several, which
// read the same files in orders of their own: a family of processes (one shell
// script) may have started two. Ranks read along one order and are one job: a
// search for it needs the opens of all of them.
//
// Where an order is followed, who does not read along it is another job. Where
// none is known, what they share tells: each file is read by one rank of a job,
// but of two shuffles of n files a and b opens have a b / n in common. What is
// in the kernel's memory is not seen to be read again, so that may show late.
//
// Pure; belongs to one thread. Memory: per loader some sqrt(n) opens.
#ifndef SHUFFLEFS_CORE_SAMPLER_LOADER_WATCH_H_
#define SHUFFLEFS_CORE_SAMPLER_LOADER_WATCH_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/sampler/epoch_opens.h"
#include "core/sampler/search/recogniser.h"

namespace shufflefs {

class LoaderWatch {
 public:
  struct Loader {
    uint32_t process = 0;                 // ReaderFamilies::LoaderOf
    std::vector<EpochOpens::Open> opens;  // the first of the epoch
    // Since the order that is followed was found.
    uint64_t steps = 0;
    uint64_t expected = 0;  // of these

    bool is_followed() const {
      return steps >= kProof && 2 * expected >= steps;
    }
    bool is_astray() const { return steps >= kDoubt && 2 * expected < steps; }
  };
  // In which epoch of the job, and which of the orders that were found.
  struct Moment {
    uint64_t epoch = 0;
    uint64_t claim = 0;
    friend bool operator==(const Moment&, const Moment&) = default;
  };

  // Of a job of so many files.
  explicit LoaderWatch(uint32_t files);

  // Takes note of an open of the loader. Not empty: these loaders are jobs of
  // their own, one of which may be the one that is followed.
  std::vector<Loader> Note(uint32_t loader, const EpochOpens::Open& open,
                           OpenStep step, const Moment& moment);
  // After Note. Not empty: so much was opened and no order of all was found
  // that it is worth looking at what each of these opened by itself. Then when
  // twice as much was.
  std::vector<Loader> Doubtful();

 private:
  static constexpr uint64_t kProof = 16;  // steps
  // Fewer than the steps astray by which an order is given up.
  static constexpr uint64_t kDoubt = 32;
  static constexpr uint64_t kWindow = 1024;  // steps of all; then they fade
  // Of all steps: who makes fewer looks at some files only.
  static constexpr uint64_t kLeastShare = 16;
  static constexpr size_t kMostLoaders = 64;
  static constexpr size_t kFirstLook = 256;  // opens
  // That two shuffles would share, so that it shows whether they are two.
  static constexpr double kTelling = 16;
  static constexpr double kLeastOfIt = 3;  // the third part is enough

  void BeginEpoch();
  Loader* Find(uint32_t process);
  void Keep(Loader& loader, const EpochOpens::Open& open);
  void Judge(Loader& loader, OpenStep step);
  bool IsOneAstray() const;
  bool ShareTooMuch() const;
  std::vector<Loader> Busy() const;

  // Constant after construction.
  const double files_;
  const size_t most_opens_;  // that are kept of a loader

  Moment moment_;
  std::vector<Loader> loaders_;  // by their first opens
  uint64_t steps_ = 0;           // of all
  // Who opened a file first, of the opens that are kept; and how many of them
  // were of a file that another one had opened.
  absl::flat_hash_map<uint32_t, uint32_t> first_;
  uint64_t shared_ = 0;
  size_t kept_ = 0;  // opens
  size_t look_ = kFirstLook;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_SAMPLER_LOADER_WATCH_H_
