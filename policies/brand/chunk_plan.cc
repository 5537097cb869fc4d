// SPDX-License-Identifier: Apache-2.0
#include "policies/brand/chunk_plan.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/random/permutation.h"
#include "policies/brand/group_heap.h"
#include "policies/brand/miss_queue.h"

namespace shufflefs {
namespace {

using Chunks = std::vector<std::vector<uint32_t>>;

// With kPlenty samples of each group in memory hardly any group runs out by
// chance (one miss in 2,000 at 22, in 100 at 9). With fewer, the plan chooses
// among the next chunks: at most kNear of them, and at most a kNearPart-th of
// all. So the order still differs from epoch to epoch.
constexpr uint64_t kPlenty = 32;
constexpr uint64_t kNear = 64;
constexpr uint64_t kNearPart = 5;

std::vector<uint32_t> Shuffled(uint64_t chunks, RandomKey key) {
  const Permutation order(chunks, key);
  std::vector<uint32_t> shuffled(chunks);
  for (uint64_t i = 0; i < chunks; ++i) {
    shuffled[i] = static_cast<uint32_t>(order(i));
  }
  return shuffled;
}

// For chunks that mix groups.
class MixedPlan : public ChunkPlan {
 public:
  // `near`: how many of the next chunks it chooses among.
  MixedPlan(const Chunks& chunks, const SampleTable& table, size_t near)
      : chunks_(chunks),
        table_(table),
        misses_(table),
        near_most_(near),
        order_(chunks.size(), RandomKey(0)) {}

  void BeginEpoch(RandomKey key) override {
    order_ = Permutation(chunks_.size(), key);
    next_ = 0;
    near_.clear();
    chosen_ = kNone;
    pushed_ = 0;
    misses_.BeginEpoch(key);
  }

  std::vector<uint32_t> BeginningOf(RandomKey key) const override {
    return Shuffled(chunks_.size(), key);
  }

  uint32_t Next() override {
    if (chosen_ == kNone) chosen_ = Choose();
    return chosen_;
  }

  void Pass(uint32_t chunk) override {
    near_.erase(std::find(near_.begin(), near_.end(), chunk));
    chosen_ = kNone;
  }

  uint32_t Earliest(uint32_t group) override {
    for (;;) {
      const uint32_t sample = misses_.FirstUnbound(group);
      if (sample != SampleTable::kNone || pushed_ == chunks_.size()) {
        return sample;
      }
      misses_.Push(chunks_[order_(pushed_++)]);
    }
  }

  void Changed(uint32_t /*group*/) override {}
  bool one_group_each() const override { return false; }

 private:
  // A sample that is not fetchable now stays so for the rest of the epoch.
  bool Passed(uint32_t chunk) const {
    return std::none_of(chunks_[chunk].begin(), chunks_[chunk].end(),
                        [this](uint32_t s) { return table_.fetchable(s); });
  }

  bool Lacks(uint32_t group) const {
    return table_.ready(group) == 0 && table_.unbound(group) > 0;
  }

  // While most groups lack samples, as at an epoch's start, all chunks are
  // equally good. A preference would then choose the same ones in every epoch.
  bool FewLack() const {
    uint32_t lacking = 0;
    for (uint32_t g = 0; g < table_.group_count(); ++g) {
      lacking += Lacks(g) ? 1 : 0;
    }
    return lacking > 0 && lacking < table_.group_count() / 2;
  }

  // How much a chunk helps against misses: the names still to be asked for, of
  // groups that lack samples.
  uint64_t Worth(uint32_t chunk) const {
    uint64_t worth = 0;
    for (const uint32_t sample : chunks_[chunk]) {
      const uint32_t group = table_.group_of(sample);
      if (Lacks(group) && table_.fetchable(sample)) {
        worth += table_.unbound(group);
      }
    }
    return worth;
  }

  // The best of the next few chunks; of equal ones the earliest.
  uint32_t Choose() {
    near_.erase(std::remove_if(near_.begin(), near_.end(),
                               [this](uint32_t c) { return Passed(c); }),
                near_.end());
    while (near_.size() < near_most_ && next_ < chunks_.size()) {
      const auto chunk = static_cast<uint32_t>(order_(next_++));
      if (!Passed(chunk)) near_.push_back(chunk);
    }
    if (near_.empty()) return kNone;
    uint32_t best = near_.front();
    if (near_most_ == 1 || !FewLack()) return best;
    uint64_t most = Worth(best);
    for (const uint32_t chunk : near_) {
      const uint64_t worth = Worth(chunk);
      if (worth <= most) continue;
      most = worth;
      best = chunk;
    }
    return best;
  }

  const Chunks& chunks_;
  const SampleTable& table_;
  MissQueue misses_;
  const size_t near_most_;

  Permutation order_;           // of the epoch
  uint64_t next_ = 0;           // places of order_ that near_ has seen
  std::vector<uint32_t> near_;  // the next chunks, in that order
  uint32_t chosen_ = kNone;
  uint64_t pushed_ = 0;  // places of order_ that misses_ has
};

// For chunks of one group each.
class GroupedPlan : public ChunkPlan {
 public:
  GroupedPlan(const Chunks& chunks, const SampleTable& table)
      : chunks_(chunks),
        table_(table),
        misses_(table),
        groups_(table.group_count()),
        by_group_(chunks.size()),
        heap_(table.group_count()),
        order_(chunks.size(), RandomKey(0)) {
    for (uint32_t c = 0; c < chunks.size(); ++c) ++groups_[HomeOf(c)].chunks;
    uint32_t first = 0;
    for (Group& group : groups_) {
      group.first = first;
      first += group.chunks;
    }
    std::vector<uint32_t> at(groups_.size());
    for (uint32_t c = 0; c < chunks.size(); ++c) {
      const uint32_t group = HomeOf(c);
      by_group_[groups_[group].first + at[group]++] = c;
    }
  }

