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
  const PollTimes polls = polls_.TakeTimes();
  // The opens came while the members wait for a decision: they are retained.
  if (phase_ != Phase::kIdle) return;
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
  EpochCommit commit;
  commit.next = epoch_ + 1;
  commit.verdict =
      outcome.rule == 't' ? "takeover" : std::string(1, outcome.rule);
  commit.retained = {outcome.retained.begin(), outcome.retained.end()};
  RetainUnclear(polls, commit);
  Prepare(std::move(commit), now);
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
  Prepare({.next = message.next != 0 ? message.next : epoch_ + 1,
           .verdict = "signal",
           .signalled = true},
          now);
}

// Names can be shared as soon as all members are there, if nothing of the epoch
// was shown. Otherwise that waits for the next boundary.
void EpochLead::ShareNames(Time now) {
  const bool due =
      shows_ == kOwn || (shows_ == kShared && !commit_.sharers.empty() &&
                         commit_.sharers != PresentMembers());
  const bool fresh = absl::c_all_of(
      members_, [](const auto& member) { return member.second.fresh; });
  if (!due || !fresh || now - shared_at_ < kBetweenShares ||
      !Missing().empty()) {
    return;
  }
  shared_at_ = now;
  Prepare({.next = epoch_, .verdict = "peers", .shares_only = true}, now);
}

void EpochLead::NoteSample(uint64_t name, uint64_t sample) {
  if (shows_ != kOwn && shows_ != kShared) return;
  if (sample_of_.empty())
    sample_of_.resize(parts_.detector.names, EpochCommit::kUnknown);
  sample_of_[name] = sample;
}

std::vector<std::string> EpochLead::PresentMembers() const {
  std::vector<std::string> names;
  for (const auto& [name, member] : members_) {
    if (!member.absent) names.push_back(name);
  }
  return names;
}

void EpochLead::Prepare(EpochCommit commit, Time now) {
  // What was committed last holds until the next commit.
  commit.sharers = std::move(commit_.sharers);
  commit_ = std::move(commit);
  phase_ = Phase::kPreparing;
  ++round_;
  since_ = sent_ = now;
  is_doubted_ = false;
  waits_for_.clear();
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
  if (commit_.signalled && IsNew(member, message)) Meet(member, message);
  if (IsNew(member, message) || message.first > member.next) return;
  if (commit_.shares_only && !message.fresh) return GiveUp("names were shown");
  if (waits_for_.erase(message.from) == 0) return;
  Take(member, message, now);
  commit_.first[message.from] = member.next;
  for (const EpochPair& pair : message.pairs) {
    if (pair.name >= parts_.detector.names) continue;
    commit_.retained.insert(pair.name);
    NoteSample(pair.name, pair.sample);
  }
  if (!waits_for_.empty()) return;
  FeedAllWaiting(now);
  Commit(now);
}

void EpochLead::Commit(Time now) {
  const std::string missing = commit_.signalled ? OtherKeys() : Missing();
  if (!missing.empty()) return GiveUp(missing);
  if (commit_.shares_only && !commit_.retained.empty())
    return GiveUp("names were opened");
  if (commit_.signalled) {
    commit_.retained.clear();
    detector_.OnSignal();
    walks_ = false;
    uncertain_ = 0;
  } else if (is_doubted_ && !commit_.shares_only) {
    return GiveUp(std::string(HoldReasonName(HoldReason::kUntrusted)));
  }
  commit_.opened = OpenedByMember();
  // If half of a pass came before the decision, more than one may have.
  if (commit_.Entries(/*pairs=*/!sample_of_.empty()) > kMostEpochEntries ||
      2 * commit_.retained.size() > parts_.detector.names) {
    uncertain_ = kUncertain;
    return GiveUp(std::string(HoldReasonName(HoldReason::kOverflow)));
  }
  held_.clear();
  decided_ = commit_.next;
  phase_ = Phase::kCommitting;
  since_ = sent_ = now;
  commit_.from_epoch = epoch_;
  commit_.from_binding = binding_;
  waits_for_.clear();
  for (const auto& [name, first] : commit_.first) waits_for_.insert(name);
  commit_.ShareAmongPrepared();
  for (const auto& [name, member] : members_) {
    if (waits_for_.contains(name)) {
      SendCommit(name);
    } else {
      Log(LogLevel::kWarning,
          absl::StrCat("peers: epoch ", commit_.next, " begins without ", name,
                       member.absent ? ", which is away" : ": no answer"));
    }
  }
}

void EpochLead::SendCommit(const std::string& to) {
  EpochMessage message = Message(Kind::kCommit);
  commit_.Tell(to, sample_of_, message);
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
  if (commit_.shares_only) return;
  if (!commit_.signalled) return Hold(why);
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
  std::map<std::string, std::vector<uint64_t>> opened = OpenedByMember();
  for (const auto& [name, member] : members_) {
    message.opened = std::move(opened[name]);
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
    if (now - since_ > kToPrepare && commit_.signalled &&
        commit_.first.contains(parts_.self)) {
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
                     " has not confirmed epoch ", commit_.next,
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
