// SPDX-License-Identifier: Apache-2.0
#include "core/source/dir_rights.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "core/base/mutex.h"
#include "core/base/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/base/temp_tree.h"
#include "tests/core/source/acl_fixture.h"

namespace shufflefs {
namespace {

using testing_support::AclWith;
using testing_support::kUser;
using testing_support::SetAcl;
using testing_support::TempTree;

class DirRightsTest : public ::testing::Test {
 protected:
  DirRightsTest() : source_(tree_.Source()) {
    tree_.Files({"a/b/1", "c/2"});
    Mode("", 0755);
    options_.fresh = DirRights::Duration(0);  // the source is always asked
    options_.patience = DirRights::Duration(20000);
  }
  void Make(bool serves_others) {
    ScanOptions scan;
    scan.serves_others = serves_others;
    rights_.reset();  // its threads use the catalogue
    catalogue_ = std::make_unique<Catalogue>(tree_.Scanned(scan));
    rights_ = std::make_unique<DirRights>(source_, *catalogue_, options_);
  }
  void Mode(const std::string& path, mode_t mode) {
    ASSERT_EQ(chmod(tree_.At(path).c_str(), mode), 0);
  }
  mode_t ModeOf(const char* path) {
    return rights_->ModeOf(*catalogue_->FindDir(path)) & 0777;
  }

  TempTree tree_;
  SourceDir source_;
  DirRights::Options options_;
  std::unique_ptr<Catalogue> catalogue_;
  std::unique_ptr<DirRights> rights_;
};

TEST_F(DirRightsTest, WhatIsClosedIsClosedAndWhatIsOpenedIsNot) {
  Mode("c", 0750);
  Make(true);
  EXPECT_EQ(ModeOf("a"), 0755u);
  EXPECT_EQ(ModeOf("c"), 0750u);
  const DirId below = *catalogue_->FindDir("a/b");
  EXPECT_TRUE(rights_->AreAsOpenAsKnown({below}));
  Mode("a", 0700);
  Mode("c", 0755);
  EXPECT_EQ(ModeOf("a"), 0700u);
  EXPECT_EQ(ModeOf("c"), 0750u);
  EXPECT_FALSE(rights_->AreAsOpenAsKnown({below}));
  EXPECT_TRUE(rights_->AreAsOpenAsKnown({*catalogue_->FindDir("c")}));
  Mode("a", 0755);
  EXPECT_EQ(ModeOf("a"), 0755u);
}

TEST_F(DirRightsTest, WhatIsGoneOrAnothersIsClosed) {
  Make(true);
  std::filesystem::rename(tree_.At("a/b"), tree_.At("d"));
  EXPECT_EQ(ModeOf("a/b"), 0u);
  tree_.Dir("a/b");
  EXPECT_EQ(ModeOf("a/b"), 0u);  // another one
  if (geteuid() != 0) return;
  const gid_t group = catalogue_->dir_attributes(DirId(0)).gid;
  ASSERT_EQ(chown(tree_.At("c").c_str(), 12345, group), 0);
  EXPECT_EQ(ModeOf("c"), 0u);
  ASSERT_EQ(chown(tree_.At("c").c_str(), 0, group + 1), 0);
  EXPECT_EQ(ModeOf("c"), 0u);
  ASSERT_EQ(chown(tree_.At("c").c_str(), 0, group), 0);
  EXPECT_NE(ModeOf("c"), 0u);
}

TEST_F(DirRightsTest, AListThatClosesIsSeen) {
  Make(true);
  ASSERT_TRUE(SetAcl(tree_.At("a"), AclWith(kUser, 0, 5, 5)));
  EXPECT_EQ(ModeOf("a") & 0055, 0u);
}

TEST_F(DirRightsTest, AListThatCannotBeReadForAMomentClosesNothing) {
  int error = 0;
  options_.tap = [&error](DirId, absl::StatusOr<RightsNow> now) {
    if (error == 0 || !now.ok()) return now;
    now->mode &= ~0077u;
    now->list = ErrnoStatus(error, "list");
    return now;
  };
  Make(true);
  EXPECT_EQ(ModeOf("a"), 0755u);
  error = EIO;
  EXPECT_EQ(ModeOf("a"), 0755u);
  Mode("a", 0750);
  EXPECT_EQ(ModeOf("a"), 0750u);
  Mode("a", 0755);
  EXPECT_EQ(ModeOf("a"), 0750u) << "nobody knows of lists";
  error = EACCES;
  EXPECT_EQ(ModeOf("a"), 0700u);
  error = 0;
  EXPECT_EQ(ModeOf("a"), 0755u);
}

TEST_F(DirRightsTest, InodesThatDoNotLastCloseNothing) {
  Make(true);
  CatalogueTables tables = catalogue_->tables();
  const EntryId entry = *catalogue_->entry_of(*catalogue_->FindDir("a"));
  ++tables.ino[entry.value()];
  const auto mode = [&] {
    const Catalogue catalogue = Catalogue::FromTables(tables);
    DirRights rights(source_, catalogue, options_);
    return rights.ModeOf(*catalogue.FindDir("a")) & 0777;
  };
  EXPECT_EQ(mode(), 0u);
  tables.devices[0].inodes_last = 0;
  EXPECT_EQ(mode(), 0755u);
  Mode("a", 0700);
  EXPECT_EQ(mode(), 0700u);
  ++tables.devices[0].number;
  EXPECT_EQ(mode(), 0u) << "something is mounted there";
}

TEST_F(DirRightsTest, OneUserAloneIsNotWatched) {
  Make(false);
  EXPECT_FALSE(rights_->are_watched());
  Mode("a", 0700);
  EXPECT_EQ(ModeOf("a"), 0755u);
}

// A source of many directories, n0 to n<count - 1>, whose answers a test
// delays.
class SlowDirRightsTest : public DirRightsTest {
 protected:
  using Duration = DirRights::Duration;
  static constexpr auto kLong = std::chrono::seconds(20);

