// SPDX-License-Identifier: Apache-2.0
#include "core/sampler/search/generator_trail.h"

#include <algorithm>
#include <utility>

namespace shufflefs {
namespace {

// The most outputs between two seeds that are learnt. By chance a wrong place
// goes on in one of a thousand trails.
constexpr uint64_t kFollowed = 1 << 16;
// Outputs per epoch while the distance is unknown: two for the workers, two for
// the epoch, and some others.
constexpr uint64_t kUsualDistance = 16;
constexpr uint64_t kEpochsMore = 8;  // epochs not counted, or counted wrongly
constexpr uint64_t kMostNext = 512;  // per place
constexpr size_t kMostDrawn = 8;
// Chance finds about kOutputs of them. More would be useless.
constexpr size_t kMostKept = size_t{4} * GeneratorSearch::kOutputs;

// Returns how many outputs further on an epoch's seed may be, the likely
// distances first.
std::vector<uint64_t> LikelySteps(uint64_t distance, uint64_t epochs) {
  std::vector<uint64_t> steps;
  if (distance > 0) {
    steps.push_back(distance * epochs);
    for (uint64_t more = 1; more <= kEpochsMore; ++more) {
      steps.push_back(distance * (epochs + more));
      if (epochs > more) steps.push_back(distance * (epochs - more));
    }
  }
  const uint64_t most =
      std::min(kMostNext, kUsualDistance * (epochs + kEpochsMore));
  for (uint64_t step = 1; step <= most; ++step) steps.push_back(step);
  return steps;
}

}  // namespace

void GeneratorTrail::Learn(const DrawnSeed& drawn) {
  if (drawn_.empty()) {
    drawn_ = {drawn};
    return;
  }
  const DrawnSeed last = drawn_.back();
  if (drawn.seed == last.seed || drawn.epoch <= last.epoch) return;
  std::erase_if(places_,
                [&](Place& place) { return !Advance(place, last, drawn); });
  // The places were found by chance and do not go on. The search may still find
  // the right one.
  const bool is_lost = is_borne_out_ && !has_places();
  is_borne_out_ = has_places();
  if (is_borne_out_ || is_lost) drawn_.clear();
  if (drawn_.size() == kMostDrawn) drawn_.erase(drawn_.begin() + 1);
  drawn_.push_back(drawn);
}

std::optional<DrawnSeed> GeneratorTrail::Wanted() const {
  if (drawn_.empty() || is_known()) return std::nullopt;
  return drawn_.front();
}

bool GeneratorTrail::Add(const GeneratorPlace& found) {
  if (!Wanted() || places_.size() == kMostKept) return false;
  Place place{found.generator, 0};
  for (size_t i = 1; i < drawn_.size(); ++i) {
    if (!Advance(place, drawn_[i - 1], drawn_[i])) return false;
  }
  places_.push_back(std::move(place));
  is_borne_out_ = drawn_.size() > 1;
  return true;
}

// Advances the place to where `to` was drawn. Returns whether it was found.
bool GeneratorTrail::Advance(Place& place, const DrawnSeed& from,
                             const DrawnSeed& to) {
  for (uint64_t step = 1; step <= kFollowed; ++step) {
    if (place.generator.Random() != to.seed) continue;
    const uint64_t epochs = to.epoch - from.epoch;
    place.distance = step % epochs == 0 ? step / epochs : 0;
    return true;
  }
  return false;
}

std::vector<uint32_t> GeneratorTrail::Seeds(uint64_t epoch) const {
  std::vector<uint32_t> seeds;
  for (const Place& place : places_) AppendSeeds(place, epoch, seeds);
  return seeds;
}

std::vector<uint32_t> GeneratorTrail::SeedsOfLastPlace(uint64_t epoch) const {
  std::vector<uint32_t> seeds;
  if (has_places()) AppendSeeds(places_.back(), epoch, seeds);
  return seeds;
}

void GeneratorTrail::AppendSeeds(const Place& place, uint64_t epoch,
                                 std::vector<uint32_t>& seeds) const {
  if (epoch <= drawn_.back().epoch) return;
  const std::vector<uint64_t> steps =
      LikelySteps(place.distance, epoch - drawn_.back().epoch);
  std::vector<size_t> ascending(steps.size());
  for (size_t i = 0; i < steps.size(); ++i) ascending[i] = i;
  std::sort(ascending.begin(), ascending.end(),
            [&](size_t a, size_t b) { return steps[a] < steps[b]; });
  TorchGenerator generator = place.generator;
  uint64_t at = 0;
  uint32_t output = 0;
  const size_t first = seeds.size();
  seeds.resize(first + steps.size());
  for (const size_t i : ascending) {
    if (steps[i] != at) {
      generator.Discard(steps[i] - at - 1);
      output = generator.Random();
      at = steps[i];
    }
    seeds[first + i] = output;
  }
}

}  // namespace shufflefs
