// SPDX-License-Identifier: Apache-2.0
#include "policies/met/met_progress.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace shufflefs {
namespace {

// A key number that no pass or mini-epoch has; theirs are smaller.
constexpr uint64_t kGivingWay = ~uint64_t{0};

RandomKey InsideKey(const MetPass& pass, uint32_t mini, uint64_t repetition) {
  return SubKey(SubKey(pass.key(), uint64_t{1} << 32 | mini), repetition);
}

uint64_t Fixed(const MetOptions& options, const RepeatControl& control) {
  if (control.most() == 1) return 1;
  if (options.adapt != MetOptions::Adapt::kOff) return 0;
  return std::min(options.repeat, control.most());
}

}  // namespace

MetProgress::MetProgress(const MetOptions& options, const BinderInput& input)
    : input_(input),
      count_(MiniEpochsFor(options, input)),
      cycle_(std::max<uint64_t>(options.epochs, 1)),
      control_(options, input.saved_factors),
      fixed_(Fixed(options, control_)),
      staged_(input.staged),
      shares_(*input.grouping, cycle_) {}

void MetProgress::Restart(Seed seed, Epoch epoch,
                          std::vector<uint32_t> served) {
  const Grouping& grouping = *input_.grouping;
  key_ = DeriveKey(seed, epoch, input_.dataset_key, Purpose::kMiniEpoch);
  shares_.Restart(SubKey(key_, kGivingWay), std::move(served));
  // Numbers continue, so that a set that is wanted later never has an old
  // number.
  first_ = current_ = (PassOf(current_) + (passes_.empty() ? 0 : 2)) * count_;
  passes_.clear();
  mini_epochs_.clear();
  if (count_ > 1) ready_.clear();  // a single set stays in the tier
  places_.assign(grouping.group_count(), Place());
  owed_.assign(grouping.group_count(), {});
  raised_in_.assign(grouping.group_count(), absl::nullopt);
  Compose(PassOf(first_));
  furthest_ = 1;
  control_.BeginMiniEpoch();
  if (count_ > 1 && IndexOf(current_) + 1 == count_)
    Compose(PassOf(current_) + 1);
  ++requests_version_;
}

absl::Span<uint32_t> MetProgress::ShareOf(uint32_t group) {
  const Place& place = places_[group];
  return passes_.at(PassOf(place.number)).share(group, IndexOf(place.number));
}

bool MetProgress::DrawsReady(uint32_t group) const {
  return Ready(places_[group].number);
}

bool MetProgress::NextIsReady(uint32_t group) const {
  const Place& place = places_[group];
  if (!place.begun || !Ready(place.number)) return false;
  if (Ready(place.number + 1)) return true;
  if (MustLeave(place)) return false;
  if (place.repetition < mini_epochs_.at(place.number).allowed) return true;
  const auto share =
      passes_.at(PassOf(place.number)).share(group, IndexOf(place.number));
  return std::any_of(
      share.begin() + place.at, share.end(),
      [&](uint32_t sample) { return shares_.Left(group, sample) > 0; });
}

uint64_t MetProgress::TurnOf(uint32_t group) const {
  const Place& place = places_[group];
  return (place.number << 24 | place.repetition) << 1 | (place.owed ? 0 : 1);
}

uint32_t MetProgress::Draw(uint32_t group) {
  for (;;) {
    Place& place = places_[group];
    if (!place.begun) Join(group);
    if (MustLeave(place)) {
      Next(group);
      continue;
    }
    if (!owed_[group].empty()) {
      const uint32_t sample = owed_[group].back();
      owed_[group].pop_back();
      place.owed = true;
      shares_.Count(sample);
      return sample;
    }
    const absl::Span<uint32_t> share = ShareOf(group);
    while (place.at < share.size()) {
      const uint32_t sample = share[place.at++];
      if (shares_.Left(group, sample) == 0) continue;
      place.drew = true;
      place.owed = false;
      shares_.Count(sample);
      return sample;
    }
    EndRepetition(group);
  }
}

uint64_t MetProgress::SizeOf(uint64_t number) const {
  const MetPass& pass = passes_.at(PassOf(number));
  uint64_t size = 0;
  for (uint32_t g = 0; g < places_.size(); ++g) {
    if (places_[g].begun) size += pass.share(g, IndexOf(number)).size();
  }
  return size;
}

void MetProgress::Join(uint32_t group) {
  for (auto& [number, mini] : mini_epochs_) {
    if (number < current_) continue;
    mini.size +=
        passes_.at(PassOf(number)).share(group, IndexOf(number)).size();
  }
  places_[group].begun = true;
  Enter(group, current_, How::kJoins);
}

void MetProgress::DropStragglers() {
  for (uint32_t g = 0; g < places_.size(); ++g) {
    Place& place = places_[g];
    if (!place.begun || place.number + count_ >= current_) continue;
    --mini_epochs_.at(place.number).inside;
    place = Place();
    for (auto& [number, mini] : mini_epochs_) {
      if (number < current_) continue;
      mini.size -= passes_.at(PassOf(number)).share(g, IndexOf(number)).size();
    }
  }
}

