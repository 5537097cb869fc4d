// SPDX-License-Identifier: Apache-2.0
// MountLister, whose process looks at a plain directory here, as at a mount.
// Stopped, it is like one that waits for the mount.
#include "fs/kernel_cache/mount_lister.h"

#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <iterator>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/core/base/temp_tree.h"

namespace shufflefs {
namespace {

using std::chrono::milliseconds;
using testing_support::TempTree;

class MountListerTest : public testing::Test {
 protected:
  MountListerTest() : lister_(*MountLister::Start()) {
    for (int i = 0; i < 40; ++i) {
      const std::string name = absl::StrCat("f", i);
      paths_.push_back(absl::StrCat(tree_.root(), "/", name));
      const bool written = i % 2 != 0;
      tree_.File(name, written ? std::string(5000, 'x') : "");
      // A hole has no pages.
      if (!written) EXPECT_EQ(truncate(paths_.back().c_str(), 5000), 0);
    }
  }
  ~MountListerTest() override { kill(lister_->pid(), SIGCONT); }

  std::vector<bool> EveryOther() const {
    std::vector<bool> cached;
    for (size_t i = 0; i < paths_.size(); ++i) cached.push_back(i % 2 != 0);
    return cached;
  }

  TempTree tree_;
  std::vector<std::string> paths_;
  std::unique_ptr<MountLister> lister_;
};

TEST_F(MountListerTest, TellsWhatTheKernelHas) {
  EXPECT_EQ(lister_->AreCached(paths_, {}), EveryOther());
  EXPECT_EQ(lister_->AreCached({tree_.root(), tree_.root() + "/none"}, {}),
            std::vector<bool>(2));
}

TEST_F(MountListerTest, AStopEndsAQuestion) {
  for (int round = 0; round < 3; ++round) {
    ASSERT_EQ(kill(lister_->pid(), SIGSTOP), 0);
    std::stop_source stop;
    // One has its turn, the other waits for it.
    std::vector<bool> first;
    std::vector<bool> second;
    std::thread one(
        [&] { first = lister_->AreCached(paths_, stop.get_token()); });
    std::thread two(
        [&] { second = lister_->AreCached(paths_, stop.get_token()); });
    std::this_thread::sleep_for(milliseconds(20 * round));
    stop.request_stop();
    one.join();
    two.join();
    EXPECT_TRUE(first.empty());
    EXPECT_TRUE(second.empty());
    ASSERT_EQ(kill(lister_->pid(), SIGCONT), 0);
    // An answer to the question before would shift these.
    std::vector<std::string> some(paths_.begin() + 1, paths_.end());
    std::vector<bool> expected = EveryOther();
    expected.erase(expected.begin());
    EXPECT_EQ(lister_->AreCached(some, {}), expected);
  }
}

// What was opened for a listing that was given up is closed.
TEST_F(MountListerTest, NothingStaysOpen) {
  const std::string open_files = absl::StrCat("/proc/", lister_->pid(), "/fd");
  const auto count = [&] {
    return std::distance(std::filesystem::directory_iterator(open_files),
                         std::filesystem::directory_iterator());
  };
  ASSERT_TRUE(lister_->IsSettled());  // it has begun
  const auto before = count();
  {
    MountLister::Listing listing(*lister_, tree_.root());
    ASSERT_TRUE(listing.Next());
    ASSERT_EQ(kill(lister_->pid(), SIGSTOP), 0);
    EXPECT_FALSE(listing.Next());
    EXPECT_TRUE(listing.gave_up());
    EXPECT_FALSE(lister_->IsSettled());
  }
  { const MountLister::Listing never(*lister_, tree_.root()); }
  ASSERT_EQ(kill(lister_->pid(), SIGCONT), 0);
  EXPECT_TRUE(lister_->IsSettled());
  EXPECT_EQ(count(), before);
  EXPECT_EQ(lister_->AreCached(paths_, {}), EveryOther());
}

}  // namespace
}  // namespace shufflefs
