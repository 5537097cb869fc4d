// SPDX-License-Identifier: Apache-2.0
// Reactive epochs are proven from their pairs: whatever is broken in them is
// found and named.
#include "core/verify/verify_pairs.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "core/random/random.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/verify/verify_fixture.h"

namespace shufflefs {
namespace {

using ::testing::HasSubstr;
using testing_support::Pairs;
using testing_support::RandomPairs;

constexpr uint64_t kGroups = 4;
constexpr uint64_t kGroupFiles = 25;
constexpr uint64_t kNames = kGroups * kGroupFiles;

// Two places of pairs of one group.
std::pair<size_t, size_t> TwoOfOneGroup(const Pairs& pairs, Rng& rng) {
  const size_t a = rng.Bounded(kNames);
  size_t b = a;
  while (b == a || pairs[a].name / kGroupFiles != pairs[b].name / kGroupFiles) {
    b = rng.Bounded(kNames);
  }
  return {a, b};
}

class VerifyPairsTest : public testing_support::VerifyFixture {
 protected:
  VerifyPairsTest() : VerifyFixture(kGroups, kGroupFiles) {}

  // One epoch of these pairs, and an empty one behind it.
  LedgerProof ProofOf(const Pairs& pairs, bool compact) {
    unlink(path_.c_str());
    const auto ledger = Open();
    EXPECT_TRUE(ledger->BeginEpoch(Reactive(0)).ok());
    Consume(*ledger, pairs);
    EXPECT_TRUE(ledger->BeginEpoch(Reactive(1)).ok());
    if (compact) {
      EXPECT_TRUE(ledger->Compact().ok());
    }
    LedgerProof proof = Proof();
    EXPECT_EQ(proof.epochs.size(), 2u);
    EXPECT_TRUE(proof.epochs.at(1).bijection.ok());
    return proof;
  }

  // What ProofOf finds: the message, in the raw ledger and in the compacted.
  std::string FaultOf(const Pairs& pairs) {
    std::vector<std::string> messages;
    for (const bool compact : {false, true}) {
      const LedgerProof proof = ProofOf(pairs, compact);
      EXPECT_TRUE(proof.broken());
      EXPECT_TRUE(absl::IsDataLoss(proof.epochs.at(0).bijection));
      EXPECT_FALSE(proof.epochs.at(0).quality);
      messages.emplace_back(proof.epochs.at(0).bijection.message());
    }
    EXPECT_EQ(messages[0], messages[1]);
    return messages[0];
  }

  std::string Both(uint64_t a, uint64_t b) const {
    return PathOf(std::min(a, b)) + " and " + PathOf(std::max(a, b));
  }
};

TEST_F(VerifyPairsTest, ASampleUnderTwoNamesIsNamed) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(SubKey(RandomKey(1), seed));
    Pairs pairs = RandomPairs({kGroups, kGroupFiles}, rng);
    const auto [a, b] = TwoOfOneGroup(pairs, rng);
    const uint64_t lost = pairs[b].sample;
    pairs[b].sample = pairs[a].sample;
    EXPECT_EQ(FaultOf(pairs), PathOf(pairs[a].sample) +
                                  ": is shown by two names, " +
                                  Both(pairs[a].name, pairs[b].name));
    const LedgerProof proof = ProofOf(pairs, false);
    EXPECT_EQ(proof.epochs[0].twice, 1u);
    EXPECT_EQ(proof.epochs[0].consumed, kNames - 1);
    EXPECT_EQ(proof.epochs[0].not_shown, PathOf(lost));
  }
}

// Of two pairs alone, as in an epoch that has just begun.
TEST(ProvePairsTest, TheFirstTwoAreCompared) {
  EXPECT_TRUE(ProvePairs({{0, 5}, {1, 6}}, nullptr, false).ok());
  EXPECT_THAT(
      std::string(ProvePairs({{0, 5}, {1, 5}}, nullptr, false).message()),
      HasSubstr("is shown by two names"));
  EXPECT_TRUE(ProvePairs({{0, 5}, {1, 5}}, nullptr, true).ok());
  EXPECT_THAT(
      std::string(ProvePairs({{0, 5}, {0, 6}}, nullptr, false).message()),
      HasSubstr("shows two samples"));
}

