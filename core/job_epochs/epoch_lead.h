// SPDX-License-Identifier: Apache-2.0
// EpochLead decides about the epochs of one view for all members of a group. It
// runs on the member whose name comes first among those that are there.
//
// It gives the opens of all members to one EpochDetector, in the order in which
// they arrive. If the detector says that names may be rebound, it asks all
// members to prepare: they answer nothing more of the epoch, and say what else
// was opened. Then the next epoch begins on all of them, and all retain the
// same names. If a member is missing, refuses or does not answer, the epoch is
// held on all of them: it is counted, and names keep what they show. So nodes
// never show different bijections, except for the time in which a decision
// travels.
//
// If the user ends the epoch, it ends on all members that answer. The others
// catch up when they are back, and say what they showed meanwhile.
#ifndef SHUFFLEFS_CORE_JOB_EPOCHS_EPOCH_LEAD_H_
#define SHUFFLEFS_CORE_JOB_EPOCHS_EPOCH_LEAD_H_

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/epoch/epoch_detector.h"
#include "core/epoch/epoch_group.h"
#include "core/job_epochs/epoch_commit.h"
#include "core/job_epochs/job_runs.h"
#include "core/job_epochs/member_polls.h"
#include "core/job_epochs/open_tail.h"
#include "core/job_epochs/order_memory.h"
#include "core/job_epochs/poll_times.h"
#include "core/peers/epoch_message.h"

namespace shufflefs {

// Not thread-safe: the thread of JobEpochs calls it. Memory: that of an
// EpochDetector, and a MiB; 8 bytes a name if names are shared.
class EpochLead {
 public:
  using Time = std::chrono::milliseconds;  // monotonic
  using Send = std::function<void(const std::string& to, EpochMessage)>;

  // Members have so long to prepare.
  static constexpr Time kToPrepare{500};
  static constexpr Time kRepeat{100};  // between repeats of a message

  struct Parts {
    std::string path;  // of the view
    std::string self;  // name of the member that leads
    EpochDetector::Options detector;
    bool finds_epochs = true;  // else only the user ends an epoch
    // Questions are counted from here: an answer to one of an earlier run must
    // not count as one to this run's.
    Time now{0};
    Send send;
  };
  explicit EpochLead(Parts parts);

  // The members of the group, and those of them that have not joined.
  void SetMembers(const std::vector<std::string>& members,
                  const std::vector<std::string>& absent);
  void Hear(const EpochMessage& message, Time now);
  void Tick(Time now);
  // Tells members that wait for a decision to go on. Call it before the end.
  void Stop();

  // Why the last end of an epoch did not rebind names, or "".
  const std::string& held() const { return held_; }

 private:
  struct Member {
    uint32_t index = 0;  // of order_
    bool absent = false;
    uint64_t stream = 0;
    uint64_t next = 0;     // number of the next open
    uint64_t poll = 0;     // the last that it answered
    uint64_t waiting = 0;  // its opens in waiting_
    bool heard = false;    // in this stream
    // Opens of others were fed without asking it. So what it tells before it
    // answers this poll may be out of order. 0: it is not behind.
    uint64_t behind = 0;
    // After its restart: names that its earlier run told in this epoch.
    std::vector<bool> told;
    // The epoch and binding that it shows.
    uint64_t epoch = 0;
    uint64_t binding = 0;
    uint64_t wanted = 0;
    bool fresh = false;
  };
  // A re-open, or an open that its member made after one, that came when `poll`
  // was the next poll.
  struct Waiting {
    EpochOpen open;
    uint32_t member = 0;
    uint64_t poll = 0;
  };
  enum class Phase { kIdle, kPreparing, kCommitting };
  // If opens were told out of their order, it is not certain where their pass
  // ended. So neither is the end of the next one, which is found by that.
  static constexpr uint32_t kUncertain = 2;
  // EpochMessage::shows.
  static constexpr auto kPlanned =
      static_cast<uint32_t>(GroupedView::Names::kPlanned);
  static constexpr auto kOwn = static_cast<uint32_t>(GroupedView::Names::kOwn);
  static constexpr auto kShared =
      static_cast<uint32_t>(GroupedView::Names::kShared);

