// SPDX-License-Identifier: Apache-2.0
#include "core/job_epochs/epoch_member.h"

#include <algorithm>
#include <utility>

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

}  // namespace

EpochMember::EpochMember(Parts parts) : parts_(std::move(parts)) {
  TellOpens(parts_.tells_opens);
}

void EpochMember::TellOpens(bool tells) {
  if (tells == std::exchange(tells_opens_, tells) || !tells) return;
  for (const uint64_t name : parts_.view->OpenedHere()) {
    opens_.push_back({.name = name});
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
  return message;
}

void EpochMember::Add(const std::vector<EpochOpen>& opens) {
  opens_.insert(opens_.end(), opens.begin(), opens.end());
}

void EpochMember::SetLead(const std::string& lead, const std::string& self) {
  if (lead == lead_ && self == self_) return;
  lead_ = lead;
  self_ = self;
  told_before_ = std::max(told_before_, acked_);
  acked_ = base_;
  poll_ = 0;
  sent_.reset();
  told_ = Time(0);
}

void EpochMember::Tick(Time now) {
  if (closed_ && now - closed_->since > kLongestClosed) Stop();
  if (lead_.empty()) {
    if (wish_) EndWish(absl::UnavailableError("no member is this daemon"));
    return;
  }
  const uint64_t epoch = parts_.view->GroupState().epoch;
  const bool there = wish_ && (epoch != wish_->from ||
                               (wish_->next != 0 && epoch == wish_->next));
  if (there) {
    EndWish(absl::OkStatus());
  } else if (wish_ && now - wish_->since > kLongestWish) {
    EndWish(absl::UnavailableError(absl::StrCat(lead_, " did not answer")));
  }
  if (wish_ && now - wish_->sent >= kResend) {
    wish_->sent = now;
    EpochMessage message = Message(Kind::kSignal);
    message.next = wish_->next;
    parts_.send(lead_, std::move(message));
  }
  if (sent_ && now - *sent_ < kResend) return;
  const bool news =
      acked_ < end() || told_wanted_ != parts_.view->GroupState().wanted;
  if (now - told_ >= (news ? kBatch : kSignOfLife) || told_ == Time(0)) {
    SendOpens(now);
  }
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
  if (acked_ == base_) message.next |= EpochMessage::kNoneBefore;
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
      return Adopt(message);
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
    case Kind::kAsk: {
      EpochMessage state = Message(Kind::kState);
      const GroupedView::State own = parts_.view->GroupState();
      state.shown = own.shown;
      state.keys = own.keys;
      for (const GroupedView::Pair& pair : parts_.view->CarriedPairs()) {
        state.pairs.push_back({pair.name, pair.sample});
      }
      return parts_.send(message.from, std::move(state));
    }
    default:
      return;
  }
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
  answer.names = parts_.view->CloseEpoch();
  if (!closed_) closed_ = Closed{message.round, now, known_};
  Add(parts_.take_opens());
  FillOpens(answer);
  // If they are too many, the lead asks in vain, and the epoch is held.
  const bool all = acked_ + answer.opens.size() == end();
  if (all && answer.opens.size() + answer.names.size() <= kMostEpochEntries) {
    known_ = end();
    parts_.send(lead_, std::move(answer));
  }
}

void EpochMember::Commit(const EpochMessage& message, Time now) {
  const GroupedView::State state = parts_.view->GroupState();
  if (message.from != lead_) return;
  if (state.epoch == message.epoch && state.binding == message.binding) {
    if (!closed_) doubtful_ += end() - std::min(message.first, end());
    closed_.reset();
    held_.clear();
    parts_.view->BeginEpoch(
        {message.next, message.reason, message.names, message.opened});
    Begin(message.first);
    known_ = base_;
  }
  SendOpens(now);
}

void EpochMember::Hold(const EpochMessage& message, Time now) {
  const GroupedView::State state = parts_.view->GroupState();
  if (message.from != lead_ || state.binding != message.binding) return;
  if (message.next > state.epoch) {
    Stop();
    held_ = message.reason;
    parts_.view->HoldEpoch({message.next, message.reason, {}, message.opened});
    Begin(message.first);
  }
  SendOpens(now);
}

void EpochMember::Adopt(const EpochMessage& message) {
  const GroupedView::State own = parts_.view->GroupState();
  const bool same =
      own.epoch == message.epoch && own.binding == message.binding;
  // The highest number wins, and between equal ones the lead's.
  if (same || message.epoch < own.epoch ||
      (message.epoch == own.epoch && message.from != lead_)) {
    return;
  }
  if (own.binding == message.binding) {  // a boundary that was held
    Stop();
    return parts_.view->HoldEpoch({message.epoch, "peers", {}, {}});
  }
  // It would begin with our keys, and so show something else all the same.
  if (message.keys != own.wanted) {
    held_ = absl::StrCat(message.from, " has other keys");
    return;
  }
  Add(parts_.take_opens());
  // If opens are not told, any of them may have been after the boundary.
  const uint64_t lost =
      tells_opens_ ? end() - known_ : parts_.view->OpenedHere().size();
  if (lost > 0) {
    doubtful_ += lost;
    Log(LogLevel::kWarning,
        absl::StrCat("peers: this node was in epoch ", own.epoch, " when ",
                     message.from, " was in epoch ", message.epoch, "; up to ",
                     lost,
                     " samples that it showed may come twice, and as many may "
                     "be missing"));
  }
  GroupedView::State state;
  state.epoch = message.epoch;
  state.shown = message.shown;
  std::vector<GroupedView::Pair> carried;
  for (const EpochPair& pair : message.pairs) {
    carried.push_back({pair.name, pair.sample});
  }
  closed_.reset();
  held_.clear();
  parts_.view->AdoptEpoch(state, carried);
  Begin(end());
  known_ = end();
}

void EpochMember::Begin(uint64_t first) {
  acked_ = std::clamp<uint64_t>(first, acked_, end());
  opens_.erase(opens_.begin(),
               opens_.begin() + static_cast<int64_t>(acked_ - base_));
  base_ = acked_;
  sent_.reset();
}

void EpochMember::Signal(uint64_t epoch, Time now) {
  wish_ = Wish{parts_.view->GroupState().epoch, epoch, now, Time(0)};
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
