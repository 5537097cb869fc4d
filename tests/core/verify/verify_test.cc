// SPDX-License-Identifier: Apache-2.0
#include "core/verify/verify.h"

#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "core/ledger/served_counts.h"
#include "core/view/view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "policies/registry.h"
#include "tests/core/verify/verify_fixture.h"

namespace shufflefs {
namespace {

using std::chrono::milliseconds;
using testing_support::ViewFixture;

class VerifyTest : public testing_support::VerifyFixture {
 protected:
  VerifyTest() : VerifyFixture(3, 20) {}
};

// [S-3.10c] The ledger proves each epoch that was counted.
TEST_F(VerifyTest, ARealViewIsProven) {
  {
    std::unique_ptr<Ledger> ledger = Open();
    const std::unique_ptr<View> view =
        fixture_.MakeView(ViewFixture::Config("lirs"), ledger.get());
    milliseconds now(0);
    for (int pass = 0; pass < 3; ++pass) {
      for (const EntryId name : fixture_.Files()) {
        EntryId shown = view->Lookup(name).shown;
        if (view->Open(shown, 1, now) == View::OpenVerdict::kStale) {
          shown = view->Lookup(name).shown;
          EXPECT_EQ(view->Open(shown, 1, now), View::OpenVerdict::kServe);
        }
        now += milliseconds(20000);
      }
    }
  }
  const LedgerProof proof = Proof();
  EXPECT_FALSE(proof.broken());
  ASSERT_GE(proof.epochs.size(), 3u);
  for (const EpochProof& epoch : proof.epochs) {
    EXPECT_TRUE(epoch.bijection.ok()) << epoch.bijection;
    EXPECT_EQ(epoch.twice, 0u);
    EXPECT_EQ(epoch.running, &epoch == &proof.epochs.back());
  }
  EXPECT_TRUE(proof.epochs[0].complete());
  EXPECT_TRUE(proof.epochs[1].complete());
}

// Who opened a name for the epoch, and saw it bound anew, missed a sample.
TEST_F(VerifyTest, WhatWasOpenedForAnEpochAndBoundAnewIsFound) {
  for (const bool all_retained : {false, true}) {
    unlink(path_.c_str());
    {
      std::unique_ptr<Ledger> ledger = Open();
      ASSERT_TRUE(ledger->BeginEpoch(Record(0)).ok());
      LedgerOpens early;
      early.opens.push_back({LedgerOpen::Kind::kAgain, 9});
      ASSERT_TRUE(ledger->Opened(0, early).ok());  // of this epoch
      for (uint64_t sample = 0; sample < 60; ++sample) {
        ASSERT_TRUE(ledger->Consumed(0, sample).ok());
      }
      for (const uint64_t name : {3, 4}) {
        LedgerOpens opens;
        opens.opens.push_back({LedgerOpen::Kind::kAgain, name});
        ASSERT_TRUE(ledger->Opened(0, opens).ok());
      }
      LedgerEpoch next = Record(1);
      next.retained = {{3, 3}};
      if (all_retained) next.retained.push_back({4, 4});
      ASSERT_TRUE(ledger->BeginEpoch(next).ok());
    }
    const LedgerProof proof = Proof();
    ASSERT_EQ(proof.epochs.size(), 2u);
    EXPECT_EQ(proof.epochs[1].bound_anew, all_retained ? 0u : 1u);
    EXPECT_EQ(proof.broken(), !all_retained);
  }
}

// What a ledger claims of another dataset takes no memory.
TEST_F(VerifyTest, CountsOfAnotherNumberOfNamesAreNotUnpacked) {
  for (const uint64_t names : {60, 1 << 20}) {
    unlink(path_.c_str());
    {
      std::unique_ptr<Ledger> ledger = Open();
      LedgerEpoch epoch = Reactive(0);
      epoch.repeats = true;
      epoch.names = names;
      epoch.served = PackCounts(std::vector<uint32_t>(names, 3));
      EXPECT_LT(epoch.served.size(), 100u);
      ASSERT_TRUE(ledger->BeginEpoch(epoch).ok());
    }
    const LedgerProof proof = Proof();
    EXPECT_FALSE(proof.broken());
    ASSERT_EQ(proof.epochs.size(), 1u);
    EXPECT_EQ(proof.epochs[0].times.has_value(), names == 60);
  }
}

// On a full disk an epoch may begin and end without a record.
TEST_F(VerifyTest, OpensForAnEpochThatIsMissingSayNothingAboutTheNext) {
  {
    std::unique_ptr<Ledger> ledger = Open();
    ASSERT_TRUE(ledger->BeginEpoch(Record(0)).ok());
    for (uint64_t sample = 0; sample < 60; ++sample) {
      ASSERT_TRUE(ledger->Consumed(0, sample).ok());
    }
    LedgerOpens opens;
    opens.opens.push_back({LedgerOpen::Kind::kAgain, 4});
    ASSERT_TRUE(ledger->Opened(0, opens).ok());
    LedgerEpoch next = Record(2);
    next.retained = {{3, 3}};
    ASSERT_TRUE(ledger->BeginEpoch(next).ok());
  }
  EXPECT_FALSE(Proof().broken());
}

// A token may bring back an epoch that retains other names. So may one of a
// later epoch: what was opened again here was for another.
TEST_F(VerifyTest, ATokenThatBringsAnEpochBreaksNothing) {
  for (const uint64_t brought : {0, 3, 4, 5}) {
    unlink(path_.c_str());
    std::unique_ptr<Ledger> ledger = Open();
    ASSERT_TRUE(ledger->BeginEpoch(Record(4)).ok());
    for (uint64_t sample = 0; sample < 60; ++sample) {
      ASSERT_TRUE(ledger->Consumed(0, sample).ok());
    }
    LedgerOpens opens;
    opens.opens.push_back({LedgerOpen::Kind::kAgain, 4});
    ASSERT_TRUE(ledger->Opened(0, opens).ok());
    LedgerState state;
    state.begin = Record(brought);
    state.begin.retained = {{3, 3}};
    ASSERT_TRUE(ledger->Adopt(LedgerPass::Apart(state)).ok());
    EXPECT_FALSE(Proof().broken()) << brought;
    // Nor does it after a compaction, or a restart under another number.
    ASSERT_TRUE(ledger->Compact().ok());
    EXPECT_FALSE(Proof().broken()) << brought;
    ledger.reset();
    ledger = Open();
    absl::optional<LedgerState> last = ledger->TakeLastState("");
    ASSERT_TRUE(last);
    last->begin.view = 3;
    ASSERT_TRUE(ledger->Continue(*last).ok());
    EXPECT_FALSE(Proof().broken()) << brought;
  }
}

// On a full disk the beginning of an epoch that is held may be lost. Then the
// ledger begins a pass where names keep what they show.
TEST_F(VerifyTest, NamesThatShowTheSameAreNotBoundAnew) {
  {
    std::unique_ptr<Ledger> ledger = Open();
    LedgerEpoch epoch = Record(0);
    epoch.retained = {{3, 3}};
    ASSERT_TRUE(ledger->BeginEpoch(epoch).ok());
    for (uint64_t sample = 0; sample < 60; ++sample) {
      ASSERT_TRUE(ledger->Consumed(0, sample).ok());
    }
    LedgerOpens opens;
    opens.opens.push_back({LedgerOpen::Kind::kAgain, 4});
    ASSERT_TRUE(ledger->Opened(0, opens).ok());
    epoch.epoch = Epoch(1);
    ASSERT_TRUE(ledger->BeginEpoch(epoch).ok());
  }
  EXPECT_FALSE(Proof().broken());
}

TEST_F(VerifyTest, ASampleConsumedTwiceIsFound) {
  {
    std::unique_ptr<Ledger> ledger = Open();
    ASSERT_TRUE(ledger->BeginEpoch(Record(4)).ok());
    for (const uint64_t sample : {1, 2, 3, 2, 2, 59}) {
      ASSERT_TRUE(ledger->Consumed(0, sample).ok());
    }
  }
  const LedgerProof proof = Proof();
  ASSERT_EQ(proof.epochs.size(), 1u);
  EXPECT_EQ(proof.epochs[0].consumed, 4u);
  EXPECT_EQ(proof.epochs[0].twice, 2u);
  EXPECT_TRUE(proof.epochs[0].running);
  EXPECT_FALSE(proof.epochs[0].complete());
  EXPECT_TRUE(proof.epochs[0].broken());
  EXPECT_TRUE(proof.broken());
}

// A compaction keeps what proves that a promise was broken, and so does a
// restart that writes the pass again under another number.
TEST_F(VerifyTest, ACompactionProvesNothingThatWasBroken) {
  {
    std::unique_ptr<Ledger> ledger = Open();
    ASSERT_TRUE(ledger->BeginEpoch(Record(0)).ok());
    for (uint64_t sample = 0; sample < 60; ++sample) {
      ASSERT_TRUE(ledger->Consumed(0, sample).ok());
    }
    LedgerOpens opens;
    for (const uint64_t name : {3, 4, 5, 4}) {
      opens.opens.push_back({LedgerOpen::Kind::kAgain, name});
    }
    ASSERT_TRUE(ledger->Opened(0, opens).ok());
    ASSERT_TRUE(ledger->Compact().ok());  // before it has ended
    LedgerEpoch next = Record(1);
    next.retained = {{3, 3}};
    ASSERT_TRUE(ledger->BeginEpoch(next).ok());
    for (const uint64_t sample : {1, 2, 2, 2, 59, 1}) {
      ASSERT_TRUE(ledger->Consumed(0, sample).ok());
    }
  }
  for (const bool restarted : {false, true}) {
    if (restarted) {
      std::unique_ptr<Ledger> ledger = Open();
      absl::optional<LedgerState> state = ledger->TakeLastState("");
      ASSERT_TRUE(state);
      state->begin.view = 3;
      ASSERT_TRUE(ledger->Continue(*state).ok());
    }
    for (int compactions = 0; compactions < 3; ++compactions) {
      SCOPED_TRACE(compactions);
      const LedgerProof proof = Proof();
      ASSERT_EQ(proof.epochs.size(), 2u);
      EXPECT_EQ(proof.epochs[0].twice, 0u);
      EXPECT_EQ(proof.epochs[1].bound_anew, 2u);
      EXPECT_EQ(proof.epochs[1].consumed, 3u);
      EXPECT_EQ(proof.epochs[1].twice, 3u);
      ASSERT_TRUE(Open()->Compact().ok());
    }
  }
}

// However often, a few are enough to prove it.
TEST_F(VerifyTest, OfVeryManyProofsSomeAreKept) {
  {
    std::unique_ptr<Ledger> ledger = Open();
    ASSERT_TRUE(ledger->BeginEpoch(Record(0)).ok());
    for (int i = 0; i < 20000; ++i) {
      ASSERT_TRUE(ledger->Consumed(0, 7).ok());
    }
    ASSERT_TRUE(ledger->Compact().ok());
    EXPECT_LT(ledger->bytes(), 200000u);
  }
  EXPECT_EQ(Proof().epochs[0].twice, LedgerEvidence::kMost);
}

TEST_F(VerifyTest, HeldEpochsArePassesOfOneBinding) {
  {
    std::unique_ptr<Ledger> ledger = Open();
    ASSERT_TRUE(ledger->BeginEpoch(Record(0)).ok());
    ASSERT_TRUE(ledger->Consumed(0, 5).ok());
    ASSERT_TRUE(ledger->Hold(LedgerHold{0, Epoch(1), 'a', "why"}).ok());
    ASSERT_TRUE(ledger->Consumed(0, 5).ok());
  }
  const LedgerProof proof = Proof();
  EXPECT_FALSE(proof.broken());
  ASSERT_EQ(proof.epochs.size(), 2u);
  EXPECT_EQ(proof.epochs[1].begin.epoch, Epoch(1));
  EXPECT_EQ(proof.epochs[1].begin.binding, Epoch(0));
  EXPECT_EQ(proof.epochs[1].consumed, 1u);
  EXPECT_EQ(made_, 1) << "one binding, proven once";
}

TEST_F(VerifyTest, EveryNameIsComparedWithThePlan) {
  const auto binding = Maker()(Record(4));
  ASSERT_TRUE(binding.ok()) << binding.status();
  const auto shown = [&](uint64_t name) {
    return (*binding)->ShownSample(SampleId(name)).value();
  };
  for (const uint64_t wrong : {uint64_t{0}, uint64_t{1}}) {
    unlink(path_.c_str());
    {
      std::unique_ptr<Ledger> ledger = Open();
      ASSERT_TRUE(ledger->BeginEpoch(Record(4)).ok());
      ASSERT_TRUE(ledger->ConsumedUnder(0, 1, shown(1)).ok());
      ASSERT_TRUE(ledger->ConsumedUnder(0, 2, shown(2 + wrong)).ok());
    }
    EXPECT_EQ(Proof().broken(), wrong != 0);
  }
}

// Two bindings of one epoch differ if other names were retained in them.
TEST_F(VerifyTest, PassesThatRetainOtherNamesAreBoundApart) {
  {
    std::unique_ptr<Ledger> ledger = Open();
    LedgerEpoch record = Record(4);
    record.retained = {{1, 2}};
    ASSERT_TRUE(ledger->BeginEpoch(record).ok());
    ASSERT_TRUE(ledger->ConsumedUnder(0, 1, 2).ok());
    record.epoch = Epoch(5);
    record.retained = {{3, 4}};
    ASSERT_TRUE(ledger->BeginEpoch(record).ok());
    ASSERT_TRUE(ledger->ConsumedUnder(0, 3, 4).ok());
  }
  const LedgerProof proof = Proof();
  EXPECT_FALSE(proof.broken());
  ASSERT_EQ(proof.epochs.size(), 2u);
  EXPECT_EQ(made_, 2);
}

// After a restart under another view number, what was consumed is written
// again; it is one pass.
TEST_F(VerifyTest, ARestartIsNoSecondPass) {
  {
    std::unique_ptr<Ledger> ledger = Open();
    ASSERT_TRUE(ledger->BeginEpoch(Record(7)).ok());
    ASSERT_TRUE(ledger->Consumed(0, 5).ok());
  }
  {
    std::unique_ptr<Ledger> ledger = Open();
    absl::optional<LedgerState> state = ledger->TakeLastState("");
    ASSERT_TRUE(state.has_value());
    state->begin.view = 3;
    state->consumed.Settle();
    ASSERT_TRUE(ledger->Continue(*state).ok());
    ASSERT_TRUE(ledger->Consumed(3, 6).ok());
  }
  const LedgerProof proof = Proof();
  ASSERT_EQ(proof.epochs.size(), 1u);
  EXPECT_EQ(proof.epochs[0].consumed, 2u);
  EXPECT_FALSE(proof.broken());
}

// With another seed it begins at its first epoch once more, and its view may
// have another number.
TEST_F(VerifyTest, AnEpochOfThatNumberUnderOtherKeysIsNoRestart) {
  {
    std::unique_ptr<Ledger> ledger = Open();
    ASSERT_TRUE(ledger->BeginEpoch(Record(0)).ok());
    ASSERT_TRUE(ledger->Consumed(0, 5).ok());
    ASSERT_TRUE(ledger->Consumed(0, 5).ok());
    LedgerEpoch next = Record(0);
    next.view = 1;
    next.seed = Seed(7);
    ASSERT_TRUE(ledger->BeginEpoch(next).ok());
  }
  for (const bool compacted : {false, true}) {
    if (compacted) {
      ASSERT_TRUE(Open()->Compact().ok());
    }
    const LedgerProof proof = Proof();
    ASSERT_EQ(proof.epochs.size(), 2u);
    EXPECT_EQ(proof.epochs[0].twice, 1u);
    EXPECT_TRUE(proof.broken());
  }
}

TEST_F(VerifyTest, ASwitchIsToldWithTheEpochThatItBegins) {
  {
    std::unique_ptr<Ledger> ledger = Open();
    ASSERT_TRUE(ledger->BeginEpoch(Record(0)).ok());
    ASSERT_TRUE(ledger->BeginEpoch(Record(1)).ok());
    ASSERT_TRUE(ledger->Switch(LedgerSwitch{0, Epoch(1), "seed 0 to 6"}).ok());
  }
  const LedgerProof proof = Proof();
  ASSERT_EQ(proof.epochs.size(), 2u);
  EXPECT_THAT(proof.epochs[0].switches, ::testing::IsEmpty());
  EXPECT_THAT(proof.epochs[1].switches, ::testing::ElementsAre("seed 0 to 6"));
  EXPECT_FALSE(proof.broken());
}

TEST_F(VerifyTest, AnotherDatasetCannotBeReplayed) {
  {
    std::unique_ptr<Ledger> ledger = Open();
    LedgerEpoch record = Record(0);
    record.names = 59;
    ASSERT_TRUE(ledger->BeginEpoch(record).ok());
  }
  const LedgerProof proof = Proof();
  EXPECT_TRUE(absl::IsFailedPrecondition(proof.epochs[0].bijection));
  EXPECT_EQ(proof.epochs[0].bijection.message(),
            "had 59 names, the view has 60");
  EXPECT_FALSE(proof.broken()) << "not proven is not disproven";
}

TEST_F(VerifyTest, DamageIsReportedAndWhatLiesBeforeIsProven) {
  {
    std::unique_ptr<Ledger> ledger = Open();
    ASSERT_TRUE(ledger->BeginEpoch(Record(0)).ok());
    ASSERT_TRUE(ledger->Consumed(0, 1).ok());
    ASSERT_TRUE(ledger->BeginEpoch(Record(1)).ok());
  }
  // A byte of the last record.
  uint64_t end = 0;
  {
    absl::StatusOr<std::unique_ptr<LedgerReader>> reader =
        LedgerReader::Open(path_);
    LedgerVisitor nothing;
    ASSERT_TRUE((*reader)->Run(nothing).ok());
    end = (*reader)->valid_words() * 8;
  }
  std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(static_cast<std::streamoff>(end) - 12);
  file.put('\x5a');
  file.close();
  const LedgerProof proof = Proof();
  EXPECT_TRUE(absl::IsDataLoss(proof.ledger)) << proof.ledger;
  EXPECT_TRUE(proof.broken());
  ASSERT_EQ(proof.epochs.size(), 1u);
  EXPECT_TRUE(proof.epochs[0].bijection.ok());
}

TEST_F(VerifyTest, ErrorsOfTheFile) {
  EXPECT_EQ(ErrnoOf(VerifyLedger(path_, Maker()).status()), ENOENT);
  std::ofstream(path_) << std::string(4096, 'x');
  EXPECT_TRUE(
      absl::IsFailedPrecondition(VerifyLedger(path_, Maker()).status()));
}

// A policy whose order is none, to see that the proof can fail.
class BrokenPolicy : public Policy {
 public:
  absl::string_view name() const override { return "broken"; }
  Consumption consumption() const override { return Consumption::kPlanned; }
  std::unique_ptr<const Order> MakeOrder(const Stratum& stratum, Seed,
                                         Epoch) const override {
    return std::make_unique<Constant>(stratum.size);
  }
  std::unique_ptr<const Order> MakeListing(const Stratum& stratum, Seed,
                                           Epoch) const override {
    return std::make_unique<Constant>(stratum.size);
  }

