// SPDX-License-Identifier: Apache-2.0
// What names of brand and met show is recorded before readers are told, if
// opens are reported. So it outlives a daemon that heard of no open.
#include <memory>
#include <string>
#include <vector>

#include "core/ledger/ledger.h"
#include "gtest/gtest.h"
#include "tests/core/view/empty_producers.h"
#include "tests/core/view/view_fixture.h"

namespace shufflefs {
namespace {

using testing_support::BindOnDemand;
using testing_support::ViewFixture;

class NoReports : public OpenReports {
 public:
  Taken Take(uint32_t) override { return {}; }
  void Collect() override {}
};

class ToldNamesTest : public ::testing::TestWithParam<std::string> {
 protected:
  ToldNamesTest() : fixture_(2, 60) {
    BindOnDemand(fixture_);
    fixture_.Setup(ViewFixture::Config("native"));  // scans
    names_ = fixture_.Files();
  }

  void Start() {
    ledger_ = *Ledger::Open(state_.At("ledger"), {});
    View::Parts parts = fixture_.Parts(ViewFixture::Config(GetParam()));
    parts.ledger = ledger_.get();
    parts.reports = &reports_;
    view_ = std::make_unique<View>(std::move(parts));
  }
  void Kill() {
    view_.reset();
    ledger_.reset();
  }
  // What the names from `first` to before `last` show.
  std::vector<EntryId> LookUp(size_t first, size_t last) {
    std::vector<EntryId> shown;
    for (size_t i = first; i < last; ++i) {
      shown.push_back(view_->Lookup(names_[i]).shown);
    }
    return shown;
  }

  ViewFixture fixture_;
  testing_support::TempTree state_;
  NoReports reports_;
  std::vector<EntryId> names_;
  std::unique_ptr<Ledger> ledger_;
  std::unique_ptr<View> view_;
};

TEST_P(ToldNamesTest, OutliveAKill) {
  Start();
  std::vector<EntryId> before = LookUp(0, 40);
  view_->ExpectReports();
  for (const EntryId file : LookUp(40, 80)) before.push_back(file);
  Kill();
  Start();
  view_->ExpectReports();
  EXPECT_EQ(LookUp(0, 80), before);
  Kill();
  Start();
  // The first run after this one finds them once more.
  view_->ExpectReports();
  EXPECT_EQ(LookUp(0, 80), before);
}

INSTANTIATE_TEST_SUITE_P(All, ToldNamesTest, ::testing::Values("brand", "met"));

}  // namespace
}  // namespace shufflefs
