// SPDX-License-Identifier: Apache-2.0
// A search of all 2^32 generators takes minutes. So these tests search slices
// around the generator that they hid.
#include "core/sampler/search/generator_search.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/random/random.h"
#include "gtest/gtest.h"
#include "tests/testing/torch_loaders.h"

namespace shufflefs {
namespace {

const std::atomic<bool> kGoOn = false;

std::string TextOf(const std::vector<GeneratorPlace>& places) {
  std::string text;
  for (const GeneratorPlace& place : places) {
    text += std::to_string(place.generator_seed) + "/" +
            std::to_string(place.output) + " ";
  }
  return text;
}

TEST(GeneratorSearchTest, EveryFormFindsEveryOutput) {
  for (const uint32_t seed : {5U, 127U, 0x80000001U, 0xFFFFFFFFU}) {
    TorchGenerator generator(seed);
    for (uint32_t output = 0; output < 70; ++output) {
      const uint32_t number = generator.Random();
      const GeneratorSearch search(number);
      const uint64_t begin = seed - seed % 128;
      std::string expected;
      if (output < GeneratorSearch::kOutputs) {
        expected = std::to_string(seed) + "/" + std::to_string(output) + " ";
      }
      for (const SeedKernel kernel : SeedKernels()) {
        const auto places = search.Slice(begin, begin + 128, kGoOn, kernel);
        ASSERT_EQ(TextOf(places), expected) << output;
        for (const GeneratorPlace& place : places) {
          ASSERT_EQ(place.generator, generator) << "it stands behind";
        }
      }
    }
  }
}

// Numbers that chance finds: the same as by every generator's outputs.
TEST(GeneratorSearchTest, FindsWhatTheNaiveSearchFinds) {
  Rng rng(RandomKey(20261123));
  constexpr uint64_t kSeeds = 2000;
  for (int round = 0; round < 20; ++round) {
    const uint64_t first = rng.Bounded(GeneratorSearch::kSeeds - kSeeds);
    TorchGenerator some(first + rng.Bounded(kSeeds));
    some.Discard(rng.Bounded(100));
    const uint32_t number = some.Random();
    std::vector<GeneratorPlace> expected;
    for (uint64_t seed = first; seed < first + kSeeds; ++seed) {
      const auto more =
          GeneratorStream(seed).Find(number, GeneratorSearch::kOutputs);
      expected.insert(expected.end(), more.begin(), more.end());
    }
    for (const SeedKernel kernel : SeedKernels()) {
      ASSERT_EQ(TextOf(GeneratorSearch(number).Slice(first, first + kSeeds,
                                                     kGoOn, kernel)),
                TextOf(expected));
    }
  }
}

TEST(GeneratorSearchTest, FindsTheGeneratorOfALoader) {
  for (const bool persistent : {false, true}) {
    LoaderEpochs epochs({.seed = 987654320, .persistent_workers = persistent});
    for (const uint64_t outputs : {3, persistent ? 5 : 7}) {
      const GeneratorSearch search(epochs.NextSeed());
      EXPECT_EQ(TextOf(search.Slice(987600000, 987700000, kGoOn)),
                "987654320/" + std::to_string(outputs) + " ");
    }
  }
}

TEST(GeneratorSearchTest, StopsSoonWhenTold) {
  const std::atomic<bool> stopped = true;
  TorchGenerator generator(70000);
  const GeneratorSearch search(generator.Random());
  EXPECT_EQ(TextOf(search.Slice(0, GeneratorSearch::kSeeds, stopped)), "");
}

TEST(GeneratorStreamTest, GoesOnWhereItStopped) {
  TorchGenerator generator(42);
  generator.Discard(1000);
  const uint32_t number = generator.Random();
  GeneratorStream stream(42);
  EXPECT_EQ(TextOf(stream.Find(number, 1000)), "");
  EXPECT_EQ(TextOf(stream.Find(number, 1)), "42/1000 ");
  EXPECT_EQ(TextOf(stream.Find(number, 1000)), "");
}

// The place of the output is found in one of the first so many slices.
bool IsFoundBy(GeneratorSlices& slices, uint64_t from, uint64_t to,
               const std::string& place) {
  for (uint64_t slice = from; slice < to; ++slice) {
    const std::string found = TextOf(slices.Slice(slice, kGoOn));
    if (found.find(place) != std::string::npos) return true;
  }
  return false;
}

uint32_t OutputOf(uint64_t seed, uint64_t output) {
  TorchGenerator generator(seed);
  generator.Discard(output);
  return generator.Random();
}

TEST(GeneratorSlicesTest, LongStreamsAreLookedThroughToTheirEnds) {
  constexpr uint64_t kLast = (uint64_t{1} << 20) - 1;
  for (const uint64_t seed : {7, 42, 1234}) {
    GeneratorSlices slices(
        OutputOf(seed, kLast),
        {.usual = {7, 42, 1234}, .outputs = kLast + 1, .all = false});
    EXPECT_EQ(slices.count(), 12u);
    EXPECT_TRUE(IsFoundBy(slices, 0, slices.count(),
                          absl::StrCat(seed, "/", kLast, " ")));
  }
}

// With more slices of the one kind, and of the other.
TEST(GeneratorSlicesTest, BothKindsAreDoneOnceAndInTurns) {
  constexpr uint64_t kAll = SeedSearch::kSlices;
  for (const uint64_t usual : {140, 600}) {
    const GeneratorSlices::Options options = {
        .usual = std::vector<uint64_t>(usual, 5), .all = true};
    const uint64_t of_usual = 256 * usual;
    const uint64_t both = 2 * std::min(of_usual, kAll);
    GeneratorSlices early(OutputOf(40000, 3), options);
    EXPECT_EQ(early.count(), of_usual + kAll);
    EXPECT_TRUE(IsFoundBy(early, 0, 4, "40000/3 "));
    GeneratorSlices late(OutputOf(0xFFFFFFFF, 3), options);
    const uint64_t last = of_usual < kAll ? late.count() - 1 : both - 1;
    EXPECT_TRUE(IsFoundBy(late, last, last + 1, "4294967295/3 "));
    GeneratorSlices behind(OutputOf(5, 7), options);
    EXPECT_EQ(IsFoundBy(behind, both, both + 1, "5/7 "), of_usual > kAll);
  }
}

}  // namespace
}  // namespace shufflefs
