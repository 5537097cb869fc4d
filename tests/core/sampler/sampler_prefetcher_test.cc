// SPDX-License-Identifier: Apache-2.0
// SamplerPrefetcher prefetches for jobs, from a source that the test drives.
#include "core/sampler/sampler_prefetcher.h"

#include <atomic>
#include <chrono>
#include <functional>
#include <set>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/core/pool/held_source.h"
#include "tests/core/pool/test_memory.h"
#include "tests/core/view/view_fixture.h"
#include "tests/testing/torch_loaders.h"

namespace shufflefs {
namespace {

using std::chrono::milliseconds;
using testing_support::ByteAt;
using testing_support::HeldSource;
using testing_support::TempTree;

constexpr uint32_t kFileCount = 900;
constexpr uint64_t kBytesAFile = 5000;
constexpr size_t kTellsAnOrder = 199;

class SamplerPrefetcherTest : public testing::Test {
 protected:
  SamplerPrefetcherTest() : job_tracker_(proc_.root()) {
    for (uint32_t i = 0; i < kFileCount; ++i) {
      tree_.File(absl::StrCat("train/c", i % 3, "/", 100000 + i, ".jpg"),
                 std::string(kBytesAFile, 'x'));
    }
    for (uint32_t i = 0; i < 300; ++i) {
      tree_.File(absl::StrCat("val/c", i % 3, "/", 100000 + i, ".jpg"),
                 std::string(kBytesAFile, 'x'));
    }
    catalogue_ = std::make_shared<const Catalogue>(tree_.Scanned());
    dataset_ = *Dataset::Make(catalogue_, ViewConfig(), "");
  }
  // Until the thread behind asks for nothing more.
  void TearDown() override {
    for (int i = 0, quiet = 0; i < 100000 && quiet < 20; ++i) {
      quiet = source_->Come(absl::CancelledError("over")) ? 0 : quiet + 1;
      if (quiet > 0) std::this_thread::sleep_for(milliseconds(1));
    }
  }

  void Make(std::vector<uint64_t> addresses = {}, CachedFinder cached = {},
            bool read_before = false) {
    SamplerPrefetcher::Parts parts;
    parts.dataset = dataset_;
    parts.memory = memory_;
    parts.addresses = std::move(addresses);
    auto source = std::make_unique<HeldSource>();
    source_ = source.get();
    parts.source = std::move(source);
    parts.search_cores = 0;
    parts.cached = std::move(cached);
    parts.read_before = read_before;
    parts.job_tracker = &job_tracker_;
    prefetcher_ = *SamplerPrefetcher::Make(std::move(parts));
  }
  std::vector<EntryId> Listed(const std::string& dir) {
    const DirId root = *catalogue_->FindDir(dir);
    const std::vector<EntryId> first = {
        *catalogue_->FindPath(dir + "/c0/100000.jpg")};
    const FileIndex index = FileIndex::Of(catalogue_, root, first);
    std::vector<EntryId> files;
    for (uint32_t i = 0; i < index.size(); ++i) files.push_back(index.file(i));
    return files;
  }
  // Reads it whole, as the filesystem does; whether that was from memory.
  bool Read(EntryId file, uint32_t reader = 0) {
    prefetcher_->OnFirstRead(file, reader, milliseconds(1000));
    if (!prefetcher_->CanServe(file)) return false;
    bool there = false;
    prefetcher_->Read(file, 0, kBytesAFile, [&](auto bytes) {
      there = true;
      ASSERT_TRUE(bytes.ok()) << bytes.status();
      uint64_t i = 0;
      for (const iovec& run : *bytes) {
        for (size_t k = 0; k < run.iov_len; ++k, ++i) {
          ASSERT_EQ(static_cast<char*>(run.iov_base)[k], ByteAt(file, i));
        }
      }
      EXPECT_EQ(i, kBytesAFile);
    });
    // The thread behind may not have asked the source for it yet.
    WaitUntil([&] { return there || (source_->Come() && there); });
    return true;
  }
  // Until the thread behind has done what it can.
  void WaitUntil(const std::function<bool()>& is_so) {
    for (int i = 0; i < 60000; ++i) {
      if (is_so()) return;
      std::this_thread::sleep_for(milliseconds(1));
    }
    ADD_FAILURE() << "waited for a minute";
  }
  // Reads an order from `begin` on until it is known.
  size_t ReadUntilKnown(const std::vector<EntryId>& order, size_t begin = 0) {
    for (size_t i = begin; i < order.size(); ++i) {
      Read(order[i]);
      std::this_thread::sleep_for(milliseconds(1));
      if (source_->waiting() > 0) return i + 1;
    }
    ADD_FAILURE() << "nothing is read ahead";
    return order.size();
  }
  // The first read of each file, so that the kernel may have it.
  void HaveBeenRead(const std::vector<EntryId>& files) {
    prefetcher_->ExpectOpens(true);
    for (const EntryId file : files) {
      prefetcher_->OnFirstRead(file, 0, milliseconds(1000));
    }
  }
  // Opens an order until `is_known`, where opens are seen. Returns how many
  // files it took. kTellsAnOrder are enough, whenever the thread behind comes
  // to look at them.
  size_t OpenUntil(const std::vector<EntryId>& order,
                   const std::function<bool()>& is_known) {
    for (size_t i = 0; i < kTellsAnOrder; ++i) {
      prefetcher_->OnOpen(order[i], 0, milliseconds(1000));
      std::this_thread::sleep_for(milliseconds(1));
      if (is_known()) return i + 1;
    }
    WaitUntil(is_known);
    return kTellsAnOrder;
  }
  size_t OpenUntilKnown(const std::vector<EntryId>& order) {
    return OpenUntil(order, [this] { return source_->waiting() > 0; });
  }
  std::vector<EntryId> Shuffled(uint32_t seed) {
    const std::vector<EntryId> files = Listed("train");
    std::vector<EntryId> order;
    for (const uint32_t index : TorchRandperm(kFileCount, seed)) {
      order.push_back(files[index]);
    }
    return order;
  }