TEST_F(VerifyPairsTest, ANameThatShowsTwoSamplesIsNamed) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(SubKey(RandomKey(2), seed));
    Pairs pairs = RandomPairs({kGroups, kGroupFiles}, rng);
    const auto [a, b] = TwoOfOneGroup(pairs, rng);
    const uint64_t lost = pairs[b].name;
    pairs[b].name = pairs[a].name;
    EXPECT_EQ(FaultOf(pairs), PathOf(pairs[a].name) + ": shows two samples, " +
                                  Both(pairs[a].sample, pairs[b].sample));
    // Every sample was shown; only the names tell it.
    const LedgerProof proof = ProofOf(pairs, false);
    EXPECT_EQ(proof.epochs[0].twice, 0u);
    EXPECT_TRUE(proof.epochs[0].complete());
    EXPECT_EQ(proof.epochs[0].not_read, PathOf(lost));
  }
}

TEST_F(VerifyPairsTest, PairsAcrossGroupsAreNamed) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(SubKey(RandomKey(3), seed));
    Pairs pairs = RandomPairs({kGroups, kGroupFiles}, rng);
    size_t a = 0, b = 0;
    while (pairs[a].name / kGroupFiles == pairs[b].name / kGroupFiles) {
      b = rng.Bounded(kNames);
    }
    std::swap(pairs[a].sample, pairs[b].sample);  // still one to one
    if (pairs[a].sample > pairs[b].sample) std::swap(a, b);
    EXPECT_EQ(FaultOf(pairs),
              PathOf(pairs[a].name) + ": shows a sample of another group, " +
                  PathOf(pairs[a].sample) + "; " + PathOf(pairs[b].name) +
                  ": shows a sample of another group, " +
                  PathOf(pairs[b].sample));
  }
}

// Not every job reads all: what is missing is told, and breaks nothing.
TEST_F(VerifyPairsTest, AMissingPairIsNamed) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(SubKey(RandomKey(4), seed));
    Pairs pairs = RandomPairs({kGroups, kGroupFiles}, rng);
    const auto missing =
        pairs.begin() + static_cast<std::ptrdiff_t>(rng.Bounded(kNames));
    const NameBinding lost = *missing;
    pairs.erase(missing);
    for (const bool compact : {false, true}) {
      const LedgerProof proof = ProofOf(pairs, compact);
      EXPECT_FALSE(proof.broken());
      EXPECT_TRUE(proof.epochs[0].bijection.ok());
      EXPECT_FALSE(proof.epochs[0].complete());
      EXPECT_EQ(proof.epochs[0].not_shown, PathOf(lost.sample));
      EXPECT_EQ(proof.epochs[0].not_read, PathOf(lost.name));
    }
  }
}

TEST_F(VerifyPairsTest, ManyFaultsAreCounted) {
  Rng rng(RandomKey(5));
  Pairs pairs = RandomPairs({kGroups, kGroupFiles}, rng);
  for (NameBinding& pair : pairs)
    pair.sample = (pair.sample + kGroupFiles) % kNames;
  const std::string fault = FaultOf(pairs);
  EXPECT_EQ(std::count(fault.begin(), fault.end(), ';'), 3);
  EXPECT_THAT(fault, HasSubstr("; and 97 more"));
}

