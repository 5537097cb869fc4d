// SPDX-License-Identifier: Apache-2.0
#include "core/binding/sized_names.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace shufflefs {
namespace {

using testing::Contains;
using testing::ElementsAre;

std::vector<uint64_t> Told(const SizedNames& names) {
  std::vector<SampleId> samples;
  names.AppendTo(samples);
  std::vector<uint64_t> numbers;
  for (const SampleId sample : samples) numbers.push_back(sample.value());
  return numbers;
}

TEST(SizedNamesTest, KeepsWhatAThreadWasToldUntilItOpensThat) {
  SizedNames names;
  names.NoteLookup(SampleId(3), 1);
  names.NoteLookup(SampleId(3), 1);
  names.NoteLookup(SampleId(4), 1);
  names.NoteLookup(SampleId(3), 2);
  EXPECT_THAT(Told(names), ElementsAre(3, 4, 3));
  EXPECT_EQ(names.TakeOpen(SampleId(3), 1), 2u);
  EXPECT_THAT(Told(names), ElementsAre(4, 3));
  EXPECT_EQ(names.TakeOpen(SampleId(3), 1), 0u);
  EXPECT_EQ(names.TakeOpen(SampleId(4), 1), 1u);
  EXPECT_EQ(names.TakeOpen(SampleId(3), 2), 1u);
  EXPECT_THAT(Told(names), ElementsAre());
}

TEST(SizedNamesTest, WhoSizesAWholeTreeKeepsTheLastNames) {
  SizedNames names;
  names.NoteLookup(SampleId(1000), 2);
  for (uint64_t sample = 0; sample < 100; ++sample) {
    names.NoteLookup(SampleId(sample), 1);
  }
  EXPECT_THAT(Told(names), ElementsAre(1000, 92, 93, 94, 95, 96, 97, 98, 99));
}

// A job of one thread, whose opens are known ten opens late: the pass before
// opened the name, and now the thread is about to open it again.
TEST(SizedNamesTest, ALateOpenTakesNoLookupThatMayBeOfAnother) {
  SizedNames names;
  names.NoteLookup(SampleId(7), 1);
  for (uint64_t sample = 10; sample < 18; ++sample) {
    names.NoteLookup(SampleId(sample), 1);  // the first one is dropped
  }
  names.NoteLookup(SampleId(7), 1);
  names.TakeOne(SampleId(7), 1);
  EXPECT_THAT(Told(names), Contains(7));
  names.Clear();
  names.NoteLookup(SampleId(7), 1);
  names.NoteLookup(SampleId(7), 1);
  names.TakeOne(SampleId(7), 1);
  EXPECT_THAT(Told(names), ElementsAre(7));
  names.TakeOne(SampleId(7), 1);
  EXPECT_THAT(Told(names), ElementsAre());
}

TEST(SizedNamesTest, ASecondLookupIsTheNewest) {
  SizedNames names;
  for (uint64_t sample = 0; sample < 8; ++sample) {
    names.NoteLookup(SampleId(sample), 1);
  }
  names.NoteLookup(SampleId(0), 1);
  names.NoteLookup(SampleId(8), 1);
  EXPECT_THAT(Told(names), ElementsAre(2, 3, 4, 5, 6, 7, 0, 8));
}

TEST(SizedNamesTest, HiddenThreadsAreMany) {
  SizedNames names;
  for (uint64_t sample = 0; sample < 100; ++sample) {
    names.NoteLookup(SampleId(sample), 0);
  }
  EXPECT_EQ(Told(names).size(), SizedNames::kMostHidden);
  EXPECT_EQ(Told(names).front(), 100 - SizedNames::kMostHidden);
}

TEST(SizedNamesTest, ForgetsTheOldestOfVeryManyThreads) {
  SizedNames names;
  for (uint32_t reader = 1; reader <= SizedNames::kMost + 10; ++reader) {
    names.NoteLookup(SampleId(reader), reader);
  }
  EXPECT_EQ(Told(names).size(), SizedNames::kMost);
  EXPECT_EQ(Told(names).front(), 11u);
  names.Clear();
  EXPECT_THAT(Told(names), ElementsAre());
}

}  // namespace
}  // namespace shufflefs
