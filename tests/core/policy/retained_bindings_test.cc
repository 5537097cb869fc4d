// SPDX-License-Identifier: Apache-2.0
#include "core/policy/retained_bindings.h"

#include <map>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "core/random/permutation.h"
#include "core/random/random.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/quality/statistics.h"

namespace shufflefs {
namespace {

using ::testing::HasSubstr;

RetainedBindings MakeOrDie(std::vector<NameBinding> pairs) {
  auto retained = RetainedBindings::Make(std::move(pairs));
  EXPECT_TRUE(retained.ok()) << retained.status();
  return *std::move(retained);
}

TEST(RetainedBindingsTest, WithNothingRetainedShowsThePlan) {
  const RetainedBindings none;
  EXPECT_TRUE(none.empty());
  EXPECT_EQ(none.Shown(3, [](uint64_t n) { return n + 1; }), 4);
  EXPECT_EQ(none.NameOf(4, [](uint64_t s) { return s - 1; }), 3);
}

TEST(RetainedBindingsTest, RefusesWhatIsNoBijection) {
  const auto twice = RetainedBindings::Make({{1, 2}, {3, 4}, {1, 5}});
  EXPECT_EQ(twice.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(twice.status().message()),
              HasSubstr("name 1 is retained twice"));
  const auto shared = RetainedBindings::Make({{1, 2}, {3, 2}});
  EXPECT_EQ(shared.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(shared.status().message()),
              HasSubstr("sample 2 is retained twice"));
}

TEST(RetainedBindingsTest, StepsOverTakenSamples) {
  // pi: 0->1 1->2 2->0; name 0 keeps sample 0, which pi gives to 2.
  const RetainedBindings retained = MakeOrDie({{0, 0}});
  const auto pi = [](uint64_t n) { return (n + 1) % 3; };
  const auto inverse = [](uint64_t s) { return (s + 2) % 3; };
  EXPECT_EQ(retained.Shown(0, pi), 0);
  EXPECT_EQ(retained.Shown(1, pi), 2);
  EXPECT_EQ(retained.Shown(2, pi), 1);
  EXPECT_EQ(retained.NameOf(1, inverse), 2);
}

TEST(RetainedBindingsTest, IsABijectionInsideGroupsForAnyRetainedNames) {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    Rng rng(RandomKey(Mix64(seed)));
    const uint64_t groups = 1 + rng.Bounded(4);
    const uint64_t size = 1 + rng.Bounded(60);
    std::vector<Permutation> pi, before;
    std::vector<NameBinding> pairs;
    for (uint64_t g = 0; g < groups; ++g) {
      pi.emplace_back(size, RandomKey(rng.Next()));
      before.emplace_back(size, RandomKey(rng.Next()));
      const Permutation pick(size, RandomKey(rng.Next()));
      const uint64_t retained = rng.Bounded(size + 1);
      for (uint64_t i = 0; i < retained; ++i) {
        const uint64_t name = pick(i);
        pairs.push_back({g * size + name, g * size + before[g](name)});
      }
    }
    const RetainedBindings retained = MakeOrDie(pairs);
    EXPECT_EQ(retained.size(), pairs.size());
    const auto plan = [&](uint64_t n) {
      return n / size * size + pi[n / size](n % size);
    };
    const auto inverse = [&](uint64_t s) {
      return s / size * size + pi[s / size].Inverse(s % size);
    };
    absl::flat_hash_set<uint64_t> shown;
    for (uint64_t name = 0; name < groups * size; ++name) {
      const uint64_t sample = retained.Shown(name, plan);
      EXPECT_EQ(sample / size, name / size);
      EXPECT_TRUE(shown.insert(sample).second) << sample;
      EXPECT_EQ(retained.NameOf(sample, inverse), name);
    }
    for (const NameBinding& pair : pairs) {
      EXPECT_EQ(retained.Shown(pair.name, plan), pair.sample);
    }
  }
}

// Six names, two retained: the other four have 4! bindings, all as likely.
TEST(RetainedBindingsTest, LeavesTheOthersUniform) {
  const RetainedBindings retained = MakeOrDie({{1, 4}, {3, 1}});
  std::map<std::vector<uint64_t>, uint64_t> counts;
  for (uint64_t key = 0; key < 48000; ++key) {
    const Permutation pi(6, RandomKey(Mix64(key)));
    std::vector<uint64_t> shown;
    for (const uint64_t name : {0, 2, 4, 5}) {
      shown.push_back(retained.Shown(name, pi));
    }
    ++counts[shown];
  }
  ASSERT_EQ(counts.size(), 24);
  std::vector<uint64_t> cells;
  for (const auto& [shown, count] : counts) cells.push_back(count);
  EXPECT_LT(ChiSquareDeviations(cells), kMaxDeviations);
}

TEST(RetainedBindingsTest, EndsForPairsThatNoPlanMade) {
  // Read from a damaged ledger, say: still no endless walk, still injective.
  const Permutation names(100, RandomKey(1)), samples(100, RandomKey(2));
  std::vector<NameBinding> pairs;
  for (uint64_t i = 0; i < 99; ++i) pairs.push_back({names(i), samples(i)});
  const RetainedBindings retained = MakeOrDie(pairs);
  const Permutation pi(100, RandomKey(3));
  EXPECT_EQ(retained.Shown(names(99), pi), samples(99));
  EXPECT_EQ(
      retained.NameOf(samples(99), [&](uint64_t s) { return pi.Inverse(s); }),
      names(99));
}

}  // namespace
}  // namespace shufflefs