  EpochMessage Message(EpochMessage::Kind kind) const;
  void ToAll(const EpochMessage& message);
  // Returns whether the member shows what the lead's node shows. If not, one
  // of the two catches up.
  bool InStep(const EpochMessage& message);
  // The view of the lead's own node told what it shows.
  void HearOwn(const EpochMessage& message);
  void HearOpens(Member& member, const EpochMessage& message, Time now);
  // Returns whether this is the first message of this run of the member.
  static bool IsNew(const Member& member, const EpochMessage& message);
  void Meet(Member& member, const EpochMessage& message);
  void HearPrepared(const EpochMessage& message, Time now);
  void HearSignal(const EpochMessage& message, Time now);
  void Take(Member& member, const EpochMessage& message, Time now);
  // Polls the members if opens wait, and feeds those that waited enough.
  void FeedWaiting(Time now);
  // Opens were told out of their order.
  void DoubtOrder();
  void FeedAllWaiting(Time now);
  void FeedFirst(Time now);
  // Retains the names that may have been opened in the next pass already,
  // before the last of this one arrived. A member may have told that one as
  // late as it answered one of `polls`.
  void RetainUnclear(const PollTimes& polls, EpochCommit& commit) const;
  void Feed(Member& member, const EpochOpen& open, Time now);
  void Decide(EpochOutcome outcome, Time now);
  // Has the members share the names of the epoch that is live, if they can.
  void ShareNames(Time now);
  std::vector<std::string> PresentMembers() const;
  // What a name showed when it was told, if no plan says that.
  void NoteSample(uint64_t name, uint64_t sample);
  // `commit`: as far as it is known now.
  void Prepare(EpochCommit commit, Time now);
  void Commit(Time now);
  void SendCommit(const std::string& to);
  void EndCommit();
  // Acknowledges what `to` told, and says which epoch all have begun.
  void SendAck(const std::string& to, const Member& member);
  void Hold(const std::string& why);
  void GiveUp(const std::string& why);
  // Why names cannot be rebound on all members now, or "".
  std::string Missing() const;
  std::string OtherKeys() const;
  // The names of the epoch that begins which each member opened.
  std::map<std::string, std::vector<uint64_t>> OpenedByMember() const;

  const Parts parts_;
  EpochDetector detector_;
  OrderMemory order_memory_;
  JobRuns jobs_;
  std::map<std::string, Member> members_;
  std::vector<std::string> order_;  // names of all that ever were members
  // What the view of the lead's own node shows.
  uint64_t epoch_ = 0;
  uint64_t binding_ = 0;
  uint64_t wanted_ = 0;
  uint32_t shows_ = 0;
  OpenTail tail_;
  // A re-open may be the first of the next pass. The last opens of this pass
  // precede it if the ranks of a job wait for each other, but they may arrive
  // later. So it waits until each member was polled after it arrived, and what
  // its member opened after it waits, too.
  std::deque<Waiting> waiting_;
  MemberPolls polls_;
  // The number of the epoch that the lead decided last, or was told of.
  uint64_t decided_ = 0;
  // So many boundaries that are found are to be held, because opens were not
  // told in their order. If that order is the same in each pass, the last one
  // is for ever.
  uint32_t uncertain_ = 0;
  bool is_doubted_ = false;  // since the decision that is under way
  bool walks_ = false;       // members were told that the epoch may end soon

  Phase phase_ = Phase::kIdle;
  // Counts the preparations.
  uint64_t round_;
  Time since_{0};  // of the phase
  Time sent_{0};
  std::set<std::string> waits_for_;  // members that have not answered
  // What is prepared or committed, or was last.
  EpochCommit commit_;
  Time shared_at_{-10000};           // the last try
  std::vector<uint64_t> sample_of_;  // by name; empty: a plan says it
  std::string held_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_JOB_EPOCHS_EPOCH_LEAD_H_
