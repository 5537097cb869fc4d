// SPDX-License-Identifier: Apache-2.0
// met's order: what is shown how often, in which mini-epochs, under random
// orders of asking.
#include "policies/met_binder.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/random.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/policies/binder_fixture.h"

namespace shufflefs {
namespace {

using testing_support::BinderData;
using testing_support::MakeBinderData;

PolicyOptions Fixed(uint64_t mini_epochs, uint64_t repeat, uint64_t epochs) {
  PolicyOptions options;
  options.met_mini_epochs = mini_epochs;
  options.met_repeat = repeat;
  options.met_epochs = epochs;
  return options;
}

// Reads all names of an epoch in a random order, each looked up and opened.
class Job {
 public:
  Job(const PolicyOptions& options, const std::vector<uint32_t>& sizes,
      uint64_t seed)
      : data_(MakeBinderData(sizes, 1000, 64, true)),
        binder_(options, data_->input),
        rng_(RandomKey(seed)),
        shown_(data_->grouping.sample_count()) {}

  MetBinder& binder() { return binder_; }
  BinderData& data() { return *data_; }
  Rng& rng() { return rng_; }
  uint64_t size() const { return shown_.size(); }
  const std::vector<uint32_t>& shown() const { return shown_; }
  const std::vector<uint32_t>& order() const { return order_; }

  std::vector<uint32_t> Names() {
    std::vector<uint32_t> names(size());
    std::iota(names.begin(), names.end(), 0);
    for (uint64_t i = names.size(); i > 1; --i) {
      std::swap(names[i - 1], names[rng_.Bounded(i)]);
    }
    return names;
  }

  // `read` of the names; all that is wanted is staged at once.
  void Epoch(uint64_t epoch, uint64_t read) {
    binder_.BeginEpoch(Seed(1), shufflefs::Epoch(epoch), {});
    order_.clear();
    const std::vector<uint32_t> names = Names();
    for (uint64_t i = 0; i < read; ++i) Read(names[i]);
  }
  void Epoch(uint64_t epoch) { Epoch(epoch, size()); }

  void Read(uint32_t name) {
    for (const uint64_t set : binder_.WantedSets()) binder_.SetReady(set);
    const SampleId sample = binder_.Bind(SampleId(name));
    ASSERT_EQ(data_->grouping.group_of(sample),
              data_->grouping.group_of(SampleId(name)));
    ASSERT_EQ(binder_.Bind(SampleId(name)), sample) << "a name that moved";
    binder_.Opened(SampleId(name));
    ++shown_[sample.value()];
    order_.push_back(static_cast<uint32_t>(sample.value()));
  }

  uint32_t Least() const {
    return *std::min_element(shown_.begin(), shown_.end());
  }
  uint32_t Most() const {
    return *std::max_element(shown_.begin(), shown_.end());
  }

