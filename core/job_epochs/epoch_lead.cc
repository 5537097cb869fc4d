// SPDX-License-Identifier: Apache-2.0
#include "core/job_epochs/epoch_lead.h"

#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"

namespace shufflefs {
namespace {

using Kind = EpochMessage::Kind;
using Time = EpochLead::Time;

uint32_t ReaderOf(uint32_t member, uint32_t reader) {
  return reader * 2654435761u + member * 40503u + 1;
}

}  // namespace

EpochLead::EpochLead(Parts parts)
    : parts_(std::move(parts)),
      detector_(parts_.detector),
      order_memory_(parts_.detector.names),
      jobs_(parts_.detector.names),
      polls_(parts_.now, kRepeat),
      round_(parts_.now.count()) {}

void EpochLead::SetMembers(const std::vector<std::string>& members,
                           const std::vector<std::string>& absent) {
  std::map<std::string, Member> now;
  for (const std::string& name : members) {
    const auto known = std::find(order_.begin(), order_.end(), name);
    Member& member = now[name];
    member = members_[name];
    member.index = static_cast<uint32_t>(known - order_.begin());
    member.absent =
        std::find(absent.begin(), absent.end(), name) != absent.end();
    if (member.absent) member.behind = polls_.last() + 1;
    if (known == order_.end()) order_.push_back(name);
  }
  members_ = std::move(now);
  std::erase_if(waiting_, [this](const Waiting& open) {
    return !members_.contains(order_[open.member]);
  });
}

EpochMessage EpochLead::Message(Kind kind) const {
  EpochMessage message;
  message.kind = kind;
  message.from = parts_.self;
  message.view = parts_.path;
  message.epoch = epoch_;
  message.binding = binding_;
  message.wanted = wanted_;
  message.round = round_;
  return message;
}

void EpochLead::ToAll(const EpochMessage& message) {
  for (const auto& [name, member] : members_) parts_.send(name, message);
}

void EpochLead::Hear(const EpochMessage& message, Time now) {
  const auto found = members_.find(message.from);
  // The rest is for members. A kAsk even has the name of another sender.
  const bool is_for_us = message.kind == Kind::kOpens ||
                         message.kind == Kind::kPrepared ||
                         message.kind == Kind::kSignal;
  if (found == members_.end() || !is_for_us) return;
  Member& member = found->second;
  const bool overtaken = member.heard && message.stream == member.stream &&
                         message.epoch < member.epoch;
  if (overtaken) return;
  member.epoch = message.epoch;
  member.binding = message.binding;
  member.wanted = message.wanted;
  member.fresh = message.fresh;
  if (message.from == parts_.self) HearOwn(message);
  if (phase_ == Phase::kCommitting && message.epoch == commit_.next &&
      (commit_.next != commit_.from_epoch ||
       message.binding != commit_.from_binding)) {
    waits_for_.erase(message.from);
    if (waits_for_.empty()) EndCommit();
  }
  if (!InStep(message)) return;
  switch (message.kind) {
    case Kind::kOpens:
      return HearOpens(member, message, now);
    case Kind::kPrepared:
      return HearPrepared(message, now);
    case Kind::kSignal:
      return HearSignal(message, now);
    default:
      return;
  }
}

void EpochLead::HearOwn(const EpochMessage& message) {
  if (message.epoch < decided_) return;  // it is about to follow
  const bool moved = message.epoch != epoch_ || message.binding != binding_;
  const bool known = decided_ == message.epoch;
  epoch_ = message.epoch;
  binding_ = message.binding;
  wanted_ = message.wanted;
  shows_ = message.shows;
  if (shows_ == kPlanned) sample_of_.clear();
  if (!moved || known) return;
  // Our node caught up with others. What was opened there is not known.
  decided_ = epoch_;
  if (detector_.seen_count() == 0) return;
  detector_.OnSignal();
  tail_.Clear();
  waiting_.clear();
  for (auto& [name, member] : members_) member.waiting = 0;
  DoubtOrder();
}

void EpochLead::DoubtOrder() {
  uncertain_ = kUncertain;
  is_doubted_ = true;
}

bool EpochLead::InStep(const EpochMessage& message) {
  if (message.epoch == epoch_ && message.binding == binding_) return true;
  // A signal that was heeded already, or a commit that will be repeated.
  const bool commit_is_due = phase_ == Phase::kCommitting &&
                             message.epoch == commit_.from_epoch &&
                             message.binding == commit_.from_binding;
  if (message.kind == Kind::kSignal || commit_is_due) return false;
  const bool shares =
      message.epoch == epoch_ && message.shows == kShared && shows_ != kShared;
  if (message.epoch > epoch_ || shares) {
    parts_.send(message.from, Message(Kind::kAsk));
  } else if (message.binding == binding_) {  // it missed that we held
    EpochMessage hold = Message(Kind::kHold);
    hold.next = epoch_;
    hold.reason = held_;
    // Its opens may be of several passes.
    hold.first = ~uint64_t{0};
    parts_.send(message.from, std::move(hold));
  } else {
    // The view of our own node answers, in our place.
    EpochMessage ask = Message(Kind::kAsk);
    ask.from = message.from;
    parts_.send(parts_.self, std::move(ask));
  }
  return false;
}

void EpochLead::HearOpens(Member& member, const EpochMessage& message,
                          Time now) {
  const bool none_before = (message.next & EpochMessage::kNoneBefore) != 0;
  const bool is_new = IsNew(member, message);
  if (!none_before && (is_new || message.first > member.next)) {
    // An earlier run of this daemon led, and was told what precedes these.
    EpochMessage again = Message(Kind::kAgain);
    again.stream = message.stream;
    return parts_.send(message.from, std::move(again));
  }
  if (is_new) Meet(member, message);
  // While we did not lead, it forgot what we have not heard.
  if (message.first > member.next) {
    member.next = message.first;
    DoubtOrder();
  }
  Take(member, message, now);
  member.poll = std::max(member.poll, polls_.Answered(message.round));
  if (member.poll >= member.behind && !member.absent) member.behind = 0;
  FeedWaiting(now);
  SendAck(message.from, member);
}

bool EpochLead::IsNew(const Member& member, const EpochMessage& message) {
  return !member.heard || member.stream != message.stream;
}

void EpochLead::Meet(Member& member, const EpochMessage& message) {
  // It tells once more what its earlier run has told.
  if (member.heard) {
    member.told =
        tail_.OpenedBy(member.index, parts_.detector.names, detector_);
  }
  member.heard = true;
  member.stream = message.stream;
  member.next = message.first;
  // What was opened there when the end of the last epoch was not known yet may
  // never be told.
  if (!message.fresh && message.first != 0) DoubtOrder();
}

void EpochLead::SendAck(const std::string& to, const Member& member) {
  EpochMessage ack = Message(Kind::kAck);
  ack.stream = member.stream;
  ack.first = member.next;
  ack.next = phase_ == Phase::kCommitting ? commit_.from_epoch : epoch_;
  parts_.send(to, std::move(ack));
}

// Feeds the opens that are new to us. Those that were told to another lead are
// out of their order, but they are opens like others.
void EpochLead::Take(Member& member, const EpochMessage& message, Time now) {
  const bool told_before = message.kind == Kind::kOpens &&
                           (message.next & EpochMessage::kToldBefore) != 0;
  if (!told_before) member.told = {};
  for (uint64_t i = member.next - message.first; i < message.opens.size();
       ++i) {
    const EpochOpen& open = message.opens[i];
    ++member.next;
    if (open.name >= parts_.detector.names) continue;
    NoteSample(open.name, open.sample);
    if (!told_before && !open.foreign) {
      order_memory_.Note(member.index, open.name, message.first + i);
    }
    // A restarted member does not know what it opened a second time.
    if (told_before || member.behind > 0) DoubtOrder();
    if (told_before && !member.told.empty() && member.told[open.name]) continue;
    // Members have not prepared yet, so the name shows its old sample.
    if (phase_ == Phase::kPreparing) commit_.retained.insert(open.name);
    if (member.waiting > 0 || detector_.seen(open.name)) {
      waiting_.push_back({open, member.index, polls_.last() + 1});
      ++member.waiting;
    } else {
      Feed(member, open, now);
    }
  }
}

void EpochLead::FeedWaiting(Time now) {
  uint64_t answered = polls_.last();
  for (const auto& [name, member] : members_) {
    if (member.heard && !member.absent) {
      answered = std::min(answered, member.poll);
    }
  }
  if (polls_.IsOverdue(answered, now)) {
    answered = polls_.last();
    const bool feeds = !waiting_.empty() && waiting_.front().poll <= answered;
    for (auto& [name, member] : members_) {
      if (feeds && member.poll < answered) member.behind = answered + 1;
    }
  }
  if (answered == polls_.last()) polls_.EndLast(now);
  while (phase_ == Phase::kIdle && !waiting_.empty() &&
         waiting_.front().poll <= answered) {
    FeedFirst(now);
  }
  const bool asks =
      !waiting_.empty() || absl::c_any_of(members_, [](const auto& member) {
        return member.second.behind > 0 && !member.second.absent;
      });
  if (!asks || !polls_.Sends(answered, now)) return;
  EpochMessage poll = Message(Kind::kPoll);
  poll.round = polls_.round();
  for (const auto& [name, member] : members_) {
    if (member.poll < polls_.last()) parts_.send(name, poll);
  }
}

void EpochLead::FeedAllWaiting(Time now) {
  while (!waiting_.empty()) {
    commit_.retained.insert(waiting_.front().open.name);
    FeedFirst(now);
  }
}

void EpochLead::FeedFirst(Time now) {
  const Waiting first = waiting_.front();
  waiting_.pop_front();
  const auto member = members_.find(order_[first.member]);
  if (member == members_.end()) return;
  --member->second.waiting;
  Feed(member->second, first.open, now);
}

void EpochLead::RetainUnclear(const PollTimes& polls,
                              EpochCommit& commit) const {
  const Time late = MemberPolls::LatestAfter(polls, tail_.LastFresh());
  for (const uint64_t name : tail_.BeforeLastFresh(late)) {
    commit.retained.insert(name);
  }
}

void EpochLead::Feed(Member& member, const EpochOpen& open, Time now) {
  const JobId job = jobs_.Note(member.index, open, members_.size());
  tail_.Add({open.name, member.index, !detector_.seen(open.name), now});
  const auto alive = [&](JobId asked) { return jobs_.IsAlive(asked); };
  EpochOutcome outcome = detector_.OnOpen(
      {open.name, job, ReaderOf(member.index, open.reader), now}, alive);
  if (!parts_.finds_epochs) return;
  if (outcome.verdict != Verdict::kNone) {
    Decide(std::move(outcome), now);
  } else if (!walks_ && detector_.MayEndSoon()) {
    walks_ = true;
    ToAll(Message(Kind::kWalks));
  }
}

}  // namespace shufflefs
