// SPDX-License-Identifier: Apache-2.0
#include "core/records/containers/name_repeats.h"

#include <algorithm>
#include <random>
#include <set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/random/random.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace shufflefs {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using NameLists = std::vector<std::vector<uint64_t>>;
using RepeatList = std::vector<absl::optional<size_t>>;

RepeatList RepeatsIn(const NameLists& lists) {
  return FindNameRepeats({lists.begin(), lists.end()});
}

TEST(NameRepeatsTest, AListIsToldTheFirstBeforeIt) {
  constexpr auto kNone = absl::nullopt;
  EXPECT_THAT(RepeatsIn({}), IsEmpty());
  EXPECT_THAT(RepeatsIn({{}, {}}), ElementsAre(kNone, kNone));
  EXPECT_THAT(RepeatsIn({{0, 5}, {1, 4}, {}}),
              ElementsAre(kNone, kNone, kNone));
  EXPECT_THAT(RepeatsIn({{5}, {4, 5}, {4}}), ElementsAre(kNone, 0u, 1u));
  // The lower hash belongs to a later list.
  EXPECT_THAT(RepeatsIn({{9}, {1}, {1, 9}}), ElementsAre(kNone, kNone, 0u));
  EXPECT_THAT(RepeatsIn({{0}, {~uint64_t{0}}, {0, ~uint64_t{0}}}),
              ElementsAre(kNone, kNone, 0u));
}

TEST(NameRepeatsTest, AnyListsAreComparedWithAllBeforeThem) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE(absl::StrCat("seed ", seed));
  Rng rng{RandomKey(seed)};
  for (int round = 0; round < 300; ++round) {
    const uint64_t most = 1 + rng.Bounded(200);
    std::vector<std::set<uint64_t>> sets(1 + rng.Bounded(7));
    for (std::set<uint64_t>& each : sets) {
      for (uint64_t n = rng.Bounded(12); n > 0; --n) {
        each.insert(rng.Bounded(most));
      }
    }
    NameLists lists;
    RepeatList expected;
    for (const std::set<uint64_t>& each : sets) {
      const auto before = std::find_if(
          sets.begin(), sets.begin() + static_cast<long>(lists.size()),
          [&](const std::set<uint64_t>& other) {
            return std::any_of(each.begin(), each.end(), [&](uint64_t hash) {
              return other.contains(hash);
            });
          });
      const auto at = static_cast<size_t>(before - sets.begin());
      expected.push_back(at < lists.size() ? absl::optional<size_t>(at)
                                           : absl::nullopt);
      lists.emplace_back(each.begin(), each.end());
    }
    EXPECT_EQ(RepeatsIn(lists), expected);
  }
}

}  // namespace
}  // namespace shufflefs
