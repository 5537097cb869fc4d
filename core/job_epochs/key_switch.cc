// SPDX-License-Identifier: Apache-2.0
#include "core/job_epochs/key_switch.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/log.h"
#include "core/base/thread.h"

namespace shufflefs {
namespace {

using Kind = EpochMessage::Kind;

constexpr KeySwitch::Time kRepeatSwitch{200};

}  // namespace

EpochMessage KeySwitch::Message(Kind kind, uint64_t step) const {
  EpochMessage message;
  message.kind = kind;
  message.from = self_;
  message.view = parts_.path;
  message.next = step;
  return message;
}

void KeySwitch::SetOthers(const std::string& self,
                          const std::set<std::string>& others) {
  self_ = self;
  others_ = others;
}

void KeySwitch::Begin(const std::string& settings, Time now) {
  result_.reset();
  if (settings.size() > kMostEpochText) {
    return End(absl::InvalidArgumentError("peers: too many keys at once"));
  }
  if (others_.empty()) return End(absl::OkStatus());
  ++round_;
  own_ = Own{settings, kPrepare, others_, now, Time(0)};
  SendOwn(now);
}

void KeySwitch::SendOwn(Time now) {
  own_->sent = now;
  EpochMessage message = Message(Kind::kSwitch, own_->step);
  message.stream = parts_.stream;
  message.round = round_;
  message.reason = own_->settings;
  for (const std::string& name : own_->waits_for) parts_.send(name, message);
}

void KeySwitch::End(const absl::Status& how) {
  own_.reset();
  result_ = how;
}

absl::optional<absl::Status> KeySwitch::TakeResult() {
  return std::exchange(result_, absl::nullopt);
}

void KeySwitch::Hear(const EpochMessage& message, Time now) {
  if (!others_.contains(message.from)) return;
  if (message.kind == Kind::kSwitched) HearAnswer(message, now);
  if (message.kind == Kind::kSwitch) HearAsked(message);
}

void KeySwitch::HearAnswer(const EpochMessage& message, Time now) {
  if (!own_ || message.stream != parts_.stream || message.round != round_ ||
      message.next != own_->step || own_->waits_for.erase(message.from) == 0) {
    return;
  }
  if (!message.reason.empty() && own_->step == kPrepare) {
    own_->step = kDrop;
    own_->waits_for = others_;
    SendOwn(now);
    return End(absl::UnavailableError(
        absl::StrCat("peers: ", message.from, ": ", message.reason)));
  }
  if (!message.reason.empty()) {
    Log(LogLevel::kWarning, absl::StrCat("peers: ", message.from,
                                         " keeps its keys: ", message.reason));
  }
  Proceed(now);
}

void KeySwitch::Proceed(Time now) {
  if (!own_->waits_for.empty()) return;
  if (own_->step == kInstall || others_.empty()) return End(absl::OkStatus());
  own_->step = kInstall;
  own_->waits_for = others_;
  own_->since = now;
  SendOwn(now);
}

void KeySwitch::HearAsked(const EpochMessage& message) {
  Asked asked{message.from, message.stream, message.round, message.next,
              message.reason};
  if (const Heard* heard = Find(asked); heard != nullptr) {
    // If it was repeated, the answer is late or was lost.
    if (heard->IsOf(asked) && heard->answer) Answer(asked, *heard->answer);
    if (heard->IsOf(asked) || heard->IsAfter(asked)) return;
  }
  Heard& heard = Remember(asked);
  {
    MutexLock lock(mu_);
    if (stopped_) return;
    to_do_.push_back(std::move(asked));
  }
  changed_.SignalAll();
  if (thread_.joinable()) return;
  auto thread = TryStartThread(
      "sfs-keys", [this](const std::stop_token& stop) { Run(stop); });
  if (thread) {
    thread_ = *std::move(thread);
    return;
  }
  MutexLock lock(mu_);
  to_do_.clear();
  heard.answer = "the system gives no thread";
}

KeySwitch::Heard* KeySwitch::Find(const Asked& asked) {
  const auto found = heard_.find({asked.from, asked.stream});
  return found == heard_.end() ? nullptr : &found->second;
}

KeySwitch::Heard& KeySwitch::Remember(const Asked& asked) {
  if (heard_.size() >= kMostEpochMembers && Find(asked) == nullptr) {
    heard_.erase(std::min_element(heard_.begin(), heard_.end(),
                                  [](const auto& a, const auto& b) {
                                    return a.second.turn < b.second.turn;
                                  }));
  }
  Heard& heard = heard_[{asked.from, asked.stream}];
  heard = {asked.round, asked.step, absl::nullopt, ++turn_};
  return heard;
}

void KeySwitch::Answer(const Asked& asked, const std::string& why) {
  if (asked.step == kDrop) return;
  EpochMessage message = Message(Kind::kSwitched, asked.step);
  message.stream = asked.stream;
  message.round = asked.round;
  message.reason = why.substr(0, kMostEpochText);
  parts_.send(asked.from, std::move(message));
}

void KeySwitch::Tick(Time now) {
  std::vector<Done> done;
  {
    MutexLock lock(mu_);
    done.swap(done_);
  }
  for (const Done& each : done) {
    Heard* const heard = Find(each.asked);
    if (heard != nullptr && heard->IsOf(each.asked)) heard->answer = each.why;
    Answer(each.asked, each.why);
  }
  if (!own_) return;
  // A member that went away catches up with the epoch when it is back, and its
  // status says that its keys are others.
  std::erase_if(own_->waits_for, [this](const std::string& name) {
    return !others_.contains(name);
  });
  if (own_->waits_for.empty()) return Proceed(now);
  const std::string first = *own_->waits_for.begin();
  if (own_->step == kPrepare && now - own_->since > kToPrepare) {
    own_->step = kDrop;
    own_->waits_for = others_;
    SendOwn(now);
    return End(absl::UnavailableError(
        absl::StrCat("peers: ", first, " did not answer")));
  }
  if (own_->step == kInstall && now - own_->since > kToInstall) {
    Log(LogLevel::kWarning,
        absl::StrCat("peers: ", first,
                     " has not confirmed the new keys; see its status"));
    return End(absl::OkStatus());
  }
  if (now - own_->sent >= kRepeatSwitch) SendOwn(now);
}

void KeySwitch::Run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    Asked asked;
    {
      MutexLock lock(mu_);
      while (to_do_.empty() && !stopped_) changed_.Wait(mu_);
      if (stopped_) return;
      asked = std::move(to_do_.front());
      to_do_.pop_front();
    }
    std::string why = Do(asked);
    {
      MutexLock lock(mu_);
      done_.push_back({std::move(asked), std::move(why)});
    }
    parts_.wake();
  }
}

std::string KeySwitch::Do(const Asked& asked) {
  if (asked.step == kPrepare) {
    prepared_.reset();
    absl::StatusOr<Install> prepared = parts_.prepare(asked.settings);
    if (!prepared.ok()) return std::string(prepared.status().message());
    prepared_ = asked;
    install_ = *std::move(prepared);
    return "";
  }
  if (!prepared_ || !prepared_->IsOf(asked)) return "it has not prepared them";
  prepared_.reset();
  const Install install = std::exchange(install_, nullptr);
  if (asked.step != kInstall) return "";
  return std::string(install().message());
}

void KeySwitch::Stop() {
  {
    MutexLock lock(mu_);
    stopped_ = true;
  }
  changed_.SignalAll();
  if (thread_.joinable()) thread_.join();
}

}  // namespace shufflefs
