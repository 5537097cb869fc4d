// SPDX-License-Identifier: Apache-2.0
// Processes and the directory of a tier: one at a time, and none leaves half a
// sample however it ends.
#include <signal.h>
#include <sys/wait.h>

#include <cerrno>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/staging/tier/tier_fixture.h"

namespace shufflefs {
namespace {

using ::testing::HasSubstr;
using testing_support::SetPlan;
using testing_support::Slurp;
using testing_support::TierFixture;

// The process must have no other threads when it forks.
class TierProcessesTest : public TierFixture {
 protected:
  // Runs in a process of its own until it is killed.
  template <typename Run>
  static pid_t Fork(const Run& run) {
    const pid_t child = fork();
    if (child == 0) {
      run();
      _exit(1);
    }
    return child;
  }
  static void Kill(pid_t child) {
    ASSERT_EQ(kill(child, SIGKILL), 0);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << status;
  }
  // Every file of every part has the bytes of the source.
  void CheckParts() {
    for (const std::string& name : Parts()) {
      ASSERT_TRUE(absl::EndsWith(name, ".tier")) << name;
      const std::string bytes = Slurp(TierPath(name));
      const absl::string_view view = bytes;
      const auto at = TierTailAt(view.substr(bytes.size() - kTierFooterBytes),
                                 bytes.size());
      ASSERT_TRUE(at.ok()) << at.status();
      const auto table = ParseTierTail(view.substr(*at), bytes.size());
      ASSERT_TRUE(table.ok()) << table.status();
      for (const auto& [range, offset] : table->ranges) {
        ASSERT_EQ(bytes.substr(offset, range.length),
                  contents_.at(range.file).substr(range.from, range.length));
      }
    }
  }
};

TEST_F(TierProcessesTest, AnotherProcessIsRefusedByName) {
  tree_.File("a", "content");
  ScanTree();
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = Fork([&] {
    MakeReader();
    auto tier = Tier::Open(Options(), catalogue_, reader_.get());
    if (tier.ok() && write(ready[1], "y", 1) == 1) pause();
    _exit(1);
  });
  close(ready[1]);
  char byte = 0;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  close(ready[0]);
  MakeReader();
  for (const char* view : {"train", "val"}) {
    Tier::Options options = Options();
    options.view = view;
    const auto refused = Tier::Open(options, catalogue_, reader_.get());
    EXPECT_EQ(refused.status().code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(refused.status().message()),
                HasSubstr(place_.root()));
    EXPECT_THAT(std::string(refused.status().message()),
                HasSubstr("another mount uses it"));
  }
  Kill(child);
  Open();
  EXPECT_TRUE(tier_->status().health.empty());
}

TEST_F(TierProcessesTest, ViewsOfOneProcessShareTheDirectory) {
  tree_.File("a", "content");
  Scan();
  Tier::Options options = Options();
  auto train = Tier::Open(options, catalogue_, reader_.get());
  ASSERT_TRUE(train.ok()) << train.status();
  for (const char* view : {"val", ".lock", "a/b", "..", ""}) {
    options.view = view;
    const auto other = Tier::Open(options, catalogue_, reader_.get());
    ASSERT_TRUE(other.ok()) << other.status();
    EXPECT_EQ((*other)->status().health, "");
  }
  options.view = "train";
  EXPECT_EQ(Tier::Open(options, catalogue_, reader_.get()).status().code(),
            absl::StatusCode::kFailedPrecondition);
  *train = nullptr;
  EXPECT_TRUE(Tier::Open(options, catalogue_, reader_.get()).ok());
}

TEST_F(TierProcessesTest, KilledAtAnyMomentItLeavesWholeSamples) {
  Rng rng{RandomKey(1)};
  testing_support::MakeRandomTree(rng, 120, tree_);
  tree_.File("large", testing_support::RandomBytes(rng, 2 * kMemory));
  ScanTree();
  uint64_t taken_up = 0;
  // Twelve kills, and on until one came after something was staged: under a
  // sanitizer on a busy machine a process may need longer for that. The time
  // limit of the test ends the wait.
  for (int round = 0; round < 12 || taken_up == 0; ++round) {
    SCOPED_TRACE(testing::Message() << "round " << round);
    const uint64_t seed = rng.Next();
    const pid_t child = Fork([&] {
      Rng mine{RandomKey(seed)};
      MakeReader();
      Tier::Options options = Options();
      options.capacity = TreeBytes(files_) * 3 / 4;
      Open(options);
      for (uint64_t set = 1;; ++set) {
        std::vector<EntryId> files;
        for (const EntryId file : files_) {
          if (mine.Bounded(3) == 0) files.push_back(file);
        }
        plan_->Put(set, Whole(files));
        plan_->Want({set});
        tier_->Changed();
        plan_->WaitReady(set);
      }
    });
    const uint64_t longest = 80000 * (1 + round / 12);
    usleep(static_cast<useconds_t>(5000 + rng.Bounded(longest)));
    Kill(child);
    MakeReader();
    plan_ = std::make_shared<SetPlan>();
    Open();
    CheckParts();
    taken_up += tier_->status().staged_bytes;
    ReadAll(files_);
    Close();
  }
}

}  // namespace
}  // namespace shufflefs
