// SPDX-License-Identifier: Apache-2.0
// What requests of many threads ask of a view at once.
#include <algorithm>
#include <array>
#include <atomic>
#include <future>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "core/policy/policy.h"
#include "core/view/view.h"
#include "tests/core/view/view_fixture.h"

namespace shufflefs {
namespace {

using std::chrono::milliseconds;
using testing_support::ViewFixture;

// Stops the threads that come to it, once it is shut.
class Gate {
 public:
  void ShutFor(std::thread::id thread) {
    MutexLock lock(mu_);
    stopped_ = thread;
  }
  void Open() {
    ShutFor({});
    changed_.SignalAll();
  }
  void Pass() {
    MutexLock lock(mu_);
    while (stopped_ == std::this_thread::get_id()) {
      reached_ = true;
      changed_.SignalAll();
      changed_.Wait(mu_);
    }
  }
  void AwaitReached() {
    MutexLock lock(mu_);
    while (!reached_) changed_.Wait(mu_);
  }

 private:
  Mutex mu_;
  CondVar changed_;
  std::thread::id stopped_ ABSL_GUARDED_BY(mu_);
  bool reached_ ABSL_GUARDED_BY(mu_) = false;
};

// Backwards, and through the gate.
class GatedOrder : public Order {
 public:
  GatedOrder(uint64_t size, Gate& gate) : size_(size), gate_(gate) {}
  uint64_t size() const override { return size_; }
  uint64_t SampleAt(uint64_t position) const override {
    gate_.Pass();
    return size_ - 1 - position;
  }
  uint64_t PositionOf(uint64_t sample) const override {
    gate_.Pass();
    return size_ - 1 - sample;
  }

 private:
  const uint64_t size_;
  Gate& gate_;
};

class GatedPolicy : public Policy {
 public:
  explicit GatedPolicy(Gate& gate) : gate_(gate) {}
  absl::string_view name() const override { return "gated"; }
  Consumption consumption() const override { return Consumption::kPlanned; }
  std::unique_ptr<const Order> MakeOrder(const Stratum& stratum, Seed,
                                         Epoch) const override {
    return std::make_unique<GatedOrder>(stratum.size, gate_);
  }
  std::unique_ptr<const Order> MakeListing(const Stratum& stratum, Seed seed,
                                           Epoch epoch) const override {
    return MakeOrder(stratum, seed, epoch);
  }

 private:
  Gate& gate_;
};

// An open is in the middle of its work, with the view's lock held.
TEST(ViewLiveEpochTest, ALookupAndAReadTakeNoLockOfTheView) {
  ViewFixture fixture(2, 10);
  Gate gate;
  SetupTools tools;
  tools.resolver = [&](const ViewConfig&, const Dataset&) {
    ResolvedPolicy resolved;
    resolved.policy = std::make_shared<GatedPolicy>(gate);
    return absl::StatusOr<ResolvedPolicy>(resolved);
  };
  View::Parts parts = fixture.Parts(ViewFixture::Config("lirs"));
  auto setup = MakeViewSetup(ViewFixture::Config("gated"), fixture.catalogue,
                             tools, nullptr);
  ASSERT_TRUE(setup.ok()) << setup.status();
  parts.setup = *setup;
  View view(std::move(parts));
  const std::vector<EntryId> files = fixture.Files();
  const EntryId shown = view.Lookup(files[0], 1).shown;
  std::thread opens([&] {
    gate.ShutFor(std::this_thread::get_id());
    view.Open(shown, 1, milliseconds(1));
  });
  gate.AwaitReached();

  std::future<void> others = std::async(std::launch::async, [&] {
    EXPECT_NE(view.Lookup(files[3], 2).shown, files[3]);
    EXPECT_EQ(view.LookupContainer(files[3]), nullptr);
    EXPECT_EQ(view.ProviderOf(files[3], /*live=*/true), nullptr);
    view.NoteRead();
    EXPECT_EQ(view.binding()->epoch(), Epoch(0));
    EXPECT_EQ(view.setup()->policy->name(), "gated");
  });
  const bool waited =
      others.wait_for(std::chrono::seconds(20)) != std::future_status::ready;
  gate.Open();
  others.wait();
  opens.join();
  EXPECT_FALSE(waited) << "for the lock that the open holds";
}

// The names that the kernel remembers, until it is told to look up again.
class KernelNames {
 public:
  explicit KernelNames(View*& view) : view_(view) {}