  ~SlowDirRightsTest() override {
    Open();
    rights_.reset();  // its threads use the members
  }

  void Make(int count) {
    for (int i = 0; i < count; ++i) {
      const std::string name = absl::StrCat("n", i);
      tree_.Dir(name);
      Mode(name, 0755);
    }
    options_.tap = [this](DirId dir, absl::StatusOr<RightsNow> now) {
      Tap(dir);
      return now;
    };
    DirRightsTest::Make(true);
    all_.clear();
    for (int i = 0; i < count; ++i) all_.push_back(Dir(absl::StrCat("n", i)));
  }
  DirId Dir(const std::string& name) const {
    return *catalogue_->FindDir(name);
  }
  void Tap(DirId dir) {
    {
      MutexLock lock(mu_);
      asked_.push_back(dir);
      const bool is_held = holds_all_ || dir == held_;
      while (is_held && !is_open_ && may_pass_ == 0) opened_.Wait(mu_);
      if (is_held && !is_open_) --may_pass_;
    }
    std::this_thread::sleep_for(takes_);
  }
  void Open() {
    MutexLock lock(mu_);
    is_open_ = true;
    opened_.SignalAll();
  }
  void LetPass(int count) {
    MutexLock lock(mu_);
    may_pass_ += count;
    opened_.SignalAll();
  }
  bool IsAsked(DirId dir) {
    const std::vector<DirId> dirs = asked();
    return std::find(dirs.begin(), dirs.end(), dir) != dirs.end();
  }
  std::vector<DirId> asked() {
    MutexLock lock(mu_);
    return asked_;
  }
  std::vector<mode_t> ModesOfAll() {
    std::vector<mode_t> modes = rights_->ModesOf(all_);
    for (mode_t& mode : modes) mode &= 0777;
    return modes;
  }

  std::vector<DirId> all_;
  // Constant while directories are asked for.
  bool holds_all_ = false;
  DirId held_{UINT32_MAX};
  Duration takes_{0};

  // Returns whether the source is asked for it within kLong.
  bool IsSoonAsked(DirId dir) {
    const auto until = std::chrono::steady_clock::now() + kLong;
    while (!IsAsked(dir) && std::chrono::steady_clock::now() < until) {
      std::this_thread::sleep_for(Duration(1));
    }
    return IsAsked(dir);
  }

