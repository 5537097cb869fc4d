// SPDX-License-Identifier: Apache-2.0
#include "core/quality/shuffle_quality.h"

#include <cmath>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "core/random/permutation.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace shufflefs {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kSize = 60000;
constexpr uint64_t kClasses = 10;

// Counts what is asked of it.
class CountingShuffle : public Order {
 public:
  CountingShuffle(uint64_t size, uint64_t key)
      : permutation_(size, RandomKey(key)) {}
  uint64_t size() const override { return permutation_.size(); }
  uint64_t SampleAt(uint64_t position) const override {
    ++asked_;
    return permutation_.Apply(position);
  }
  uint64_t PositionOf(uint64_t sample) const override {
    ++asked_;
    return permutation_.Inverse(sample);
  }
  uint64_t asked() const { return asked_; }

 private:
  const Permutation permutation_;
  mutable uint64_t asked_ = 0;
};

std::vector<uint64_t> Ascending(uint64_t size) {
  std::vector<uint64_t> out(size);
  std::iota(out.begin(), out.end(), 0);
  return out;
}

// Blocks of `block` samples in random order; samples inside keep theirs.
SequenceOrder ShuffledBlocks(uint64_t size, uint64_t block, uint64_t key) {
  const Permutation blocks(size / block, RandomKey(key));
  std::vector<uint64_t> out;
  for (uint64_t b = 0; b < size / block; ++b) {
    for (uint64_t i = 0; i < block; ++i) out.push_back(blocks(b) * block + i);
  }
  return SequenceOrder(std::move(out), size);
}

// A queue of `window` samples over the source's order.
SequenceOrder ShuffleQueue(uint64_t size, uint64_t window, uint64_t key) {
  Rng rng((RandomKey(key)));
  std::vector<uint64_t> queue = Ascending(window);
  std::vector<uint64_t> out;
  for (uint64_t next = window; out.size() < size; ++next) {
    const uint64_t d = rng.Bounded(queue.size());
    out.push_back(queue[d]);
    queue[d] = next < size ? next : queue.back();
    if (next >= size) queue.pop_back();
  }
  return SequenceOrder(std::move(out), size);
}

// Class-sorted source of kSize samples.
QualityInput Sorted(const Order& order, const Order* other) {
  QualityInput input;
  input.order = &order;
  input.other = other;
  input.source_size = kSize;
  input.label = [](uint64_t s) {
    return static_cast<uint32_t>(s * kClasses / kSize);
  };
  return input;
}

void ExpectNearUniform(const QualityMeasure& measure, const char* what) {
  EXPECT_NEAR(measure.value, measure.uniform, 5 * measure.error) << what;
}

// [S-3.14a] Each order is graded from A to F against a full shuffle.
TEST(ShuffleQualityTest, AFullShuffleIsAnA) {
  const CountingShuffle order(kSize, 1);
  const CountingShuffle other(kSize, 2);
  const QualityReport report = MeasureShuffleQuality(Sorted(order, &other));
  EXPECT_EQ(report.grade, 'A') << report.reason;
  EXPECT_EQ(report.samples, kSize);
  EXPECT_EQ(report.batch, 256u);
  EXPECT_EQ(report.batches, kSize / 256);
  ExpectNearUniform(report.neighbour_distance, "neighbours");
  ExpectNearUniform(report.batch_distance, "batch");
  ExpectNearUniform(*report.label_entropy, "labels");
  ExpectNearUniform(report.together, "together");
  ExpectNearUniform(*report.together_twice, "twice");
  ExpectNearUniform(*report.repeated, "repeated");
  EXPECT_DOUBLE_EQ(report.neighbour_distance.uniform, (kSize + 1) / 3.0);
  EXPECT_DOUBLE_EQ(report.repeated->uniform, 1.0 / kSize);
  EXPECT_DOUBLE_EQ(report.together.uniform, 255.0 / (kSize - 1));
}

// [S-3.14a] Each order is graded from A to F against a full shuffle.
TEST(ShuffleQualityTest, TheSortedSourceIsAnF) {
  const SequenceOrder order(Ascending(kSize), kSize);
  const QualityReport report = MeasureShuffleQuality(Sorted(order, &order));
  EXPECT_EQ(report.grade, 'F');
  EXPECT_EQ(report.neighbour_distance.value, 1);
  EXPECT_LT(report.label_entropy->value, 0.05);
  EXPECT_EQ(report.repeated->value, 1);
  EXPECT_NEAR(report.together.value, 255.0 / 256, 0.002);
  EXPECT_NEAR(report.together_twice->value, report.together.value, 1e-9);
}

