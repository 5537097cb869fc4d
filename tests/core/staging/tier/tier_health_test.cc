// SPDX-License-Identifier: Apache-2.0
// A performance tier that is missing, fails, is in use or goes away: the source
// answers, one line says so, and it is used again when it works.
#include "core/staging/tier/tier_health.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/staging/tier/tier_fixture.h"

namespace shufflefs {
namespace {

using ::testing::HasSubstr;
using testing_support::MakeRandomTree;
using testing_support::RandomBytes;
using testing_support::SetPlan;
using testing_support::Spill;
using testing_support::TierFixture;

class TierHealthTest : public TierFixture {
 protected:
  void WaitTrouble() {
    Until([&] { return !tier_->status().health.empty(); });
  }
  void WaitNoTrouble() {
    Until([&] { return tier_->status().health.empty(); });
  }
  // One line when it began, which names the path, and one when it was over.
  void ExpectOnce(const std::string& log, const std::string& path,
                  const std::string& what) {
    EXPECT_EQ(Count(log, "warning: "), 1) << log;
    EXPECT_THAT(log, HasSubstr("warning: tier.path " + path + ": "));
    EXPECT_THAT(log, HasSubstr(what));
    EXPECT_THAT(log, HasSubstr("the source is read instead"));
    EXPECT_EQ(Count(log, "info: tier.path " + path + ": works again"), 1)
        << log;
  }
};

TEST_F(TierHealthTest, ADirectoryThatIsMissingIsTriedAgain) {
  Source(1, 30);
  Tier::Options options = Options();
  options.path = place_.At("later");
  testing::internal::CaptureStderr();
  Open(options);
  EXPECT_THAT(tier_->status().health, HasSubstr("No such file"));
  plan_->Put(1, Whole(files_));
  plan_->Want({1});
  tier_->Changed();
  ReadAll(files_);
  EXPECT_FALSE(tier_->status().health.empty());
  std::filesystem::create_directory(options.path);
  plan_->WaitReady(1);
  WaitNoTrouble();
  ExpectOnce(testing::internal::GetCapturedStderr(), options.path,
             "No such file or directory");
  const uint64_t reads = reader_->stats().reads;
  ReadAll(files_);
  EXPECT_EQ(reader_->stats().reads, reads);
}

TEST_F(TierHealthTest, APathThatIsNoDirectoryIsTrouble) {
  Source(2, 10);
  Tier::Options options = Options();
  options.path = place_.At("file");
  Spill(options.path, "mine");
  Open(options);
  EXPECT_THAT(tier_->status().health, HasSubstr("Not a directory"));
  ReadAll(files_);
}

// A mount of ours may cover the directory.
TEST_F(TierHealthTest, ItIsOpenedByThePathThatReachesIt) {
  Source(7, 20);
  place_.Dir("below");
  Tier::Options options = Options();
  options.path = place_.At("covered");
  options.reach = [this, covered = options.path](const std::string& path) {
    return place_.At("below") + path.substr(covered.size());
  };
  Open(options);
  Stage(1, files_);
  EXPECT_EQ(tier_->status().health, "");
  EXPECT_FALSE(std::filesystem::exists(options.path));
  std::filesystem::remove_all(place_.At("below"));
  ReadAll(files_);
  WaitTrouble();
  EXPECT_THAT(tier_->status().health, HasSubstr(options.path));
}

// Who may write to it could have made any part.
TEST_F(TierHealthTest, ADirectoryOfOthersIsTrouble) {
  Source(3, 10);
  std::filesystem::create_directory(place_.At("shufflefs-tier"));
  ASSERT_EQ(chmod(place_.At("shufflefs-tier").c_str(), 0777), 0);
  Open();
  EXPECT_THAT(tier_->status().health, HasSubstr("others may have written"));
  ASSERT_EQ(chmod(place_.At("shufflefs-tier").c_str(), 0700), 0);
  WaitNoTrouble();
  Stage(1, files_);
}

TEST_F(TierHealthTest, ALinkInItsPlaceIsNotFollowed) {
  Source(4, 10);
  place_.Dir("elsewhere");
  place_.Link("shufflefs-tier", "elsewhere");
  Open();
  EXPECT_FALSE(tier_->status().health.empty());
  EXPECT_TRUE(std::filesystem::is_empty(place_.At("elsewhere")));
}

TEST_F(TierHealthTest, ADirectoryThatGoesAwayUnderWay) {
  Source(5, 40);
  place_.Dir("disk");
  Tier::Options options = Options();
  options.path = place_.At("disk");
  Open(options);
  Stage(1, files_);
  testing::internal::CaptureStderr();
  std::filesystem::remove_all(options.path);
  ReadAll(files_);
  WaitTrouble();
  ReadAll(files_);
  std::filesystem::create_directory(options.path);
  plan_->WaitReady(1, 2);
  WaitNoTrouble();
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_EQ(Count(log, "warning: "), Count(log, "works again")) << log;
  EXPECT_LE(Count(log, "warning: "), 2) << log;
  const uint64_t reads = reader_->stats().reads;
  ReadAll(files_);
  EXPECT_EQ(reader_->stats().reads, reads);
}

// A limit of the process stands for a full device: writing fails under way.
TEST_F(TierHealthTest, WritesThatFailLeaveNothingAndAreTriedAgain) {
  Source(6, 200);
  struct sigaction ignore = {};
  struct sigaction before = {};
  ignore.sa_handler = SIG_IGN;
  ASSERT_EQ(sigaction(SIGXFSZ, &ignore, &before), 0);
  rlimit all;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &all), 0);
  rlimit little = all;
  little.rlim_cur = 300000;
  testing::internal::CaptureStderr();
  Open();
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &little), 0);
  plan_->Put(1, Whole(files_));
  plan_->Want({1});
  tier_->Changed();
  WaitTrouble();
  ReadAll(files_);
  EXPECT_TRUE(plan_->ready().empty());
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &all), 0);
  plan_->WaitReady(1);
  WaitNoTrouble();
  ASSERT_EQ(sigaction(SIGXFSZ, &before, nullptr), 0);
  ExpectOnce(testing::internal::GetCapturedStderr(), place_.root(),
             "File too large");
  ReadAll(files_);
  for (const std::string& name : Parts()) {
    EXPECT_TRUE(absl::EndsWith(name, ".tier")) << name;
  }
}