  void Invalidate() { ++epoch_; }
  EntryId WalkTo(EntryId name, int32_t pid) {
    const uint64_t epoch = epoch_;
    {
      std::lock_guard lock(mu_);
      const auto known = known_.find(name);
      if (known != known_.end() && known->second.first == epoch) {
        return known->second.second;
      }
    }
    return LookUp(name, pid, epoch);
  }
  EntryId LookUp(EntryId name, int32_t pid, uint64_t epoch) {
    const View::Found found = view_->Lookup(name, pid);
    std::lock_guard lock(mu_);
    if (found.lasts) {
      known_[name] = {epoch, found.shown};
    } else {
      known_.erase(name);
    }
    return found.shown;
  }
  EntryId Open(EntryId name, int32_t pid) {
    EntryId file = WalkTo(name, pid);
    if (view_->Open(file, pid, Now()) == View::OpenVerdict::kServe) return file;
    file = LookUp(name, pid, epoch_);
    EXPECT_EQ(view_->Open(file, pid, Now()), View::OpenVerdict::kServe);
    return file;
  }

 private:
  static milliseconds Now() {
    return std::chrono::duration_cast<milliseconds>(
        std::chrono::steady_clock::now().time_since_epoch());
  }

  View*& view_;
  std::atomic<uint64_t> epoch_{0};
  std::mutex mu_;
  std::map<EntryId, std::pair<uint64_t, EntryId>> known_;
};

// The processes of a loader, as families see them.
void AddProcesses(testing_support::TempTree& proc, int32_t first, int count) {
  for (int32_t pid = first; pid < first + count; ++pid) {
    const std::string id = std::to_string(pid);
    proc.File(id + "/stat",
              id + " (x) S 1 100 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 77 0");
    proc.Link(id + "/exe", "/bin/reader");
  }
}

// All names, shuffled anew for each pass.
std::vector<EntryId> QueueOf(const std::vector<EntryId>& files, size_t passes) {
  std::mt19937 random(3);
  std::vector<EntryId> queue;
  for (size_t pass = 0; pass < passes; ++pass) {
    std::vector<EntryId> names = files;
    testing_support::Shuffle(names, random);
    queue.insert(queue.end(), names.begin(), names.end());
  }
  return queue;
}

// Threads of one loader take names from one queue, pass after pass, and size
// each before they open it. Epochs end while the others are on their way.
// [S-3.11h] A stat and the open that follows it straddle no boundary that the
// mount found by itself.
TEST(ViewLiveEpochTest, ThreadsThatSizeAndOpenSeeEachSampleOnceAPass) {
  constexpr size_t kPasses = 12;
  constexpr size_t kAhead = 6;
  ViewFixture fixture(2, 150);
  testing_support::TempTree proc;
  JobTracker job_tracker(proc.root());
  ViewConfig config = ViewFixture::Config("lirs");
  config.epoch_double_open = milliseconds(0);
  View::Parts parts = fixture.Parts(config);
  parts.job_tracker = &job_tracker;
  View* the_view = nullptr;
  KernelNames kernel(the_view);
  parts.on_rebind = [&](bool) { kernel.Invalidate(); };
  parts.on_doubted = [&] { kernel.Invalidate(); };
  parts.on_committed = [&] { kernel.Invalidate(); };
  View view(std::move(parts));
  the_view = &view;
  const std::vector<EntryId> files = fixture.Files();
  const std::vector<EntryId> queue = QueueOf(files, kPasses);
  std::vector<EntryId> sized(queue.size(), EntryId(0));
  std::vector<EntryId> opened = sized;
  std::atomic<size_t> next{0};
  std::array<std::atomic<size_t>, 4> at{};
  std::vector<std::thread> threads;
  AddProcesses(proc, 100, 4);
  for (int32_t pid = 100; pid < 104; ++pid) {
    threads.emplace_back([&, pid] {
      std::atomic<size_t>& mine = at[static_cast<size_t>(pid - 100)];
      for (size_t k = next++; k < queue.size(); k = next++) {
        mine = k;
        // As a loader prefetches: nobody is far ahead of one that is stopped.
        while (*std::min_element(at.begin(), at.end()) + kAhead <= k) {
          std::this_thread::yield();
        }
        sized[k] = kernel.WalkTo(queue[k], pid);
        if (k % 5 == 0) std::this_thread::yield();
        opened[k] = kernel.Open(queue[k], pid);
      }
      mine = queue.size();
    });
  }
  for (std::thread& thread : threads) thread.join();
  size_t torn = 0;
  for (size_t k = 0; k < queue.size(); ++k) torn += sized[k] != opened[k];
  EXPECT_EQ(torn, 0u);
  EXPECT_GE(view.EpochStatus().epoch.value(), kPasses / 2);
  for (size_t pass = 0; pass < kPasses; ++pass) {
    const auto begin = opened.begin() + static_cast<long>(pass * files.size());
    const std::set<EntryId> samples(begin,
                                    begin + static_cast<long>(files.size()));
    EXPECT_EQ(samples.size(), files.size()) << "pass " << pass;
  }
}

}  // namespace
}  // namespace shufflefs
