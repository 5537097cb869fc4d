// SPDX-License-Identifier: Apache-2.0
#include "core/readers/job_tracker.h"

#include <sys/types.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/core/base/temp_tree.h"

namespace shufflefs {
namespace {

using std::chrono::milliseconds;

constexpr char kPython[] = "/usr/bin/python3.11";
constexpr char kBash[] = "/usr/bin/bash";

struct FakeProcess {
  uint32_t id;
  uint32_t parent;
  uint32_t group;
  std::string executable;
  uint64_t start = 100;
  uint32_t process = 0;  // of a thread
  std::string state = "S";
  std::string command = "python) R 1 2 3";  // any bytes
};

// A directory that looks like /proc, and a clock.
class JobTrackerTest : public ::testing::Test {
 protected:
  JobTrackerTest() { job_tracker_.emplace(tree_.root()); }

  void Add(const FakeProcess& process) {
    const std::filesystem::path dir =
        std::filesystem::path(tree_.root()) / std::to_string(process.id);
    std::filesystem::remove_all(dir);
    std::filesystem::create_directories(dir);
    std::ofstream(dir / "stat")
        << process.id << " (" << process.command << ") " << process.state << " "
        << process.parent << " " << process.group
        << " 1 34816 2000 4194560 1 2 3 4 5 6 7 8 20 0 1 0 " << process.start
        << " 16000000 1500\n";
    std::ofstream(dir / "status")
        << "Name:\tpython\nTgid:\t"
        << (process.process != 0 ? process.process : process.id) << "\nPid:\t"
        << process.id << "\n";
    if (!process.executable.empty()) {
      std::filesystem::create_symlink(process.executable, dir / "exe");
    }
  }
  void Remove(uint32_t id) {
    std::filesystem::remove_all(std::filesystem::path(tree_.root()) /
                                std::to_string(id));
  }
  JobId Resolve(uint32_t id) { return job_tracker_->Resolve(id, now_); }
  bool Alive(JobId job) { return job_tracker_->Alive(job, now_); }
  // Long enough for everything to be looked at again.
  void Wait() { now_ += milliseconds(1001); }

  // An interactive shell, 50, that started a job in a group of its own.
  void AddShellAndJob() {
    Add({.id = 50, .parent = 1, .group = 50, .executable = kBash});
    Add({.id = 100, .parent = 50, .group = 100, .executable = kPython});
  }