// Random requests, reads and faults of the tier; every read must be right. What
// is wanted are small files and ranges of containers, which share pages, and
// overlap those of other sets as they like.
class TierModelTest : public TierHealthTest {
 protected:
  void Prepare(uint64_t seed) {
    rng_ = Rng{RandomKey(seed)};
    MakeRandomTree(rng_, 120, tree_);
    for (int i = 0; i < 3; ++i) {
      tree_.File("container" + std::to_string(i),
                 RandomBytes(rng_, 1 + rng_.Bounded(uint64_t{3} << 20)));
    }
    Scan();
    for (int i = 0; i < 3; ++i) {
      containers_.push_back(
          *catalogue_->FindPath("container" + std::to_string(i)));
    }
    place_.Dir("disk");
    options_ = Options();
    options_.path = place_.At("disk");
    options_.retry = std::chrono::milliseconds(1);
    options_.reader.io_uring = rng_.Bounded(2) == 0;
    options_.capacity = TreeBytes(files_) * (1 + rng_.Bounded(8)) / 5;
    Open(options_);
  }
  // One of the files there; "" if there is none.
  std::string SomePart() {
    std::vector<std::string> paths;
    std::error_code gone;
    for (const auto& entry : std::filesystem::directory_iterator(
             options_.path + "/shufflefs-tier/train", gone)) {
      paths.push_back(entry.path());
    }
    return paths.empty() ? "" : paths[rng_.Bounded(paths.size())];
  }
  // A container, cut at random: some of what comes of it.
  void WishBlocks(EntryId file, std::vector<StagedRange>& ranges) {
    const uint64_t size = contents_.at(file).size();
    const uint64_t most = 1 + rng_.Bounded(200);
    for (uint64_t at = 0; at < size;) {
      StagedRange range{file, at, (1 + rng_.Bounded(most)) * kTierPage};
      range.length = std::min(range.length, size - at);
      at = range.end();
      if (rng_.Bounded(2) == 0) ranges.push_back(range);
      const bool share = at < size && range.length > kTierPage;
      if (share && rng_.Bounded(2) == 0) at -= kTierPage;
    }
  }
  void WishAnew() {
    const uint64_t set = rng_.Next();
    std::vector<EntryId> files;
    for (const EntryId file : files_) {
      if (rng_.Bounded(3) == 0) files.push_back(file);
    }
    std::vector<StagedRange> ranges = Whole(files);
    for (const EntryId file : containers_) WishBlocks(file, ranges);
    plan_->Put(set, std::move(ranges));
    std::vector<uint64_t> wanted = plan_->WantedSets();
    if (wanted.size() > 1) wanted.erase(wanted.begin());
    wanted.push_back(set);
    plan_->Want(wanted);
    rng_.Bounded(2) == 0 ? tier_->Changed() : tier_->AskNow();
  }
  void Damage(const std::string& path) {
    const UniqueFd fd(open(path.c_str(), O_WRONLY | O_CLOEXEC));
    struct stat st;
    if (!fd.valid() || fstat(fd.get(), &st) != 0 || st.st_size == 0) return;
    const uint64_t at = rng_.Bounded(static_cast<uint64_t>(st.st_size));
    if (rng_.Bounded(4) == 0) {
      EXPECT_EQ(ftruncate(fd.get(), static_cast<off_t>(at)), 0);
    } else {
      EXPECT_EQ(pwrite(fd.get(), "\x5a\xa5", 2, static_cast<off_t>(at)), 2);
    }
  }
  void ReadSomething() {
    const EntryId file = rng_.Bounded(2) == 0
                             ? containers_[rng_.Bounded(containers_.size())]
                             : files_[rng_.Bounded(files_.size())];
    const uint64_t size = contents_.at(file).size();
    const uint64_t offset =
        rng_.Bounded(2) * rng_.Bounded(size) / kReadAlignment * kReadAlignment;
    Ask(file, offset,
        rng_.Bounded(2) == 0 ? size - offset : 1 + rng_.Bounded(size - offset));
    if (rng_.Bounded(8) == 0) ExpectAllRight();
  }
  void Act() {
    std::error_code busy;  // a part may be made meanwhile
    switch (rng_.Bounded(12)) {
      case 0:
        return WishAnew();
      case 1:
        return Damage(SomePart());
      case 2:
        (void)unlink(SomePart().c_str());
        return;
      case 3:
        if (rng_.Bounded(6) == 0) {
          std::filesystem::remove_all(options_.path, busy);
        }
        return;
      case 4:
        return place_.Dir("disk");
      case 5:
        if (rng_.Bounded(8) != 0) return;
        ExpectAllRight();
        return Open(options_);
      default:
        return ReadSomething();
    }
  }

  Rng rng_{RandomKey(0)};
  Tier::Options options_;
  std::vector<EntryId> containers_;
};

TEST_F(TierModelTest, NoByteIsEverWrong) {
  const auto seed = static_cast<uint64_t>(
      std::chrono::system_clock::now().time_since_epoch().count());
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  Prepare(seed);
  for (int i = 0; i < 400 && !HasFatalFailure(); ++i) Act();
  ExpectAllRight();
}

}  // namespace
}  // namespace shufflefs
