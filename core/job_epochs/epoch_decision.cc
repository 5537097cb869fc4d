// SPDX-License-Identifier: Apache-2.0
// The part of EpochLead that has the members take a decision: they prepare, and
// then commit or go on.
#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "core/base/log.h"
#include "core/job_epochs/epoch_lead.h"

namespace shufflefs {
namespace {

using Kind = EpochMessage::Kind;
using Time = EpochLead::Time;

constexpr Time kLongestCommit{2000};
constexpr Time kBetweenShares{2000};
}  // namespace

void EpochLead::Decide(EpochOutcome outcome, Time now) {
  jobs_.BeginEpoch();
  walks_ = false;
  const PollTimes polls = std::exchange(polls_, {});
  // The opens came while the members wait for a decision: they are carried.
  if (phase_ != Phase::kIdle) return;
  next_ = epoch_ + 1;
  std::string why;
  if (outcome.verdict == Verdict::kHold) {
    why = std::string(HoldReasonName(outcome.reason));
  } else if (uncertain_ > 0) {
    why = std::string(HoldReasonName(HoldReason::kUntrusted));
  } else {
    why = Missing();
  }
  // A new job has begun a pass, or the order has shown where the last one
  // ended. If the detector itself holds the epoch, nothing has.
  if (outcome.rule == 't') uncertain_ = 0;
  const bool stays = uncertain_ == 1 && order_memory_.is_fixed();
  const bool found = outcome.verdict != Verdict::kHold;
  if (uncertain_ > 0 && !stays && found) --uncertain_;
  if (!why.empty()) return Hold(why);
  verdict_ = outcome.rule == 't' ? "takeover" : std::string(1, outcome.rule);
  signalled_ = shares_only_ = false;
  carried_ = {outcome.carried.begin(), outcome.carried.end()};
  CarryUnclear(polls);
  Prepare(now);
}

std::string EpochLead::Missing() const {
  for (const auto& [name, member] : members_) {
    if (member.absent) return absl::StrCat(name, " is away");
  }
  for (const auto& [name, member] : members_) {
    if (!member.heard) return absl::StrCat(name, " has not been heard of");
    if (member.epoch != epoch_ || member.binding != binding_) {
      return absl::StrCat(name, " shows another epoch");
    }
  }
  return OtherKeys();
}

std::string EpochLead::OtherKeys() const {
  for (const auto& [name, member] : members_) {
    if (member.heard && !member.absent && member.wanted != wanted_) {
      return absl::StrCat(name, " has other keys for the next epoch",
                          shows_ == kPlanned ? "" : ", or forms other chunks");
    }
  }
  return "";
}

void EpochLead::HearSignal(const EpochMessage& message, Time now) {
  const bool is_there = message.next != 0 && message.next == epoch_;
  if (phase_ != Phase::kIdle || is_there) return;
  if (message.next != 0 && message.next < epoch_) {
    EpochMessage refuse = Message(Kind::kRefuse);
    refuse.reason = absl::StrCat(
        "on several nodes epochs only advance, and this is ", epoch_);
    return parts_.send(message.from, refuse);
  }
  next_ = message.next != 0 ? message.next : epoch_ + 1;
  verdict_ = "signal";
  signalled_ = true;
  shares_only_ = false;
  carried_.clear();
  Prepare(now);
}

// Names can be shared as soon as all members are there, if nothing of the epoch
// was shown. Otherwise that waits for the next boundary.
void EpochLead::ShareNames(Time now) {
  const bool due = shows_ == kOwn || (shows_ == kShared && !sharers_.empty() &&
                                      sharers_ != PresentMembers());
  const bool fresh = absl::c_all_of(
      members_, [](const auto& member) { return member.second.fresh; });
  if (!due || !fresh || now - shared_at_ < kBetweenShares ||
      !Missing().empty()) {
    return;
  }
  shared_at_ = now;
  next_ = epoch_;
  verdict_ = "peers";
  signalled_ = false;
  shares_only_ = true;
  carried_.clear();
  Prepare(now);
}

void EpochLead::NoteSample(uint64_t name, uint64_t sample) {
  if (shows_ != kOwn && shows_ != kShared) return;
  if (sample_of_.empty()) sample_of_.resize(parts_.detector.names, kUnknown);
  sample_of_[name] = sample;
}

std::vector<std::string> EpochLead::PresentMembers() const {
  std::vector<std::string> names;
  for (const auto& [name, member] : members_) {
    if (!member.absent) names.push_back(name);
  }
  return names;
}

void EpochLead::Prepare(Time now) {
  phase_ = Phase::kPreparing;
  ++round_;
  since_ = sent_ = now;
  is_doubted_ = false;
  waits_for_.clear();
  first_.clear();
  // Before an epoch that was found, all are there.
  for (const auto& [name, member] : members_) {
    if (!member.absent) waits_for_.insert(name);
  }
  ToAll(Message(Kind::kPrepare));
}

void EpochLead::HearPrepared(const EpochMessage& message, Time now) {
  if (phase_ != Phase::kPreparing || message.round != round_) return;
  Member& member = members_.find(message.from)->second;
  // A signal does not depend on what was opened before.
  if (signalled_ && IsNew(member, message)) Meet(member, message);
  if (IsNew(member, message) || message.first > member.next) return;
  if (shares_only_ && !message.fresh) return GiveUp("names were shown");
  if (waits_for_.erase(message.from) == 0) return;
  Take(member, message, now);
  first_[message.from] = member.next;
  for (const EpochPair& pair : message.pairs) {
    if (pair.name >= parts_.detector.names) continue;
    carried_.insert(pair.name);
    NoteSample(pair.name, pair.sample);
  }
  if (!waits_for_.empty()) return;
  FeedAllWaiting(now);
  Commit(now);
}

void EpochLead::Commit(Time now) {
  const std::string missing = signalled_ ? OtherKeys() : Missing();
  if (!missing.empty()) return GiveUp(missing);
  if (shares_only_ && !carried_.empty()) return GiveUp("names were opened");
  if (signalled_) {
    carried_.clear();
    detector_.OnSignal();
    walks_ = false;
    uncertain_ = 0;
  } else if (is_doubted_ && !shares_only_) {
    return GiveUp(std::string(HoldReasonName(HoldReason::kUntrusted)));
  }
  opened_ = OpenedByMember();
  size_t most = 0;
  for (const auto& [name, opened] : opened_) {
    most = std::max(most, opened.size());
  }
  // If half of a pass came before the decision, more than one may have.
  const size_t entries = carried_.size() * (sample_of_.empty() ? 1 : 2) + most;
  if (entries > kMostEpochEntries ||
      2 * carried_.size() > parts_.detector.names) {
    uncertain_ = kUncertain;
    return GiveUp(std::string(HoldReasonName(HoldReason::kOverflow)));
  }
  held_.clear();
  decided_ = next_;
  phase_ = Phase::kCommitting;
  since_ = sent_ = now;
  from_epoch_ = epoch_;
  from_binding_ = binding_;
  waits_for_.clear();
  sharers_.clear();
  for (const auto& [name, first] : first_) {
    waits_for_.insert(name);
    sharers_.push_back(name);
  }
  // Of so many, each shows its own samples.
  if (!FitsMessage(sharers_)) sharers_.clear();
  for (const auto& [name, member] : members_) {
    if (waits_for_.contains(name)) {
      SendCommit(name);
    } else {
      Log(LogLevel::kWarning,
          absl::StrCat("peers: epoch ", next_, " begins without ", name,
                       member.absent ? ", which is away" : ": no answer"));
    }
  }
}

void EpochLead::SendCommit(const std::string& to) {
  EpochMessage message = Message(Kind::kCommit);
  message.epoch = from_epoch_;
  message.binding = from_binding_;
  message.next = next_;
  message.reason = verdict_;
  message.names.assign(carried_.begin(), carried_.end());
  // Only who opened a name knows what it shows.
  for (const uint64_t name : carried_) {
    if (!sample_of_.empty() && sample_of_[name] != kUnknown) {
      message.pairs.push_back({name, sample_of_[name]});
    }
  }
  message.opened = opened_[to];
  message.members = sharers_;
  message.first = first_[to];
  const auto member = members_.find(to);
  if (member != members_.end()) message.stream = member->second.stream;
  parts_.send(to, std::move(message));
}

// Whoever wished for the epoch waits for this answer.
void EpochLead::EndCommit() {
  phase_ = Phase::kIdle;
  for (const auto& [name, member] : members_) {
    if (member.heard) SendAck(name, member);
  }
}

// If the detector found the end, it has begun the next epoch already. So that
// is counted everywhere.
void EpochLead::GiveUp(const std::string& why) {
  ToAll(Message(Kind::kReopen));
  phase_ = Phase::kIdle;
  if (shares_only_) return;
  if (!signalled_) return Hold(why);
  EpochMessage refuse = Message(Kind::kRefuse);
  refuse.reason = why;
  ToAll(refuse);
}

void EpochLead::Hold(const std::string& why) {
  held_ = why;
  EpochMessage message = Message(Kind::kHold);
  decided_ = ++epoch_;
  message.next = epoch_;
  message.reason = why;
  opened_ = OpenedByMember();
  for (const auto& [name, member] : members_) {
    message.opened = opened_[name];
    if (message.opened.size() > kMostEpochEntries) message.opened.clear();
    message.first = member.next;
    parts_.send(name, message);
  }
}

std::map<std::string, std::vector<uint64_t>> EpochLead::OpenedByMember() const {
  std::map<std::string, std::vector<uint64_t>> opened;
  for (auto& [member, names] : tail_.ByNode(detector_)) {
    opened[order_[member]] = std::move(names);
  }
  return opened;
}

void EpochLead::Tick(Time now) {
  if (phase_ == Phase::kIdle) {
    ShareNames(now);
    return FeedWaiting(now);
  }
  if (now - sent_ < kRepeat) return;
  sent_ = now;
  const std::set<std::string> late = waits_for_;
  if (phase_ == Phase::kPreparing) {
    if (now - since_ > kToPrepare && signalled_ &&
        first_.contains(parts_.self)) {
      return Commit(now);  // the user wants it: those who are there go on
    }
    if (now - since_ > kToPrepare) {
      return GiveUp(absl::StrCat(*waits_for_.begin(), " did not answer"));
    }
    for (const std::string& name : late) {
      parts_.send(name, Message(Kind::kPrepare));
    }
    return;
  }
  if (now - since_ > kLongestCommit) {
    Log(LogLevel::kWarning,
        absl::StrCat("peers: ", *waits_for_.begin(),
                     " has not confirmed epoch ", next_,
                     ", so it may show another one until it is back"));
    return EndCommit();
  }
  for (const std::string& name : late) SendCommit(name);
}

void EpochLead::Stop() {
  if (phase_ == Phase::kPreparing) ToAll(Message(Kind::kReopen));
  phase_ = Phase::kIdle;
}

}  // namespace shufflefs
