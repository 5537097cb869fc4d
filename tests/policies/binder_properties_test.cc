// SPDX-License-Identifier: Apache-2.0
// Binders under random interleavings of everything that can happen to them.
// CheckedBinder holds every answer against core/policy/binder.h.
#include <memory>
#include <string>
#include <vector>

#include "core/random/random.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "policies/brand/brand.h"
#include "tests/policies/binder_fixture.h"

namespace shufflefs {
namespace {

using testing_support::BinderData;
using testing_support::CheckedBinder;
using testing_support::MakeBinderData;

struct Case {
  std::string name;
  BrandOptions::Binding binding;
  uint64_t answers;  // of all runs, as a hash
  uint64_t answers_of_large_groups;
};

class BinderProperties : public ::testing::TestWithParam<Case> {
 protected:
  uint64_t Live(uint64_t seed, uint64_t most_of_a_group) const;
  std::unique_ptr<CheckedBinder> Make(const BinderData& data) const {
    BrandOptions options;
    options.binding = GetParam().binding;
    return std::make_unique<CheckedBinder>(
        data.input, BrandPolicy(options).MakeBinder(data.input));
  }
};

std::unique_ptr<BinderData> RandomData(Rng& rng, uint64_t most_of_a_group) {
  std::vector<uint32_t> sizes(1 + rng.Bounded(8));
  for (uint32_t& size : sizes) {
    size = static_cast<uint32_t>(1 + rng.Bounded(most_of_a_group));
  }
  // One after the other: the order of arguments is the compiler's.
  const uint64_t memory_samples = 4 + rng.Bounded(200);
  const auto chunk = static_cast<uint32_t>(1 + rng.Bounded(20));
  const bool mixed = rng.Bounded(2) == 0;
  auto data = MakeBinderData(sizes, memory_samples, chunk, mixed);
  for (uint64_t& bytes : data->input.bytes) bytes = 500 + rng.Bounded(1500);
  return data;
}

uint32_t AnyOf(const std::set<uint32_t>& from, Rng& rng) {
  auto it = from.begin();
  std::advance(it, static_cast<int64_t>(rng.Bounded(from.size())));
  return *it;
}

// What readers, devices and clocks may do, one thing at a time.
class Life {
 public:
  Life(CheckedBinder& binder, uint32_t samples, Rng& rng)
      : binder_(binder), samples_(samples), rng_(rng) {}

  // `reads`: how likely a name that was looked up is read.
  void Step(uint64_t reads) {
    switch (rng_.Bounded(8)) {
      case 0:
      case 1:
      case 2: {
        const auto name = static_cast<uint32_t>(rng_.Bounded(samples_));
        const uint32_t sample = binder_.Bind(name);
        if (rng_.Bounded(10) < reads) Read(sample);
        break;
      }
      case 3:
      case 4:
        binder_.NextFetch(binder_.room());
        break;
      case 5:
        binder_.NextFetch(rng_.Bounded(binder_.room() + 1));
        break;
      case 6:
        if (!binder_.coming().empty()) {
          binder_.Arrived(AnyOf(binder_.coming(), rng_));
        }
        break;
      default:
        Leave();
    }
  }

  void Storm() {
    for (uint32_t name = 0; name < samples_; ++name) binder_.Bind(name);
  }

  // Pairs as an epoch boundary retains, or a restart recovers, them: of what is
  // bound now.
  std::vector<NameBinding> SomePairs() {
    std::vector<NameBinding> pairs;
    const uint64_t share = rng_.Bounded(3);
    for (uint32_t name = 0; name < samples_; ++name) {
      const uint32_t sample = binder_.sample_of(name);
      if (sample == CheckedBinder::kNone || rng_.Bounded(10) >= share) continue;
      pairs.push_back({name, sample});
    }
    // Another binder, one with more memory say, may have made them: any pairs
    // of a group.
    if (rng_.Bounded(2) == 0) return pairs;
    for (size_t i = 1; i < pairs.size(); ++i) {
      NameBinding& other = pairs[rng_.Bounded(i)];
      if (binder_.GroupOf(static_cast<uint32_t>(pairs[i].name)) ==
          binder_.GroupOf(static_cast<uint32_t>(other.name))) {
        std::swap(pairs[i].sample, other.sample);
      }
    }
    return pairs;
  }

