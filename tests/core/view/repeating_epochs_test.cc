// SPDX-License-Identifier: Apache-2.0
// Epochs that show a sample under several names or none: what is retained in
// them, what the ledger keeps of them, and what verify says.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/ledger/served_counts.h"
#include "core/policy/retained_bindings.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/verify/verify_fixture.h"

namespace shufflefs {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing_support::Pairs;

TEST(RepeatingRetainedTest, NamesComeOnceAndSamplesMayComeOften) {
  const auto retained =
      RetainedBindings::MakeRepeating({{1, 7}, {2, 7}, {3, 8}});
  ASSERT_TRUE(retained.ok());
  const auto own = [](uint64_t n) { return n; };
  EXPECT_EQ(retained->Shown(1, own), 7u);
  EXPECT_EQ(retained->Shown(2, own), 7u);
  EXPECT_EQ(retained->NameOf(7, own), 2u) << "the last of its names";
  EXPECT_FALSE(RetainedBindings::MakeRepeating({{1, 7}, {1, 8}}).ok());
  EXPECT_FALSE(RetainedBindings::Make({{1, 7}, {2, 7}}).ok());
}

TEST(RepeatingRetainedTest, TheFirstOfEachSampleIsOneToOne) {
  EXPECT_THAT(RetainedBindings::FirstOfEach({{1, 7}, {2, 7}, {3, 8}, {4, 7}}),
              ElementsAre(NameBinding{1, 7}, NameBinding{3, 8}));
}

TEST(ServedCountsTest, ComeBackAsTheyWere) {
  for (const std::vector<uint32_t>& counts :
       std::vector<std::vector<uint32_t>>{{},
                                          {0},
                                          {5, 5, 5},
                                          {3, 4, 3, 7, 5},
                                          {0, UINT32_MAX, 17},
                                          {UINT32_MAX, UINT32_MAX}}) {
    const auto unpacked = UnpackCounts(PackCounts(counts), counts.size());
    ASSERT_TRUE(unpacked.ok());
    EXPECT_EQ(*unpacked, counts);
  }
  // A factor of four: three bits a sample.
  std::vector<uint32_t> many(100'000, 40);
  for (size_t i = 0; i < many.size(); ++i) many[i] += i % 5;
  EXPECT_LE(PackCounts(many).size(), many.size() * 3 / 8 + 32);
}

TEST(ServedCountsTest, DamageIsFound) {
  const std::string text = PackCounts({3, 4, 3, 7, 5});
  for (size_t size = 0; size < text.size(); ++size) {
    EXPECT_TRUE(
        absl::IsDataLoss(UnpackCounts(text.substr(0, size), 5).status()));
  }
  EXPECT_FALSE(UnpackCounts(text + "x", 5).ok());
  std::string many = PackCounts({1, 1});
  EXPECT_FALSE(UnpackCounts(many, 3).ok());
  many[7] = 1;  // 2^56 counts, all alike
  EXPECT_FALSE(UnpackCounts(many, 2).ok());
  EXPECT_FALSE(UnpackCounts(many, (uint64_t{1} << 56) + 2).ok());
  std::string wide = PackCounts({1, 2});
  wide[12] = 33;
  EXPECT_FALSE(UnpackCounts(wide, 2).ok());
  std::string over = PackCounts({UINT32_MAX - 1, UINT32_MAX});
  over[8] = '\xff';
  EXPECT_FALSE(UnpackCounts(over, 2).ok());
}

class RepeatingEpochsTest : public testing_support::VerifyFixture {
 protected:
  static constexpr uint64_t kNames = 12;
  RepeatingEpochsTest() : VerifyFixture(2, 6) {}

  LedgerEpoch Repeating(uint64_t epoch, std::vector<uint32_t> served) {
    LedgerEpoch record = Reactive(epoch);
    record.repeats = true;
    record.served = PackCounts(served);
    return record;
  }
  // Samples 0 and 6 are shown by all names of their groups.
  static Pairs AllShowTheFirst() {
    Pairs pairs;
    for (uint64_t n = 0; n < kNames; ++n) pairs.push_back({n, n / 6 * 6});
    return pairs;
  }
};

TEST_F(RepeatingEpochsTest, TheLedgerGivesThemBack) {
  for (const bool compacted : {false, true}) {
    SCOPED_TRACE(compacted);
    unlink(path_.c_str());
    LedgerEpoch begin = Repeating(3, std::vector<uint32_t>(kNames, 2));
    begin.retained = {{4, 1}, {5, 1}};
    {
      auto ledger = Open();
      ASSERT_TRUE(ledger->BeginEpoch(begin).ok());
      Consume(*ledger, {{4, 1}, {0, 1}, {7, 8}});
      if (compacted) ASSERT_TRUE(ledger->Compact().ok());
    }
    const absl::optional<LedgerState> last = Open()->TakeLastState("");
    ASSERT_TRUE(last.has_value());
    EXPECT_TRUE(last->begin.repeats);
    EXPECT_EQ(last->begin.served, begin.served);
    EXPECT_EQ(last->begin.retained, begin.retained);
    EXPECT_THAT(last->bound, ElementsAre(NameBinding{5, 1}, NameBinding{4, 1},
                                         NameBinding{0, 1}, NameBinding{7, 8}));
    EXPECT_EQ(last->bound_consumed, 3u);
  }
}

TEST_F(RepeatingEpochsTest, TheirCountsOutliveEpochsThatDoNotCount) {
  LedgerEpoch begin = Repeating(3, std::vector<uint32_t>(kNames, 2));
  begin.served_before = std::exchange(begin.served, "");
  begin.repeats = begin.reactive = false;
  begin.retained = {{4, 1}, {1, 4}};
  {
    auto ledger = Open();
    ASSERT_TRUE(ledger->BeginEpoch(begin).ok());
    ASSERT_TRUE(ledger->Compact().ok());
  }
  const absl::optional<LedgerState> last = Open()->TakeLastState("");
  ASSERT_TRUE(last.has_value());
  EXPECT_FALSE(last->begin.repeats);
  EXPECT_EQ(last->begin.served_before, begin.served_before);
  EXPECT_EQ(last->begin.retained, begin.retained);
}

TEST_F(RepeatingEpochsTest, GoOnUnderAnotherNumber) {
  {
    auto ledger = Open();
    ASSERT_TRUE(
        ledger->BeginEpoch(Repeating(1, std::vector<uint32_t>(kNames))).ok());
    Consume(*ledger, {{4, 1}, {0, 1}});
  }
  {
    auto ledger = Open();
    auto last = ledger->TakeLastState("");
    ASSERT_TRUE(last.has_value());
    last->begin.view = 5;
    ASSERT_TRUE(ledger->Continue(*last).ok());
    Consume(*ledger, {{2, 1}}, 5);
  }
  const auto last = Open()->TakeLastState("");
  ASSERT_TRUE(last.has_value());
  EXPECT_EQ(last->bound_consumed, 3u);
  EXPECT_EQ(last->bound.size(), 3u);
}

TEST_F(RepeatingEpochsTest, AreProvenByTheirNames) {
  auto ledger = Open();
  std::vector<uint32_t> served(kNames, 3);
  ASSERT_TRUE(ledger->BeginEpoch(Repeating(0, served)).ok());
  Consume(*ledger, AllShowTheFirst());
  const LedgerProof proof = Proof();
  ASSERT_EQ(proof.epochs.size(), 1u);
  const EpochProof& epoch = proof.epochs[0];
  EXPECT_TRUE(epoch.bijection.ok()) << epoch.bijection;
  EXPECT_TRUE(epoch.complete());
  EXPECT_EQ(epoch.twice, 0u);
  EXPECT_EQ(epoch.not_shown, "");
  ASSERT_TRUE(epoch.times.has_value());
  EXPECT_EQ(epoch.times->fewest, 3u);
  EXPECT_EQ(epoch.times->most, 9u);
  EXPECT_FALSE(proof.broken());
}

TEST_F(RepeatingEpochsTest, ANameThatShowsTwoSamplesIsFound) {
  auto ledger = Open();
  ASSERT_TRUE(
      ledger->BeginEpoch(Repeating(0, std::vector<uint32_t>(kNames))).ok());
  Consume(*ledger, {{0, 1}, {0, 2}});
  const LedgerProof proof = Proof();
  EXPECT_TRUE(proof.broken());
  EXPECT_THAT(std::string(proof.epochs[0].bijection.message()),
              HasSubstr("shows two samples"));
}

TEST_F(RepeatingEpochsTest, ASampleOfAnotherGroupIsFound) {
  auto ledger = Open();
  ASSERT_TRUE(
      ledger->BeginEpoch(Repeating(0, std::vector<uint32_t>(kNames))).ok());
  Consume(*ledger, {{0, 7}});
  EXPECT_TRUE(Proof().broken());
}

}  // namespace
}  // namespace shufflefs
