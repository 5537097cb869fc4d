// SPDX-License-Identifier: Apache-2.0
#include "core/job_epochs/job_epochs.h"

#include <algorithm>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/thread.h"

namespace shufflefs {
namespace {

constexpr std::chrono::milliseconds kTick{50};
constexpr std::chrono::milliseconds kBusyTick{5};
// A sender of more is not believed. Messages are repeated until heeded.
constexpr size_t kMostHeard = 4096;

std::chrono::milliseconds Now() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::steady_clock::now().time_since_epoch());
}

uint64_t NewStream() {
  std::random_device random;
  return uint64_t{random()} << 32 | random();
}

}  // namespace

JobEpochs::~JobEpochs() { Stop(); }

EpochGroup* JobEpochs::Add(const std::string& path) {
  auto place = std::make_unique<Place>();
  place->path = path;
  place->mailbox = std::make_unique<GroupMailbox>([this] { Wake(); });
  places_.push_back(std::move(place));
  return places_.back()->mailbox.get();
}

void JobEpochs::Attach(const std::string& path, GroupedView* view) {
  const auto place =
      std::find_if(places_.begin(), places_.end(),
                   [&](const auto& each) { return each->path == path; });
  (*place)->view = view;
  (*place)->options = view->GroupOptions();
  (*place)->mailbox->WantOpens((*place)->options.finds_epochs);
}

void JobEpochs::Start(Parts parts) {
  parts_ = std::move(parts);
  {
    MutexLock lock(mu_);
    running_ = true;
  }
  thread_ = StartThread("sfs-epochs",
                        [this](const std::stop_token& stop) { Run(stop); });
}

void JobEpochs::Hear(EpochMessage message) {
  {
    MutexLock lock(mu_);
    if (!running_ || heard_.size() >= kMostHeard) return;
    heard_.push_back(std::move(message));
  }
  Wake();
}

void JobEpochs::Stop() {
  if (thread_.joinable()) {
    thread_.request_stop();
    Wake();
    thread_.join();
  }
  {
    MutexLock lock(mu_);
    running_ = false;
  }
  for (const auto& place : places_) {
    if (place->lead != nullptr) place->lead->Stop();
    if (place->member != nullptr) place->member->Stop();
    place->mailbox->WantOpens(false);
    place->mailbox->EndWish(absl::UnavailableError("the daemon stops"));
    // First: what keys prepare may wait for the write that waits for this.
    place->mailbox->EndSwitch(absl::UnavailableError("the daemon stops"));
    if (place->keys != nullptr) place->keys->Stop();
  }
}

void JobEpochs::Wake() {
  {
    MutexLock lock(mu_);
    woken_ = true;
  }
  changed_.SignalAll();
}

void JobEpochs::Run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    std::deque<EpochMessage> heard;
    {
      MutexLock lock(mu_);
      if (!woken_) changed_.WaitFor(mu_, busy_ ? kBusyTick : kTick);
      woken_ = false;
      heard.swap(heard_);
    }
    Turn(std::move(heard), Now());
  }
}

void JobEpochs::Turn(std::deque<EpochMessage> heard, Time now) {
  if (parts_.group() != group_) LookAtGroup();
  for (const EpochMessage& message : heard) Deliver(message, now);
  busy_ = false;
  for (const auto& place : places_) TurnOf(*place, now);
  while (!own_.empty()) {
    const EpochMessage message = std::move(own_.front());
    own_.pop_front();
    Deliver(message, now);
  }
}

// The first member that has joined leads.
void JobEpochs::LookAtGroup() {
  group_ = parts_.group();
  self_.clear();
  lead_.clear();
  names_.clear();
  absent_.clear();
  for (const PeerGroup::Member& member : group_->members) {
    names_.push_back(member.name);
    if (member.self) self_ = member.name;
    if (!member.joined) absent_.push_back(member.name);
    if (member.joined && lead_.empty()) lead_ = member.name;
  }
  if (self_.empty()) lead_.clear();
  for (const auto& place : places_) Join(*place);
}

void JobEpochs::Join(Place& place) {
  if (place.view == nullptr) return;
  if (place.member == nullptr) MakeMember(place);
  place.member->SetLead(lead_, self_);
  if (place.keys == nullptr) MakeKeys(place);
  std::set<std::string> others(names_.begin(), names_.end());
  for (const std::string& name : absent_) others.erase(name);
  others.erase(self_);
  if (self_.empty()) others.clear();
  place.keys->SetOthers(self_, others);
  const bool leads = !lead_.empty() && lead_ == self_;
  if (!leads && place.lead != nullptr) {
    place.lead->Stop();
    place.lead = nullptr;
  }
  if (leads && place.lead == nullptr) place.lead = MakeLead(place);
  if (place.lead != nullptr) place.lead->SetMembers(names_, absent_);
}

