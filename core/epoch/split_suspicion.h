// SPDX-License-Identifier: Apache-2.0
// SplitSuspicion suspects that the client splits a directory by name
// (random_split, k-fold). If samples moved between such names, validation
// samples would get into training. So the view stops substituting.
//
// It looks for three signs when an epoch ends:
// * Over 2 % of the names were never opened, not by foreign jobs either, and no
//   epoch.length explains it.
// * One set of readers opened names, and after its last open another set opened
//   other names of the same groups, with hardly any name twice: a training
//   loader, then a validation loader.
// * There is one reader, and the names that come last in an epoch come last
//   again in the next, far beyond chance, while those that come first do not.
//   (A reader with one fixed order is no split.)
//
// Stock jobs with full epochs show none of these signs, whatever their workers.
//
// Pure and not thread-safe. Memory: 4 bits per name, at most 512 KiB (above a
// million names only a sample of them is watched), 2 bytes per group, 256
// readers. One bit more per name once a foreign job has opened one.
#ifndef SHUFFLEFS_CORE_EPOCH_SPLIT_SUSPICION_H_
#define SHUFFLEFS_CORE_EPOCH_SPLIT_SUSPICION_H_

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "core/base/bitmap.h"

namespace shufflefs {

enum class Suspicion : uint8_t {
  kNone,
  kUnopened,         // over 2 % of the names were never opened
  kDisjointReaders,  // one set of readers ended, another read other names
  kSameEnd,          // two epochs end in the same names
  kEarlier,          // an earlier run found one of these
};
// A clause for status.warnings, after "client-side split suspected: ".
absl::string_view SuspicionText(Suspicion suspicion);

class SplitSuspicion {
 public:
  struct Options {
    uint64_t names = 0;
    uint32_t groups = 1;
    bool length_configured = false;  // epoch.length is set
  };

  // An open that the detector calls fresh, a re-open or stray. Double opens and
  // foreign jobs are no evidence.
  struct Open {
    uint64_t name = 0;    // < Options::names
    uint32_t group = 0;   // of the name, < Options::groups
    uint32_t reader = 0;  // process or thread id
    bool fresh = false;
  };

  explicit SplitSuspicion(const Options& options);

  void OnOpen(const Open& open);
  // A foreign job opens `name`. `seen`: the owner opened it in this epoch.
  void OnForeignJob(uint64_t name, bool seen);

  // Another run of the job or of the daemon began the epoch. Readers of the
  // rest are no evidence, however the epoch ends.
  void Resume() { resumed_ = true; }

  // The epoch ended by `rule` with `seen` names opened. The next one has
  // already opened `begun` of its names. (See EpochOutcome::ended_seen and
  // EpochDetector::seen_count.) Call it after OnOpen of the open that brought
  // the verdict, and with rule 's' when the user ends the epoch. Rule 't' (the
  // job was killed or gone) is no evidence. Names that were not opened before a
  // signal are evidence only if most names were: else it was no pass.
  Suspicion AtBoundary(char rule, uint64_t seen, uint64_t begun);

 private:
  static constexpr uint32_t kMaxReaders = 256;
  static constexpr uint16_t kUntouched = 0xffff;

  struct Reader {
    // The reader's first and last fresh open, by number in the epoch. Re-opens
    // are ignored: before a verdict they belong to the next epoch already.
    uint64_t first = 0;
    uint64_t last = 0;
    uint64_t fresh = 0;
    uint64_t reopened = 0;
    uint64_t mixed = 0;  // fresh opens in groups where another reader was first
  };

  // Measures how far the names of one part of an epoch (its first or last
  // eighth) came back in the same part of the next, against chance.
  struct Part {
    explicit Part(uint64_t watched) : names(watched), before(watched) {}
    void Add(uint64_t index);
    // Ends an epoch. If the epoch before counts (`comparable`), adds to the
    // sums. Then shifts the parts.
    void Roll(bool comparable, uint64_t watched);
    void Forget();

    Bitmap names;   // of this epoch
    Bitmap before;  // of the previous epoch
    uint64_t size = 0;
    uint64_t size_before = 0;
    uint64_t common = 0;
    double common_sum = 0;  // over pairs of epochs
    double chance_sum = 0;
  };

  // Returns whether too many names were not opened. `opened`: number of names
  // that were.
  bool Unopened(uint64_t opened) const;
  bool DisjointReaders() const;
  bool SameEnd() const;
  bool WholePass(char rule, uint64_t seen) const;

  const Options options_;
  const uint64_t stride_;  // every stride-th name is watched
  const uint64_t watched_;
  const uint64_t eighth_;

  std::vector<Reader> readers_;
  absl::flat_hash_map<uint32_t, uint16_t> slot_of_;
  bool too_many_readers_ = false;
  std::vector<uint16_t> first_in_group_;  // slot of the group's first reader
  uint64_t opens_ = 0;

  Part head_;
  Part tail_;
  absl::optional<Bitmap>
      by_foreign_;                  // opened in this epoch by foreign jobs only
  uint64_t only_foreign_jobs_ = 0;  // number of those names
  uint64_t fresh_ = 0;              // names opened in this epoch
  uint64_t head_end_ = 0;      // the epoch's head is the fresh opens below it
  bool before_whole_ = false;  // the epoch before was a whole pass
  bool resumed_ = false;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_EPOCH_SPLIT_SUSPICION_H_
