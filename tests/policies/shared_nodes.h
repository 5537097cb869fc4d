// SPDX-License-Identifier: Apache-2.0
// Several nodes that bind the names of one view together: SharedNames over the
// binder of `brand`, and questions that a test may answer by itself.
#ifndef SHUFFLEFS_TESTS_POLICIES_SHARED_NODES_H_
#define SHUFFLEFS_TESTS_POLICIES_SHARED_NODES_H_

#include <algorithm>
#include <atomic>
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/binding/nodes/shared_names.h"
#include "core/random/random.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "policies/brand/brand.h"
#include "tests/policies/binder_fixture.h"

namespace shufflefs::testing_support {

using ::testing::HasSubstr;
using testing_support::BinderData;
using testing_support::MakeBinderData;

// What all pools of `brand` answer alike.
class BrandNames : public OwnedNames {
 public:
  explicit BrandNames(BinderInput input) : input_(std::move(input)) {}

  const NodeShares::Chunks& chunks() const override { return input_.chunks; }
  bool Holds(SampleId sample) const override {
    return input_.bytes[sample.value()] <= input_.memory_bytes;
  }
  bool repeats() const override { return false; }
  uint32_t OrdinalOf(SampleId) const override { return 0; }
  absl::optional<SampleId> NameAt(SampleId sample, uint32_t) const override {
    return NameOf(sample);
  }
  void Opened(SampleId) override {}
  std::string Served() const override { return ""; }

 protected:
  std::unique_ptr<BinderInput> ShareOf(
      const std::vector<uint32_t>& chunks) const {
    auto share = std::make_unique<BinderInput>(input_);
    share->chunks.clear();
    for (const uint32_t c : chunks) share->chunks.push_back(input_.chunks[c]);
    return share;
  }

  const BinderInput input_;
};

using Binding = BrandOptions::Binding;

inline std::unique_ptr<Binder> MakeBinder(Binding binding,
                                          const BinderInput& input) {
  BrandOptions options;
  options.binding = binding;
  return BrandPolicy(options).MakeBinder(input);
}

// A pool without memory: its binder, and what it was told. What is fetched is
// there at once.
class FakePool : public BrandNames {
 public:
  explicit FakePool(const BinderData& data, Binding binding = Binding::kGroup)
      : BrandNames(data.input), binder_(MakeBinder(binding, input_)) {}

  void TakeShare(const std::vector<uint32_t>& chunks) override {
    std::unique_ptr<BinderInput> share = ShareOf(chunks);
    MutexLock lock(mu_);
    binder_ = binder_->ForShare(*share);
    share_ = std::move(share);
    held_.clear();
    ++shares_taken_;
  }
  void BeginEpoch(Seed seed, Epoch epoch,
                  absl::Span<const NameBinding> bound) override {
    MutexLock lock(mu_);
    for (const uint64_t s : std::set<uint64_t>(held_)) {
      if (!binder_->NameOf(SampleId(s))) continue;
      held_.erase(s);  // it was not read
      binder_->Left(SampleId(s));
    }
    read_.clear();
    for (const NameBinding& pair : bound) read_.insert(pair.sample);
    binder_->BeginEpoch(seed, epoch, bound);
  }
  // The reader of a sample that a name shows reads it, with what the binder
  // loads besides, and is done with it. Again is past the pool.
  void Read(uint64_t sample) {
    MutexLock lock(mu_);
    if (!binder_->NameOf(SampleId(sample)) || !read_.insert(sample).second) {
      return;
    }
    if (held_.erase(sample) == 0) {
      const uint64_t room = input_.memory_bytes - BytesOf(held_);
      for (const SampleId s : binder_->FetchChunkOf(SampleId(sample), room)) {
        held_.insert(s.value());
        loaded_.insert(s.value());
        binder_->Arrived(s);
      }
      EXPECT_LE(BytesOf(held_), input_.memory_bytes);
      if (held_.erase(sample) == 0) {
        loaded_.insert(sample);
        return binder_->Bypassed(SampleId(sample));
      }
    }
    binder_->Left(SampleId(sample));
  }
  BinderCounts counts() const {
    MutexLock lock(mu_);
    return binder_->counts();
  }
  // All that it has ever loaded for readers.
  std::set<uint64_t> loaded() const {
    MutexLock lock(mu_);
    return loaded_;
  }
  SampleId Bind(SampleId name) override {
    MutexLock lock(mu_);
    return binder_->Bind(name);
  }
  bool IsReady(SampleId name) const override {
    MutexLock lock(mu_);
    return binder_->IsReady(name);
  }
  absl::optional<SampleId> Bound(SampleId name) const override {
    MutexLock lock(mu_);
    return binder_->Bound(name);
  }
  absl::optional<SampleId> NameOf(SampleId sample) const override {
    MutexLock lock(mu_);
    return binder_->NameOf(sample);
  }

  // All that it would ever read in this epoch.
  std::set<uint64_t> Fetches() {
    MutexLock lock(mu_);
    std::set<uint64_t> fetched;
    while (!binder_->fetched_all()) {
      for (const SampleId s : binder_->NextFetch(input_.memory_bytes)) {
        fetched.insert(s.value());
        binder_->Arrived(s);
      }
    }
    return fetched;
  }
  int shares_taken() const {
    MutexLock lock(mu_);
    return shares_taken_;
  }

