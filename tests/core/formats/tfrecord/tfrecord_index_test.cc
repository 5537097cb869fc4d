// SPDX-License-Identifier: Apache-2.0
#include "core/formats/tfrecord/tfrecord_index.h"

#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/formats/tfrecord/tfrecord_index_fixture.h"

namespace shufflefs {
namespace {

using ::testing::ElementsAre;
using testing_support::SpansOf;
using testing_support::TextOf;

TEST(TfrecordIndexTest, IsALineARecord) {
  const std::vector<TfrecordSpan> spans = {{0, 120}, {120, 19}, {139, 16}};
  EXPECT_EQ(TextOf(spans), "0 120\n120 19\n139 16\n");
  EXPECT_EQ(TextOf(spans, {.offset = 4, .bytes = 3}),
            "   0 120\n 120  19\n 139  16\n");
}

TEST(TfrecordIndexTest, ReadsWhatOthersWrite) {
  const std::vector<TfrecordSpan> spans = {{0, 19}, {19, 16}, {35, 120}};
  EXPECT_EQ(SpansOf("0 19\n19 16\n35 120\n"), spans);
  EXPECT_EQ(SpansOf("0 19\r\n19\t16 \n 35 120"), spans);
  EXPECT_THAT(*SpansOf("18446744073709551615 0"),
              ElementsAre(TfrecordSpan{~uint64_t{0}, 0}));
}

TEST(TfrecordIndexTest, RefusesWhatIsNone) {
  for (const std::string bad :
       {"19", "-19 16\n", "+19 16\n", "1e3 16\n", "19 16 0\n", "19,16\n",
        "\n19 16\n", "18446744073709551616 16\n", "0x13 16\n"}) {
    absl::string_view text = bad;
    TfrecordSpan span;
    EXPECT_FALSE(TakeTfrecordIndexLine(text, &span)) << bad;
  }
}

// What is written is read as the same, in any width.
TEST(TfrecordIndexTest, AnySpansComeBack) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE(absl::StrCat("seed ", seed));
  std::mt19937_64 rng(seed);
  for (int round = 0; round < 100; ++round) {
    std::vector<TfrecordSpan> spans(rng() % 60);
    for (TfrecordSpan& span : spans) {
      span = {rng() >> rng() % 64, rng() >> rng() % 64};
    }
    EXPECT_EQ(SpansOf(TextOf(spans)), spans);
    const std::string equal = TextOf(spans, {.offset = 20, .bytes = 25});
    EXPECT_EQ(equal.size(), spans.size() * (20 + 1 + 25 + 1));
    EXPECT_EQ(SpansOf(equal), spans);
  }
}

}  // namespace
}  // namespace shufflefs
