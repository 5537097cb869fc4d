// SPDX-License-Identifier: Apache-2.0
// How long lookups wait for the nodes that own their names.
#include "core/binding/nodes/shared_names.h"

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace shufflefs {
namespace {

constexpr uint32_t kSamples = 64;

// Binds each name to its own sample.
class PlainNames : public OwnedNames {
 public:
  PlainNames() {
    for (uint32_t s = 0; s < kSamples; ++s) chunks_.push_back({s});
  }
  const NodeShares::Chunks& chunks() const override { return chunks_; }
  void TakeShare(const std::vector<uint32_t>&) override {}
  bool Holds(SampleId) const override { return true; }
  void BeginEpoch(Seed, Epoch, absl::Span<const NameBinding>) override {}
  SampleId Bind(SampleId name) override { return name; }
  absl::optional<SampleId> Bound(SampleId) const override {
    return absl::nullopt;
  }
  absl::optional<SampleId> NameOf(SampleId) const override {
    return absl::nullopt;
  }
  bool repeats() const override { return false; }
  uint32_t OrdinalOf(SampleId) const override { return 0; }
  absl::optional<SampleId> NameAt(SampleId, uint32_t) const override {
    return absl::nullopt;
  }
  void Opened(SampleId) override {}
  std::string Served() const override { return ""; }

 private:
  NodeShares::Chunks chunks_;
};

class SharedNamesTest : public testing::Test {
 protected:
  SharedNamesTest()
      : grouping_(Grouping::WithoutFiles({kSamples})),
        own_(std::make_shared<PlainNames>()) {
    SharedNames::Parts parts;
    parts.grouping = &grouping_;
    parts.own = own_;
    parts.ask = [this](const SharedNames::Question&, std::chrono::milliseconds,
                       SharedNames::Answer answer) {
      ++asked_;
      answer(answer_);
    };
    names_ = std::make_shared<SharedNames>(std::move(parts));
  }
  void Share() {
    NameSharing sharing;
    sharing.members = {"a", "b"};
    sharing.self = "a";
    names_->BeginEpoch(Seed(0), Epoch(epoch_++), sharing, {});
  }
  // Binds names until one has asked another node, then the others. Returns how
  // often these asked.
  uint64_t AskedAfterTheFirst() {
    uint32_t name = 0;
    while (name < kSamples && asked_ == 0) names_->Bind(SampleId(name++));
    EXPECT_GT(asked_, 0u);
    EXPECT_LT(name, kSamples / 2);
    asked_ = 0;
    while (name < kSamples) names_->Bind(SampleId(name++));
    return asked_;
  }

  const Grouping grouping_;
  const std::shared_ptr<PlainNames> own_;
  absl::StatusOr<std::vector<uint64_t>> answer_ = absl::UnknownError("");
  std::atomic<uint64_t> asked_ = 0;
  uint64_t epoch_ = 0;
  std::shared_ptr<SharedNames> names_;
};

// An owner that was left behind says so at once, as often as it is asked. The
// first name waits until that has lasted long enough, the others do not.
TEST_F(SharedNamesTest, AnOwnerOfAnotherEpochIsWaitedForOnce) {
  answer_ = absl::FailedPreconditionError("another binding");
  Share();
  EXPECT_LE(AskedAfterTheFirst(), 2u);
  EXPECT_NE(names_->Warning(), "");
  // The next epoch is a new chance.
  asked_ = 0;
  answer_ = std::vector<uint64_t>{1};
  Share();
  EXPECT_GT(AskedAfterTheFirst(), 0u);
}

TEST_F(SharedNamesTest, AnOwnerThatDoesNotAnswerIsWaitedForOnce) {
  answer_ = absl::UnavailableError("away");
  Share();
  EXPECT_LE(AskedAfterTheFirst(), kSamples);
  EXPECT_NE(names_->Warning(), "");
}

}  // namespace
}  // namespace shufflefs
