// SPDX-License-Identifier: Apache-2.0
// EpochMember is one view of one daemon as a member of its group. It tells the
// lead what was opened here, and does what the lead decides.
#ifndef SHUFFLEFS_CORE_JOB_EPOCHS_EPOCH_MEMBER_H_
#define SHUFFLEFS_CORE_JOB_EPOCHS_EPOCH_MEMBER_H_

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/optional.h"
#include "core/epoch/epoch_group.h"
#include "core/peers/epoch_message.h"

namespace shufflefs {

// Opens are numbered as they come, from 0 at each start of the daemon. Those
// that the lead has acknowledged are kept until the epoch ends, for another
// lead. If they are far more than the names that were opened here, only these
// names are told to the other lead.
//
// Not thread-safe: the thread of JobEpochs calls it. Memory: 32 bytes per open
// of the epoch, for kMostOpens of them or twice the names opened here.
class EpochMember {
 public:
  using Time = std::chrono::milliseconds;  // monotonic
  using Send = std::function<void(const std::string& to, EpochMessage)>;

  // How long opens wait for the lead's decision, at most.
  static constexpr Time kLongestClosed{2000};
  static constexpr size_t kMostOpens = size_t{1} << 20;

  struct Parts {
    std::string path;             // of the view
    uint64_t stream = 0;          // differs at each start of the daemon
    GroupedView* view = nullptr;  // outlives the member
    bool tells_opens = true;      // else only the user ends epochs
    Send send;
    // Takes the opens that were noted and not yet given to Add.
    std::function<std::vector<EpochOpen>()> take_opens;
  };
  explicit EpochMember(Parts parts);

  // Only if opens are told can the lead find the end of an epoch. What was
  // opened in this epoch already counts as told before.
  void TellOpens(bool tells);
  void Add(const std::vector<EpochOpen>& opens);
  // `lead` is the name of the lead, `self` ours. Both may be "".
  void SetLead(const std::string& lead, const std::string& self);
  void Hear(const EpochMessage& message, Time now);
  // Sends what is due. Call it every few milliseconds.
  void Tick(Time now);
  // The user ends the epoch. The wish is fulfilled when all members that answer
  // show the next one, and have told their kernels.
  void Signal(uint64_t epoch, Time now);
  // Lets waiting opens go on. Call it before the end.
  void Stop();

  // Returns whether the user waits for the end of the epoch. If not any more,
  // wish_result says how that went.
  bool wishes() const { return wish_.has_value(); }
  const absl::Status& wish_result() const { return wish_result_; }
  // Returns whether opens wait to be told.
  bool busy() const { return acked_ < end(); }
  // How many samples this node may have shown that come twice.
  uint64_t doubtful() const { return doubtful_; }
  // What people should know, or "".
  std::string Warning() const;

 private:
  EpochMessage Message(EpochMessage::Kind kind) const;
  // Keeps opens_ from growing for ever.
  void BoundOpens();
  // Replaces all opens by the names that were opened.
  void PutTogether();
  void DropAcked();
  // As if they had been told before.
  void AddOpenedHere();
  void SendOpens(Time now);
  // The lead is another one, or was restarted.
  void TellAgain();
  void FillOpens(EpochMessage& message) const;
  void SendState(const std::string& to, uint64_t round) const;
  // This node owned names of the shared epoch before it was restarted. It asks
  // all who share it what these show, and adopts it when they have answered.
  bool MustAsk(const EpochMessage& message) const;
  void AskForNames(const EpochMessage& message, Time now);
  void HearNames(const EpochMessage& message);
  void AdoptAsked();
  void Acknowledge(uint64_t first);
  void Prepare(const EpochMessage& message, Time now);
  void Commit(const EpochMessage& message, Time now);
  // Returns whether this node has to follow the sender of `message`.
  bool Follows(const EpochMessage& message) const;
  void Adopt(const EpochMessage& message, GroupedView::Retained retained);
  void Hold(const EpochMessage& message, Time now);
  // `other` went on to `epoch` before the opens from number `known` on. Counts
  // them, and says so. If opens are not told, it may have been any.
  void NoteLost(uint64_t known, const std::string& other, uint64_t epoch);
  // The epoch has ended: the lead knows all opens before `first`.
  void Begin(uint64_t first);
  void FollowWish(Time now);
  void EndWish(const absl::Status& how);
  // The number of the next open.
  uint64_t end() const { return base_ + opens_.size(); }

  const Parts parts_;
  bool tells_opens_ = false;
  std::string lead_;
  std::string self_;
  std::deque<EpochOpen> opens_;
  uint64_t base_ = 0;   // number of the first of opens_
  uint64_t acked_ = 0;  // the lead has all before
  // Opens before this one were told to an earlier lead, or by an earlier run.
  uint64_t told_before_ = 0;
  bool forgot_acked_ = false;  // of this epoch; opens_ begins behind these
  size_t most_opens_ = kMostOpens;
  // All opens before this one were of an earlier binding, or in an answer to
  // kPrepare. If others bind names without us, opens before this one were
  // before that. Acknowledged opens may not be: a lead that was cut off from
  // the others acknowledges them, too.
  uint64_t known_ = 0;
  uint64_t poll_ = 0;          // the last that was heard
  absl::optional<Time> sent_;  // an open or sign of life, not acknowledged yet
  Time told_{0};               // last message to the lead
  uint64_t told_wanted_ = 0;
  struct Closed {
    uint64_t round = 0;
    Time since{0};
    uint64_t known_before = 0;
  };
  absl::optional<Closed> closed_;
  struct Asked {
    EpochMessage state;  // to adopt
    GroupedView::Retained retained;
    std::set<std::string> waits_for;
    Time since{0};
    Time sent{0};
  };
  absl::optional<Asked> asked_;
  struct Wish {
    uint64_t from = 0;  // the epoch to end
    uint64_t next = 0;
    Time since{0};
    Time sent{0};
  };
  absl::optional<Wish> wish_;
  // The lead says that all members which had to begin this epoch did so.
  uint64_t begun_ = 0;
  absl::Status wish_result_;
  std::string held_;  // why the last epoch was held, or ""
  // At most so many opens showed the samples of a binding that others had left
  // already. Their samples may come twice, and others not at all.
  uint64_t doubtful_ = 0;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_JOB_EPOCHS_EPOCH_MEMBER_H_