 private:
  class Constant : public Order {
   public:
    explicit Constant(uint64_t size) : size_(size) {}
    uint64_t size() const override { return size_; }
    uint64_t SampleAt(uint64_t) const override { return 0; }
    uint64_t PositionOf(uint64_t) const override { return 0; }

   private:
    const uint64_t size_;
  };
};

TEST_F(VerifyTest, ABindingThatIsNoBijectionIsFound) {
  const Binding broken(
      std::make_shared<const Plan>(setup_->dataset,
                                   std::make_shared<const BrokenPolicy>(),
                                   Seed(0), Epoch(0)),
      RetainedBindings(), false);
  const absl::Status status = ProveBijection(broken);
  EXPECT_TRUE(absl::IsDataLoss(status));
  EXPECT_THAT(std::string(status.message()),
              ::testing::HasSubstr(": shows a sample that another name shows"));
  // Retained across groups: name 0 of the first shows the last of the third.
  absl::StatusOr<RetainedBindings> retained = RetainedBindings::Make({{0, 59}});
  const Binding crossed(std::make_shared<const Plan>(
                            setup_->dataset, setup_->policy, Seed(0), Epoch(0)),
                        *std::move(retained), false);
  EXPECT_THAT(std::string(ProveBijection(crossed).message()),
              ::testing::HasSubstr(": shows a sample of another group"));
}

}  // namespace
}  // namespace shufflefs
