// SPDX-License-Identifier: Apache-2.0
#include "policies/chunk_plan.h"

#include "core/permutation.h"
#include "policies/group_heap.h"
#include "policies/miss_queue.h"

namespace shufflefs {
namespace {

using Chunks = std::vector<std::vector<uint32_t>>;

// Chunks that mix groups.
class MixedPlan : public ChunkPlan {
 public:
  MixedPlan(const Chunks& chunks, const SampleTable& table)
      : chunks_(chunks), misses_(table), order_(chunks.size(), RandomKey(0)) {}

  void BeginEpoch(RandomKey key) override {
    order_ = Permutation(chunks_.size(), key);
    next_ = 0;
    pushed_ = 0;
    misses_.Clear();
  }

  uint32_t Next() override {
    return next_ < chunks_.size() ? static_cast<uint32_t>(order_(next_))
                                  : kNone;
  }

  void Pass(uint32_t /*chunk*/) override { ++next_; }

  uint32_t Earliest(uint32_t group) override {
    for (;;) {
      const uint32_t sample = misses_.FirstUnbound(group);
      if (sample != SampleTable::kNone || pushed_ == chunks_.size()) {
        return sample;
      }
      for (const uint32_t s : chunks_[order_(pushed_)]) misses_.Push(s);
      ++pushed_;
    }
  }

  void Changed(uint32_t /*group*/) override {}

 private:
  const Chunks& chunks_;
  MissQueue misses_;
  Permutation order_;
  uint64_t next_ = 0;    // place in the order
  uint64_t pushed_ = 0;  // places that misses_ knows
};

// Chunks of one group each.
class GroupedPlan : public ChunkPlan {
 public:
  GroupedPlan(const Chunks& chunks, const SampleTable& table)
      : chunks_(chunks),
        table_(table),
        misses_(table),
        groups_(table.group_count()),
        by_group_(chunks.size()),
        heap_(table.group_count()) {
    for (uint32_t c = 0; c < chunks.size(); ++c) ++groups_[HomeOf(c)].chunks;
    uint32_t first = 0;
    for (Group& group : groups_) {
      group.first = first;
      first += group.chunks;
    }
    std::vector<uint32_t> at(groups_.size());
    for (uint32_t c = 0; c < chunks.size(); ++c) {
      by_group_[groups_[HomeOf(c)].first + at[HomeOf(c)]++] = c;
    }
  }

  void BeginEpoch(RandomKey key) override {
    key_ = key;
    misses_.Clear();
    heap_.Clear();
    for (uint32_t g = 0; g < groups_.size(); ++g) {
      groups_[g].passed = 0;
      if (groups_[g].chunks > 0) heap_.Set(g, KeyOf(g));
    }
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
        for (const uint32_t s : chunks_[ChunkAt(group, i)]) misses_.Push(s);
      }
    }
    return misses_.FirstUnbound(group);
  }

  void Changed(uint32_t group) override {
    if (groups_[group].changed) return;
    groups_[group].changed = true;
    changed_.push_back(group);
  }

 private:
  struct Group {
    uint32_t first = 0;  // in by_group_
    uint32_t chunks = 0;
    uint32_t passed = 0;  // of them
    bool changed = false;
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
  uint32_t ChunkAt(uint32_t group, uint32_t place) const {
    const Group& g = groups_[group];
    const Permutation order(g.chunks,
                            SubKey(SubKey(key_, group), groups_.size()));
    return by_group_[g.first + order(place)];
  }

  // Constant after construction.
  const Chunks& chunks_;
  const SampleTable& table_;
  MissQueue misses_;
  std::vector<Group> groups_;
  std::vector<uint32_t> by_group_;  // chunks, group by group

  RandomKey key_;   // of the epoch
  GroupHeap heap_;  // groups with chunks to come
  std::vector<uint32_t> changed_;
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
                                         const SampleTable& table) {
  if (table.group_count() > 1 && OneGroupEach(chunks, table)) {
    return std::make_unique<GroupedPlan>(chunks, table);
  }
  return std::make_unique<MixedPlan>(chunks, table);
}

}  // namespace shufflefs
