// SPDX-License-Identifier: Apache-2.0
// Reads past all pools share one small memory, also when the mount ends.
#include "core/pool/bypass_reads.h"

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "tests/core/base/temp_tree.h"
#include "tests/core/pool/held_source.h"

namespace shufflefs {
namespace {

using testing_support::HeldSource;

constexpr uint64_t kLongest = BypassReads::kLongestRead;

class BypassReadsTest : public ::testing::Test {
 protected:
  BypassReadsTest() { EXPECT_TRUE(reads_->Prepare({}).ok()); }

  void Read(const std::shared_ptr<HeldSource>& source, const char* name) {
    reads_->Read(source, EntryId(1),
                 {0, kLongest,
                  [this, name](absl::StatusOr<absl::Span<const iovec>> bytes) {
                    answers_.emplace_back(name, bytes.status().code());
                  }});
  }

  using Answers = std::vector<std::pair<std::string, absl::StatusCode>>;

  const std::shared_ptr<HeldSource> slow_ = std::make_shared<HeldSource>();
  const std::shared_ptr<HeldSource> other_ = std::make_shared<HeldSource>();
  Answers answers_;
  StallClock stall_;
  // Room for two reads.
  const std::shared_ptr<BypassReads> reads_ =
      std::make_shared<BypassReads>(2 * kLongest, &stall_);
};

TEST_F(BypassReadsTest, TheReadThatEndsBeginsTheNext) {
  Read(slow_, "first");
  Read(slow_, "second");
  Read(other_, "third");
  EXPECT_EQ(other_->urgent(), 0u);
  EXPECT_TRUE(slow_->Come());
  EXPECT_EQ(other_->urgent(), 1u);
  EXPECT_TRUE(other_->Come(absl::DataLossError("")));
  slow_->ComeAll();
  EXPECT_EQ(answers_, (Answers{{"first", absl::StatusCode::kOk},
                               {"third", absl::StatusCode::kDataLoss},
                               {"second", absl::StatusCode::kOk}}));
}

// The readers of sources go one after the other. A read of one that ends late
// must not ask another one that is gone.
TEST_F(BypassReadsTest, NoSourceIsAskedAfterTheEnd) {
  Read(slow_, "first");
  Read(slow_, "second");
  Read(other_, "third");
  reads_->Stop();
  EXPECT_EQ(answers_, (Answers{{"third", absl::StatusCode::kCancelled}}));
  Read(other_, "fourth");
  slow_->ComeAll();
  EXPECT_EQ(other_->waiting(), 0u);
  EXPECT_EQ(answers_, (Answers{{"third", absl::StatusCode::kCancelled},
                               {"fourth", absl::StatusCode::kCancelled},
                               {"first", absl::StatusCode::kOk},
                               {"second", absl::StatusCode::kOk}}));
  EXPECT_EQ(reads_->used(), 0u);
}

// Reads of a tree on devices 0, 1 and so on.
class BypassReadsOfDevicesTest : public ::testing::Test {
 protected:
  void Make(uint64_t bytes, std::vector<uint32_t> devices) {
    reads_ = std::make_shared<BypassReads>(bytes, nullptr);
    EXPECT_TRUE(reads_->Prepare(devices).ok());
  }
  void Read(uint32_t device, uint64_t offset, uint64_t length) {
    reads_->Read(sources_[device], EntryId(1),
                 {offset, length,
                  [this](const absl::StatusOr<absl::Span<const iovec>>& got) {
                    if (got.ok()) ++answers_;
                  },
                  device});
  }
  // The reads of a device that are under way.
  size_t asked(uint32_t device) const { return sources_[device]->urgent(); }

