// SPDX-License-Identifier: Apache-2.0
#include "policies/met/met_plan.h"

#include <algorithm>
#include <utility>

namespace shufflefs {
namespace {

// The samples of a mini-epoch in the order of one of its repetitions.
std::vector<uint32_t> Repetition(const MetPass& pass, uint32_t groups,
                                 uint32_t mini, uint64_t repetition) {
  std::vector<uint32_t> samples;
  samples.reserve(pass.size(mini));
  for (uint32_t g = 0; g < groups; ++g) {
    const absl::Span<const uint32_t> share = pass.share(g, mini);
    samples.insert(samples.end(), share.begin(), share.end());
  }
  Rng rng(SubKey(SubKey(pass.key(), uint64_t{2} << 32 | mini), repetition));
  for (uint64_t i = samples.size(); i > 1; --i) {
    std::swap(samples[i - 1], samples[rng.Bounded(i)]);
  }
  return samples;
}

}  // namespace

MetEpoch MetEpochOf(const MetOptions& options, Epoch epoch) {
  const uint64_t cycle = std::max<uint64_t>(options.epochs, 1);
  const uint64_t repeat = std::clamp<uint64_t>(options.repeat, 1, cycle);
  const uint64_t passes = (cycle + repeat - 1) / repeat;
  const uint64_t in_cycle = epoch.value() % cycle;
  MetEpoch of;
  of.pass = epoch.value() / cycle * passes + in_cycle / repeat;
  of.part = in_cycle % repeat;
  of.factor = std::min(repeat, cycle - in_cycle / repeat * repeat);
  return of;
}

MetPass MakeMetPass(const MetOptions& options, const MetPlanInput& input,
                    uint64_t pass) {
  MetPass::Input made;
  made.grouping = input.grouping;
  made.mini_epochs =
      static_cast<uint32_t>(std::max<uint64_t>(options.mini_epochs, 1));
  made.key = SubKey(
      DeriveKey(input.seed, Epoch(0), input.dataset_key, Purpose::kMiniEpoch),
      pass);
  made.left.assign(input.grouping->sample_count(), 1);
  return MetPass(std::move(made));
}

const MetOrder::Table& MetOrder::table() const {
  return table_.Get([this] {
    const MetEpoch of = MetEpochOf(options_, epoch_);
    const MetPass pass = MakeMetPass(options_, input_, of.pass);
    const uint32_t groups = input_.grouping->group_count();
    const uint64_t begin = of.part * size();
    const uint64_t end = begin + size();
    Table table;
    table.sample_at.reserve(size());
    table.position_of.assign(size(), static_cast<uint32_t>(size()));
    uint64_t at = 0;  // in the pass: where a repetition begins
    for (uint32_t m = 0; m < pass.mini_epochs() && at < end; ++m) {
      for (uint64_t r = 0; r < of.factor; ++r) {
        const uint64_t next = at + pass.size(m);
        if (next > begin && at < end) {
          const std::vector<uint32_t> samples = Repetition(pass, groups, m, r);
          const uint64_t to = std::min<uint64_t>(samples.size(), end - at);
          for (uint64_t i = begin - std::min(begin, at); i < to; ++i) {
            table.sample_at.push_back(samples[i]);
          }
        }
        at = next;
      }
    }
    for (uint64_t i = table.sample_at.size(); i > 0; --i) {
      table.position_of[table.sample_at[i - 1]] = static_cast<uint32_t>(i - 1);
    }
    return table;
  });
}

}  // namespace shufflefs
