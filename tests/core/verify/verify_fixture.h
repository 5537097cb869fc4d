// SPDX-License-Identifier: Apache-2.0
// A ledger beside a view's dataset, and what verify says of it.
#ifndef SHUFFLEFS_TESTS_CORE_VERIFY_VERIFY_FIXTURE_H_
#define SHUFFLEFS_TESTS_CORE_VERIFY_VERIFY_FIXTURE_H_

#include <unistd.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/ledger/ledger.h"
#include "core/policy/retained_bindings.h"
#include "core/random/permutation.h"
#include "core/random/random.h"
#include "core/verify/verify.h"
#include "gtest/gtest.h"
#include "tests/core/view/view_fixture.h"

namespace shufflefs::testing_support {

using Pairs = std::vector<NameBinding>;

struct GroupsOf {
  uint64_t groups = 0;
  uint64_t files = 0;  // a group
};

// A bijection inside the groups, in the order in which it is read.
inline Pairs RandomPairs(GroupsOf size, Rng& rng) {
  Pairs pairs;
  for (uint64_t group = 0; group < size.groups; ++group) {
    const Permutation shown(size.files, RandomKey(rng.Next()));
    const uint64_t first = group * size.files;
    for (uint64_t i = 0; i < size.files; ++i) {
      pairs.push_back({first + i, first + shown(i)});
    }
  }
  const Permutation order(pairs.size(), RandomKey(rng.Next()));
  Pairs read;
  for (uint64_t i = 0; i < pairs.size(); ++i) read.push_back(pairs[order(i)]);
  return read;
}

class VerifyFixture : public ::testing::Test {
 protected:
  VerifyFixture(int classes, int files) : fixture_(classes, files) {
    path_ = fixture_.tree.root() + ".ledger";
    setup_ = fixture_.Setup(ViewFixture::Config("lirs"));
  }
  ~VerifyFixture() override { unlink(path_.c_str()); }

  std::unique_ptr<Ledger> Open() {
    absl::StatusOr<std::unique_ptr<Ledger>> ledger =
        Ledger::Open(path_, Ledger::Options{});
    EXPECT_TRUE(ledger.ok()) << ledger.status();
    return *std::move(ledger);
  }

  LedgerEpoch Record(uint64_t epoch) const {
    LedgerEpoch record;
    record.names = setup_->dataset->grouping().sample_count();
    record.epoch = record.binding = Epoch(epoch);
    record.policy = "lirs";
    record.substitute = Substitute::kDirectory;
    return record;
  }

  BindingMaker Maker() {
    return [this](const LedgerEpoch& epoch)
               -> absl::StatusOr<std::shared_ptr<const Binding>> {
      ++made_;
      ASSIGN_OR_RETURN(RetainedBindings retained,
                       RetainedBindings::Make(epoch.retained));
      return std::make_shared<const Binding>(
          std::make_shared<const Plan>(setup_->dataset, setup_->policy,
                                       epoch.seed, epoch.binding),
          std::move(retained), epoch.identity);
    };
  }

  LedgerEpoch Reactive(uint64_t epoch) const {
    LedgerEpoch record = Record(epoch);
    record.reactive = true;
    return record;
  }

  static void Consume(Ledger& ledger, const Pairs& pairs, uint8_t view = 0) {
    for (const NameBinding& pair : pairs) {
      ASSERT_TRUE(ledger.ConsumedUnder(view, pair.name, pair.sample).ok());
    }
  }

  LedgerProof Proof() {
    absl::StatusOr<LedgerProof> proof = VerifyLedger(path_, Maker());
    EXPECT_TRUE(proof.ok()) << proof.status();
    return proof.ok() ? *std::move(proof) : LedgerProof();
  }

  std::string PathOf(uint64_t sample) const {
    return fixture_.catalogue->path(
        setup_->dataset->grouping().first_member(SampleId(sample)));
  }

  ViewFixture fixture_;
  std::shared_ptr<const ViewSetup> setup_;
  std::string path_;
  int made_ = 0;
};

}  // namespace shufflefs::testing_support

#endif  // SHUFFLEFS_TESTS_CORE_VERIFY_VERIFY_FIXTURE_H_