TEST_F(VerifyPairsTest, AConsumptionRepeatedOrWithoutANameIsFound) {
  for (const bool compact : {false, true}) {
    Rng rng(RandomKey(6));
    Pairs pairs = RandomPairs({kGroups, kGroupFiles}, rng);
    pairs.push_back(pairs[7]);
    LedgerProof proof = ProofOf(pairs, compact);
    EXPECT_TRUE(proof.broken());
    EXPECT_TRUE(proof.epochs[0].bijection.ok()) << "the same pair again";
    EXPECT_EQ(proof.epochs[0].twice, 1u);
    {
      const auto ledger = Open();
      ASSERT_TRUE(ledger->Consumed(0, 5).ok());
      if (compact) {
        ASSERT_TRUE(ledger->Compact().ok());
      }
    }
    proof = Proof();
    EXPECT_TRUE(proof.epochs[1].broken());
    EXPECT_EQ(proof.epochs[1].unnamed, 1u);
    EXPECT_EQ(proof.epochs[1].twice, 0u);
  }
}

// What was retained over the boundary, or bound before a hold, still holds.
TEST_F(VerifyPairsTest, APairThatContradictsAnEarlierOneIsFound) {
  for (const bool held : {false, true}) {
    for (const bool compact : {false, true}) {
      unlink(path_.c_str());
      {
        const auto ledger = Open();
        LedgerEpoch begin = Reactive(0);
        if (!held) begin.retained = {{3, 4}};
        ASSERT_TRUE(ledger->BeginEpoch(begin).ok());
        if (held) Consume(*ledger, {{3, 4}});
        if (held) {
          ASSERT_TRUE(ledger->Hold({0, Epoch(1), 'c', ""}).ok());
        }
        Consume(*ledger, {{3, 5}});
        if (compact) {
          ASSERT_TRUE(ledger->Compact().ok());
        }
      }
      const LedgerProof proof = Proof();
      ASSERT_EQ(proof.epochs.size(), held ? 2u : 1u);
      EXPECT_TRUE(proof.epochs.front().bijection.ok() || !held);
      EXPECT_EQ(proof.epochs.back().bijection.message(),
                PathOf(3) + ": shows two samples, " + Both(4, 5));
    }
  }
}

// Numbers alone show what is not one to one; groups need the dataset.
TEST_F(VerifyPairsTest, OfAnotherDatasetWhatNumbersShowIsProven) {
  LedgerEpoch begin = Reactive(0);
  begin.names = kNames + 1;
  {
    const auto ledger = Open();
    ASSERT_TRUE(ledger->BeginEpoch(begin).ok());
    Consume(*ledger, {{3, 90}, {90, 3}});
  }
  LedgerProof proof = Proof();
  EXPECT_FALSE(proof.broken());
  EXPECT_TRUE(absl::IsFailedPrecondition(proof.epochs[0].bijection));
  EXPECT_EQ(proof.epochs[0].bijection.message(),
            "had 101 names, the view has 100");
  EXPECT_EQ(proof.epochs[0].not_shown, "");
  Consume(*Open(), {{4, 90}});
  proof = Proof();
  EXPECT_TRUE(absl::IsDataLoss(proof.epochs[0].bijection));
  EXPECT_EQ(proof.epochs[0].bijection.message(),
            "number 90: is shown by two names, number 3 and number 4");
}

TEST_F(VerifyPairsTest, PairsOfAPlanAreComparedWithIt) {
  const auto binding = *Maker()(Record(0));
  const uint64_t planned = binding->ShownSample(SampleId(8)).value();
  {
    const auto ledger = Open();
    ASSERT_TRUE(ledger->BeginEpoch(Record(0)).ok());
    Consume(*ledger, {{8, planned}});
  }
  EXPECT_FALSE(Proof().broken());
  const uint64_t other = planned == 0 ? 1 : 0;
  Consume(*Open(), {{8, other}});
  const LedgerProof proof = Proof();
  EXPECT_TRUE(absl::IsDataLoss(proof.epochs[0].bijection));
  EXPECT_EQ(proof.epochs[0].bijection.message(),
            PathOf(8) + ": showed " + PathOf(other) +
                ", not what was planned, " + PathOf(planned));
}

}  // namespace
}  // namespace shufflefs