TEST(ShuffleQualityTest, AShortQueueOverASortedSourceMixesNoLabels) {
  const SequenceOrder order = ShuffleQueue(kSize, 10000, 3);
  const QualityReport report = MeasureShuffleQuality(Sorted(order, nullptr));
  EXPECT_GE(report.grade, 'D');
  EXPECT_THAT(report.reason, HasSubstr("as in a full shuffle"));
  EXPECT_LT(report.label_entropy->value, 0.7 * report.label_entropy->uniform);
  EXPECT_FALSE(report.together_twice.has_value());
  EXPECT_FALSE(report.repeated.has_value());
}

TEST(ShuffleQualityTest, WithoutLabelsTheDistanceDecides) {
  const SequenceOrder order = ShuffleQueue(kSize, 1000, 3);
  QualityInput input = Sorted(order, nullptr);
  input.label = nullptr;
  const QualityReport report = MeasureShuffleQuality(input);
  EXPECT_EQ(report.grade, 'F');
  EXPECT_FALSE(report.label_entropy.has_value());
  EXPECT_THAT(report.reason, HasSubstr("lie 0.0"));
}

TEST(ShuffleQualityTest, AFrozenShuffleIsACAtBest) {
  const CountingShuffle order(kSize, 1);
  const QualityReport report = MeasureShuffleQuality(Sorted(order, &order));
  EXPECT_EQ(report.grade, 'C');
  EXPECT_EQ(report.reason,
            "100 % of the positions have the same sample in both epochs");
}

TEST(ShuffleQualityTest, BlocksThatStayTogetherAreABAtBest) {
  const SequenceOrder order = ShuffledBlocks(kSize, 2, 1);
  const SequenceOrder other = ShuffledBlocks(kSize, 2, 2);
  const QualityReport alone = MeasureShuffleQuality(Sorted(order, nullptr));
  EXPECT_EQ(alone.grade, 'A') << alone.reason;
  const QualityReport report = MeasureShuffleQuality(Sorted(order, &other));
  EXPECT_EQ(report.grade, 'B');
  EXPECT_THAT(report.reason, HasSubstr("neighbours in the source share"));
  EXPECT_NEAR(report.together.value, 0.5, 0.02);
  EXPECT_NEAR(report.together_twice->value, 0.5, 0.02);
  EXPECT_NEAR(report.neighbour_distance.value,
              0.5 + 0.5 * report.neighbour_distance.uniform,
              0.01 * report.neighbour_distance.uniform);
}

TEST(ShuffleQualityTest, GradesFallAsBlocksGrow) {
  char last = 'A';
  for (uint64_t block : {1, 16, 64, 128, 256}) {
    const SequenceOrder order = ShuffledBlocks(kSize, block, 1);
    const QualityReport report = MeasureShuffleQuality(Sorted(order, nullptr));
    EXPECT_GE(report.grade, last) << block;
    last = report.grade;
  }
  EXPECT_EQ(last, 'F');
}

TEST(ShuffleQualityTest, EntropyIsInBits) {
  // Batches of 4: labels 0 0 1 1 and 0 1 2 3.
  const std::vector<uint32_t> labels = {0, 0, 1, 1, 0, 1, 2, 3};
  const SequenceOrder order(Ascending(8), 8);
  QualityInput input;
  input.order = &order;
  input.source_size = 8;
  input.batch = 4;
  input.label = [&labels](uint64_t s) { return labels[s]; };
  EXPECT_DOUBLE_EQ(MeasureShuffleQuality(input).label_entropy->value, 1.5);
}

TEST(ShuffleQualityTest, OneLabelIsNotHeldAgainstTheOrder) {
  const CountingShuffle order(kSize, 1);
  QualityInput input = Sorted(order, nullptr);
  input.label = [](uint64_t) { return 7; };
  const QualityReport report = MeasureShuffleQuality(input);
  EXPECT_EQ(report.label_entropy->value, 0);
  EXPECT_EQ(report.label_entropy->uniform, 0);
  EXPECT_EQ(report.grade, 'A');
}

TEST(ShuffleQualityTest, ShufflesOfEverySmallSizeAreAnAorByChanceAB) {
  int worse = 0;
  for (uint64_t size = 0; size <= 300; ++size) {
    const CountingShuffle order(size, size);
    const CountingShuffle other(size, size + 1000);
    QualityInput input;
    input.order = &order;
    input.other = &other;
    input.source_size = size;
    input.batch = 16;
    input.label = [size](uint64_t s) {
      return static_cast<uint32_t>(s * 5 / size);
    };
    const QualityReport report = MeasureShuffleQuality(input);
    EXPECT_TRUE(std::isfinite(report.neighbour_distance.value));
    EXPECT_LE(report.grade, 'B') << size << ": " << report.reason;
    worse += report.grade != 'A';
  }
  EXPECT_LE(worse, 6);
}

