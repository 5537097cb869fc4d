// SPDX-License-Identifier: Apache-2.0
// What daemons tell each other to agree on the epochs of a view. What the
// messages mean: core/job_epochs/README.md. Plain values.
#ifndef SHUFFLEFS_CORE_PEERS_EPOCH_MESSAGE_H_
#define SHUFFLEFS_CORE_PEERS_EPOCH_MESSAGE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace shufflefs {

// One open of a name, as a member saw it.
struct EpochOpen {
  uint64_t name = 0;    // number of the name
  uint64_t sample = 0;  // that it showed; only if no plan says that
  uint32_t reader = 0;  // thread; 0: hidden
  // Counts the jobs that followed each other on the member.
  uint32_t job = 0;
  bool foreign = false;  // by another job, while that one lives
  friend bool operator==(const EpochOpen&, const EpochOpen&) = default;
};

struct EpochPair {
  uint64_t name = 0;
  uint64_t sample = 0;
  friend bool operator==(const EpochPair&, const EpochPair&) = default;
};

struct EpochMessage {
  // To the lead: kOpens, kPrepared, kSignal, kState. Between any two members:
  // kSwitch and kSwitched. From the lead: the others, and kState.
  enum class Kind : uint32_t {
    kNone = 0,
    kOpens,  // opens from number `first` on; none: a sign of life
    // Opens up to number `first` have arrived. All who had to begin epoch
    // `next` have done so.
    kAck,
    kPoll,      // tell what was opened up to now, in a kOpens of this round
    kWalks,     // the epoch may end soon
    kPrepare,   // answer nothing more of this epoch
    kPrepared,  // names that are to keep their samples, and opens as kOpens
    kCommit,    // epoch `next` begins
    kReopen,    // the epoch continues after all
    kHold,      // epoch `next` begins, and names keep what they show
    kSignal,    // the user ends the epoch; `next` is the number wanted, or 0
    kRefuse,    // to kSignal: the epoch does not end; `reason` says why
    kAsk,       // tell me your state; `round` 1: and what you know of my names
    kState,     // the sender's epoch, with all that it has retained
    // Keys of the view were written on the sender. `next`: 0 prepare the
    // settings in `reason`, 1 install them, 2 forget them.
    kSwitch,
    kSwitched,  // to kSwitch; `reason` says why not, or is empty
    kAgain,     // tell all opens of the epoch again: the lead was restarted
  };
  // An earlier lead or run has told of these opens.
  static constexpr uint64_t kToldBefore = 1;
  // Opens before these are forgotten: their epoch has ended here.
  static constexpr uint64_t kNoneBefore = 2;
  Kind kind = Kind::kNone;
  std::string from;      // name of the sender
  std::string view;      // path of the view
  uint64_t epoch = 0;    // the number that the sender's view shows
  uint64_t binding = 0;  // hash of what names show there
  uint64_t wanted = 0;   // hash of the keys with which the next epoch begins
  // Counts the polls, or the preparations, of a lead. An answer has that of its
  // question.
  uint64_t round = 0;
  uint64_t stream = 0;  // the run of the daemon that counts the opens
  uint64_t first = 0;
  // kOpens: kToldBefore and kNoneBefore. Others: an epoch.
  uint64_t next = 0;
  // kCommit: the verdict; kHold, kRefuse, kSwitched: why; kSwitch: settings.
  std::string reason;
  // kOpens and kPrepared. kState of round 1: names of the receiver, with what
  // they show; they are all if `first` is their number.
  std::vector<EpochOpen> opens;
  // kCommit: names that keep their samples. kHold: nothing.
  std::vector<uint64_t> names;
  // kCommit and kHold: names that the receiver has opened in the next epoch.
  std::vector<uint64_t> opened;
  // kState: what is retained. kPrepared: what threads were told of. kCommit:
  // what is retained, if no plan says what names show.
  std::vector<EpochPair> pairs;
  uint64_t shown = 0;  // kState: the epoch whose order names show
  uint64_t keys = 0;   // kState: hash of the keys of that epoch
  // What the sender's names show: a GroupedView::Names.
  uint32_t shows = 0;
  bool fresh = false;  // nothing of the epoch was shown there
  // The members that share the names of an epoch. kCommit: of the one that
  // begins; kState: of the sender's.
  std::vector<std::string> members;
  friend bool operator==(const EpochMessage&, const EpochMessage&) = default;
};

// Together in the lists of a message.
inline constexpr size_t kMostEpochEntries = 16384;
inline constexpr size_t kMostEpochText = 4096;  // bytes of each text
inline constexpr size_t kMostEpochMembers = 4096;
inline constexpr size_t kMostMemberBytes = 64 << 10;  // of all their names

// Returns whether a message carries so many members.
inline bool FitsMessage(const std::vector<std::string>& members) {
  size_t bytes = 0;
  for (const std::string& member : members) bytes += member.size();
  return members.size() <= kMostEpochMembers && bytes <= kMostMemberBytes;
}

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_PEERS_EPOCH_MESSAGE_H_
