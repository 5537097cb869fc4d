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
#include "tests/core/pool/held_source.h"

namespace shufflefs {
namespace {

using testing_support::HeldSource;

constexpr uint64_t kLongest = BypassReads::kLongestRead;

class BypassReadsTest : public ::testing::Test {
 protected:
  BypassReadsTest() { EXPECT_TRUE(reads_->Prepare().ok()); }

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