 private:
  void Read(uint32_t sample) {
    if (binder_.held(sample)) {
      if (binder_.here().count(sample) > 0) binder_.Consumed(sample);
      return;
    }
    const uint64_t room = rng_.Bounded(binder_.room() + 1);
    if (!binder_.alone(sample) && binder_.FetchChunkOf(sample, room).empty()) {
      binder_.Bypassed(sample);
    }
  }

  // Memory goes: read by somebody, or its read failed, bound or not.
  void Leave() {
    if (rng_.Bounded(4) == 0 && !binder_.coming().empty()) {
      binder_.Left(AnyOf(binder_.coming(), rng_));
    } else if (!binder_.here().empty()) {
      const uint32_t sample = AnyOf(binder_.here(), rng_);
      const bool bound = binder_.name_of(sample) != CheckedBinder::kNone;
      if (bound && rng_.Bounded(2) == 0) {
        binder_.Consumed(sample);
      } else if (bound || rng_.Bounded(20) == 0) {
        binder_.Left(sample);
      }
    }
  }

  CheckedBinder& binder_;
  const uint32_t samples_;
  Rng& rng_;
};

// Six epochs of random data. Returns a hash of all that the binder answered.
uint64_t BinderProperties::Live(uint64_t seed, uint64_t most_of_a_group) const {
  SCOPED_TRACE("seed " + std::to_string(seed));
  Rng rng(DeriveKey(Seed(seed), Epoch(0), 1, Purpose::kTest));
  const auto data = RandomData(rng, most_of_a_group);
  const auto samples = static_cast<uint32_t>(data->grouping.sample_count());
  const auto binder = Make(*data);
  Life life(*binder, samples, rng);
  for (uint64_t epoch = 0; epoch < 6 && !HasFailure(); ++epoch) {
    const std::vector<NameBinding> pairs = life.SomePairs();
    binder->BeginEpoch(Epoch(epoch), pairs);
    const uint64_t steps = rng.Bounded(6 * samples);
    const uint64_t reads = rng.Bounded(11);
    for (uint64_t i = 0; i < steps; ++i) {
      life.Step(reads);
      if (rng.Bounded(20 * samples) == 0) life.Storm();
      EXPECT_LE(binder->held_bytes(), data->input.memory_bytes);
    }
    if (rng.Bounded(2) == 0) life.Storm();
    binder->ExpectBijection();
  }
  return binder->answers();
}

// Also that the answers are what they were when the hashes below were written:
// what a saved epoch shows follows from them.
TEST_P(BinderProperties, HoldWhateverTheInterleaving) {
  uint64_t answers = 0;
  for (uint64_t seed = 0; seed < 300 && !HasFailure(); ++seed) {
    answers = Mix64(answers ^ Live(seed, 60));
  }
  EXPECT_EQ(answers, GetParam().answers);
}

TEST_P(BinderProperties, HoldForLargeGroups) {
  uint64_t answers = 0;
  for (uint64_t seed = 0; seed < 20 && !HasFailure(); ++seed) {
    answers = Mix64(answers ^ Live(seed, 3000));
  }
  EXPECT_EQ(answers, GetParam().answers_of_large_groups);
}

INSTANTIATE_TEST_SUITE_P(
    Brand, BinderProperties,
    ::testing::Values(Case{"group", BrandOptions::Binding::kGroup,
                           2759049763134878823u, 9135574965583226588u},
                      Case{"location", BrandOptions::Binding::kLocation,
                           18239911489637121307u, 10702088589624341992u}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace shufflefs