 private:
  uint64_t BytesOf(const std::set<uint64_t>& samples) const {
    uint64_t bytes = 0;
    for (const uint64_t s : samples) bytes += input_.bytes[s];
    return bytes;
  }

  mutable Mutex mu_;
  std::set<uint64_t> held_ ABSL_GUARDED_BY(mu_);    // loaded, and not read
  std::set<uint64_t> read_ ABSL_GUARDED_BY(mu_);    // in this epoch
  std::set<uint64_t> loaded_ ABSL_GUARDED_BY(mu_);  // in all epochs
  std::unique_ptr<BinderInput> share_ ABSL_GUARDED_BY(mu_);
  std::unique_ptr<Binder> binder_ ABSL_GUARDED_BY(mu_) ABSL_PT_GUARDED_BY(mu_);
  int shares_taken_ ABSL_GUARDED_BY(mu_) = 0;
};

// What a node asks whose reader waits for one name.
inline SharedNames::Question Asked(uint64_t binding, uint64_t name) {
  return {.owner = "", .binding = binding, .names = {name}, .asker = ""};
}

struct Node {
  std::string name;
  std::shared_ptr<FakePool> pool;
  std::shared_ptr<SharedNames> names;
};

class Nodes {
 public:
  Nodes(const BinderData& data, uint32_t count,
        Binding binding = Binding::kGroup, double locality = 0)
      : data_(data), binding_(binding), locality_(locality) {
    for (uint32_t i = 0; i < count; ++i) Add();
  }

  Node& Add() {
    auto node = std::make_unique<Node>();
    node->name = absl::StrCat("node", nodes_.size());
    Start(*node);
    nodes_.push_back(std::move(node));
    return *nodes_.back();
  }

  // Begins anew, and knows nothing.
  void Start(Node& node) {
    node.pool = std::make_shared<FakePool>(data_, binding_);
    SharedNames::Parts parts;
    parts.grouping = &data_.grouping;
    parts.dataset_key = data_.input.dataset_key;
    parts.own = node.pool;
    parts.locality = locality_;
    parts.ask = [this](const SharedNames::Question& question,
                       std::chrono::milliseconds /*within*/,
                       SharedNames::Answer answer) {
      ++asked;
      if (ask) return ask(question, std::move(answer));
      answer(AnswerTo(question));
    };
    node.names = std::make_shared<SharedNames>(std::move(parts));
  }

  absl::StatusOr<std::vector<uint64_t>> AnswerTo(
      const SharedNames::Question& question) {
    for (const auto& node : nodes_) {
      if (node->name != question.owner || node->name == down) continue;
      return node->names->BindForOthers(question);
    }
    return absl::UnavailableError("nobody answers");
  }

  NameSharing Sharing(uint32_t node, uint64_t binding, size_t members) const {
    NameSharing sharing;
    for (size_t i = 0; i < members; ++i) {
      sharing.members.push_back(nodes_[i]->name);
    }
    sharing.self = nodes_[node]->name;
    sharing.binding = binding;
    return sharing;
  }

  // Each node begins with those of `pairs` that it knows, as after a boundary.
  void Begin(uint64_t epoch, const std::vector<NameBinding>& known = {},
             const std::vector<uint64_t>& kept = {}) {
    for (uint32_t i = 0; i < nodes_.size(); ++i) {
      NameSharing sharing = Sharing(i, epoch + 100, nodes_.size());
      sharing.known = known;
      std::vector<NameBinding> bound = known;
      for (const uint64_t name : kept) {
        const auto sample = nodes_[i]->names->Bound(SampleId(name));
        if (sample) bound.push_back({name, sample->value()});
      }
      nodes_[i]->names->BeginEpoch(Seed(3), Epoch(epoch), sharing, bound);
    }
  }

  uint64_t Ask(uint32_t node, uint64_t name) {
    const uint64_t sample = nodes_[node]->names->Bind(SampleId(name)).value();
    EXPECT_EQ(nodes_[node]->names->Bound(SampleId(name))->value(), sample);
    EXPECT_EQ(nodes_[node]->names->NameOf(SampleId(sample))->value(), name);
    return sample;
  }

  // A reader on `node` reads the sample that the name shows there.
  uint64_t Read(uint32_t node, uint64_t name) {
    const uint64_t sample = Ask(node, name);
    const auto holder = nodes_[node]->names->HolderOf(SampleId(sample));
    for (const auto& each : nodes_) {
      if (holder && each->name == holder->member) each->pool->Read(sample);
    }
    return sample;
  }

  Node& operator[](size_t i) { return *nodes_[i]; }
  uint32_t size() const { return static_cast<uint32_t>(nodes_.size()); }

  std::string down;  // a node that does not answer
  std::function<void(const SharedNames::Question&, SharedNames::Answer)> ask;
  std::atomic<uint64_t> asked{0};

 private:
  const BinderData& data_;
  const Binding binding_;
  const double locality_;
  std::vector<std::unique_ptr<Node>> nodes_;
};

inline std::vector<uint64_t> Shuffled(uint64_t count, Rng& rng) {
  std::vector<uint64_t> names(count);
  std::iota(names.begin(), names.end(), 0);
  for (uint64_t i = count; i > 1; --i) {
    std::swap(names[i - 1], names[rng.Bounded(i)]);
  }
  return names;
}

}  // namespace shufflefs::testing_support

#endif  // SHUFFLEFS_TESTS_POLICIES_SHARED_NODES_H_
