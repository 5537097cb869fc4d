// SPDX-License-Identifier: Apache-2.0
// Names that were opened again at the end of an epoch are retained in the next.
// What verify says if the next recorded epoch is another one.
#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/view/view.h"
#include "gtest/gtest.h"
#include "tests/core/base/temp_tree.h"
#include "tests/core/verify/verify_fixture.h"

namespace shufflefs {
namespace {

using std::chrono::milliseconds;
using testing_support::ViewFixture;

class VerifyRetainedTest : public testing_support::VerifyFixture {
 protected:
  // A job leads a process group of its own. So it has one reader, itself.
  static constexpr int32_t kJob = 100, kNextJob = 200;

  VerifyRetainedTest()
      : VerifyFixture(3, 100),
        job_tracker_(proc_.root()),
        ledger_(Open()),
        names_(fixture_.Files()) {
    AddJob(kJob);
    View::Parts parts = fixture_.Parts(ViewFixture::Config("lirs"));
    parts.job_tracker = &job_tracker_;
    parts.ledger = ledger_.get();
    view_ = std::make_unique<View>(std::move(parts));
  }

  void AddJob(int32_t id) const {
    const std::filesystem::path dir = proc_.At(std::to_string(id));
    std::filesystem::create_directories(dir);
    std::ofstream(dir / "stat")
        << id << " (python) S 1 " << id
        << " 1 34816 2000 4194560 1 2 3 4 5 6 7 8 20 0 1 0 100 16000000 1500\n";
    std::ofstream(dir / "status")
        << "Tgid:\t" << id << "\nPid:\t" << id << "\n";
    std::filesystem::create_symlink("/usr/bin/python3", dir / "exe");
  }
  void Kill(int32_t id) const {
    std::filesystem::remove_all(proc_.At(std::to_string(id)));
  }

  void Read(size_t name, int32_t reader = kJob) {
    now_ += milliseconds(20000);  // no double open
    for (int attempt = 0; attempt < 2; ++attempt) {
      const EntryId shown = view_->Lookup(names_[name], reader, now_).shown;
      if (view_->Open(shown, reader, now_) == View::OpenVerdict::kServe) return;
    }
    ADD_FAILURE() << "stale twice";
  }
  void ReadFrom(size_t first, int32_t reader = kJob) {
    for (size_t name = first; name < names_.size(); ++name) Read(name, reader);
  }
  Epoch epoch() const { return view_->EpochStatus().epoch; }

  // Returns whether the epoch was the live one.
  bool WriteBack(EpochToken token) {
    const absl::StatusOr<bool> goes_on = view_->GoesOnWith(token);
    EXPECT_TRUE(goes_on.ok()) << goes_on.status();
    if (!goes_on.ok() || *goes_on) return true;
    EXPECT_EQ(view_->Restore({view_->setup(), {}}, token), absl::OkStatus());
    return false;
  }

  // An epoch that retains a name, and its token when that was all.
  EpochToken ReadToNextEpoch() {
    ReadFrom(0);
    for (size_t name = 0; epoch() == Epoch(0); ++name) Read(name);
    EpochToken token = view_->Token();
    EXPECT_FALSE(token.kept.empty());
    return token;
  }

  void ExpectNothingBroken() {
    view_.reset();
    for (const EpochProof& epoch : Proof().epochs) {
      EXPECT_EQ(epoch.bound_anew, 0u) << epoch.begin.epoch.value();
      EXPECT_FALSE(epoch.broken()) << epoch.begin.epoch.value();
    }
  }

  testing_support::TempTree proc_;
  JobTracker job_tracker_;
  std::unique_ptr<Ledger> ledger_;
  std::vector<EntryId> names_;
  std::unique_ptr<View> view_;
  milliseconds now_{0};
};

TEST_F(VerifyRetainedTest, AnEpochThatFollowsByItselfRetainsAll) {
  ReadToNextEpoch();
  ExpectNothingBroken();
}

// The job had begun to read the next epoch, of which few opens are no proof.
TEST_F(VerifyRetainedTest, ATokenOfAnEarlierEpochBreaksNothing) {
  const EpochToken token = ReadToNextEpoch();
  ReadFrom(0);
  while (epoch() == Epoch(1)) ReadFrom(0);
  ReadFrom(0);
  const Epoch last = epoch();
  Read(50);
  Read(51);
  ASSERT_EQ(epoch(), last);
  EXPECT_FALSE(WriteBack(token));
  EXPECT_EQ(epoch(), Epoch(1));
  ExpectNothingBroken();
}

TEST_F(VerifyRetainedTest, ATokenOfTheLiveEpochBreaksNothing) {
  ReadToNextEpoch();
  ReadFrom(0);
  const EpochToken token = view_->Token();
  ASSERT_EQ(epoch(), Epoch(1));
  Read(250);
  Read(251);
  ASSERT_EQ(epoch(), Epoch(1));
  EXPECT_TRUE(WriteBack(token));
  for (int pass = 0; epoch() == Epoch(1) && pass < 3; ++pass) ReadFrom(0);
  EXPECT_GT(epoch(), Epoch(1));
  ExpectNothingBroken();
}

// What it had opened for the next epoch was for nobody.
TEST_F(VerifyRetainedTest, AJobThatIsKilledAsAnEpochBeginsBreaksNothing) {
  ReadFrom(0);
  Read(50);
  Read(51);
  ASSERT_EQ(epoch(), Epoch(0));
  Kill(kJob);
  AddJob(kNextJob);
  Read(7, kNextJob);
  EXPECT_EQ(epoch(), Epoch(1));
  ExpectNothingBroken();
}

}  // namespace
}  // namespace shufflefs