TEST(ShuffleQualityTest, BatchesOfOneAndOfMoreThanAll) {
  const SequenceOrder order(Ascending(1000), 1000);
  QualityInput input;
  input.order = &order;
  input.source_size = 1000;
  input.batch = 1;
  EXPECT_EQ(MeasureShuffleQuality(input).batch, 2u);
  EXPECT_EQ(MeasureShuffleQuality(input).grade, 'F');
  input.batch = 5000;
  // One step sees everything: no order is better than another.
  EXPECT_EQ(MeasureShuffleQuality(input).batch, 1000u);
  EXPECT_EQ(MeasureShuffleQuality(input).grade, 'A');
}

TEST(ShuffleQualityTest, WorkIsBoundedAndTheReportRepeats) {
  const uint64_t size = uint64_t{1} << 40;
  const CountingShuffle order(size, 1);
  const CountingShuffle other(size, 2);
  uint64_t labelled = 0;
  QualityInput input;
  input.order = &order;
  input.other = &other;
  input.source_size = size;
  input.max_positions = 10000;
  input.label = [&labelled](uint64_t s) {
    ++labelled;
    return static_cast<uint32_t>(s >> 37);
  };
  const QualityReport report = MeasureShuffleQuality(input);
  EXPECT_EQ(report.batches, 10000u / 256);
  EXPECT_EQ(report.grade, 'A') << report.reason;
  EXPECT_LE(order.asked(), 6 * 10000u);
  EXPECT_LE(other.asked(), 3 * 10000u);
  EXPECT_LE(labelled, 3 * 10000u);

  const QualityReport again = MeasureShuffleQuality(input);
  EXPECT_EQ(again.batch_distance.value, report.batch_distance.value);
  input.seed = Seed(1);
  const QualityReport elsewhere = MeasureShuffleQuality(input);
  EXPECT_NE(elsewhere.batch_distance.value, report.batch_distance.value);
}

TEST(ShuffleQualityTest, ARecordedEpochMayLackSamples) {
  std::vector<uint64_t> even;
  const Permutation shuffle(kSize / 2, RandomKey(5));
  for (uint64_t i = 0; i < kSize / 2; ++i) even.push_back(2 * shuffle(i));
  const SequenceOrder order(even, kSize);
  EXPECT_EQ(order.PositionOf(1), SequenceOrder::kAbsent);
  EXPECT_EQ(order.SampleAt(order.PositionOf(500)), 500u);
  const CountingShuffle other(kSize, 2);
  const QualityReport report = MeasureShuffleQuality(Sorted(order, &other));
  EXPECT_EQ(report.samples, kSize / 2);
  // Each epoch has its own chance to bring two together.
  EXPECT_DOUBLE_EQ(report.together_twice->uniform,
                   255.0 / (kSize / 2 - 1) * 255.0 / (kSize - 1));
  EXPECT_EQ(report.together.value, 0);  // no two neighbours were consumed
  EXPECT_EQ(report.grade, 'A') << report.reason;
}

// [S-3.14d] What is too small to grade, or ordered by your program, is not
// graded.
TEST(ShuffleQualityTest, FewBatchesAreNotGraded) {
  const CountingShuffle order(240, 1);
  QualityInput input;
  input.order = &order;
  input.source_size = 240;
  EXPECT_FALSE(IsGraded(MeasureShuffleQuality(input)))
      << "one batch has all of them";
  EXPECT_EQ(GradeLine(MeasureShuffleQuality(input)),
            "not graded: 240 samples are fewer than 4 batches of 240");
  input.batch = 60;
  EXPECT_TRUE(IsGraded(MeasureShuffleQuality(input)));
  EXPECT_EQ(GradeLine(MeasureShuffleQuality(input)),
            "A: batches are as mixed as in a full shuffle");
  const CountingShuffle one(1, 1);
  input = QualityInput();
  input.order = &one;
  input.source_size = 1;
  EXPECT_FALSE(IsGraded(MeasureShuffleQuality(input)));
  EXPECT_EQ(GradeLine(MeasureShuffleQuality(input)),
            "not graded: fewer than two samples: nothing to mix");
}

}  // namespace
}  // namespace shufflefs
