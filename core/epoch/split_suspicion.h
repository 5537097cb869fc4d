// SPDX-License-Identifier: Apache-2.0
// Suspects a split that the client made by name inside one directory
// (random_split, k-fold). Moving samples between names would then
// mix validation samples into training, so the view stops substituting.
//
// Three signs, looked at when an epoch ends:
//   * over 2 % of the names were never opened, by guests neither, and no
//     epoch.length says why;
//   * one set of readers opened names, and after its last open another set
//     opened other ones of the same groups, hardly any name twice: a training
//     loader, then a validation loader;
//   * one reader, but the names that come last in an epoch come last again in
//     the next, far beyond chance, while those that come first do not (a
//     reader with one fixed order is no split).
// Stock jobs with full epochs raise none of them, whatever their workers.
//
// Pure and not thread-safe. Memory: 4 bits a name, at most 512 KiB (above a
// million names a sample of them is watched), 2 bytes a group, 256 readers; 1
// bit a name more once a guest has opened one.
#ifndef SHUFFLEFS_CORE_EPOCH_SPLIT_SUSPICION_H_
#define SHUFFLEFS_CORE_EPOCH_SPLIT_SUSPICION_H_

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "core/base/name_bits.h"

namespace shufflefs {

enum class Suspicion : uint8_t {
  kNone,
  kUnopened,         // over 2 % of the names were never opened
  kDisjointReaders,  // readers of other names followed readers that had ended
  kSameEnd,          // two epochs end in the same names
};
// A clause for status.warnings, behind "client-side split suspected: ".
absl::string_view SuspicionText(Suspicion suspicion);

class SplitSuspicion {
 public:
  struct Options {
    uint64_t names = 0;
    uint32_t groups = 1;
    bool length_configured = false;  // epoch.length is set
  };

  // An open that the detector calls fresh, a re-open or stray; double opens
  // and guests say nothing.
  struct Open {
    uint64_t name = 0;    // < Options::names
    uint32_t group = 0;   // of the name, < Options::groups
    uint32_t reader = 0;  // process or thread id
    bool fresh = false;
  };

  explicit SplitSuspicion(const Options& options);

  void OnOpen(const Open& open);
  // A guest opens `name`; whether the owner did in this epoch.
  void OnGuest(uint64_t name, bool seen);

  // The epoch was begun by another run of the job or of the daemon. Who reads
  // the rest of it is no evidence, however it ends.
  void Resume() { resumed_ = true; }

  // The epoch ended by `rule` with `seen` names opened; the next one has
  // opened `begun` of its names already (EpochOutcome::ended_seen and
  // EpochDetector::seen_count). Call it after OnOpen of the open that brought
  // the verdict, and with rule 's' when the user ends the epoch. Rule 't' (the
  // job was killed or gone) is no evidence, and names that were not opened
  // before a signal are none unless most were: that was no pass.
  Suspicion AtBoundary(char rule, uint64_t seen, uint64_t begun);

 private:
  static constexpr uint32_t kMaxReaders = 256;
  static constexpr uint16_t kUntouched = 0xffff;

  struct Reader {
    // Its first and last fresh open, by number in the epoch. Re-opens are not
    // looked at: before a verdict they belong to the next epoch already.
    uint64_t first = 0;
    uint64_t last = 0;
    uint64_t fresh = 0;
    uint64_t reopened = 0;
    uint64_t mixed = 0;  // fresh ones in groups where another reader was first
  };

  // How far the names of one part (first or last eighth) of an epoch came
  // back in the same part of the next, against chance.
  struct Part {
    explicit Part(uint64_t watched) : names(watched), before(watched) {}
    void Add(uint64_t index);
    // Ends an epoch: sums up if the epoch before counts, and shifts.
    void Roll(bool comparable, uint64_t watched);
    void Forget();

    NameBits names;   // of this epoch
    NameBits before;  // of the last one
    uint64_t size = 0;
    uint64_t size_before = 0;
    uint64_t common = 0;
    double common_sum = 0;  // over pairs of epochs
    double chance_sum = 0;
  };

  // Whether names are left that nobody opened. `opened`: by whom it counts.
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
  std::vector<uint16_t> first_in_group_;  // slot of the first reader
  uint64_t opens_ = 0;

  Part head_;
  Part tail_;
  absl::optional<NameBits> by_guests_;  // opened in this epoch, by them alone
  uint64_t only_guests_ = 0;            // how many
  uint64_t fresh_ = 0;                  // names opened in this epoch
  uint64_t head_end_ = 0;      // fresh opens below it are the epoch's head
  bool before_whole_ = false;  // the epoch before was a whole pass
  bool resumed_ = false;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_EPOCH_SPLIT_SUSPICION_H_