  testing_support::TempTree tree_;
  absl::optional<JobTracker> job_tracker_;
  milliseconds now_{5000};
};

TEST(ProcessStatTest, ParsesAroundAnyCommand) {
  const auto stat = ParseProcessStat(
      "7 (a) b (c)) Z 3 5 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 99 1 1\n");
  ASSERT_TRUE(stat);
  EXPECT_EQ(stat->parent, 3);
  EXPECT_EQ(stat->group, 5);
  EXPECT_EQ(stat->start, 99);
  EXPECT_TRUE(stat->zombie);
  EXPECT_FALSE(ParseProcessStat(""));
  EXPECT_FALSE(ParseProcessStat("7 (a) S 3 5"));
  EXPECT_FALSE(
      ParseProcessStat("7 (a) S x 5 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 99 1 1"));
  EXPECT_EQ(ParseThreadGroup("Name:\tx\nTgid:\t42\n"), 42);
  EXPECT_FALSE(ParseThreadGroup("Name:\tTgid:\n"));
}

TEST_F(JobTrackerTest, WorkersBelongToTheirJob) {
  AddShellAndJob();
  Add({.id = 101, .parent = 100, .group = 100, .executable = kPython});
  Add({.id = 102, .parent = 100, .group = 100, .executable = kPython});
  const JobId job = Resolve(100);
  EXPECT_NE(job, kHiddenJob);
  EXPECT_EQ(Resolve(101), job);
  EXPECT_EQ(Resolve(102), job);
  // The workers of the next epoch are new.
  Remove(101);
  Remove(102);
  Wait();
  EXPECT_TRUE(Alive(job));
  Add({.id = 103, .parent = 100, .group = 100, .executable = kPython});
  EXPECT_EQ(Resolve(103), job);
}

TEST_F(JobTrackerTest, OtherProgramsAndJobsDoNot) {
  AddShellAndJob();
  Add({.id = 60, .parent = 50, .group = 60, .executable = "/usr/bin/cp"});
  Add({.id = 61, .parent = 100, .group = 100, .executable = "/usr/bin/cp"});
  Add({.id = 105, .parent = 50, .group = 105, .executable = kBash});
  Add({.id = 110, .parent = 105, .group = 105, .executable = kPython});
  Add({.id = 70, .parent = 1, .group = 70, .executable = kBash});
  Add({.id = 120, .parent = 70, .group = 120, .executable = kPython});
  const JobId job = Resolve(100);
  EXPECT_NE(Resolve(60), job);   // cp in the shell
  EXPECT_NE(Resolve(61), job);   // cp that the job started
  EXPECT_NE(Resolve(110), job);  // a script of the same shell
  EXPECT_NE(Resolve(120), job);  // and of another one
  EXPECT_NE(Resolve(110), Resolve(120));
}

// Ray's workers, and those of a shell after `set -m`: each leads a group.
TEST_F(JobTrackerTest, SiblingsOfOneExecutableAreOneJob) {
  constexpr char kRaylet[] = "/usr/lib/python3/ray/core/src/ray/raylet/raylet";
  Add({.id = 50, .parent = 1, .group = 50, .executable = kRaylet});
  for (const uint32_t worker : {100, 110, 120}) {
    Add({.id = worker, .parent = 50, .group = worker, .executable = kPython});
    Add({.id = worker + 1,
         .parent = worker,
         .group = worker,
         .executable = kPython});
  }
  Add({.id = 60, .parent = 50, .group = 60, .executable = "/usr/bin/cp"});
  const JobId job = Resolve(100);
  for (const uint32_t reader : {101, 110, 111, 120, 121}) {
    EXPECT_EQ(Resolve(reader), job) << reader;
  }
  EXPECT_NE(Resolve(60), job) << "another program";
  EXPECT_NE(Resolve(60), kHiddenJob);
}

// The shell lives on, the job does not: the next one is another.
TEST_F(JobTrackerTest, WhatOnlyTheShellJoinsEndsWithItsLastReader) {
  AddShellAndJob();
  Add({.id = 110, .parent = 50, .group = 110, .executable = kPython});
  const JobId job = Resolve(100);
  ASSERT_EQ(Resolve(110), job);
  Remove(100);
  Wait();
  EXPECT_TRUE(Alive(job));
  Add({.id = 115, .parent = 50, .group = 115, .executable = kPython});
  EXPECT_EQ(Resolve(115), job);
  Remove(110);
  Remove(115);
  Wait();
  EXPECT_FALSE(Alive(job));
  Add({.id = 120, .parent = 50, .group = 120, .executable = kPython});
  EXPECT_NE(Resolve(120), job);
}

TEST_F(JobTrackerTest, AJobIsYoungerIfAllThatJoinItBeganLater) {
  const uint32_t self = static_cast<uint32_t>(::getpid());
  Add({.id = self, .parent = 1, .group = self, .executable = "/x/d"});
  job_tracker_.emplace(tree_.root());
  Add({.id = 50, .parent = 1, .group = 50, .executable = kBash, .start = 90});
  Add({.id = 60, .parent = 50, .group = 60, .executable = "/a", .start = 101});
  Add({.id = 70, .parent = 50, .group = 70, .executable = "/b", .start = 100});
  // A script that is older than this process starts a program for each file.
  Add({.id = 80, .parent = 50, .group = 80, .executable = kBash, .start = 95});
  Add({.id = 81, .parent = 80, .group = 80, .executable = "/c", .start = 200});
  EXPECT_TRUE(job_tracker_->IsYounger(Resolve(60)));
  EXPECT_FALSE(job_tracker_->IsYounger(Resolve(70)));
  EXPECT_FALSE(job_tracker_->IsYounger(Resolve(81)));
  EXPECT_FALSE(job_tracker_->IsYounger(kHiddenJob));
  EXPECT_FALSE(job_tracker_->IsYounger(JobId(999)));
}

TEST_F(JobTrackerTest, WhatAServiceManagerStartsIsNoJob) {
  uint32_t id = 50;
  for (const char* manager :
       {"/usr/lib/systemd/systemd", "/usr/bin/tmux", "/usr/sbin/cron"}) {
    const uint32_t at = id;
    Add({.id = at, .parent = 1, .group = at, .executable = manager});
    for (id = at + 1; id < at + 3; ++id) {
      Add({.id = id, .parent = at, .group = id, .executable = kPython});
    }
    EXPECT_NE(Resolve(at + 1), Resolve(at + 2)) << manager;
  }
}

TEST_F(JobTrackerTest, RanksInSessionsOfTheirOwnBelongToTorchrun) {
  AddShellAndJob();  // 100 is torchrun
  for (uint32_t rank = 200; rank < 204; ++rank) {
    Add({.id = rank, .parent = 100, .group = rank, .executable = kPython});
    Add({.id = rank + 100,
         .parent = rank,
         .group = rank,
         .executable = kPython});
  }
  const JobId job = Resolve(300);
  for (uint32_t rank = 200; rank < 204; ++rank) {
    EXPECT_EQ(Resolve(rank), job);
    EXPECT_EQ(Resolve(rank + 100), job);
  }
}

TEST_F(JobTrackerTest, RanksOfMpirunBelongTogetherBehindAnyWrapper) {
  Add({.id = 50, .parent = 1, .group = 50, .executable = kBash});
  Add({.id = 80, .parent = 50, .group = 80, .executable = "/opt/bin/orterun"});
  Add({.id = 90, .parent = 80, .group = 90, .executable = kPython});
  Add({.id = 91, .parent = 80, .group = 91, .executable = kBash});
  Add({.id = 92, .parent = 91, .group = 91, .executable = kPython});
  const JobId job = Resolve(90);
  EXPECT_EQ(Resolve(92), job);
  // The launcher keeps the job alive between its ranks.
  Remove(90);
  Remove(92);
  Remove(91);
  Wait();
  EXPECT_TRUE(Alive(job));
  Remove(80);
  Wait();
  EXPECT_FALSE(Alive(job));
}

TEST_F(JobTrackerTest, AJobIsGoneWithItsMainProcess) {
  AddShellAndJob();
  Add({.id = 101, .parent = 100, .group = 100, .executable = kPython});
  const JobId job = Resolve(101);
  EXPECT_TRUE(Alive(job));
  Remove(101);
  Remove(100);
  EXPECT_TRUE(Alive(job));  // not looked at again at once
  Wait();
  EXPECT_FALSE(Alive(job));
  EXPECT_FALSE(Alive(JobId(99)));  // never given out
}

TEST_F(JobTrackerTest, WorkersAreTheirLoadersWithinAJob) {
  Add({.id = 50, .parent = 1, .group = 50, .executable = kBash});
  for (const uint32_t job : {100, 200}) {  // of one script
    Add({.id = job, .parent = 50, .group = 50, .executable = kPython});
    for (const uint32_t worker : {job + 1, job + 2}) {
      Add({.id = worker, .parent = job, .group = 50, .executable = kPython});
      EXPECT_EQ(job_tracker_->LoaderOf(worker, now_), job);
    }
    EXPECT_EQ(job_tracker_->LoaderOf(job, now_), job);
  }
  EXPECT_EQ(Resolve(101), Resolve(202));
  Add({.id = 103,
       .parent = 100,
       .group = 50,
       .executable = kPython,
       .process = 102});
  EXPECT_EQ(job_tracker_->LoaderOf(103, now_), 100u) << "a worker's thread";
  Add({.id = 102, .parent = 1, .group = 50, .executable = kPython});
  Wait();
  EXPECT_EQ(job_tracker_->LoaderOf(102, now_), 100u) << "an orphan";
  EXPECT_EQ(job_tracker_->LoaderOf(0, now_), 0u) << "hidden";
}

TEST_F(JobTrackerTest, WhoHasEndedIsOfTheJobThatItWas) {
  AddShellAndJob();
  Add({.id = 101, .parent = 100, .group = 100, .executable = kPython});
  const JobId job = Resolve(101);
  // The link to a zombie's executable leads nowhere.
  Add({.id = 101, .parent = 100, .group = 100, .executable = "", .state = "Z"});
  Wait();
  EXPECT_EQ(Resolve(101), job);
  EXPECT_EQ(job_tracker_->LoaderOf(101, now_), 100u);
  Remove(101);
  Wait();
  EXPECT_EQ(Resolve(101), job);
}

TEST_F(JobTrackerTest, TellsWhoHasEnded) {
  AddShellAndJob();
  EXPECT_FALSE(job_tracker_->IsGone(100));
  EXPECT_FALSE(job_tracker_->IsGone(0)) << "who is hidden may be there";
  Add({.id = 100,
       .parent = 50,
       .group = 100,
       .executable = kPython,
       .state = "Z"});
  EXPECT_TRUE(job_tracker_->IsGone(100));
  Remove(100);
  EXPECT_TRUE(job_tracker_->IsGone(100));
}

TEST_F(JobTrackerTest, AZombieIsGone) {
  AddShellAndJob();
  const JobId job = Resolve(100);
  Add({.id = 100,
       .parent = 50,
       .group = 100,
       .executable = kPython,
       .state = "Z"});
  Wait();
  EXPECT_FALSE(Alive(job));
}

// find . | xargs md5sum, or a loop in a script: what starts the processes
// goes on with the pass.
TEST_F(JobTrackerTest, AScriptKeepsItsJobAlive) {
  Add({.id = 50, .parent = 1, .group = 50, .executable = kBash});
  Add({.id = 60, .parent = 50, .group = 60, .executable = kBash});
  Add({.id = 61, .parent = 60, .group = 60, .executable = "/usr/bin/md5sum"});
  const JobId sums = Resolve(61);
  Remove(61);
  Wait();
  EXPECT_TRUE(Alive(sums));
  Add({.id = 62, .parent = 60, .group = 60, .executable = "/usr/bin/md5sum"});
  EXPECT_EQ(Resolve(62), sums);
  // The interactive shell above the script does not.
  Remove(60);
  Remove(62);
  Wait();
  EXPECT_FALSE(Alive(sums));
}

// Somebody interrupts a script, and the training in its background goes on.
TEST_F(JobTrackerTest, ATrainingOutlivesItsScript) {
  Add({.id = 50, .parent = 1, .group = 50, .executable = kBash});
  Add({.id = 60, .parent = 50, .group = 60, .executable = kBash});
  Add({.id = 61, .parent = 60, .group = 60, .executable = kPython});
  Add({.id = 62, .parent = 61, .group = 60, .executable = kPython});
  const JobId job = Resolve(62);
  Remove(60);
  Remove(62);  // an epoch ends, and the next one has new workers
  Add({.id = 61, .parent = 1, .group = 60, .executable = kPython});
  Wait();
  EXPECT_TRUE(Alive(job));
  Add({.id = 63, .parent = 61, .group = 60, .executable = kPython});
  EXPECT_EQ(Resolve(63), job);
  Remove(61);
  Wait();
  EXPECT_FALSE(Alive(job)) << "workers end soon after their main process";
}

// The programs of one shell that have one executable are one job.
TEST_F(JobTrackerTest, ManyThatEndedPushNobodyOut) {
  Add({.id = 50, .parent = 1, .group = 50, .executable = kBash});
  Add({.id = 99, .parent = 50, .group = 99, .executable = kPython});
  const JobId job = Resolve(99);
  for (uint32_t id = 100; id < 200; ++id) {
    Add({.id = id, .parent = 50, .group = id, .executable = kPython});
    ASSERT_EQ(Resolve(id), job) << id;
    Remove(id);
    Wait();
    ASSERT_TRUE(Alive(job)) << id;
  }
}

TEST_F(JobTrackerTest, AThreadStandsForItsProcess) {
  AddShellAndJob();
  Add({.id = 105,
       .parent = 50,
       .group = 100,
       .executable = kPython,
       .start = 130,
       .process = 100});
  const JobId job = Resolve(105);
  EXPECT_EQ(Resolve(100), job);
  Remove(105);
  Wait();
  EXPECT_TRUE(Alive(job));
}

TEST_F(JobTrackerTest, OrphansStayInTheirJob) {
  AddShellAndJob();
  Add({.id = 200, .parent = 100, .group = 200, .executable = kPython});
  const JobId job = Resolve(200);
  Remove(100);
  Add({.id = 200, .parent = 1, .group = 200, .executable = kPython});
  Wait();
  EXPECT_EQ(Resolve(200), job);
}

TEST_F(JobTrackerTest, IdsThatAreUsedAgainAreOtherJobs) {
  AddShellAndJob();
  const JobId job = Resolve(100);
  Add({.id = 100,
       .parent = 50,
       .group = 100,
       .executable = kPython,
       .start = 900});
  EXPECT_EQ(Resolve(100), job);  // remembered
  Wait();
  const JobId next = Resolve(100);
  EXPECT_NE(next, job);
  Wait();
  EXPECT_FALSE(Alive(job));
  EXPECT_TRUE(Alive(next));
}

TEST_F(JobTrackerTest, ExecMakesItAnotherProgram) {
  Add({.id = 50, .parent = 1, .group = 50, .executable = kBash});
  Add({.id = 60, .parent = 50, .group = 60, .executable = kBash});
  const JobId shell = Resolve(60);
  Add({.id = 60, .parent = 50, .group = 60, .executable = kPython});
  Wait();
  EXPECT_NE(Resolve(60), shell);
}

TEST_F(JobTrackerTest, AnswersFromMemoryForASecond) {
  AddShellAndJob();
  const JobId job = Resolve(100);
  std::filesystem::remove_all(tree_.root());
  EXPECT_EQ(Resolve(100), job);
  // Killed while it waits for its open: what is remembered is the best.
  Wait();
  EXPECT_EQ(Resolve(100), job);
}

TEST_F(JobTrackerTest, HiddenReadersAreOneJob) {
  EXPECT_FALSE(Alive(kHiddenJob));  // none was seen
  EXPECT_EQ(Resolve(4242), kHiddenJob);
  EXPECT_EQ(Resolve(0), kHiddenJob);
  EXPECT_TRUE(Alive(kHiddenJob));
  now_ += milliseconds(59000);
  EXPECT_TRUE(Alive(kHiddenJob));
  now_ += milliseconds(2000);
  EXPECT_FALSE(Alive(kHiddenJob));
}

TEST_F(JobTrackerTest, UnreadableExecutablesGoByTheGroup) {
  Add({.id = 100, .parent = 1, .group = 100, .executable = ""});
  Add({.id = 101, .parent = 100, .group = 100, .executable = ""});
  Add({.id = 200, .parent = 100, .group = 200, .executable = ""});
  EXPECT_EQ(Resolve(100), Resolve(101));
  EXPECT_NE(Resolve(100), Resolve(200));
}

TEST_F(JobTrackerTest, AnUpgradedExecutableIsTheSame) {
  Add({.id = 100, .parent = 1, .group = 100, .executable = kPython});
  const JobId job = Resolve(100);
  Add({.id = 100,
       .parent = 1,
       .group = 100,
       .executable = absl::StrCat(kPython, " (deleted)")});
  Wait();
  EXPECT_EQ(Resolve(100), job);
}

TEST_F(JobTrackerTest, ForgetsTheDeadWhenThereAreMany) {
  job_tracker_.emplace(tree_.root(), JobTracker::Limits{4, 4});
  AddShellAndJob();
  const JobId job = Resolve(100);
  for (uint32_t id = 1000; id < 1050; ++id) {
    Add({.id = id, .parent = 50, .group = id, .executable = "/usr/bin/cat"});
    EXPECT_NE(Resolve(id), job);
    Remove(id);
    Wait();
  }
  EXPECT_EQ(Resolve(100), job);
  EXPECT_TRUE(Alive(job));
}

TEST(RealProcTest, ResolvesThisProcess) {
  JobTracker job_tracker;
  const auto self = static_cast<uint32_t>(::getpid());
  const JobId job = job_tracker.Resolve(self, milliseconds(0));
  EXPECT_NE(job, kHiddenJob);
  EXPECT_TRUE(job_tracker.Alive(job, milliseconds(0)));
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      const auto thread = static_cast<uint32_t>(::gettid());
      for (int at = 0; at < 5000; at += 100) {
        EXPECT_EQ(job_tracker.Resolve(thread, milliseconds(at)), job);
        EXPECT_TRUE(job_tracker.Alive(job, milliseconds(at)));
      }
    });
  }
}

}  // namespace
}  // namespace shufflefs
