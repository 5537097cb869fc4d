// SPDX-License-Identifier: Apache-2.0
// How passes are divided into mini-epochs, and which of these are wanted.
#include <algorithm>
#include <numeric>
#include <utility>

#include "core/policy/mini_epoch_count.h"
#include "policies/met/met_progress.h"

namespace shufflefs {
namespace {

// A mini-epoch is kept until this share of it is finished.
constexpr double kThrough = 0.98;

}  // namespace

bool MetProgress::Through(const MiniEpoch& mini) {
  return static_cast<double>(mini.left) >=
         kThrough * static_cast<double>(mini.size);
}

uint32_t MetProgress::MiniEpochsFor(const MetOptions& options,
                                    const BinderInput& input) {
  if (options.mini_epochs > 0) {
    return static_cast<uint32_t>(options.mini_epochs);
  }
  return MiniEpochsInTier(
      input.bytes.size(),
      std::accumulate(input.bytes.begin(), input.bytes.end(), uint64_t{0}),
      input.tier_bytes);
}

// What each sample has left when the pass before `pass` is finished.
std::vector<uint32_t> MetProgress::Expected(uint64_t pass) const {
  const Grouping& grouping = *input_.grouping;
  std::vector<uint32_t> left(grouping.sample_count());
  for (uint32_t g = 0; g < grouping.group_count(); ++g) {
    const Grouping::Group& group = grouping.group(GroupId(g));
    for (uint32_t i = 0; i < group.samples; ++i) {
      const auto sample = static_cast<uint32_t>(group.first_sample + i);
      left[sample] = static_cast<uint32_t>(shares_.Left(g, sample));
    }
    const Place& place = places_[g];
    if (!place.begun || PassOf(place.number) + 1 != pass) continue;
    const MetPass& now = passes_.at(pass - 1);
    for (uint32_t m = IndexOf(place.number); m < count_; ++m) {
      const auto found = mini_epochs_.find((pass - 1) * count_ + m);
      const uint64_t factor = found != mini_epochs_.end()
                                  ? found->second.allowed
                                  : std::max<uint64_t>(fixed_, 1);
      const bool here = m == IndexOf(place.number);
      const absl::Span<const uint32_t> share = now.share(g, m);
      for (uint32_t i = 0; i < share.size(); ++i) {
        uint64_t coming = factor;
        if (here) {
          coming =
              factor - std::min(factor, place.repetition) + (i >= place.at);
        }
        left[share[i]] -=
            static_cast<uint32_t>(std::min<uint64_t>(left[share[i]], coming));
      }
    }
  }
  return left;
}

void MetProgress::Compose(uint64_t pass) {
  const Grouping& grouping = *input_.grouping;
  MetPass::Input input;
  input.grouping = &grouping;
  input.mini_epochs = count_;
  input.key = SubKey(key_, pass);
  input.left = Expected(pass);
  input.staged = std::exchange(staged_, {});
  input.raises.resize(grouping.group_count());
  for (uint32_t g = 0; g < grouping.group_count(); ++g) {
    const Grouping::Group& group = grouping.group(GroupId(g));
    const auto begin =
        input.left.begin() + static_cast<long>(group.first_sample);
    const auto end = begin + group.samples;
    const uint64_t sum = std::accumulate(begin, end, uint64_t{0});
    const bool few = sum * 8 < group.samples &&
                     std::all_of(begin, end, [](uint32_t n) { return n <= 1; });
    // A pass for a few samples that were passed over is not worth a copy.
    if (sum > 0 && !few) continue;
    input.raises[g] = true;
    for (auto it = begin; it != end; ++it) *it += static_cast<uint32_t>(cycle_);
  }
  passes_.emplace(pass, MetPass(std::move(input)));
}

std::vector<uint64_t> MetProgress::WantedSets() const {
  std::vector<uint64_t> wanted = {SetOf(current_)};
  if (count_ == 1) return wanted;
  const auto before = mini_epochs_.find(current_ - 1);
  if (current_ > first_ && before != mini_epochs_.end() &&
      !Through(before->second)) {
    wanted.push_back(current_ - 1);
  }
  for (uint64_t next = current_ + 1; next <= current_ + 2; ++next) {
    if (passes_.contains(PassOf(next))) wanted.push_back(next);
  }
  return wanted;
}

// Takes the groups in turn, because readers ask for them so. If one mini-epoch
// holds all, it has all samples, including those that had their share of a
// pass.
std::vector<SampleId> MetProgress::SamplesOf(uint64_t set) const {
  std::vector<SampleId> samples;
  if (count_ == 1) {
    for (uint32_t s = 0; s < served().size(); ++s) samples.emplace_back(s);
    return samples;
  }
  const auto pass = passes_.find(PassOf(set));
  if (pass == passes_.end()) return samples;
  const uint32_t mini = IndexOf(set);
  samples.reserve(pass->second.size(mini));
  std::vector<uint32_t> groups(places_.size());
  std::iota(groups.begin(), groups.end(), 0);
  for (uint32_t i = 0; !groups.empty(); ++i) {
    std::erase_if(groups, [&](uint32_t g) {
      return i >= pass->second.share(g, mini).size();
    });
    for (const uint32_t g : groups) {
      const absl::Span<const uint32_t> share = pass->second.share(g, mini);
      // Samples drawn in this repetition come last.
      const bool here = places_[g].begun && places_[g].number == set;
      const uint32_t from = here ? places_[g].at : 0;
      samples.emplace_back(share[(i + from) % share.size()]);
    }
  }
  return samples;
}

void MetProgress::SetReady(uint64_t set) { ready_.insert(set); }

MiniEpochStatus MetProgress::status() const {
  MiniEpochStatus status;
  status.pass = PassOf(current_);
  status.mini_epoch = IndexOf(current_);
  status.mini_epochs = count_;
  status.repetition = furthest_;
  const auto found = mini_epochs_.find(current_);
  status.factor = found != mini_epochs_.end() ? found->second.allowed : 1;
  status.why = control_.why();
  status.ready = Ready(current_);
  return status;
}

}  // namespace shufflefs