void JobEpochs::MakeMember(Place& place) {
  EpochMember::Parts member;
  member.path = place.path;
  member.stream = NewStream();
  member.view = place.view;
  member.tells_opens = place.options.finds_epochs;
  member.send = [this](const std::string& to, const EpochMessage& message) {
    Send(to, message);
  };
  member.take_opens = [&place] { return place.mailbox->TakeOpens(); };
  place.member = std::make_unique<EpochMember>(std::move(member));
}

void JobEpochs::MakeKeys(Place& place) {
  KeySwitch::Parts keys;
  keys.path = place.path;
  keys.stream = NewStream();
  keys.prepare =
      [this, path = place.path](
          const std::string& settings) -> absl::StatusOr<KeySwitch::Install> {
    if (parts_.prepare) return parts_.prepare(path, settings);
    return absl::FailedPreconditionError(
        "its program takes no keys from other nodes");
  };
  keys.send = [this](const std::string& to, const EpochMessage& message) {
    Send(to, message);
  };
  keys.wake = [this] { Wake(); };
  place.keys = std::make_unique<KeySwitch>(std::move(keys));
}

std::unique_ptr<EpochLead> JobEpochs::MakeLead(const Place& place) {
  const uint64_t members = names_.size();
  EpochLead::Parts lead;
  lead.path = place.path;
  lead.self = self_;
  lead.now = Now();
  lead.finds_epochs = place.options.finds_epochs;
  lead.detector.names = place.options.samples;
  // Keys are of a node, and the detector sees all nodes.
  lead.detector.epoch_length =
      std::min(place.options.samples, place.options.epoch_length * members);
  lead.detector.pad = static_cast<uint32_t>(place.options.epoch_pad * members);
  lead.detector.double_open = place.options.double_open;
  lead.detector.may_leave_out = place.options.may_leave_out;
  lead.send = [this](const std::string& to, const EpochMessage& message) {
    Send(to, message);
  };
  return std::make_unique<EpochLead>(std::move(lead));
}

void JobEpochs::FollowOptions(Place& place) {
  const OpenTracker::Options options = place.view->GroupOptions();
  if (options == place.options) return;
  place.options = options;
  place.member->TellOpens(options.finds_epochs);
  place.mailbox->WantOpens(options.finds_epochs);
  if (place.lead == nullptr) return;
  place.lead->Stop();
  place.lead = MakeLead(place);
  place.lead->SetMembers(names_, absent_);
}

void JobEpochs::Deliver(const EpochMessage& message, Time now) {
  for (const auto& place : places_) {
    if (place->path != message.view || place->member == nullptr) continue;
    place->keys->Hear(message, now);
    if (!place->view->IsGrouped()) return;
    if (place->lead != nullptr) place->lead->Hear(message, now);
    place->member->Hear(message, now);
  }
}

void JobEpochs::Send(const std::string& to, const EpochMessage& message) {
  if (to == self_) {
    own_.push_back(message);
    return;
  }
  for (size_t i = 0; i < group_->members.size(); ++i) {
    if (group_->members[i].name == to) parts_.tell(group_, i, message);
  }
}

void JobEpochs::TurnOf(Place& place, Time now) {
  if (place.member == nullptr) return;
  if (const auto settings = place.mailbox->TakeSettings()) {
    place.keys->Begin(*settings, now);
  }
  place.keys->Tick(now);
  if (const auto result = place.keys->TakeResult()) {
    place.mailbox->EndSwitch(*result);
  }
  const absl::optional<uint64_t> wish = place.mailbox->TakeWish();
  if (!place.view->IsGrouped()) {
    place.mailbox->TakeOpens();
    place.mailbox->SetWarning("");
    if (wish) place.mailbox->EndWish(absl::OkStatus());
    return;
  }
  FollowOptions(place);
  EpochMember& member = *place.member;
  const std::vector<EpochOpen> opens = place.mailbox->TakeOpens();
  member.Add(opens);
  if (wish) {
    member.Signal(*wish, now);
    place.wished = true;
  }
  member.Tick(now);
  // A message may have ended the wish since the last turn.
  if (place.wished && !member.wishes()) {
    place.wished = false;
    place.mailbox->EndWish(member.wish_result());
  }
  if (place.lead != nullptr) place.lead->Tick(now);
  place.mailbox->SetWarning(member.Warning());
  busy_ = busy_ || member.busy();
}

}  // namespace shufflefs
