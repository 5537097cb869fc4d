// SPDX-License-Identifier: Apache-2.0
#include "core/quality/epoch_memory.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace shufflefs {
namespace {

// Sums of the positions of a group in two epochs.
struct GroupSums {
  double n = 0;
  double x = 0;
  double y = 0;
  double xx = 0;
  double yy = 0;
  double xy = 0;
};

// The probability that two samples of `n` are within kNear of each other.
double NearByChance(uint64_t n) {
  if (n < 2) return 0;
  const uint64_t d = std::min(EpochMemory::kNear, n - 1);
  const double count = static_cast<double>(n);
  const double reach = static_cast<double>(d);
  const double pairs = reach * count - reach * (reach + 1) / 2;
  return pairs / (count * (count - 1) / 2);
}

}  // namespace

EpochMemoryMeter::EpochMemoryMeter(
    uint64_t samples, uint32_t groups,
    const std::function<uint32_t(uint64_t sample)>& group_of)
    : group_of_(samples), groups_(groups) {
  for (uint64_t s = 0; s < samples; ++s) group_of_[s] = group_of(s);
}

void EpochMemoryMeter::Add(absl::Span<const uint64_t> samples) {
  Positions now(group_of_.size(), kAbsent);
  std::vector<uint32_t> seen(groups_);
  for (const uint64_t sample : samples) {
    now[sample] = seen[group_of_[sample]]++;
  }
  for (size_t i = 0; i < epochs_.size(); ++i) {
    ++sums_[i].pairs;
    AddPositions(now, epochs_[i], sums_[i]);
    AddNeighbours(samples, epochs_[i], sums_[i]);
  }
  epochs_.push_front(std::move(now));
  if (epochs_.size() > EpochMemory::kEpochs) epochs_.pop_back();
}

void EpochMemoryMeter::AddPositions(const Positions& now, const Positions& then,
                                    Sums& sums) const {
  // Each group is weighted by its samples, whatever its length.
  std::vector<double> scale(groups_);
  for (size_t s = 0; s < now.size(); ++s) {
    scale[group_of_[s]] += now[s] != kAbsent && then[s] != kAbsent ? 1 : 0;
  }
  std::vector<GroupSums> groups(groups_);
  for (size_t s = 0; s < now.size(); ++s) {
    if (now[s] == kAbsent || then[s] == kAbsent) continue;
    const double length = scale[group_of_[s]];
    const double x = now[s] / length;
    const double y = then[s] / length;
    GroupSums& group = groups[group_of_[s]];
    group.n += 1;
    group.x += x;
    group.y += y;
    group.xx += x * x;
    group.yy += y * y;
    group.xy += x * y;
  }
  for (const GroupSums& group : groups) {
    if (group.n < 2) continue;
    const double xx = group.xx - group.x * group.x / group.n;
    const double yy = group.yy - group.y * group.y / group.n;
    sums.xy += group.xy - group.x * group.y / group.n;
    sums.xx += xx;
    sums.yy += yy;
    sums.variance += xx * yy / (group.n - 1);
  }
}

void EpochMemoryMeter::AddNeighbours(absl::Span<const uint64_t> samples,
                                     const Positions& then, Sums& sums) const {
  std::vector<uint32_t> lengths(groups_);
  for (size_t s = 0; s < then.size(); ++s) {
    lengths[group_of_[s]] += then[s] != kAbsent ? 1 : 0;
  }
  // By group: the position of its previous sample in the other epoch.
  std::vector<uint32_t> last(groups_, kAbsent);
  for (const uint64_t sample : samples) {
    const uint32_t group = group_of_[sample];
    const uint32_t a = std::exchange(last[group], then[sample]);
    const uint32_t b = then[sample];
    if (a == kAbsent || b == kAbsent) continue;
    const double chance = NearByChance(lengths[group]);
    ++sums.followers;
    sums.near += (a > b ? a - b : b - a) <= EpochMemory::kNear ? 1 : 0;
    sums.near_expected += chance;
    sums.near_variance += chance * (1 - chance);
  }
}

EpochMemory EpochMemoryMeter::Report() const {
  EpochMemory report;
  for (size_t i = 0; i < sums_.size(); ++i) {
    const Sums& sums = sums_[i];
    EpochMemory::Figures& figures = report.before[i];
    figures.pairs = sums.pairs;
    const double spread = std::sqrt(sums.xx * sums.yy);
    if (spread > 0) {
      figures.correlation = {.value = sums.xy / spread,
                             .uniform = 0,
                             .error = std::sqrt(sums.variance) / spread};
    }
    if (sums.followers > 0) {
      const auto followers = static_cast<double>(sums.followers);
      figures.neighbours = {.value = static_cast<double>(sums.near) / followers,
                            .uniform = sums.near_expected / followers,
                            .error = std::sqrt(sums.near_variance) / followers};
    }
  }
  return report;
}

}  // namespace shufflefs
