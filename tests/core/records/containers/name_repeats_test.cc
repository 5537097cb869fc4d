// SPDX-License-Identifier: Apache-2.0
#include "core/records/containers/name_repeats.h"

#include <algorithm>
#include <cstddef>
#include <random>
#include <set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/formats/record_scanner.h"
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

TEST(NameRepeatsTest, AListIsToldOneBeforeIt) {
  constexpr auto kNone = absl::nullopt;
  EXPECT_THAT(RepeatsIn({}), IsEmpty());
  EXPECT_THAT(RepeatsIn({{}, {}}), ElementsAre(kNone, kNone));
  EXPECT_THAT(RepeatsIn({{0, 4}, {2, 6}, {}}),
              ElementsAre(kNone, kNone, kNone));
  EXPECT_THAT(RepeatsIn({{6}, {4, 6}, {4}}), ElementsAre(kNone, 0u, 1u));
  // The lower hash belongs to a later list.
  EXPECT_THAT(RepeatsIn({{8}, {2}, {2, 8}}), ElementsAre(kNone, kNone, 0u));
  constexpr uint64_t kHighest = ~kNameStays;
  EXPECT_THAT(RepeatsIn({{0}, {kHighest}, {0, kHighest}}),
              ElementsAre(kNone, kNone, 0u));
}

// The odd ones are of files that stay where they are.
TEST(NameRepeatsTest, ANameThatStaysRepeatsOnlyOneThatMoves) {
  constexpr auto kNone = absl::nullopt;
  EXPECT_THAT(RepeatsIn({{5}, {5}, {1, 5}}), ElementsAre(kNone, kNone, kNone));
  EXPECT_THAT(RepeatsIn({{5}, {4}, {5}}), ElementsAre(kNone, 0u, 1u));
  EXPECT_THAT(RepeatsIn({{4}, {5}, {5}}), ElementsAre(kNone, 0u, 0u));
}

bool ShareAName(const std::set<uint64_t>& a, const std::set<uint64_t>& b) {
  return std::any_of(a.begin(), a.end(), [&](uint64_t hash) {
    const bool stays = (hash & kNameStays) != 0;
    return b.contains(hash ^ kNameStays) || (!stays && b.contains(hash));
  });
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
        const uint64_t name = rng.Bounded(most);
        if (!each.contains(name ^ kNameStays)) each.insert(name);
      }
    }
    NameLists lists;
    for (const auto& each : sets) lists.emplace_back(each.begin(), each.end());
    const RepeatList repeats = RepeatsIn(lists);
    for (size_t list = 0; list < sets.size(); ++list) {
      const auto shares = [&](const std::set<uint64_t>& other) {
        return ShareAName(sets[list], other);
      };
      const auto own = sets.begin() + static_cast<std::ptrdiff_t>(list);
      EXPECT_EQ(repeats[list].has_value(),
                std::any_of(sets.begin(), own, shares));
      if (!repeats[list]) continue;
      EXPECT_LT(*repeats[list], list);
      EXPECT_TRUE(shares(sets[*repeats[list]]));
    }
  }
}

}  // namespace
}  // namespace shufflefs
