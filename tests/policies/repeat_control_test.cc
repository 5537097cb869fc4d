// SPDX-License-Identifier: Apache-2.0
#include "policies/met/repeat_control.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace shufflefs {
namespace {

using Adapt = MetOptions::Adapt;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

MetOptions Options(Adapt adapt, uint64_t repeat, uint64_t epochs) {
  MetOptions options;
  options.adapt = adapt;
  options.repeat = repeat;
  options.epochs = epochs;
  return options;
}

// Shows one mini-epoch; a loss is told in each repetition, the last one of
// `losses` again and again. Returns how often it was shown.
uint64_t Show(RepeatControl& control, const std::vector<double>& losses,
              uint64_t ready_after = 0) {
  control.BeginMiniEpoch();
  for (uint64_t done = 1;; ++done) {
    if (!losses.empty()) {
      control.Feedback(losses[std::min<size_t>(done, losses.size()) - 1]);
    }
    if (!control.Again(done, done >= ready_after)) return done;
  }
}

// [S-7.1a] Nothing is repeated where met.epochs is not set, or is one.
TEST(RepeatControl, NothingRepeatsWhereEpochsAreNotKnown) {
  for (Adapt adapt : {Adapt::kOff, Adapt::kScore, Adapt::kBollinger}) {
    RepeatControl control(Options(adapt, 4, 0), {});
    EXPECT_EQ(control.most(), 1u);
    EXPECT_EQ(control.why(), "1, because met.epochs is not set");
    EXPECT_EQ(Show(control, {3, 2, 1}, /*ready_after=*/5), 1u);
    EXPECT_EQ(control.why(), "1, because met.epochs is not set");
    RepeatControl once(Options(adapt, 4, 1), {});
    EXPECT_EQ(once.most(), 1u);
    EXPECT_EQ(Show(once, {3, 2, 1}, /*ready_after=*/5), 1u);
    EXPECT_EQ(once.why(), "1, as met.epochs allows");
  }
}

TEST(RepeatControl, FixedIsShownAsOftenAsItSays) {
  RepeatControl control(Options(Adapt::kOff, 4, 100), {});
  EXPECT_EQ(control.why(), "4, as met.repeat says");
  control.BeginMiniEpoch();
  EXPECT_TRUE(control.Again(1, true));
  EXPECT_EQ(control.why(), "4, as met.repeat says");
  EXPECT_EQ(Show(control, {}), 4u);
  EXPECT_EQ(Show(control, {1, 1, 1}, /*ready_after=*/9), 4u);
  EXPECT_EQ(control.why(), "4, as met.repeat says");
  EXPECT_THAT(control.learnt(), IsEmpty());
}

TEST(RepeatControl, NeverMoreThanTheJobHasEpochs) {
  RepeatControl control(Options(Adapt::kOff, 4, 3), {});
  EXPECT_EQ(control.most(), 3u);
  EXPECT_EQ(Show(control, {}), 3u);
  EXPECT_EQ(control.why(), "3, as met.epochs allows");
}

TEST(RepeatControl, AutoRepeatsUntilTheNextIsReady) {
  RepeatControl control(Options(Adapt::kOff, 0, 100), {});
  EXPECT_EQ(control.why(), "at most 8: until the next mini-epoch is ready");
  EXPECT_EQ(Show(control, {}, 1), 1u);
  EXPECT_EQ(control.why(), "1: the next mini-epoch was ready");
  EXPECT_EQ(Show(control, {}, 3), 3u);
  EXPECT_EQ(Show(control, {}, 100), RepeatControl::kMostByItself);
  EXPECT_EQ(control.why(), "8, the most that met.repeat = auto does");
  control.BeginMiniEpoch();
  EXPECT_TRUE(control.Again(2, false));
  EXPECT_EQ(control.why(), "3: the next mini-epoch was not ready");
}

TEST(RepeatControl, ScoreEndsWhenTheLossFallsNoMore) {
  MetOptions options = Options(Adapt::kScore, 20, 100);
  RepeatControl control(options, {});
  EXPECT_EQ(control.why(), "at most 20: while the loss falls");
  // The best is that of the third; met.patience = 2 repetitions later it ends.
  EXPECT_EQ(Show(control, {3, 2, 1, 1.5}), 5u);
  EXPECT_EQ(control.why(), "5: the loss fell no more");
  // A better one in between begins the count anew.
  EXPECT_EQ(Show(control, {3, 3, 2, 2, 1, 1}), 7u);
  EXPECT_EQ(Show(control, {3, 2, 1}, /*ready_after=*/9), 9u);
  std::vector<double> falling;
  for (int i = 0; i < 30; ++i) falling.push_back(-i);
  EXPECT_EQ(Show(control, falling), 20u);
  EXPECT_EQ(control.why(), "20, as met.repeat says");
  EXPECT_THAT(control.learnt(), ElementsAre(5, 7, 9, 20));

  options.patience = 1;
  RepeatControl hasty(options, {});
  EXPECT_EQ(Show(hasty, {3, 2, 1, 1.5}), 4u);
}

// What is asked twice of one repetition is answered twice alike.
TEST(RepeatControl, AskingAgainCountsOnce) {
  RepeatControl control(Options(Adapt::kScore, 8, 100), {});
  control.BeginMiniEpoch();
  control.Feedback(1);
  EXPECT_TRUE(control.Again(1, true));
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(control.Again(2, true));
  EXPECT_FALSE(control.Again(3, true));
  EXPECT_FALSE(control.Again(3, true));
  EXPECT_TRUE(control.Again(3, false));
  control.Feedback(0.5);  // a late one
  EXPECT_TRUE(control.Again(3, true));
}

TEST(RepeatControl, BollingerEndsBelowTheBand) {
  MetOptions options = Options(Adapt::kBollinger, 20, 100);
  options.scores = 4;
  RepeatControl control(options, {});
  // Mean 1, deviation 0.1: the band ends at 0.8.
  EXPECT_EQ(Show(control, {1.1, 0.9, 1.1, 0.9, 0.81, 0.5}), 6u);
  EXPECT_EQ(control.why(), "6: the loss fell below its band");
  // The scores are those of any mini-epoch, the verdict of this one.
  EXPECT_EQ(Show(control, {1.0, 0.9, 1.0}), 20u);
  // A loss below the band while the next one is not ready is not forgotten.
  EXPECT_EQ(Show(control, {0.1, 1.0}, /*ready_after=*/3), 3u);
  EXPECT_THAT(control.learnt(), ElementsAre(6, 20, 3));
}

TEST(RepeatControl, EqualLossesAreWithinTheirBand) {
  for (double loss : {0.1, 1e-300, 4321.1, -0.7}) {
    RepeatControl control(Options(Adapt::kBollinger, 0, 100), {});
    for (int i = 0; i < 20; ++i) control.Feedback(loss);
    EXPECT_EQ(Show(control, {loss}), 8u) << loss;
  }
}

TEST(RepeatControl, WithoutALossItIsAsLearntOrAsWithoutAdapt) {
  for (Adapt adapt : {Adapt::kScore, Adapt::kBollinger}) {
    RepeatControl control(Options(adapt, 0, 100), {3, 0, 50});
    EXPECT_EQ(Show(control, {}), 3u);
    EXPECT_EQ(control.why(), "3, as a former run learnt");
    EXPECT_EQ(Show(control, {}), 1u);
    EXPECT_EQ(Show(control, {}), 8u);
    EXPECT_EQ(Show(control, {}, 4), 4u);
    EXPECT_THAT(control.learnt(), ElementsAre(3, 0, 50)) << "nothing was told";
    RepeatControl fixed(Options(adapt, 5, 100), {3});
    EXPECT_EQ(Show(fixed, {}), 3u);
    EXPECT_EQ(Show(fixed, {}), 5u);
  }
  RepeatControl off(Options(Adapt::kOff, 5, 100), {3});
  EXPECT_EQ(Show(off, {}), 5u);
}

TEST(RepeatControl, GoesOnAfterARestart) {
  RepeatControl control(Options(Adapt::kScore, 0, 100), {1, 2, 6});
  control.BeginMiniEpoch(2);
  EXPECT_TRUE(control.Again(5, true));
  EXPECT_FALSE(control.Again(6, true));
  EXPECT_EQ(Show(control, {1, 1, 1}), 3u);
  EXPECT_THAT(control.learnt(), ElementsAre(1, 2, 6, 3));
  control.BeginMiniEpoch(uint64_t{1} << 60);
  control.Feedback(1);
  EXPECT_FALSE(control.Again(8, true));
  EXPECT_EQ(control.learnt().size(), 4u);
}

TEST(RepeatControl, WhatIsNoNumberIsNoBetter) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double inf = std::numeric_limits<double>::infinity();
  for (double loss : {nan, inf, -inf}) {
    RepeatControl score(Options(Adapt::kScore, 0, 100), {});
    EXPECT_EQ(Show(score, {loss}), 2u);
    EXPECT_EQ(Show(score, {2, loss, 1, loss}), 5u);
    RepeatControl band(Options(Adapt::kBollinger, 0, 100), {});
    EXPECT_EQ(Show(band, {1, loss, 1, loss}), 8u);
  }
}