void MetProgress::Enter(uint32_t group, uint64_t number, How how) {
  const MetPass& pass = passes_.at(PassOf(number));
  const bool begins_pass = IndexOf(number) == 0 || how == How::kJoins;
  // What is owed comes before anything of another met.epochs. A group that
  // fell behind may join a pass again that it had begun.
  if (begins_pass && pass.raises(group) && owed_[group].empty() &&
      raised_in_[group] != PassOf(number)) {
    raised_in_[group] = PassOf(number);
    Raise(group);
  }
  const auto [it, fresh] = mini_epochs_.try_emplace(number);
  MiniEpoch& mini = it->second;
  if (fresh) {
    mini.size = SizeOf(number);
    mini.closed = fixed_ > 0;
    mini.allowed = std::max<uint64_t>(fixed_, 1);
  }
  ++mini.inside;
  places_[group] = Place{.number = number, .begun = true};
  ShuffleShare(group);
}

// Adds the samples that were passed over to owed_. They are few, so a pass for
// them alone is not worth its copies. Most are in this pass's first mini-epoch.
void MetProgress::Raise(uint32_t group) { owed_[group] = shares_.Raise(group); }

void MetProgress::ShuffleShare(uint32_t group) {
  const Place& place = places_[group];
  const MetPass& pass = passes_.at(PassOf(place.number));
  Rng rng(SubKey(InsideKey(pass, IndexOf(place.number), place.repetition),
                 input_.grouping->group(GroupId(group)).key));
  const absl::Span<uint32_t> share = ShareOf(group);
  for (uint64_t i = share.size(); i > 1; --i) {
    std::swap(share[i - 1], share[rng.Bounded(i)]);
  }
  if (place.number == current_) {
    furthest_ = std::max(furthest_, place.repetition);
  }
}

bool MetProgress::MustLeave(const Place& place) const {
  const MiniEpoch& mini = mini_epochs_.at(place.number);
  return mini.closed && place.repetition > mini.allowed;
}

void MetProgress::EndRepetition(uint32_t group) {
  Place& place = places_[group];
  MiniEpoch& mini = mini_epochs_.at(place.number);
  mini.ended.resize(std::max<uint64_t>(mini.ended.size(), place.repetition));
  mini.ended[place.repetition - 1] += ShareOf(group).size();
  if (!place.drew || !GoesOn(place.number, place.repetition)) {
    Next(group);
    return;
  }
  ++place.repetition;
  place.at = 0;
  place.drew = false;
  ShuffleShare(group);
}

// The control decides when half of a mini-epoch is at the end of a repetition.
// Groups that come there earlier go on as if it had agreed, because what they
// draw is in the tier.
bool MetProgress::GoesOn(uint64_t number, uint64_t repetition) {
  MiniEpoch& mini = mini_epochs_.at(number);
  if (repetition < mini.allowed) return true;
  if (mini.closed) return false;
  if (number != current_ || 2 * mini.ended[repetition - 1] < mini.size) {
    return repetition < control_.most();
  }
  if (control_.Again(repetition, Ready(number + 1))) {
    mini.allowed = repetition + 1;
    return true;
  }
  mini.closed = true;
  MoveOn(number);
  return false;
}

void MetProgress::Leave(uint64_t number, uint64_t share) {
  MiniEpoch& mini = mini_epochs_.at(number);
  const bool was_through = Through(mini);
  mini.left += share;
  --mini.inside;
  if (!was_through && Through(mini)) ++requests_version_;
  if (number == current_ && 2 * mini.left >= mini.size) {
    mini.closed = true;
    MoveOn(number);
  }
}

void MetProgress::MoveOn(uint64_t number) {
  current_ = number + 1;
  furthest_ = 1;
  if (!passes_.contains(PassOf(current_))) Compose(PassOf(current_));
  if (count_ > 1 && IndexOf(current_) + 1 == count_ &&
      !passes_.contains(PassOf(current_) + 1)) {
    Compose(PassOf(current_) + 1);  // its first mini-epoch is copied meanwhile
  }
  control_.BeginMiniEpoch();
  DropStragglers();
  Forget();
  ++requests_version_;
}

void MetProgress::Next(uint32_t group) {
  const uint64_t next = places_[group].number + 1;
  if (!passes_.contains(PassOf(next))) Compose(PassOf(next));
  const uint64_t share = ShareOf(group).size();
  // First, because a mini-epoch without groups is forgotten.
  Enter(group, next, How::kInTurn);
  Leave(next - 1, share);
}

// Forgets mini-epochs and passes that no group draws from any more.
void MetProgress::Forget() {
  while (!mini_epochs_.empty()) {
    const auto oldest = mini_epochs_.begin();
    if (oldest->first + 1 >= current_ || oldest->second.inside > 0) break;
    mini_epochs_.erase(oldest);
  }
  const uint64_t kept = mini_epochs_.empty()
                            ? PassOf(current_)
                            : PassOf(mini_epochs_.begin()->first);
  passes_.erase(passes_.begin(), passes_.lower_bound(kept));
  if (count_ > 1)
    ready_.erase(ready_.begin(),
                 ready_.lower_bound(current_ > 0 ? current_ - 1 : 0));
}

}  // namespace shufflefs
