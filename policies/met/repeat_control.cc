// SPDX-License-Identifier: Apache-2.0
#include "policies/met/repeat_control.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"

namespace shufflefs {
namespace {

using Adapt = MetOptions::Adapt;

uint64_t Cap(const MetOptions& options) {
  return options.repeat != 0 ? options.repeat : RepeatControl::kMostByItself;
}

uint64_t Most(const MetOptions& options) {
  if (options.epochs == 0) return 1;
  return std::min(Cap(options), options.epochs);
}

// The reason why the answer is most() and no more.
std::string WhyMost(const MetOptions& options) {
  if (options.epochs == 0) return "1, because met.epochs is not set";
  if (options.epochs < Cap(options)) {
    return absl::StrCat(options.epochs, ", as met.epochs allows");
  }
  if (options.repeat != 0) {
    return absl::StrCat(options.repeat, ", as met.repeat says");
  }
  return absl::StrCat(RepeatControl::kMostByItself,
                      ", the most that met.repeat = auto does");
}

// What decides before anything was shown.
std::string WhatRules(const MetOptions& options) {
  const uint64_t most = Most(options);
  const bool fixed = options.repeat != 0;
  if (most == 1 || (fixed && options.adapt == Adapt::kOff)) {
    return WhyMost(options);
  }
  const char* rule = options.adapt == Adapt::kScore ? "while the loss falls"
                     : options.adapt == Adapt::kBollinger
                         ? "until the loss falls below its band"
                         : "until the next mini-epoch is ready";
  return absl::StrCat("at most ", most, ": ", rule);
}

}  // namespace

RepeatControl::RepeatControl(const MetOptions& options,
                             std::vector<uint32_t> learnt)
    : options_(options),
      most_(Most(options)),
      learnt_(std::move(learnt)),
      why_(WhatRules(options)) {
  if (learnt_.size() > kMostSaved) learnt_.resize(kMostSaved);
}

void RepeatControl::BeginMiniEpoch(uint64_t number) {
  mini_epoch_ = number;
  next_ = number + 1;
  best_ = std::numeric_limits<double>::infinity();
  told_ = counted_ = stale_ = 0;
  better_ = below_ = false;
}

void RepeatControl::Feedback(double loss) {
  ++told_;
  if (!std::isfinite(loss)) return;
  better_ |= loss < best_;
  best_ = std::min(best_, loss);
  below_ |= IsBelowBand(loss);
  scores_.push_back(loss);
  while (scores_.size() > options_.scores) scores_.pop_front();
}

// The band is that of the losses before this one. If it included this one, no
// loss could be two deviations below the mean of five. If the sums of losses
// overflow a double, no loss is below the band.
bool RepeatControl::IsBelowBand(double loss) const {
  if (scores_.empty() || scores_.size() < options_.scores) return false;
  const double count = static_cast<double>(scores_.size());
  double mean = 0;
  for (double score : scores_) mean += score / count;
  double variance = 0;
  for (double score : scores_) {
    variance += (score - mean) * (score - mean) / count;
  }
  // Equal losses must not be below their rounded mean.
  const double rounding = 1e-12 * std::abs(mean);
  return loss < mean - kBand * std::sqrt(variance) - rounding;
}

bool RepeatControl::Again(uint64_t done, bool next_ready) {
  EndRepetition(done);
  Answer answer = Decide(done, next_ready);
  why_ = std::move(answer.why);
  if (!answer.again) Learn(done);
  return answer.again;
}

// Counts a repetition only once, even if Again is called several times for it.
void RepeatControl::EndRepetition(uint64_t done) {
  if (done <= counted_) {
    if (better_) stale_ = 0;
  } else if (told_ > 0) {
    stale_ = better_ ? 0 : stale_ + 1;
    counted_ = done;
  }
  better_ = false;
}

RepeatControl::Answer RepeatControl::Decide(uint64_t done,
                                            bool next_ready) const {
  if (done >= most_) return {false, WhyMost(options_)};
  const bool adapts = options_.adapt != Adapt::kOff;
  if (!next_ready && (adapts || options_.repeat == 0)) {
    return {true,
            absl::StrCat(done + 1, ": the next mini-epoch was not ready")};
  }
  if (!adapts || told_ == 0) return DecideWithoutLoss(done);
  Answer answer = DecideByLoss();
  answer.why = absl::StrCat(answer.again ? done + 1 : done, answer.why);
  return answer;
}

RepeatControl::Answer RepeatControl::DecideByLoss() const {
  if (options_.adapt == Adapt::kBollinger) {
    return below_ ? Answer{false, ": the loss fell below its band"}
                  : Answer{true, ": the loss is within its band"};
  }
  if (stale_ >= options_.patience) {
    return {false, ": the loss fell no more"};
  }
  return {true, stale_ == 0 ? ": the loss fell" : ": the loss may fall again"};
}

RepeatControl::Answer RepeatControl::DecideWithoutLoss(uint64_t done) const {
  const uint64_t learnt = std::min(SavedFactor(), most_);
  if (learnt != 0) {
    return {done < learnt,
            absl::StrCat(std::max(done, learnt), ", as a former run learnt")};
  }
  if (options_.repeat != 0) return {true, WhyMost(options_)};
  return {false, absl::StrCat(done, ": the next mini-epoch was ready")};
}

uint64_t RepeatControl::SavedFactor() const {
  if (options_.adapt == Adapt::kOff) return 0;
  return mini_epoch_ < learnt_.size() ? learnt_[mini_epoch_] : 0;
}

void RepeatControl::Learn(uint64_t factor) {
  if (options_.adapt == Adapt::kOff || told_ == 0) return;
  if (mini_epoch_ >= kMostSaved) return;
  if (mini_epoch_ >= learnt_.size()) learnt_.resize(mini_epoch_ + 1);
  learnt_[mini_epoch_] = static_cast<uint32_t>(
      std::min<uint64_t>(factor, std::numeric_limits<uint32_t>::max()));
}

}  // namespace shufflefs
