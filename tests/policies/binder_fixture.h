// SPDX-License-Identifier: Apache-2.0
// Tools for tests of binders: datasets that are only numbers, and
// CheckedBinder, which stands between a binder and its caller and checks every
// answer against core/policy/binder.h.
#ifndef SHUFFLEFS_TESTS_POLICIES_BINDER_FIXTURE_H_
#define SHUFFLEFS_TESTS_POLICIES_BINDER_FIXTURE_H_

#include <algorithm>
#include <memory>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

#include "core/dataset/grouping.h"
#include "core/policy/binder.h"
#include "core/policy/retained_bindings.h"
#include "core/pool/chunk_map.h"
#include "core/random/random.h"
#include "gtest/gtest.h"

namespace shufflefs::testing_support {

// Owns everything that a BinderInput points to.
struct BinderData {
  Grouping grouping;
  BinderInput input;
};

// Samples of `bytes` each, in chunks of `chunk` samples: with all groups mixed,
// or sorted by group, as on the device.
inline std::unique_ptr<BinderData> MakeBinderData(
    const std::vector<uint32_t>& sizes, uint64_t memory_samples, uint32_t chunk,
    bool mixed, uint64_t bytes = 1000) {
  auto data = std::make_unique<BinderData>(
      BinderData{Grouping::WithoutFiles(sizes), {}});
  BinderInput& input = data->input;
  input.grouping = &data->grouping;
  input.bytes.assign(data->grouping.sample_count(), bytes);
  input.dataset_key = 42;
  input.memory_bytes = memory_samples * bytes;
  if (mixed) {
    input.chunks = ComposeMixedChunks(data->grouping, 7, chunk);
    return data;
  }
  for (uint32_t g = 0; g < sizes.size(); ++g) {
    const uint64_t first = data->grouping.group(GroupId(g)).first_sample;
    for (uint32_t i = 0; i < sizes[g]; ++i) {
      if (i % chunk == 0) input.chunks.emplace_back();
      input.chunks.back().push_back(static_cast<uint32_t>(first + i));
    }
  }
  return data;
}

// Passes calls on and checks the answers. Keeps only the state that the checks
// need.
class CheckedBinder {
 public:
  CheckedBinder(const BinderInput& input, std::unique_ptr<Binder> binder)
      : input_(input),
        binder_(std::move(binder)),
        sample_of_(input.grouping->sample_count(), kNone),
        name_of_(input.grouping->sample_count(), kNone),
        alone_(input.grouping->sample_count()),
        fetched_(input.grouping->sample_count()),
        ahead_(input.grouping->sample_count()) {}

  Binder& binder() { return *binder_; }
  const std::set<uint32_t>& coming() const { return coming_; }
  const std::set<uint32_t>& here() const { return here_; }
  uint64_t held_bytes() const { return held_bytes_; }
  uint64_t room() const { return input_.memory_bytes - held_bytes_; }
  uint32_t sample_of(uint32_t name) const { return sample_of_[name]; }
  uint32_t name_of(uint32_t sample) const { return name_of_[sample]; }
  bool held(uint32_t s) const { return coming_.count(s) + here_.count(s) > 0; }
  bool alone(uint32_t sample) const { return alone_[sample]; }
  // A hash of all answers so far, in their order.
  uint64_t answers() const { return answers_; }
  uint32_t GroupOf(uint32_t sample) const {
    return input_.grouping->group_of(SampleId(sample)).value();
  }

  void BeginEpoch(Epoch epoch, const std::vector<NameBinding>& bound) {
    // Samples that were bound and not read leave first.
    for (uint32_t s = 0; s < name_of_.size(); ++s) {
      if (name_of_[s] != kNone && held(s) && !ahead_[s]) Left(s);
    }
    std::fill(sample_of_.begin(), sample_of_.end(), kNone);
    std::fill(name_of_.begin(), name_of_.end(), kNone);
    std::fill(alone_.begin(), alone_.end(), false);
    std::fill(fetched_.begin(), fetched_.end(), false);
    std::fill(ahead_.begin(), ahead_.end(), false);
    for (const NameBinding& pair : bound) {
      sample_of_[pair.name] = static_cast<uint32_t>(pair.sample);
      name_of_[pair.sample] = static_cast<uint32_t>(pair.name);
      alone_[pair.sample] = true;
    }
    for (const uint32_t s : coming_) fetched_[s] = true;
    for (const uint32_t s : here_) fetched_[s] = true;
    binder_->BeginEpoch(Seed(1), epoch, bound);
    ExpectBijection();
  }

