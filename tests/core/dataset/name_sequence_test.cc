// SPDX-License-Identifier: Apache-2.0
#include "core/dataset/name_sequence.h"

#include <random>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace shufflefs {
namespace {

// A sequence has no number twice and lacks less than one in 20.
TEST(NameSequenceTest, AgreesWithTheDefinitionOnRandomNumbers) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  int sequences = 0;
  for (int round = 0; round < 500; ++round) {
    const size_t count = 2 + random() % 60;
    const uint64_t range = count + random() % (1 + count / 10);
    std::vector<std::string> texts;
    std::set<uint64_t> numbers;
    for (size_t i = 0; i < count; ++i) {
      // Rarely a number comes twice.
      uint64_t number = random() % range;
      while (numbers.contains(number) && random() % 50 != 0) {
        number = random() % range;
      }
      numbers.insert(number);
      texts.push_back(absl::StrCat("x", 1000 + number, "y"));
    }
    const uint64_t span = *numbers.rbegin() - *numbers.begin();
    const bool expected = numbers.size() == count && span < count + count / 20;
    const std::vector<absl::string_view> names(texts.begin(), texts.end());
    EXPECT_EQ(IsOneSequence(names, 2), expected) << count << " " << span;
    sequences += expected;
  }
  EXPECT_GT(sequences, 10);
  EXPECT_LT(sequences, 490);
}

}  // namespace
}  // namespace shufflefs