  TempTree proc_;
  TempTree tree_;
  JobTracker job_tracker_;
  std::shared_ptr<const Catalogue> catalogue_;
  std::shared_ptr<const Dataset> dataset_;
  PoolMemory memory_ = testing_support::TestMemory(PoolBytes(16 << 20));
  HeldSource* source_ = nullptr;
  std::shared_ptr<SamplerPrefetcher> prefetcher_;
};

TEST_F(SamplerPrefetcherTest, AnOrderThatWasRecognisedIsReadFromMemory) {
  Make();
  const std::vector<EntryId> order = Shuffled(3);
  size_t i = ReadUntilKnown(order);
  EXPECT_LT(i, 200u);
  uint64_t alone = 0;
  for (; i < order.size(); ++i) {
    source_->ComeAll();
    if (!Read(order[i])) ++alone;
    // The thread behind is given the time that a loader takes.
    if (i % 8 == 0) std::this_thread::sleep_for(milliseconds(6));
  }
  EXPECT_LT(alone, order.size() / 2);
  const SamplerPrefetcherStatus status = prefetcher_->prefetcher();
  ASSERT_EQ(status.jobs.size(), 1u);
  EXPECT_EQ(status.jobs[0].job.path, "train");
  EXPECT_EQ(status.jobs[0].job.state, "recognised");
  EXPECT_GT(status.ready, 0u);
  EXPECT_GE(status.opens, status.ready);
  EXPECT_GT(status.prefetched_bytes, 0u);
  EXPECT_EQ(status.wasted_bytes, 0u);
}

TEST_F(SamplerPrefetcherTest, FilesOfASplitAreFollowedBesideIt) {
  Make();
  ReadUntilKnown(Shuffled(3));
  source_->ComeAll();
  // What is read ahead in train goes on meanwhile.
  SamplerPrefetcherStatus status;
  for (const EntryId file : Listed("val")) {
    Read(file);
    std::this_thread::sleep_for(milliseconds(1));
    status = prefetcher_->prefetcher();
    if (status.jobs.size() == 2 && status.jobs[0].job.order != "") break;
  }
  ASSERT_EQ(status.jobs.size(), 2u);
  EXPECT_EQ(status.jobs[0].job.path, "val");
  EXPECT_EQ(status.jobs[0].job.order, "sorted names");
  EXPECT_EQ(status.jobs[1].job.path, "train");
}

TEST_F(SamplerPrefetcherTest, OnADiskABatchComesInItsOrder) {
  std::vector<uint64_t> addresses(dataset_->grouping().sample_count());
  for (size_t i = 0; i < addresses.size(); ++i) {
    addresses[i] = (i * 7919) % 10007;
  }
  Make(addresses);
  const std::vector<EntryId> order = Shuffled(3);
  ReadUntilKnown(order);
  const std::vector<EntryId> asked = source_->asked();
  ASSERT_GT(asked.size(), 8u);
  const Grouping& grouping = dataset_->grouping();
  uint64_t last = 0;
  size_t back = 0;  // to the lowest address
  for (const EntryId file : asked) {
    const uint64_t address = addresses[grouping.sample(file).value()];
    if (address < last) ++back;
    last = address;
  }
  EXPECT_LE(back, 1 + asked.size() / 8);
}

// The tables of jobs are not in the pool. What they may take is nobody else's.
TEST_F(SamplerPrefetcherTest, TheMemoryOfJobsIsTakenFromThePool) {
  Make();
  const uint64_t bytes = PoolBytes(16 << 20);
  const auto other =
      memory_.pool->Open({.name = "other", .guarantee = bytes, .most = bytes});
  ASSERT_TRUE(other.ok()) << other.status();
  // Two jobs over all files, and some smaller ones.
  const uint64_t files = catalogue_->file_count();
  EXPECT_LE((*other)->Room() + 3 * files * FollowedJob::kBytesPerFile, bytes);
  prefetcher_.reset();
  source_ = nullptr;
  EXPECT_EQ((*other)->Room(), bytes);
  Make();
}

TEST_F(SamplerPrefetcherTest, TheLeastMemoryHoldsFilesAndNoJob) {
  memory_ = testing_support::TestMemory(SamplerPrefetcher::kLeastMemory);
  Make();
  EXPECT_EQ(prefetcher_->status().memory_guaranteed,
            SamplerPrefetcher::kLeastMemory);
}

// The kernel has these files, so no read of them comes.
TEST_F(SamplerPrefetcherTest, OpensTeachAnOrderWithoutAnyRead) {
  Make();
  prefetcher_->ExpectOpens(true);
  const std::vector<EntryId> order = Shuffled(3);
  const size_t known = OpenUntilKnown(order);
  EXPECT_LT(known, 200u);
  for (size_t i = known; i < order.size(); ++i) {
    prefetcher_->OnOpen(order[i], 0, milliseconds(1000));
  }
  WaitUntil(
      [&] { return prefetcher_->prefetcher().opens + known >= order.size(); });
  const SamplerPrefetcherStatus status = prefetcher_->prefetcher();
  EXPECT_EQ(status.ready, status.opens);
}

TEST_F(SamplerPrefetcherTest, WhereOpensAreSeenAReadIsNoSecondOpen) {
  Make();
  prefetcher_->ExpectOpens(true);
  const std::vector<EntryId> order = Shuffled(3);
  for (size_t i = 0; i < 300; ++i) {
    EXPECT_FALSE(Read(order[i])) << "nothing is known";
  }
  std::this_thread::sleep_for(milliseconds(50));
  EXPECT_TRUE(prefetcher_->prefetcher().jobs.empty());
  const size_t known = OpenUntilKnown(order);
  for (size_t i = known; i < known + 100; ++i) {
    prefetcher_->OnOpen(order[i], 0, milliseconds(1000));
    prefetcher_->OnFirstRead(order[i], 0, milliseconds(1000));
  }
  WaitUntil([&] { return prefetcher_->prefetcher().opens >= 100; });
  const SamplerPrefetcherStatus status = prefetcher_->prefetcher();
  EXPECT_LT(status.opens, 100 + known);
  EXPECT_LT(status.ready, known) << "the source has answered nothing yet";
}

TEST_F(SamplerPrefetcherTest, WhatTheKernelHasIsNotFetched) {
  Make({}, [](const std::vector<EntryId>& files, std::stop_token) {
    std::vector<bool> cached;
    for (const EntryId file : files) cached.push_back(file.value() % 3 != 0);
    return cached;
  });
  const std::vector<EntryId> order = Shuffled(3);
  HaveBeenRead(order);
  std::set<EntryId> asked;
  for (size_t i = OpenUntilKnown(order); i < order.size(); ++i) {
    for (const EntryId file : source_->asked()) asked.insert(file);
    prefetcher_->OnOpen(order[i], 0, milliseconds(1000));
    source_->ComeAll();
    if (i % 8 == 0) std::this_thread::sleep_for(milliseconds(6));
  }
  EXPECT_GT(asked.size(), order.size() / 6);
  for (const EntryId file : asked) EXPECT_EQ(file.value() % 3, 0u);
}

TEST_F(SamplerPrefetcherTest, OfFilesThatNobodyReadTheKernelIsNotAsked) {
  uint64_t asked = 0;
  Make({}, [&](const std::vector<EntryId>& files, std::stop_token) {
    asked += files.size();
    return std::vector<bool>(files.size());
  });
  prefetcher_->ExpectOpens(true);
  OpenUntilKnown(Shuffled(3));
  prefetcher_->Stop();
  EXPECT_EQ(asked, 0u);
}

// A view that was native before: the kernel may have what was read then.
TEST_F(SamplerPrefetcherTest, OfFilesThatWereReadBeforeTheKernelIsAsked) {
  Make(
      {},
      [](const std::vector<EntryId>& files, std::stop_token) {
        std::vector<bool> cached;
        for (const EntryId file : files) {
          cached.push_back(file.value() % 3 != 0);
        }
        return cached;
      },
      /*read_before=*/true);
  prefetcher_->ExpectOpens(true);
  OpenUntilKnown(Shuffled(3));
  const std::vector<EntryId> asked = source_->asked();
  EXPECT_GT(asked.size(), 0u);
  for (const EntryId file : asked) EXPECT_EQ(file.value() % 3, 0u);
}

// Everything is in the kernel's memory, so to ask would be all that the mount
// costs.
class CachedFilesTest : public SamplerPrefetcherTest {
 protected:
  CachedFilesTest() {
    Make({}, [this](const std::vector<EntryId>& files, std::stop_token) {
      asked_ += files.size();
      return std::vector<bool>(says_ ? files.size() : 0, all_);
    });
    HaveBeenRead(Shuffled(3));
  }
  void Open(uint32_t seed, size_t begin = 0) {
    const std::vector<EntryId> order = Shuffled(seed);
    for (size_t i = begin; i < order.size(); ++i) {
      prefetcher_->OnOpen(order[i], 0, milliseconds(1000));
      if (i % 8 == 0) std::this_thread::sleep_for(milliseconds(6));
    }
  }
  // Two epochs. During the first the kernel is asked, until so many opens came
  // without a read that it seems to have everything.
  void OpenTwice() {
    Open(3, OpenUntil(Shuffled(3), [&] { return asked_ > 0; }));
    const uint64_t at_first = asked_;
    Open(4);
    in_second_ = asked_ - at_first;
    EXPECT_EQ(prefetcher_->prefetcher().jobs.at(0).job.recognised_epochs, 2u);
  }

