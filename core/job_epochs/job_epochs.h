// SPDX-License-Identifier: Apache-2.0
// JobEpochs joins the views of this daemon to those of the other daemons of its
// job, so that an epoch begins on all nodes with the same bijection.
#ifndef SHUFFLEFS_CORE_JOB_EPOCHS_JOB_EPOCHS_H_
#define SHUFFLEFS_CORE_JOB_EPOCHS_JOB_EPOCHS_H_

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "core/base/mutex.h"
#include "core/epoch/epoch_group.h"
#include "core/epoch/open_tracker.h"
#include "core/job_epochs/epoch_lead.h"
#include "core/job_epochs/epoch_member.h"
#include "core/job_epochs/group_mailbox.h"
#include "core/job_epochs/key_switch.h"
#include "core/peers/epoch_message.h"
#include "core/peers/peer_transport.h"

namespace shufflefs {

// Thread-safe. The thread sfs-epochs does everything that calls a view or the
// transport. Nothing blocks but EpochGroup::Signal and Switch, and Stop.
class JobEpochs {
 public:
  using Group = std::shared_ptr<const PeerGroup>;
  struct Parts {
    // The members as they are now. Never blocks.
    std::function<Group()> group;
    // Tells the member at an index of a group. Never blocks. May fail.
    std::function<void(const Group&, size_t, const EpochMessage&)> tell;
    // As KeySwitch::Prepare, for the view at `path`. A thread of its own calls
    // it. Empty: this daemon refuses what others switch.
    std::function<absl::StatusOr<KeySwitch::Install>(
        const std::string& path, const std::string& settings)>
        prepare;
  };

  JobEpochs() = default;
  ~JobEpochs();
  JobEpochs(const JobEpochs&) = delete;
  JobEpochs& operator=(const JobEpochs&) = delete;

  // Makes a place in the group for the view at `path`. Lives as long as this
  // object.
  EpochGroup* Add(const std::string& path);
  // The view at `path` exists now. It lives until Stop has returned.
  void Attach(const std::string& path, GroupedView* view);
  // Call it once, after the last Attach.
  void Start(Parts parts);
  // A message from another member. Before Start it is dropped.
  void Hear(EpochMessage message);
  // From now on nothing is told or decided. Opens that wait go on.
  void Stop();

 private:
  // One view. All of it belongs to the thread, once that runs.
  struct Place {
    std::string path;
    std::unique_ptr<GroupMailbox> mailbox;
    GroupedView* view = nullptr;
    OpenTracker::Options options;  // how its epochs are found
    std::unique_ptr<EpochMember> member;
    bool wished = false;  // somebody waits for the member's wish_result
    std::unique_ptr<EpochLead> lead;  // null unless we lead
    std::unique_ptr<KeySwitch> keys;
  };
  using Time = std::chrono::milliseconds;

  void Run(const std::stop_token& stop);
  void Turn(std::deque<EpochMessage> heard, Time now);
  void LookAtGroup();
  void Join(Place& place);
  void MakeMember(Place& place);
  void MakeKeys(Place& place);
  std::unique_ptr<EpochLead> MakeLead(const Place& place);
  // The view's keys may have changed how its epochs are found.
  void FollowOptions(Place& place);
  void Deliver(const EpochMessage& message, Time now);
  void Send(const std::string& to, const EpochMessage& message);
  void TurnOf(Place& place, Time now);
  void Wake();

  // Constant after Start.
  Parts parts_;
  std::vector<std::unique_ptr<Place>> places_;

  // Of the thread.
  Group group_;
  std::string self_;  // names; "" if unknown
  std::string lead_;
  std::vector<std::string> names_;
  std::vector<std::string> absent_;
  std::deque<EpochMessage> own_;  // messages to ourselves
  bool busy_ = false;             // opens wait to be told

  Mutex mu_;
  CondVar changed_;
  bool woken_ ABSL_GUARDED_BY(mu_) = false;
  bool running_ ABSL_GUARDED_BY(mu_) = false;
  std::deque<EpochMessage> heard_ ABSL_GUARDED_BY(mu_);

  std::jthread thread_;  // last: it uses all of the above
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_JOB_EPOCHS_JOB_EPOCHS_H_
