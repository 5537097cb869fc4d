// SPDX-License-Identifier: Apache-2.0
#include "core/job_epochs/epoch_member.h"

#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "core/base/log.h"

namespace shufflefs {
namespace {

using Kind = EpochMessage::Kind;
using Time = EpochMember::Time;

constexpr Time kBatch{5};     // between messages about opens
constexpr Time kResend{200};  // until a message counts as lost
constexpr Time kSignOfLife{500};
constexpr Time kLongestWish{5000};
constexpr Time kLongestAsked{1000};

std::vector<EpochPair> ToMessage(const std::vector<GroupedView::Pair>& pairs) {
  std::vector<EpochPair> result;
  for (const GroupedView::Pair& pair : pairs) {
    result.push_back({pair.name, pair.sample});
  }
  return result;
}

std::vector<GroupedView::Pair> FromMessage(
    const std::vector<EpochPair>& pairs) {
  std::vector<GroupedView::Pair> result;
  for (const EpochPair& pair : pairs) {
    result.push_back({pair.name, pair.sample});
  }
  return result;
}

}  // namespace

EpochMember::EpochMember(Parts parts) : parts_(std::move(parts)) {
  TellOpens(parts_.tells_opens);
}

void EpochMember::TellOpens(bool tells) {
  if (tells == std::exchange(tells_opens_, tells) || !tells) return;
  AddOpenedHere();
}

void EpochMember::AddOpenedHere() {
  for (const GroupedView::Pair& pair : parts_.view->OpenedHere()) {
    opens_.push_back({.name = pair.name, .sample = pair.sample});
  }
  told_before_ = end();
}

EpochMessage EpochMember::Message(Kind kind) const {
  const GroupedView::State state = parts_.view->GroupState();
  EpochMessage message;
  message.kind = kind;
  message.from = self_;
  message.view = parts_.path;
  message.epoch = state.epoch;
  message.binding = state.binding;
  message.wanted = state.wanted;
  message.stream = parts_.stream;
  message.shows = static_cast<uint32_t>(state.names);
  message.fresh = state.fresh;
  return message;
}

void EpochMember::Add(const std::vector<EpochOpen>& opens) {
  opens_.insert(opens_.end(), opens.begin(), opens.end());
}

void EpochMember::SetLead(const std::string& lead, const std::string& self) {
  if (lead == lead_ && self == self_) return;
  lead_ = lead;
  self_ = self;
  begun_ = 0;
  TellAgain();
}

void EpochMember::TellAgain() {
  poll_ = 0;
  told_before_ = std::max(told_before_, acked_);
  acked_ = base_;
  if (forgot_acked_) PutTogether();
  sent_.reset();
  told_ = Time(0);
}

void EpochMember::Tick(Time now) {
  if (closed_ && now - closed_->since > kLongestClosed) Stop();
  if (asked_ && now - asked_->since > kLongestAsked) AdoptAsked();
  if (asked_ && now - asked_->sent >= kResend) {
    asked_->sent = now;
    EpochMessage ask = Message(Kind::kAsk);
    ask.round = 1;
    for (const std::string& name : asked_->waits_for) parts_.send(name, ask);
  }
  if (lead_.empty()) {
    if (wish_) EndWish(absl::UnavailableError("no member is this daemon"));
    BoundOpens();
    return;
  }
  if (wish_) FollowWish(now);
  BoundOpens();
  if (sent_ && now - *sent_ < kResend) return;
  const bool news =
      acked_ < end() || told_wanted_ != parts_.view->GroupState().wanted;
  if (now - told_ >= (news ? kBatch : kSignOfLife) || told_ == Time(0)) {
    SendOpens(now);
  }
}

// If no epoch ends, names are opened again and again: nobody leads, or the
// opens are foreign to the job. An epoch of many names stays as it is.
void EpochMember::BoundOpens() {
  if (closed_ || opens_.size() < most_opens_) return;
  const size_t opened = parts_.view->OpenedHere().size();
  most_opens_ = std::max(kMostOpens, 2 * opened);
  if (opens_.size() < most_opens_) return;
  if (acked_ - base_ < opens_.size() / 2) return PutTogether();
  DropAcked();
  forgot_acked_ = true;
}

// The next lead is told what a daemon that was started anew would tell.
void EpochMember::PutTogether() {
  base_ = acked_ = end();
  known_ = std::max(known_, base_);
  opens_.clear();
  forgot_acked_ = false;
  AddOpenedHere();
}

void EpochMember::DropAcked() {
  opens_.erase(opens_.begin(),
               opens_.begin() + static_cast<int64_t>(acked_ - base_));
  base_ = acked_;
}

void EpochMember::SendOpens(Time now) {
  if (closed_) return;  // they are in the answer to kPrepare
  EpochMessage message = Message(Kind::kOpens);
  message.round = poll_;
  FillOpens(message);
  sent_ = told_ = now;
  told_wanted_ = message.wanted;
  parts_.send(lead_, std::move(message));
}

// Those that were told before are marked, and sent by themselves.
void EpochMember::FillOpens(EpochMessage& message) const {
  message.first = acked_;
  if (acked_ < told_before_) message.next |= EpochMessage::kToldBefore;
  if (acked_ == base_ && !forgot_acked_) {
    message.next |= EpochMessage::kNoneBefore;
  }
  const uint64_t all = end();
  const uint64_t stop = std::min({acked_ < told_before_ ? told_before_ : all,
                                  all, acked_ + kMostEpochEntries / 2});
  message.opens.assign(opens_.begin() + static_cast<int64_t>(acked_ - base_),
                       opens_.begin() + static_cast<int64_t>(stop - base_));
}

void EpochMember::Acknowledge(uint64_t first) {
  if (first < acked_ || first > end()) return;
  acked_ = first;
  sent_.reset();
}

void EpochMember::Hear(const EpochMessage& message, Time now) {
  switch (message.kind) {
    case Kind::kAck:
      if (message.stream == parts_.stream) Acknowledge(message.first);
      if (message.from == lead_) begun_ = std::max(begun_, message.next);
      return;
    case Kind::kAgain:
      if (message.stream == parts_.stream && message.from == lead_) TellAgain();
      return;
    case Kind::kPoll:
      if (message.from != lead_ || message.round < poll_) return;
      poll_ = message.round;
      Add(parts_.take_opens());
      return SendOpens(now);
    case Kind::kPrepare:
      return Prepare(message, now);
    case Kind::kCommit:
      return Commit(message, now);
    case Kind::kHold:
      return Hold(message, now);
    case Kind::kState:
      if (asked_) return HearNames(message);
      if (MustAsk(message)) return AskForNames(message, now);
      return Adopt(message, {});
    case Kind::kRefuse:
      if (message.from == lead_) {
        EndWish(absl::UnavailableError(message.reason));
      }
      return;
    case Kind::kReopen:
      if (!closed_ || closed_->round != message.round) return;
      known_ = closed_->known_before;
      return Stop();
    case Kind::kWalks:
      // To tell the kernel may wait for a lookup, and while the epoch is closed
      // lookups wait for us.
      if (!closed_ && message.epoch == parts_.view->GroupState().epoch) {
        parts_.view->ShowWalks();
      }
      return;
    case Kind::kAsk:
      return SendState(message.from, message.round);
    default:
      return;
  }
}

void EpochMember::SendState(const std::string& to, uint64_t round) const {
  EpochMessage message = Message(Kind::kState);
  const GroupedView::State state = parts_.view->GroupState();
  message.shown = state.shown;
  message.keys = state.keys;
  GroupedView::Retained retained = parts_.view->RetainedNow();
  message.pairs = ToMessage(retained.pairs);
  message.members = std::move(retained.members);
  if (round == 1) {
    message.round = 1;
    const std::vector<GroupedView::Pair> known = parts_.view->KnownOf(to);
    message.first = known.size();
    for (const GroupedView::Pair& pair : known) {
      if (message.opens.size() + message.pairs.size() >= kMostEpochEntries) {
        break;
      }
      message.opens.push_back({.name = pair.name, .sample = pair.sample});
    }
  }
  parts_.send(to, std::move(message));
}

bool EpochMember::MustAsk(const EpochMessage& message) const {
  return Follows(message) &&
         parts_.view->GroupState().names == GroupedView::Names::kOwn &&
         absl::c_linear_search(message.members, self_) &&
         message.members.size() > 1;
}

void EpochMember::AskForNames(const EpochMessage& message, Time now) {
  asked_ = Asked{.state = message, .since = now, .sent = now - kResend};
  asked_->waits_for.insert(message.members.begin(), message.members.end());
  asked_->waits_for.erase(self_);
  asked_->retained.told_all = true;
}

void EpochMember::HearNames(const EpochMessage& message) {
  if (message.round != 1 || asked_->waits_for.erase(message.from) == 0) return;
  if (message.epoch > asked_->state.epoch) {  // it is not that epoch any more
    asked_.reset();
    return;
  }
  // A node that does not share the epoch, because it was started anew as well,
  // knows nothing of it.
  const bool shares =
      message.shows == static_cast<uint32_t>(GroupedView::Names::kShared) &&
      message.epoch == asked_->state.epoch &&
      message.binding == asked_->state.binding;
  if (shares) {
    for (const EpochOpen& open : message.opens) {
      asked_->retained.told.push_back({open.name, open.sample});
    }
  }
  if (!shares || message.first != message.opens.size()) {
    asked_->retained.told_all = false;
  }
  if (asked_->waits_for.empty()) AdoptAsked();
}

void EpochMember::AdoptAsked() {
  Asked asked = *std::move(asked_);
  asked_.reset();
  if (!asked.waits_for.empty()) asked.retained.told_all = false;
  Adopt(asked.state, std::move(asked.retained));
}

void EpochMember::Prepare(const EpochMessage& message, Time now) {
  // Who asks must be the one whom we take for the lead. Otherwise two of them
  // could decide.
  if (message.from != lead_) return;
  EpochMessage answer = Message(Kind::kPrepared);
  answer.round = message.round;
  if (message.epoch != answer.epoch || message.binding != answer.binding) {
    return;
  }
  if (closed_ && closed_->round != message.round) return;
  answer.pairs = ToMessage(parts_.view->CloseEpoch());
  // What was shown until then counts.
  answer.fresh = parts_.view->GroupState().fresh;
  if (!closed_) closed_ = Closed{message.round, now, known_};
  Add(parts_.take_opens());
  FillOpens(answer);
  // If they are too many, the lead asks in vain, and the epoch is held.
  const bool all = acked_ + answer.opens.size() == end();
  if (all && answer.opens.size() + answer.pairs.size() <= kMostEpochEntries) {
    known_ = end();
    parts_.send(lead_, std::move(answer));
  }
}

void EpochMember::Commit(const EpochMessage& message, Time now) {
  const GroupedView::State state = parts_.view->GroupState();
  if (message.from != lead_) return;
  if (state.epoch == message.epoch && state.binding == message.binding) {
    // What an earlier run answered was all that it had opened.
    const uint64_t first =
        message.stream == parts_.stream ? message.first : told_before_;
    if (!closed_) {
      Add(parts_.take_opens());
      NoteLost(first, message.from, message.next);
    }
    closed_.reset();
    held_.clear();
    parts_.view->BeginEpoch({message.next, message.reason, message.names,
                             message.opened, FromMessage(message.pairs),
                             message.members, self_});
    Begin(first);
    known_ = base_;
  }
  SendOpens(now);
}

void EpochMember::NoteLost(uint64_t known, const std::string& other,
                           uint64_t epoch) {
  const uint64_t lost = tells_opens_ ? end() - std::min(known, end())
                                     : parts_.view->OpenedHere().size();
  if (lost == 0) return;
  doubtful_ += lost;
  Log(LogLevel::kWarning,
      absl::StrCat("peers: this node was in epoch ",
                   parts_.view->GroupState().epoch, " when ", other,
                   " was in epoch ", epoch, "; up to ", lost,
                   " samples that it showed may come twice, and as many may be "
                   "missing"));
}

void EpochMember::Hold(const EpochMessage& message, Time now) {
  const GroupedView::State state = parts_.view->GroupState();
  if (message.from != lead_ || state.binding != message.binding) return;
  if (message.next > state.epoch) {
    Stop();
    held_ = message.reason;
    parts_.view->HoldEpoch({.epoch = message.next,
                            .reason = message.reason,
                            .opened = message.opened});
    Begin(message.first);
  }
  SendOpens(now);
}

// The highest number wins. Of equal ones, one that is shared wins over one that
// is not yet. Then the lead's.
bool EpochMember::Follows(const EpochMessage& message) const {
  const GroupedView::State own = parts_.view->GroupState();
  if (message.epoch != own.epoch) return message.epoch > own.epoch;
  if (message.binding == own.binding) return false;
  const auto shared = static_cast<uint32_t>(GroupedView::Names::kShared);
  const bool ours = own.names == GroupedView::Names::kShared;
  if (ours != (message.shows == shared)) return !ours;
  return message.from == lead_;
}

void EpochMember::Adopt(const EpochMessage& message,
                        GroupedView::Retained retained) {
  const GroupedView::State own = parts_.view->GroupState();
  if (!Follows(message)) return;
  if (own.binding == message.binding) {  // a boundary that was held
    Stop();
    return parts_.view->HoldEpoch({.epoch = message.epoch, .reason = "peers"});
  }
  // It would begin with our keys, and so show something else all the same.
  if (message.keys != own.wanted) {
    held_ = absl::StrCat(message.from, " has other keys");
    return;
  }
  Add(parts_.take_opens());
  // What an earlier run had opened stays, if the others told the rest of it.
  const uint64_t known =
      retained.told_all ? std::max(known_, told_before_) : known_;
  NoteLost(known, message.from, message.epoch);
  GroupedView::State state;
  state.epoch = message.epoch;
  state.shown = message.shown;
  retained.pairs = FromMessage(message.pairs);
  retained.members = message.members;
  retained.self = self_;
  closed_.reset();
  held_.clear();
  parts_.view->AdoptEpoch(state, retained);
  Begin(end());
  known_ = end();
}

void EpochMember::Begin(uint64_t first) {
  acked_ = std::clamp<uint64_t>(first, acked_, end());
  DropAcked();
  forgot_acked_ = false;
  most_opens_ = kMostOpens;
  sent_.reset();
}

void EpochMember::Signal(uint64_t epoch, Time now) {
  wish_ = Wish{parts_.view->GroupState().epoch, epoch, now, Time(0)};
  told_ = Time(0);  // the answer says whether all have begun it
}

void EpochMember::FollowWish(Time now) {
  const uint64_t epoch = parts_.view->GroupState().epoch;
  const bool shows =
      epoch != wish_->from || (wish_->next != 0 && epoch == wish_->next);
  if (shows && begun_ >= epoch) return EndWish(absl::OkStatus());
  if (now - wish_->since > kLongestWish) {
    std::string why = absl::StrCat(lead_, " did not answer");
    if (shows) {
      absl::StrAppend(&why, ": epoch ", epoch,
                      " has begun here, perhaps not on all nodes");
    }
    return EndWish(absl::UnavailableError(why));
  }
  // Once the view shows it, a signal would ask for one more.
  if (shows || now - wish_->sent < kResend) return;
  wish_->sent = now;
  EpochMessage message = Message(Kind::kSignal);
  message.next = wish_->next;
  parts_.send(lead_, std::move(message));
}

void EpochMember::EndWish(const absl::Status& how) {
  wish_.reset();
  wish_result_ = how;
}

std::string EpochMember::Warning() const {
  std::string warning;
  if (lead_.empty()) {
    warning = "peers: no member is this daemon, so epochs do not advance";
  } else if (!held_.empty()) {
    warning = absl::StrCat("peers: names keep their samples (", held_,
                           "); see shufflectl peers");
  }
  if (doubtful_ > 0) {
    absl::StrAppend(&warning, warning.empty() ? "peers: " : "; ", doubtful_,
                    " samples were shown in an epoch that other nodes had left "
                    "already, so they may come twice");
  }
  return warning;
}

void EpochMember::Stop() {
  if (!closed_) return;
  closed_.reset();
  parts_.view->ReopenEpoch();
}

}  // namespace shufflefs