  const std::vector<std::shared_ptr<HeldSource>> sources_ = {
      std::make_shared<HeldSource>(), std::make_shared<HeldSource>(),
      std::make_shared<HeldSource>()};
  int answers_ = 0;
  std::shared_ptr<BypassReads> reads_;
};

TEST_F(BypassReadsOfDevicesTest, ADeviceThatHangsLeavesOthersTheirPart) {
  Make(8 * kLongest, {0, 1});
  for (int i = 0; i < 10; ++i) Read(0, 0, kLongest);
  EXPECT_EQ(asked(0), 4u);
  for (int i = 0; i < 10; ++i) Read(1, 0, kLongest);
  EXPECT_EQ(asked(1), 4u);
  EXPECT_EQ(reads_->used(), 8 * kLongest);
  sources_[1]->ComeAll();
  EXPECT_EQ(answers_, 10);
  EXPECT_EQ(asked(0), 4u);
  sources_[0]->ComeAll();
  EXPECT_EQ(answers_, 20);
  EXPECT_EQ(reads_->used(), 0u);
}

// A read that begins within a page takes a page more than its part.
TEST_F(BypassReadsOfDevicesTest, EachDeviceMayAlwaysReadOnce) {
  Make(2 * kLongest, {0, 1});
  for (const uint32_t device : {0, 1}) {
    Read(device, 1, kLongest);
    Read(device, 1, 1);
    EXPECT_EQ(asked(device), 1u);
  }
  EXPECT_LE(reads_->used(), 2 * (kLongest + kReadAlignment));
  for (const uint32_t device : {1, 0}) sources_[device]->ComeAll();
  EXPECT_EQ(answers_, 4);
}

TEST_F(BypassReadsOfDevicesTest, DevicesWithoutFilesTakeNothing) {
  Make(2 * kLongest, {2});
  Read(2, 0, kLongest);
  Read(2, 0, kLongest);
  EXPECT_EQ(asked(2), 2u);
  sources_[2]->ComeAll();
}

TEST_F(BypassReadsOfDevicesTest, DevicesForWhichThereIsNoPartShareTheLast) {
  Make(2 * kLongest, {2, 0, 1});
  Read(0, 0, kLongest);
  Read(1, 0, kLongest);
  Read(2, 0, kLongest);
  EXPECT_EQ(asked(0), 1u);
  EXPECT_EQ(asked(1), 0u);
  EXPECT_EQ(asked(2), 1u);
  sources_[0]->ComeAll();
  EXPECT_EQ(asked(1), 1u);
  for (const auto& source : sources_) source->ComeAll();
  EXPECT_EQ(answers_, 3);
}

TEST_F(BypassReadsOfDevicesTest, StopAnswersTheWaitingReadsOfAllDevices) {
  Make(2 * kLongest, {0, 1});
  for (const uint32_t device : {0, 0, 1, 1, 1}) Read(device, 0, kLongest);
  reads_->Stop();
  for (const auto& source : sources_) source->ComeAll();
  EXPECT_EQ(answers_, 2);
  EXPECT_EQ(reads_->used(), 0u);
}

TEST(ClipTest, AReadIsWithinItsFileAndKnowsItsDevice) {
  testing_support::TempTree tree;
  tree.File("a", "12345");
  CatalogueTables tables = tree.Scanned().tables();
  tables.devices.resize(2);
  tables.classes[tables.attr_class[0]].device = 1;
  const Catalogue catalogue = Catalogue::FromTables(std::move(tables));
  const ReadWaiter read =
      BypassReads::Clip(catalogue, EntryId(0), {2, kLongest, nullptr});
  EXPECT_EQ(read.length, 3u);
  EXPECT_EQ(read.device, 1u);
}

// Ends each read at once. It must not be asked once its reader is gone.
class MortalSource : public SampleSource {
 public:
  void Fetch(std::vector<FilePiece>) override {}
  void FetchNow(FilePiece piece) override {
    EXPECT_FALSE(gone);
    piece.done(absl::OkStatus());
    EXPECT_FALSE(gone) << "the reader went in the middle of a call";
  }
  uint64_t bytes_read() const override { return 0; }
  uint64_t reads() const override { return 0; }
  std::string how() const override { return "at once"; }

  std::atomic<bool> gone{false};
};

TEST_F(BypassReadsTest, StopWaitsForThoseWhoAsk) {
  const auto mortal = std::make_shared<MortalSource>();
  std::atomic<int> begun{0};
  std::atomic<bool> cancelled{false};
  std::vector<std::jthread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      ++begun;
      while (!cancelled) {
        reads_->Read(mortal, EntryId(1),
                     {0, kLongest,
                      [&](const absl::StatusOr<absl::Span<const iovec>>& got) {
                        if (absl::IsCancelled(got.status())) cancelled = true;
                      }});
      }
    });
  }
  while (begun < 3) std::this_thread::yield();
  reads_->Stop();
  mortal->gone = true;
  threads.clear();
  EXPECT_TRUE(cancelled);
}

}  // namespace
}  // namespace shufflefs