 private:
  Mutex mu_;
  CondVar opened_;
  bool is_open_ ABSL_GUARDED_BY(mu_) = false;
  int may_pass_ ABSL_GUARDED_BY(mu_) = 0;
  std::vector<DirId> asked_ ABSL_GUARDED_BY(mu_);
};

TEST_F(SlowDirRightsTest, OneDirectoryComesBeforeMany) {
  options_.patience = Duration(50);
  options_.limit = Duration(50);
  holds_all_ = true;
  Make(1000);
  ModesOfAll();
  const DirId last = all_.back();
  rights_->ModeOf(last);
  // Some of many come between the few.
  LetPass(4);
  EXPECT_TRUE(IsSoonAsked(last));
}

TEST_F(SlowDirRightsTest, OneAnswerIsNotHeldUpByAnother) {
  options_.patience = Duration(kLong);
  options_.limit = Duration(kLong);
  Make(500);
  held_ = all_.front();
  std::atomic<bool> all_answered{false};
  std::jthread lists([this, &all_answered] {
    ModesOfAll();
    all_answered = true;
  });
  EXPECT_TRUE(IsSoonAsked(held_));
  Mode("n499", 0700);
  EXPECT_EQ(ModeOf("n499"), 0700u);
  EXPECT_FALSE(all_answered);
  Open();
}

TEST_F(SlowDirRightsTest, OneThatHangsDoesNotStandForTheOthers) {
  options_.patience = Duration(3000);
  Make(3);
  held_ = Dir("n0");
  Mode("n1", 0700);
  Mode("n2", 0700);
  std::jthread asks([this] { ModeOf("n0"); });
  EXPECT_TRUE(IsSoonAsked(held_));
  EXPECT_EQ(ModeOf("n1"), 0700u);
  std::this_thread::sleep_for(options_.patience + Duration(100));
  EXPECT_EQ(ModeOf("n0"), 0755u);
  EXPECT_EQ(ModeOf("n2"), 0700u);
}

TEST_F(SlowDirRightsTest, OldAnswersOfASourceThatAnswersGrantNothing) {
  options_.patience = Duration(300);
  options_.limit = Duration(300);
  takes_ = Duration(100);
  Make(100);
  std::this_thread::sleep_for(options_.limit * 2);
  Mode("n99", 0700);
  const std::vector<mode_t> modes = ModesOfAll();
  EXPECT_EQ(modes.front(), 0755u);
  EXPECT_EQ(modes.back(), 0u);
}

TEST_F(SlowDirRightsTest, AnOldAnswerAboutManyDirectoriesGrantsNothing) {
  options_.patience = Duration(100);
  options_.limit = Duration(100);
  takes_ = Duration(12);
  Make(150);
  // How old an answer may be depends on how fast this machine is.
  Duration idle(2000);
  std::vector<mode_t> modes;
  do {
    DirRightsTest::Make(true);
    std::this_thread::sleep_for(idle);
    modes = ModesOfAll();
    idle *= 2;
  } while (modes.back() == 0755u && idle < kLong);
  EXPECT_EQ(modes.front(), 0755u);
  EXPECT_EQ(modes.back(), 0u);
  // It is asked for all the same. The next call finds it.
  for (idle = Duration(0); modes.back() == 0u && idle < kLong; ++idle) {
    modes = ModesOfAll();
  }
  EXPECT_THAT(modes, testing::Each(0755u));
}

TEST_F(SlowDirRightsTest, AtTheStartTheScanCounts) {
  options_.patience = Duration(20);
  takes_ = Duration(20);
  Make(1000);
  EXPECT_THAT(ModesOfAll(), testing::Each(0755u));
  EXPECT_LT(asked().size(), 1000u);
}

TEST_F(SlowDirRightsTest, WhatHangsKeepsItsLastAnswers) {
  options_.patience = Duration(50);
  options_.limit = Duration(kLong * 10);
  holds_all_ = true;
  Make(200);
  Mode("n0", 0700);
  Mode("n199", 0700);
  EXPECT_EQ(ModeOf("n199"), 0755u);
  EXPECT_THAT(ModesOfAll(), testing::Each(0755u));
  EXPECT_EQ(ModeOf("n0"), 0755u);
  Open();
  const auto until = std::chrono::steady_clock::now() + kLong;
  while (ModeOf("n0") != 0700u && std::chrono::steady_clock::now() < until) {
  }
  EXPECT_EQ(ModeOf("n0"), 0700u);
}

TEST_F(SlowDirRightsTest, SaysThatItWaits) {
  options_.fresh = Duration(kLong);
  options_.patience = Duration(kLong);
  int waits = 0;
  options_.waits = [this, &waits] {
    ++waits;
    Open();
  };
  Make(3);
  held_ = all_.front();
  EXPECT_EQ(rights_->ModeOf(held_) & 0777, 0755u);
  EXPECT_EQ(waits, 1);
  EXPECT_EQ(rights_->ModeOf(held_) & 0777, 0755u);
  EXPECT_EQ(waits, 1) << "it knows";
}

}  // namespace
}  // namespace shufflefs