  uint32_t Bind(uint32_t name) {
    const uint32_t group = GroupOf(name);
    const bool known = sample_of_[name] != kNone;
    const auto sample =
        static_cast<uint32_t>(binder_->Bind(SampleId(name)).value());
    Note(sample);
    if (known) {
      EXPECT_EQ(sample, sample_of_[name]);
      return sample;
    }
    EXPECT_EQ(GroupOf(sample), group);
    EXPECT_EQ(name_of_[sample], kNone) << "given twice";
    sample_of_[name] = sample;
    name_of_[sample] = name;
    EXPECT_EQ(binder_->Bound(SampleId(name)), SampleId(sample));
    EXPECT_EQ(binder_->NameOf(SampleId(sample)), SampleId(name));
    return sample;
  }

  std::vector<uint32_t> NextFetch(uint64_t room) {
    const bool ahead = binder_->fetched_all();
    return Begin(binder_->NextFetch(room), room, ahead);
  }
  std::vector<uint32_t> FetchChunkOf(uint32_t sample, uint64_t room) {
    const std::vector<uint32_t> samples =
        Begin(binder_->FetchChunkOf(SampleId(sample), room), room, false);
    if (!samples.empty()) {
      EXPECT_EQ(std::count(samples.begin(), samples.end(), sample), 1);
    }
    return samples;
  }
  void Bypassed(uint32_t sample) {
    alone_[sample] = true;
    binder_->Bypassed(SampleId(sample));
  }
  void Arrived(uint32_t sample) {
    ASSERT_EQ(coming_.erase(sample), 1);
    here_.insert(sample);
    binder_->Arrived(SampleId(sample));
  }
  // The reader no longer needs the sample: it leaves, or stays for the next
  // epoch.
  void Consumed(uint32_t sample) {
    const bool keeps = binder_->Keeps(SampleId(sample));
    Note(keeps ? 1 : 0);
    if (!keeps) return Left(sample);
    EXPECT_NE(name_of_[sample], kNone) << sample << " has not been shown yet";
    EXPECT_TRUE(held(sample));
    EXPECT_TRUE(binder_->fetched_ahead(SampleId(sample)));
    ahead_[sample] = true;
  }
  void Left(uint32_t sample) {
    ASSERT_EQ(coming_.erase(sample) + here_.erase(sample), 1);
    held_bytes_ -= input_.bytes[sample];
    binder_->Left(SampleId(sample));
  }

  // Expects names and samples of each group to be one to one, as far as bound.
  void ExpectBijection() const {
    for (uint32_t name = 0; name < sample_of_.size(); ++name) {
      const auto bound = binder_->Bound(SampleId(name));
      ASSERT_EQ(bound.has_value(), sample_of_[name] != kNone) << name;
      if (!bound) continue;
      ASSERT_EQ(bound->value(), sample_of_[name]);
      ASSERT_EQ(GroupOf(sample_of_[name]), GroupOf(name));
      ASSERT_EQ(binder_->NameOf(*bound), SampleId(name));
    }
  }

  static constexpr uint32_t kNone = 0xFFFFFFFF;

 private:
  void Note(uint64_t answer) { answers_ = Mix64(answers_ ^ answer); }
  std::vector<uint32_t> Begin(const std::vector<SampleId>& samples,
                              uint64_t room, bool ahead) {
    std::vector<uint32_t> ids;
    uint64_t bytes = 0;
    Note(samples.size());
    for (const SampleId id : samples) {
      const auto s = static_cast<uint32_t>(id.value());
      ids.push_back(s);
      Note(s);
      bytes += input_.bytes[s];
      EXPECT_FALSE(held(s)) << s << " is held already";
      EXPECT_FALSE(!ahead && fetched_[s]) << s << " comes twice";
      EXPECT_FALSE(!ahead && alone_[s]) << s << " was read alone";
      if (ahead) {
        EXPECT_NE(name_of_[s], kNone) << s << " has not been shown yet";
        EXPECT_FALSE(ahead_[s]) << s << " comes twice for the next epoch";
        EXPECT_TRUE(binder_->fetched_ahead(id));
        ahead_[s] = true;
      } else {
        EXPECT_FALSE(binder_->fetched_ahead(id));
        fetched_[s] = true;
      }
      coming_.insert(s);
    }
    EXPECT_LE(bytes, room);
    held_bytes_ += bytes;
    return ids;
  }

  const BinderInput& input_;
  const std::unique_ptr<Binder> binder_;
  std::vector<uint32_t> sample_of_;
  std::vector<uint32_t> name_of_;
  std::vector<bool> alone_;    // or bound when the epoch began
  std::vector<bool> fetched_;  // for this epoch
  std::vector<bool> ahead_;    // for the next
  std::set<uint32_t> coming_;
  std::set<uint32_t> here_;
  uint64_t held_bytes_ = 0;
  uint64_t answers_ = 0;
};

}  // namespace shufflefs::testing_support

#endif  // SHUFFLEFS_TESTS_POLICIES_BINDER_FIXTURE_H_