// [S-7.1b] With met.adapt a mini-epoch is not left before the next one is in
// the tier, unless it was shown as often as may be.
//
// Losses of any size, ready or not as chance has it: the bounds hold, and the
// same answers come of the same questions.
TEST(RepeatControlProperties, BoundsAndDeterminism) {
  std::mt19937_64 random(7);
  for (int run = 0; run < 500; ++run) {
    const auto adapt = static_cast<Adapt>(random() % 3);
    MetOptions options = Options(adapt, random() % 12, random() % 12);
    options.patience = 1 + random() % 4;
    options.scores = 2 + random() % 6;
    RepeatControl one(options, {2, 9, 1});
    RepeatControl two(options, {2, 9, 1});
    const double scale = std::pow(10.0, double(random() % 600) - 300);
    for (int mini_epoch = 0; mini_epoch < 20; ++mini_epoch) {
      one.BeginMiniEpoch();
      two.BeginMiniEpoch();
      for (uint64_t done = 1;; ++done) {
        ASSERT_LE(done, one.most());
        for (uint64_t told = random() % 3; told > 0; --told) {
          const double loss = scale * (double(random() % 2000) - 1000);
          one.Feedback(loss);
          two.Feedback(loss);
        }
        const bool ready = random() % 2 == 0;
        const bool again = one.Again(done, ready);
        ASSERT_EQ(again, two.Again(done, ready));
        ASSERT_EQ(one.why(), two.why());
        if (again) continue;
        const bool waits = adapt != Adapt::kOff || options.repeat == 0;
        ASSERT_TRUE(ready || !waits || done == one.most());
        break;
      }
    }
    ASSERT_EQ(one.learnt(), two.learnt());
    ASSERT_GE(one.most(), 1u);
    ASSERT_LE(one.most(), std::max<uint64_t>(1, options.epochs));
  }
}

// Thousands of losses in a repetition, and of thousands each.
TEST(RepeatControlProperties, LossesOfThousands) {
  for (Adapt adapt : {Adapt::kScore, Adapt::kBollinger}) {
    RepeatControl control(Options(adapt, 0, 100), {});
    control.BeginMiniEpoch();
    for (uint64_t done = 1; done < 4; ++done) {
      for (int i = 0; i < 5000; ++i) control.Feedback(9000.0 - 1000 * done);
      ASSERT_TRUE(control.Again(done, false)) << control.why();
    }
  }
}

}  // namespace
}  // namespace shufflefs
