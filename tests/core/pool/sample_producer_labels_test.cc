// SPDX-License-Identifier: Apache-2.0
// Samples of a small file and a large one that nobody opens. What nobody opens
// must not stay in memory.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/pool/chunk_map.h"
#include "core/pool/sample_producer.h"
#include "gtest/gtest.h"
#include "policies/brand/group_binder.h"
#include "tests/core/base/temp_tree.h"
#include "tests/core/pool/held_source.h"
#include "tests/core/pool/test_memory.h"

namespace shufflefs {
namespace {

using testing_support::HeldSource;
using testing_support::TempTree;

class SampleProducerLabels : public testing::Test {
 protected:
  static constexpr uint64_t kSamples = 12;
  // Less than a chunk: each sample is read alone.
  static constexpr uint64_t kGuarantee = uint64_t{4} << 20;

  void SetUp() override {
    for (uint64_t f = 0; f < kSamples; ++f) {
      const std::string stem =
          "c" + std::to_string(f % 2) + "/" + std::to_string(f);
      tree_.File(stem + ".jpg", std::string(4000, 'x'));
      tree_.File(stem + ".png", std::string(1500000, 'x'));
    }
    ViewConfig config;
    config.substitute = Substitute::kDirectory;
    auto made = Dataset::Make(
        std::make_shared<const Catalogue>(tree_.Scanned()), config, "");
    ASSERT_TRUE(made.ok()) << made.status();
    dataset_ = *std::move(made);
    ASSERT_EQ(grouping().sample_count(), kSamples);
    MakeProducer();
  }

  void MakeProducer() {
    SampleProducer::Parts parts;
    parts.dataset = dataset_;
    parts.memory = memory_;
    auto input = std::make_unique<BinderInput>();
    input->grouping = &grouping();
    input->bytes.assign(kSamples,
                        Arena::Footprint(4000) + Arena::Footprint(1500000));
    input->chunks = ComposeMixedChunks(grouping(), dataset_->key(), 8);
    input->memory_bytes = kGuarantee;
    parts.binder = std::make_unique<GroupBinder>(*input);
    parts.input = std::move(input);
    auto source = std::make_unique<HeldSource>();
    source_ = source.get();
    parts.source = std::move(source);
    auto producer = SampleProducer::Make(std::move(parts));
    ASSERT_TRUE(producer.ok()) << producer.status();
    producer_ = *std::move(producer);
    producer_->BeginEpoch(Seed(0), Epoch(0), {});
  }

  const Grouping& grouping() const { return dataset_->grouping(); }

  void ReadTheSmallFiles() {
    for (uint64_t name = 0; name < kSamples; ++name) {
      const EntryId file =
          grouping().first_member(producer_->Bind(SampleId(name)));
      absl::Status answer = absl::UnknownError("none");
      producer_->Read(file, 0, 4000,
                      [&](const absl::StatusOr<absl::Span<const iovec>>& got) {
                        answer = got.status();
                      });
      source_->ComeAll();
      ASSERT_TRUE(answer.ok()) << answer;
      producer_->Close(file);
    }
  }

  TempTree tree_;
  std::shared_ptr<const Dataset> dataset_;
  const PoolMemory memory_ = testing_support::SharedMemory(kGuarantee);
  HeldSource* source_ = nullptr;
  std::shared_ptr<SampleProducer> producer_;
};

TEST_F(SampleProducerLabels, AreGivenBackWhenAnotherViewNeedsTheMemory) {
  testing_support::Neighbour neighbour(memory_);
  ReadTheSmallFiles();
  ASSERT_GT(producer_->status().pool_bytes, kGuarantee);
  EXPECT_TRUE(neighbour.TakeAll());
  EXPECT_LE(producer_->status().pool_bytes, kGuarantee);
}

TEST_F(SampleProducerLabels, LeaveWithTheirEpoch) {
  ReadTheSmallFiles();
  producer_->BeginEpoch(Seed(0), Epoch(1), {});
  source_->ComeAll();
  producer_->TakeShare({});  // what the binder counts leaves
  EXPECT_EQ(producer_->status().pool_bytes, 0u);
}

}  // namespace
}  // namespace shufflefs