  std::atomic<bool> says_ = true;
  std::atomic<bool> all_ = true;
  std::atomic<uint64_t> asked_ = 0;
  uint64_t in_second_ = 0;
};

TEST_F(CachedFilesTest, WithoutReadsTheKernelIsAskedAboutFew) {
  OpenTwice();
  EXPECT_GT(in_second_, 0u);
  EXPECT_LE(in_second_, kFileCount / 16 + 1);
}

TEST_F(CachedFilesTest, ReadsShowThatTheKernelLacksFiles) {
  OpenTwice();
  const uint64_t before = asked_;
  prefetcher_->OnFirstRead(Shuffled(3).front(), 0, milliseconds(1000));
  Open(5, OpenUntil(Shuffled(5), [&] { return asked_ > before; }));
  EXPECT_GT(asked_ - before, kFileCount / 8);
}

TEST_F(CachedFilesTest, WithoutReadsAKernelThatDoesNotSayHasAll) {
  OpenTwice();
  says_ = false;
  Open(5);
  EXPECT_EQ(source_->asked().size(), 0u);
}

TEST_F(CachedFilesTest, SoDoesAnAnswer) {
  OpenTwice();
  all_ = false;
  EXPECT_EQ(source_->asked().size(), 0u);
  OpenUntilKnown(Shuffled(5));
  EXPECT_GT(source_->asked().size(), 0u);
}

// Whoever is asked may need an answer of the mount first.
TEST_F(SamplerPrefetcherTest, StatusWaitsForNobodyWhileTheKernelIsAsked) {
  std::atomic<bool> asks = false;
  std::atomic<bool> answers = false;
  Make({}, [&](const std::vector<EntryId>& files, std::stop_token) {
    asks = true;
    while (!answers) std::this_thread::sleep_for(milliseconds(1));
    return std::vector<bool>(files.size());
  });
  HaveBeenRead(Shuffled(3));
  OpenUntil(Shuffled(3), [&] { return asks.load(); });
  ASSERT_TRUE(asks);
  EXPECT_EQ(prefetcher_->prefetcher().jobs.size(), 1u);
  EXPECT_EQ(source_->asked().size(), 0u);
  answers = true;
  WaitUntil([&] { return source_->asked().size() > 0; });
  prefetcher_->Stop();  // it may ask once more
}

// Who ends it may hold up the mount meanwhile.
TEST_F(SamplerPrefetcherTest, ItEndsWhileTheKernelIsAsked) {
  std::atomic<bool> asks = false;
  Make({}, [&](const std::vector<EntryId>& files, std::stop_token stop) {
    asks = true;
    while (!stop.stop_requested()) {
      std::this_thread::sleep_for(milliseconds(1));
    }
    return std::vector<bool>(files.size());
  });
  HaveBeenRead(Shuffled(3));
  OpenUntil(Shuffled(3), [&] { return asks.load(); });
  prefetcher_->Stop();
  EXPECT_EQ(source_->asked().size(), 0u);
}

TEST_F(SamplerPrefetcherTest, WhatNobodyComesForIsDroppedAndCounted) {
  Make();
  const size_t known = ReadUntilKnown(Shuffled(3));
  source_->ComeAll();
  // Another order, of which nothing is known.
  std::vector<EntryId> other = Shuffled(0x77777777);
  for (size_t i = 0; i < 300 && prefetcher_->prefetcher().wasted_bytes == 0;
       ++i) {
    Read(other[i]);
    source_->ComeAll();
    std::this_thread::sleep_for(milliseconds(1));
  }
  WaitUntil([&] { return prefetcher_->prefetcher().wasted_bytes > 0; });
  EXPECT_LE(prefetcher_->prefetcher().wasted_bytes, 300 * kBytesAFile);
  EXPECT_LT(known, 200u);
}

TEST_F(SamplerPrefetcherTest, AReadThatFailedIsTheReadersToHear) {
  Make();
  const std::vector<EntryId> order = Shuffled(3);
  ReadUntilKnown(order);
  const EntryId file = source_->asked().front();
  prefetcher_->OnFirstRead(file, 0, milliseconds(1000));
  ASSERT_TRUE(prefetcher_->CanServe(file));
  absl::Status got;
  prefetcher_->Read(file, 0, kBytesAFile,
                    [&](auto bytes) { got = bytes.status(); });
  ASSERT_TRUE(source_->Come(absl::NotFoundError("gone")));
  EXPECT_EQ(got.code(), absl::StatusCode::kNotFound);
  EXPECT_FALSE(prefetcher_->CanServe(file)) << "the source is asked again";
}

TEST_F(SamplerPrefetcherTest, ItGoesWhileReadsAreUnderWay) {
  Make();
  ReadUntilKnown(Shuffled(3));
  EXPECT_GT(source_->waiting(), 0u);
  std::vector<EntryId> asked = source_->asked();
  prefetcher_->Read(asked.back(), 0, 1, [](auto) {});
  TearDown();
  prefetcher_.reset();
  source_ = nullptr;
  Make();
}

TEST_F(SamplerPrefetcherTest, OnceItIsStoppedItAsksForNothing) {
  Make();
  const std::vector<EntryId> order = Shuffled(3);
  const size_t known = ReadUntilKnown(order);
  source_->ComeAll();
  for (size_t i = known; i < known + 100; ++i) {
    prefetcher_->OnFirstRead(order[i], 0, milliseconds(1000));
  }
  prefetcher_->Stop();
  const size_t asked = source_->asked().size();
  for (size_t i = known + 100; i < known + 200; ++i) {
    prefetcher_->OnFirstRead(order[i], 0, milliseconds(1000));
  }
  prefetcher_->Stop();
  EXPECT_EQ(source_->asked().size(), asked);
}

}  // namespace
}  // namespace shufflefs
