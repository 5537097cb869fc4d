// SPDX-License-Identifier: Apache-2.0
// Verdicts of the epoch detector on some streams to the open, and what holds
// for every stream.
#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "gtest/gtest.h"
#include "tests/testing/effort.h"
#include "tests/testing/epoch_cases.h"

namespace shufflefs {
namespace {

using std::chrono::milliseconds;
using testing_support::Play;
using testing_support::Played;
using testing_support::PlayOptions;
using testing_support::Rounds;

TEST(GoldenTest, VerdictsToTheOpen) {
  const auto verdicts = [](const testing_support::Stream& stream) {
    PlayOptions options;
    options.detector.names = 300;
    return Play(stream, options).verdicts;
  };
  EXPECT_EQ(
      verdicts(testing_support::OneJob(300, testing_support::Workers(4, 1))),
      "a@308 a@610 a@901 a@1201 a@1500");
  EXPECT_EQ(verdicts(testing_support::Ranks(300, 7, 7,
                                            testing_support::Workers(2, 1))),
            "a@309 a@613 a@912 a@1212 a@1512");
  auto drop_last = testing_support::Workers(2, 1);
  drop_last.drop_last = true;
  EXPECT_EQ(verdicts(testing_support::OneJob(300, drop_last)),
            "b@334 b@627 b@878 b@1170 b@1454");
  EXPECT_EQ(verdicts(testing_support::Ranks(300, 8, 4,
                                            testing_support::Workers(2, 1))),
            "c@195(partial) c@351(partial) c@498(partial) b@622 b@782");
  EXPECT_EQ(verdicts(testing_support::KilledJob(300, 1)), "a@308 t@450 a@758");
  EXPECT_EQ(verdicts(testing_support::TwoJobs(300, 1)),
            "a@607(guest) a@1191(guest) a@1729(guest) a@2280(guest) "
            "a@2842(guest) t@3367(guest)");
  EXPECT_EQ(verdicts(testing_support::WithEvaluation(300, 1, 300)),
            "a@307 a@608 a@900 a@1200 a@1500 a@1800 a@2100 a@2400 a@2700 "
            "a@3000 a@3300");
}

// Families, re-opens and orders at random: whatever comes, a re-binding by
// the rules needs nine tenths of what a pass is expected to open.
TEST(PropertyTest, RandomStreamsAreNeverReboundEarly) {
  uint64_t verdicts = 0;
  for (uint64_t seed = 1; seed <= Rounds<uint64_t>(150); ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    Rng rng(RandomKey(Mix64(seed)));
    const uint64_t names = 20 + rng.Bounded(500);
    const uint64_t fresh_percent = rng.Bounded(101);
    const uint64_t other_percent = rng.Bounded(20);
    const auto step_us = static_cast<int64_t>(rng.Bounded(2000000));
    testing_support::Stream stream;
    std::vector<uint64_t> order = testing_support::RandomOrder(names, seed);
    for (uint64_t i = 0, next = 0; i < 8 * names; ++i) {
      const bool in_order = rng.Bounded(100) < fresh_percent;
      stream.push_back({static_cast<int64_t>(i) * step_us,
                        in_order ? order[next++ % names] : rng.Bounded(names),
                        static_cast<uint32_t>(rng.Bounded(4)),
                        rng.Bounded(100) < other_percent ? 2u : 1u, 0, 0});
    }
    PlayOptions options;
    options.detector.names = names;
    const Played played = Play(stream, options);
    EXPECT_EQ(played.early, 0) << played.verdicts;
    verdicts += played.rebinds + played.holds;
  }
  EXPECT_GT(verdicts, Rounds<uint64_t>(200));
}

// The boundary is found some opens after it. What a pass has shown by then
// stays, also if its first opens look like second ones of the last pass.
TEST(PropertyTest, NoOpenOfThePassThatBeginsIsForgotten) {
  uint64_t rebinds = 0;
  for (uint64_t seed = 1; seed <= Rounds<uint64_t>(400); ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    Rng rng(RandomKey(Mix64(seed)));
    const uint64_t names = 32 + rng.Bounded(300);
    const uint64_t read =
        names - rng.Bounded(std::max<uint64_t>(3, names / 16));
    EpochDetector::Options options;
    options.names = names;
    EpochDetector detector(options);
    int64_t now = 0;
    for (uint64_t pass = 0; pass < 6; ++pass) {
      const std::vector<uint64_t> order =
          testing_support::RandomOrder(names, Mix64(seed) + pass);
      for (uint64_t i = 0; i < read; ++i) {
        now += static_cast<int64_t>(rng.Bounded(300));
        const EpochOutcome outcome =
            detector.OnOpen({order[i], JobId{1}, 10, milliseconds(now)},
                            [](JobId) { return true; });
        if (outcome.verdict != Verdict::kRebind) continue;
        ++rebinds;
        const absl::flat_hash_set<uint64_t> retained(outcome.retained.begin(),
                                                     outcome.retained.end());
        for (uint64_t k = 0; k <= i; ++k) {
          EXPECT_TRUE(retained.contains(order[k]))
              << "open " << k << " of pass " << pass << ", found at " << i;
        }
      }
    }
  }
  EXPECT_GT(rebinds, Rounds<uint64_t>(400));
}

// Without a re-binding no pass of any reader shows a sample twice.
TEST(PropertyTest, LateIsSafe) {
  auto drop_last = testing_support::Workers(2, 1);
  drop_last.drop_last = true;
  const std::vector<testing_support::Stream> streams = {
      testing_support::OneJob(1000, testing_support::Workers(0, 1)),
      testing_support::OneJob(1000, testing_support::Workers(4, 2)),
      testing_support::OneJob(1000, drop_last),
      testing_support::Ranks(1000, 7, 7, testing_support::Workers(2, 3)),
      testing_support::WithEvaluation(1000, 4, 1000),
      testing_support::SortedReader(1000, 5),
      testing_support::Weighted(1000, 6),
  };
  for (size_t i = 0; i < streams.size(); ++i) {
    PlayOptions options;
    options.detector.names = 1000;
    const uint64_t loss = Play(streams[i], options).loss;
    for (const uint64_t delay : {1, 10, 100, 500, 900}) {
      options.delay = delay;
      const Played late = Play(streams[i], options);
      EXPECT_LE(late.loss, loss) << "stream " << i << " delay " << delay;
      EXPECT_EQ(late.torn, 0) << "stream " << i << " delay " << delay;
    }
  }
}

// The model can tell: a re-binding in the middle of a pass does lose samples.
TEST(PropertyTest, EarlyIsNot) {
  const testing_support::Stream stream =
      testing_support::OneJob(1000, testing_support::Workers(0, 1));
  testing_support::ModelView view(1000, 10);
  absl::flat_hash_set<uint64_t> samples;
  uint64_t loss = 0;
  for (uint64_t i = 0; i < 1000; ++i) {
    if (i == 500) view.Rebind({});
    if (!samples.insert(view.Shown(stream[i].name)).second) ++loss;
  }
  EXPECT_GT(loss, 200);
  view.ExpectBijection();
}

}  // namespace
}  // namespace shufflefs