 private:
  std::unique_ptr<BinderData> data_;
  MetBinder binder_;
  Rng rng_;
  std::vector<uint32_t> shown_;
  std::vector<uint32_t> order_;  // of the epoch
};

TEST(MetBinderTest, EverySampleComesAsOftenAsTheJobHasEpochs) {
  for (const auto& [minis, repeat, epochs] :
       std::vector<std::array<uint64_t, 3>>{{8, 4, 12},
                                            {8, 4, 14},
                                            {5, 3, 7},
                                            {1, 4, 8},
                                            {16, 8, 8},
                                            {3, 2, 9}}) {
    Job job(Fixed(minis, repeat, epochs), {100, 37, 3, 64}, minis);
    for (uint64_t e = 0; e < epochs; ++e) job.Epoch(e);
    EXPECT_EQ(job.Least(), epochs) << minis << " " << repeat;
    EXPECT_EQ(job.Most(), epochs) << minis << " " << repeat;
  }
}

TEST(MetBinderTest, WithoutTheNumberOfEpochsEachEpochShowsAll) {
  Job job(Fixed(8, 4, 0), {50, 7, 120}, 3);
  for (uint64_t e = 0; e < 5; ++e) {
    job.Epoch(e);
    EXPECT_EQ(job.Least(), e + 1);
    EXPECT_EQ(job.Most(), e + 1);
  }
}

TEST(MetBinderTest,
     AMiniEpochIsRepeatedBeforeTheNextAndEachTimeInAnotherOrder) {
  Job job(Fixed(4, 3, 12), {400}, 5);
  std::vector<uint32_t> drawn;
  for (uint64_t e = 0; e < 3; ++e) {
    job.Epoch(e);
    drawn.insert(drawn.end(), job.order().begin(), job.order().end());
  }
  std::set<uint32_t> all;
  for (uint64_t m = 0; m < 4; ++m) {
    const auto begin = drawn.begin() + static_cast<long>(m * 300);
    const std::vector<uint32_t> first(begin, begin + 100);
    const std::set<uint32_t> set(first.begin(), first.end());
    EXPECT_EQ(set.size(), 100u);
    for (long r = 1; r < 3; ++r) {
      const std::vector<uint32_t> again(begin + r * 100, begin + r * 100 + 100);
      EXPECT_EQ(set, std::set<uint32_t>(again.begin(), again.end()));
      EXPECT_NE(first, again);
    }
    all.insert(set.begin(), set.end());
  }
  EXPECT_EQ(all.size(), 400u);
}

TEST(MetBinderTest, MiniEpochsAreStratifiedAndDrawnAnewForEachPass) {
  Job job(Fixed(4, 2, 8), {100, 10, 6, 2}, 7);
  std::vector<std::map<uint32_t, uint64_t>> passes;
  for (uint64_t e = 0; e < 4; ++e) {
    job.binder().BeginEpoch(Seed(1), Epoch(e), {});
    for (const uint32_t name : job.Names()) {
      for (const uint64_t set : job.binder().WantedSets()) {
        if (passes.size() <= set / 4) passes.resize(set / 4 + 1);
        for (const SampleId s : job.binder().SamplesOf(set)) {
          const auto [it, fresh] = passes[set / 4].emplace(s.value(), set % 4);
          ASSERT_EQ(it->second, set % 4) << "a sample in two mini-epochs";
        }
      }
      job.Read(name);
    }
  }
  ASSERT_GE(passes.size(), 2u);
  for (size_t p = 0; p < 2; ++p) {
    ASSERT_EQ(passes[p].size(), job.size());
    std::map<std::pair<uint32_t, uint64_t>, uint32_t> shares;
    for (const auto& [sample, mini] : passes[p]) {
      ++shares[{job.data().grouping.group_of(SampleId(sample)).value(), mini}];
    }
    const std::vector<uint32_t> sizes = {100, 10, 6, 2};
    for (uint32_t g = 0; g < 4; ++g) {
      for (uint64_t m = 0; m < 4; ++m) {
        EXPECT_GE((shares[{g, m}]), sizes[g] / 4);
        EXPECT_LE((shares[{g, m}]), (sizes[g] + 3) / 4);
      }
    }
  }
  EXPECT_NE(passes[0], passes[1]);
}

// Whatever happens, a group's samples are shown as often as each other.
TEST(MetBinderTest, RandomJobs) {
  const uint64_t seed = testing::UnitTest::GetInstance()->random_seed();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  Rng rng{RandomKey(seed)};
  for (int round = 0; round < 60; ++round) {
    std::vector<uint32_t> sizes(1 + rng.Bounded(6));
    for (uint32_t& size : sizes)
      size = static_cast<uint32_t>(1 + rng.Bounded(90));
    PolicyOptions options;
    options.met_mini_epochs = 1 + rng.Bounded(9);
    options.met_repeat = rng.Bounded(6);
    options.met_epochs = rng.Bounded(4) == 0 ? 0 : 1 + rng.Bounded(12);
    options.met_adapt = static_cast<PolicyOptions::Adapt>(rng.Bounded(3));
    SCOPED_TRACE(testing::Message()
                 << "round " << round << ": " << testing::PrintToString(sizes)
                 << " nm " << options.met_mini_epochs << " repeat "
                 << options.met_repeat << " epochs " << options.met_epochs
                 << " adapt " << static_cast<int>(options.met_adapt));
    Job job(options, sizes, rng.Next());
    const uint64_t cycle = std::max<uint64_t>(options.met_epochs, 1);
    for (uint64_t e = 0; e < 2 * cycle; ++e) {
      job.binder().BeginEpoch(Seed(1), Epoch(e), {});
      for (const uint32_t name : job.Names()) {
        if (rng.Bounded(10) == 0) {
          job.binder().Feedback(static_cast<double>(rng.Bounded(100)));
        }
        for (const uint64_t set : job.binder().WantedSets()) {
          if (rng.Bounded(40) == 0) job.binder().SetReady(set);
        }
        const SampleId sample = job.binder().Bind(SampleId(name));
        job.binder().Opened(SampleId(name));
        ASSERT_EQ(
            job.binder().NameAt(sample, job.binder().OrdinalOf(SampleId(name))),
            SampleId(name));
      }
      if ((e + 1) % cycle != 0) continue;
      const MiniEpochStatus status = job.binder().status();
      ASSERT_GE(status.fewest + 1, e + 1) << "epoch " << e;
      ASSERT_LE(status.most, e + 2) << "epoch " << e;
    }
  }
}

// Names that were carried over a boundary, names that were never opened, and
// epochs that were broken off.
TEST(MetBinderTest, WhatIsShownOutOfTurnIsMadeUpFor) {
  Job job(Fixed(4, 3, 12), {60, 200}, 11);
  std::vector<uint32_t> shown(job.size());
  std::vector<CarriedPair> carried;
  for (uint64_t e = 0; e < 12; ++e) {
    job.binder().BeginEpoch(Seed(1), Epoch(e), carried);
    for (const CarriedPair& pair : carried) ++shown[pair.sample];
    std::vector<uint32_t> names = job.Names();
    std::vector<CarriedPair> next;
    for (uint64_t i = 0; i < names.size(); ++i) {
      const SampleId name(names[i]);
      const bool was = job.binder().Bound(name).has_value();
      const SampleId sample = job.binder().Bind(name);
      if (was) continue;
      job.binder().Opened(name);
      ++shown[sample.value()];
      if (i % 29 == 0) next.push_back({name.value(), sample.value()});
    }
    carried = next;
  }
  const auto [least, most] = std::minmax_element(shown.begin(), shown.end());
  EXPECT_GE(*least, 11u);
  EXPECT_LE(*most, 13u);
}

TEST(MetBinderTest, WhatWasBoundAndNeverOpenedWasNotShown) {
  Job job(Fixed(4, 2, 4), {100}, 13);
  job.binder().BeginEpoch(Seed(1), Epoch(0), {});
  for (uint32_t name = 0; name < 100; ++name) {
    job.binder().Bind(SampleId(name));  // a walk over the tree
  }
  for (uint64_t e = 1; e <= 4; ++e) job.Epoch(e);
  EXPECT_EQ(job.Least(), 4u);
  EXPECT_EQ(job.Most(), 4u);
}

TEST(MetBinderTest, TheNamesOfASampleAreToldApart) {
  Job job(Fixed(1, 4, 4), {1, 8}, 1);
  MetBinder& binder = job.binder();
  // One name shows sample 0 in each epoch; half of the group's names some.
  for (uint64_t e = 0; e < 3; ++e) {
    binder.BeginEpoch(Seed(1), Epoch(e), {});
    EXPECT_EQ(binder.NameAt(SampleId(1), 0), absl::nullopt);
    std::map<uint64_t, uint32_t> names;
    for (const uint32_t name : job.Names()) {
      const SampleId sample = binder.Bind(SampleId(name));
      const uint32_t ordinal = binder.OrdinalOf(SampleId(name));
      EXPECT_EQ(ordinal, names[sample.value()]++);
      EXPECT_EQ(binder.NameAt(sample, ordinal), SampleId(name));
      EXPECT_EQ(binder.NameAt(sample, ordinal + 1), absl::nullopt);
      binder.Opened(SampleId(name));
    }
    for (uint32_t name = 0; name < 9; ++name) {
      EXPECT_EQ(binder.NameAt(*binder.Bound(SampleId(name)),
                              binder.OrdinalOf(SampleId(name))),
                SampleId(name));
    }
  }
}

TEST(MetBinderTest, ALaterRunGoesOnWithTheCounts) {
  std::string served;
  std::vector<uint32_t> shown(300);
  {
    Job job(Fixed(6, 4, 8), {120, 180}, 17);
    for (uint64_t e = 0; e < 3; ++e) job.Epoch(e);
    shown = job.shown();
    job.binder().BeginEpoch(Seed(1), Epoch(3), {});
    served = job.binder().Served();
  }
  Job job(Fixed(6, 4, 8), {120, 180}, 18);
  ASSERT_TRUE(job.binder().TakeServed(served).ok());
  for (uint64_t e = 3; e < 8; ++e) job.Epoch(e);
  for (uint64_t s = 0; s < shown.size(); ++s) {
    EXPECT_EQ(shown[s] + job.shown()[s], 8u) << s;
  }
  Job other(Fixed(6, 4, 8), {120}, 18);
  EXPECT_TRUE(absl::IsDataLoss(other.binder().TakeServed(served)));
  EXPECT_TRUE(absl::IsDataLoss(other.binder().TakeServed("x")));
}

TEST(MetBinderTest, WhatAnEarlierRunStagedComesFirst) {
  auto data = MakeBinderData({200, 100}, 1000, 64, true);
  data->input.staged.assign(300, false);
  for (uint32_t s = 0; s < 300; s += 3) data->input.staged[s] = true;
  MetBinder binder(Fixed(3, 2, 6), data->input);
  EXPECT_TRUE(binder.WantedSets().empty()) << "before any epoch";
  binder.BeginEpoch(Seed(1), Epoch(0), {});
  uint64_t staged = 0;
  const std::vector<SampleId> first =
      binder.SamplesOf(binder.WantedSets().front());
  for (const SampleId s : first) staged += data->input.staged[s.value()];
  EXPECT_GE(staged, first.size() - 2);
}

TEST(MetBinderTest, MiniEpochsFitTheTier) {
  auto data = MakeBinderData({1000}, 1000, 64, true, 1 << 20);
  PolicyOptions options;
  data->input.tier_bytes = uint64_t{2000} << 20;
  EXPECT_EQ(MetProgress::MiniEpochsFor(options, data->input), 1u);
  data->input.tier_bytes = uint64_t{250} << 20;
  const uint32_t count = MetProgress::MiniEpochsFor(options, data->input);
  EXPECT_GE(count, 10u);
  EXPECT_LE(count, 12u);
  options.met_mini_epochs = 4;
  EXPECT_EQ(MetProgress::MiniEpochsFor(options, data->input), 4u);
}

// A job that reads some of the directories alone.
TEST(MetBinderTest, GroupsThatNobodyReadsHoldNothingUp) {
  Job job(Fixed(6, 2, 8), {60, 2000, 60}, 23);
  std::set<uint64_t> wanted;
  for (uint64_t e = 0; e < 8; ++e) {
    job.binder().BeginEpoch(Seed(1), Epoch(e), {});
    for (const uint32_t name : job.Names()) {
      if (name < 60 || name >= 2060) job.Read(name);
      wanted.insert(job.binder().WantedSets().front());
    }
  }
  // Four passes of six mini-epochs: each was the one that is read.
  EXPECT_GE(wanted.size(), 23u);
  for (uint32_t s = 0; s < 60; ++s) {
    EXPECT_EQ(job.shown()[s], 8u);
    EXPECT_EQ(job.shown()[2060 + s], 8u);
  }
}

// Who comes late begins where the others are, and has what is due to it.
TEST(MetBinderTest, AGroupThatIsReadLaterGetsItsShare) {
  Job job(Fixed(5, 3, 6), {50, 80}, 29);
  for (uint64_t e = 0; e < 6; ++e) {
    job.binder().BeginEpoch(Seed(1), Epoch(e), {});
    for (uint32_t name = 0; name < 50; ++name) job.Read(name);
  }
  for (uint64_t e = 6; e < 12; ++e) {
    job.binder().BeginEpoch(Seed(1), Epoch(e), {});
    for (uint32_t name = 50; name < 130; ++name) job.Read(name);
  }
  EXPECT_EQ(job.Least(), 6u);
  EXPECT_EQ(job.Most(), 6u);
}

TEST(MetBinderTest, OneMiniEpochIsAllSamplesWhateverWasShown) {
  Job job(Fixed(1, 2, 4), {40}, 31);
  job.Epoch(0, 25);
  EXPECT_EQ(job.binder().SamplesOf(0).size(), 40u);
  const std::string served = job.binder().ServedNow();
  Job later(Fixed(1, 2, 4), {40}, 33);
  ASSERT_TRUE(later.binder().TakeServed(served).ok());
  later.binder().BeginEpoch(Seed(1), Epoch(1), {});
  EXPECT_EQ(later.binder().SamplesOf(0).size(), 40u);
}

// A factor that is found: the next mini-epoch is there at once, or never.
TEST(MetBinderTest, RepeatsWhileTheNextIsNotThere) {
  for (const bool ready : {true, false}) {
    Job job(Fixed(4, 0, 64), {4000}, 19);
    job.binder().BeginEpoch(Seed(1), Epoch(0), {});
    std::map<uint32_t, uint32_t> shown;
    uint64_t draws = 0;
    const uint64_t first = job.binder().WantedSets().front();
    for (const uint32_t name : job.Names()) {
      if (ready) {
        for (const uint64_t set : job.binder().WantedSets()) {
          job.binder().SetReady(set);
        }
      }
      if (job.binder().WantedSets().front() != first) break;
      job.binder().Bind(SampleId(name));
      ++draws;
    }
    // 1,000 samples: once, or as often as an epoch of 4,000 names lets them.
    if (ready) {
      EXPECT_LE(draws, 1001u);
    } else {
      EXPECT_EQ(draws, 4000u);
    }
  }
}

}  // namespace
}  // namespace shufflefs