  void BeginEpoch(RandomKey key) override {
    key_ = key;
    order_ = Permutation(chunks_.size(), key);
    misses_.BeginEpoch(key);
    heap_.Clear();
    for (uint32_t g = 0; g < groups_.size(); ++g) {
      groups_[g].passed = 0;
      groups_[g].ordered = false;
      if (groups_[g].chunks > 0) heap_.Set(g, KeyOf(g));
    }
  }

  // The i-th chunk of a group's n comes after a share (i + u) / n of the
  // others; u is random by group.
  std::vector<uint32_t> BeginningOf(RandomKey key) const override {
    std::vector<uint32_t> at(groups_.size());
    std::vector<std::pair<double, uint32_t>> placed;
    placed.reserve(chunks_.size());
    for (const uint32_t chunk : Shuffled(chunks_.size(), key)) {
      const uint32_t group = HomeOf(chunk);
      const double u =
          std::ldexp(static_cast<double>(SubKey(key, group).value()), -64);
      placed.emplace_back((at[group]++ + u) / groups_[group].chunks, chunk);
    }
    std::sort(placed.begin(), placed.end());
    std::vector<uint32_t> chunks;
    chunks.reserve(placed.size());
    for (const auto& [place, chunk] : placed) chunks.push_back(chunk);
    return chunks;
  }

  uint32_t Next() override {
    Refresh();
    if (heap_.empty()) return kNone;
    const uint32_t group = heap_.top();
    return ChunkAt(group, groups_[group].passed);
  }

  void Pass(uint32_t chunk) override {
    const uint32_t group = HomeOf(chunk);
    if (++groups_[group].passed == groups_[group].chunks) heap_.Remove(group);
  }

  uint32_t Earliest(uint32_t group) override {
    if (misses_.pushed(group) == 0) {
      for (uint32_t i = 0; i < groups_[group].chunks; ++i) {
        misses_.Push(chunks_[ChunkAt(group, i)]);
      }
    }
    return misses_.FirstUnbound(group);
  }

  void Changed(uint32_t group) override {
    if (groups_[group].changed) return;
    groups_[group].changed = true;
    changed_.push_back(group);
  }
  bool one_group_each() const override { return true; }

 private:
  struct Group {
    uint32_t first = 0;  // in by_group_
    uint32_t chunks = 0;
    uint32_t passed = 0;  // of them
    bool changed = false;
    bool ordered = false;  // its part of by_group_, as in this epoch
  };

  GroupHeap::Key KeyOf(uint32_t group) const {
    return {.ready = table_.ready(group),
            .unbound = table_.unbound(group),
            .tie = SubKey(key_, group).value()};
  }

  void Refresh() {
    for (const uint32_t group : changed_) {
      groups_[group].changed = false;
      if (heap_.contains(group)) heap_.Set(group, KeyOf(group));
    }
    changed_.clear();
  }

  uint32_t HomeOf(uint32_t chunk) const {
    return table_.group_of(chunks_[chunk].front());
  }
  uint32_t ChunkAt(uint32_t group, uint32_t place) {
    if (!groups_[group].ordered) PutInOrder(groups_[group]);
    return by_group_[groups_[group].first + place];
  }

  // Each group by itself, when it is first asked for: an epoch begins at once,
  // however many chunks there are.
  void PutInOrder(Group& group) {
    group.ordered = true;
    placed_.clear();
    uint32_t* const first = by_group_.data() + group.first;
    for (uint32_t i = 0; i < group.chunks; ++i) {
      placed_.emplace_back(order_.Inverse(first[i]), first[i]);
    }
    std::sort(placed_.begin(), placed_.end());
    for (uint32_t i = 0; i < group.chunks; ++i) first[i] = placed_[i].second;
  }

  const Chunks& chunks_;
  const SampleTable& table_;
  MissQueue misses_;
  std::vector<Group> groups_;

  std::vector<uint32_t> by_group_;  // chunks, group by group
  RandomKey key_;                   // of the epoch
  GroupHeap heap_;                  // groups with chunks to come
  Permutation order_;               // of the epoch
  std::vector<uint32_t> changed_;
  // For PutInOrder: the chunks of a group, behind their places in order_.
  std::vector<std::pair<uint64_t, uint32_t>> placed_;
};

bool OneGroupEach(const Chunks& chunks, const SampleTable& table) {
  for (const std::vector<uint32_t>& chunk : chunks) {
    const uint32_t group = table.group_of(chunk.front());
    for (const uint32_t sample : chunk) {
      if (table.group_of(sample) != group) return false;
    }
  }
  return true;
}

}  // namespace

std::unique_ptr<ChunkPlan> MakeChunkPlan(const Chunks& chunks,
                                         const SampleTable& table,
                                         uint64_t memory_samples) {
  if (table.group_count() > 1 && OneGroupEach(chunks, table)) {
    return std::make_unique<GroupedPlan>(chunks, table);
  }
  const bool scarce = memory_samples < kPlenty * table.group_count();
  const uint64_t near =
      scarce ? std::clamp<uint64_t>(chunks.size() / kNearPart, 1, kNear) : 1;
  return std::make_unique<MixedPlan>(chunks, table, near);
}

}  // namespace shufflefs
