// SPDX-License-Identifier: Apache-2.0
#include "core/sampler/loader_tracker.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace shufflefs {
namespace {

// With this many opens each, two shuffles share 64 files.
size_t MostOpens(uint32_t files) {
  return 64 + static_cast<size_t>(8 * std::sqrt(files));
}

}  // namespace

LoaderTracker::LoaderTracker(uint32_t files)
    : files_(files), most_opens_(MostOpens(files)) {}

std::vector<LoaderTracker::Loader> LoaderTracker::Note(
    uint32_t process, const EpochOpens::Open& open, OpenStep step,
    const Moment& moment) {
  if (moment.epoch != moment_.epoch) BeginEpoch();
  if (moment != moment_) {
    for (Loader& each : loaders_) each.steps = each.expected = 0;
    steps_ = 0;
    moment_ = moment;
  }
  Loader* const loader = Find(process);
  if (loader == nullptr) return {};
  Keep(*loader, open);
  Judge(*loader, step);
  if (loaders_.size() == 1) return {};
  const bool apart = step == OpenStep::kUnexpected ? IsOneAstray()
                     : step == OpenStep::kUnjudged ? ShareTooMuch()
                                                   : false;
  return apart ? Busy() : std::vector<Loader>();
}

void LoaderTracker::BeginEpoch() {
  loaders_.clear();
  first_.clear();
  shared_ = 0;
  kept_ = 0;
  look_ = kFirstLook;
}

std::vector<LoaderTracker::Loader> LoaderTracker::Doubtful() {
  if (loaders_.size() == 1 || kept_ < look_) return {};
  look_ = 2 * kept_;
  return Busy();
}

LoaderTracker::Loader* LoaderTracker::Find(uint32_t process) {
  const auto at = std::find_if(
      loaders_.begin(), loaders_.end(),
      [&](const Loader& known) { return known.process == process; });
  if (at != loaders_.end()) return &*at;
  if (loaders_.size() == kMostLoaders) return nullptr;
  loaders_.push_back({process, {}, 0, 0});
  return &loaders_.back();
}

void LoaderTracker::Keep(Loader& loader, const EpochOpens::Open& open) {
  if (loader.opens.size() == most_opens_) return;
  loader.opens.push_back(open);
  ++kept_;
  const auto [at, is_first] = first_.try_emplace(open.index, loader.process);
  if (!is_first && at->second != loader.process) ++shared_;
}

void LoaderTracker::Judge(Loader& loader, OpenStep step) {
  if (step == OpenStep::kUnjudged) return;
  ++loader.steps;
  if (step == OpenStep::kExpected) ++loader.expected;
  if (++steps_ < kWindow) return;
  steps_ = 0;
  for (Loader& each : loaders_) {
    each.steps /= 2;
    each.expected /= 2;
    steps_ += each.steps;
  }
}

bool LoaderTracker::IsOneAstray() const {
  const auto followed = [](const Loader& each) { return each.is_followed(); };
  const auto astray = [this](const Loader& each) {
    return each.is_astray() && each.steps * kLeastShare >= steps_;
  };
  return std::any_of(loaders_.begin(), loaders_.end(), followed) &&
         std::any_of(loaders_.begin(), loaders_.end(), astray);
}

// Returns whether they share about as much as separate shuffles do.
bool LoaderTracker::ShareTooMuch() const {
  double sum = 0;
  double squares = 0;
  for (const Loader& each : loaders_) {
    const auto opens = static_cast<double>(each.opens.size());
    sum += opens;
    squares += opens * opens;
  }
  const double of_shuffles = (sum * sum - squares) / 2 / files_;
  return of_shuffles >= kTelling &&
         static_cast<double>(shared_) * kLeastOfIt >= of_shuffles;
}

std::vector<LoaderTracker::Loader> LoaderTracker::Busy() const {
  std::vector<Loader> busy = loaders_;
  std::erase_if(busy,
                [](const Loader& each) { return each.opens.size() < kDoubt; });
  return busy;
}

}  // namespace shufflefs
