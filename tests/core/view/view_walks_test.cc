// SPDX-License-Identifier: Apache-2.0
// Threads that size a name before they open it, over a boundary in between.
#include <filesystem>
#include <map>
#include <random>
#include <set>
#include <string>

#include "core/view/view.h"
#include "tests/core/view/view_fixture.h"

namespace shufflefs {
namespace {

using std::chrono::milliseconds;
using testing_support::ViewFixture;

// A client that sizes each name and then opens it; the kernel remembers names
// for as long as it may.
class Kernel {
 public:
  Kernel(View& view, int32_t pid) : view_(view), pid_(pid) {}

  void Forget() { known_.clear(); }
  EntryId WalkTo(EntryId name) {
    const auto known = known_.find(name);
    if (known != known_.end()) return known->second;
    const View::Found found = view_.Lookup(name, pid_);
    if (found.lasts) known_[name] = found.shown;
    return found.shown;
  }
  EntryId Open(EntryId name, milliseconds now) {
    EntryId file = WalkTo(name);
    if (view_.Open(file, pid_, now) == View::OpenVerdict::kServe) return file;
    file = view_.Lookup(name, pid_).shown;
    EXPECT_EQ(view_.Open(file, pid_, now), View::OpenVerdict::kServe);
    return file;
  }

 private:
  View& view_;
  const int32_t pid_;
  std::map<EntryId, EntryId> known_;
};

// A process of that group shows in a made-up /proc.
void StartProcess(testing_support::TempTree& proc, int32_t pid, int32_t group) {
  const std::string id = std::to_string(pid);
  proc.File(id + "/stat", id + " (x) S 1 " + std::to_string(group) +
                              " 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 77 0");
  proc.Link(id + "/exe", "/bin/reader");
}

// [S-3.11h] A stat and the open that follows it straddle no boundary that the
// mount found by itself.
TEST(ViewWalksTest, WhatAThreadHasSizedItOpensOverTheBoundary) {
  ViewFixture fixture(2, 100);
  testing_support::TempTree proc;
  JobTracker job_tracker(proc.root());
  View::Parts parts = fixture.Parts(ViewFixture::Config("lirs"));
  parts.job_tracker = &job_tracker;
  std::vector<Kernel> threads;
  int doubted = 0;
  parts.on_rebind = [&](bool) {
    for (Kernel& thread : threads) thread.Forget();
  };
  parts.on_doubted = [&] {
    ++doubted;
    parts.on_rebind(false);
  };
  View view(parts);
  for (const int32_t pid : {100, 101}) {
    StartProcess(proc, pid, 100);
    threads.emplace_back(view, pid);
  }
  std::mt19937 random(5);
  std::vector<EntryId> files = fixture.Files();
  milliseconds now{0};
  uint64_t straddled = 0;
  for (uint64_t epoch = 0; epoch < 12; ++epoch) {
    testing_support::Shuffle(files, random);
    std::set<EntryId> samples;
    for (size_t k = 0; k < files.size(); k += 2) {
      // Both have sized a file when the first one opens its.
      now += milliseconds(200);
      std::vector<EntryId> sized;
      for (size_t t = 0; t < 2; ++t) {
        sized.push_back(threads[t].WalkTo(files[k + t]));
      }
      const Epoch before = view.EpochStatus().epoch;
      for (size_t t = 0; t < 2; ++t) {
        EXPECT_EQ(threads[t].Open(files[k + t], now), sized[t]);
        straddled += t == 0 && view.EpochStatus().epoch != before ? 1 : 0;
        samples.insert(sized[t]);
      }
    }
    EXPECT_EQ(samples.size(), files.size()) << "each comes once";
    EXPECT_EQ(view.EpochStatus().epoch, Epoch(epoch));
    EXPECT_EQ(doubted, static_cast<int>(epoch) + 1) << "once a pass";
  }
  EXPECT_GT(straddled, 2u);
}

// A job that broke off in mid-pass, and another one that lists what there is.
TEST(ViewWalksTest, WhatANewJobHasSizedItOpensOverTheBoundaryThatItMakes) {
  ViewFixture fixture(1, 100);
  testing_support::TempTree proc;
  JobTracker job_tracker(proc.root());
  View::Parts parts = fixture.Parts(ViewFixture::Config("lirs"));
  parts.job_tracker = &job_tracker;
  std::vector<Kernel> threads;
  parts.on_rebind = [&](bool) {
    for (Kernel& thread : threads) thread.Forget();
  };
  parts.on_doubted = [&] { parts.on_rebind(false); };
  View view(parts);
  const std::vector<EntryId> files = fixture.Files();
  StartProcess(proc, 100, 100);
  threads.emplace_back(view, 100);
  for (size_t k = 0; k < 50; ++k) threads[0].Open(files[k], milliseconds(1));
  std::filesystem::remove_all(proc.At("100"));

  StartProcess(proc, 200, 200);
  threads.clear();
  threads.emplace_back(view, 200);
  threads.emplace_back(view, 201);
  view.NoteListing(milliseconds(20000));
  const EntryId first = threads[0].WalkTo(files[7]);
  const EntryId second = threads[1].WalkTo(files[8]);
  EXPECT_EQ(threads[0].Open(files[7], milliseconds(20001)), first);
  EXPECT_EQ(view.EpochStatus().verdict, "takeover");
  EXPECT_EQ(threads[1].Open(files[8], milliseconds(20001)), second);
}

}  // namespace
}  // namespace shufflefs
