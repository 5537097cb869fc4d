// SPDX-License-Identifier: Apache-2.0
// A producer of samples that have several files each. The files of a sample
// arrive, are bound and leave together.
#include <algorithm>
#include <atomic>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/pool/chunk_map.h"
#include "core/pool/sample_producer.h"
#include "gtest/gtest.h"
#include "policies/brand/group_binder.h"
#include "tests/core/base/temp_tree.h"
#include "tests/core/pool/test_memory.h"

namespace shufflefs {
namespace {

using testing_support::TempTree;

// Brings everything at once, each file's bytes being its id.
class InstantSource : public SampleSource {
 public:
  void Fetch(std::vector<FilePiece> files) override {
    for (FilePiece& file : files) FetchNow(std::move(file));
  }
  void FetchNow(FilePiece piece) override {
    for (const iovec& run : piece.into) {
      std::fill_n(static_cast<char*>(run.iov_base), run.iov_len,
                  static_cast<char>(piece.file.value()));
    }
    bytes_ += piece.length;
    ++reads_;
    piece.done(absl::OkStatus());
  }
  uint64_t bytes_read() const override { return bytes_; }
  uint64_t reads() const override { return reads_; }
  std::string how() const override { return "at once"; }

 private:
  std::atomic<uint64_t> bytes_{0};
  std::atomic<uint64_t> reads_{0};
};

class SampleProducerPairs : public testing::Test {
 protected:
  static constexpr uint64_t kSamples = 360;

  void SetUp() override {
    for (int f = 0; f < static_cast<int>(kSamples); ++f) {
      const std::string stem = "c" + std::to_string(f % 3) + "/" +
                               std::to_string((f * 7919 + f % 3) % 100003);
      tree_.File(stem + ".jpg", std::string(9000 + f % 120, 'x'));
      tree_.File(stem + ".json", std::string(9000 + f % 7, 'x'));
    }
    auto catalogue = std::make_shared<const Catalogue>(tree_.Scanned());
    ViewConfig config;
    config.substitute = Substitute::kDirectory;
    auto made = Dataset::Make(catalogue, config, "");
    ASSERT_TRUE(made.ok()) << made.status();
    dataset_ = *std::move(made);
    ASSERT_EQ(grouping().sample_count(), kSamples);
    MakeProducer();
  }

  void MakeProducer() {
    SampleProducer::Parts parts;
    parts.dataset = dataset_;
    parts.memory = testing_support::TestMemory(SampleProducer::kLeastMemory);
    auto input = std::make_unique<BinderInput>();
    input->grouping = &grouping();
    input->bytes.assign(kSamples, 2 * Arena::Footprint(9200));
    input->chunks = ComposeMixedChunks(grouping(), dataset_->key(), 16);
    input->memory_bytes = parts.memory.guarantee;
    parts.binder = std::make_unique<GroupBinder>(*input);
    parts.input = std::move(input);
    auto source = std::make_unique<InstantSource>();
    source_ = source.get();
    parts.source = std::move(source);
    auto producer = SampleProducer::Make(std::move(parts));
    ASSERT_TRUE(producer.ok()) << producer.status();
    producer_ = *std::move(producer);
  }

  const Grouping& grouping() const { return dataset_->grouping(); }

  // Reads one of a sample's files whole and closes it.
  void Read(SampleId sample, uint32_t column) {
    const GroupId group = grouping().group_of(sample);
    const auto index = static_cast<uint32_t>(
        sample.value() - grouping().group(group).first_sample);
    const EntryId file = grouping().member(group, index, column);
    const uint64_t size = dataset_->catalogue().attributes(file).size;
    uint64_t got = 0;
    producer_->Read(file, 0, size,
                    [&](absl::StatusOr<absl::Span<const iovec>> bytes) {
                      ASSERT_TRUE(bytes.ok()) << bytes.status();
                      for (const iovec& run : *bytes) {
                        got += run.iov_len;
                        EXPECT_EQ(static_cast<char*>(run.iov_base)[0],
                                  static_cast<char>(file.value()));
                      }
                    });
    EXPECT_EQ(got, size);
    producer_->Close(file);
  }

  TempTree tree_;
  std::shared_ptr<const Dataset> dataset_;
  InstantSource* source_ = nullptr;
  std::shared_ptr<SampleProducer> producer_;
};

TEST_F(SampleProducerPairs, BothFilesOfANameAreThoseOfOneSample) {
  for (uint64_t epoch = 0; epoch < 3; ++epoch) {
    producer_->BeginEpoch(Seed(3), Epoch(epoch), {});
    std::set<uint64_t> shown;
    for (uint64_t n = 0; n < kSamples; ++n) {
      const SampleId name(n * 7 % kSamples);
      const SampleId sample = producer_->Bind(name);
      EXPECT_TRUE(shown.insert(sample.value()).second) << "shown twice";
      ASSERT_EQ(grouping().group_of(sample), grouping().group_of(name));
      Read(sample, 0);
      if (n % 8 == 0) Read(sample, 1);  // most do not look at the label
    }
    EXPECT_EQ(shown.size(), kSamples);
  }
  EXPECT_LE(producer_->status().pool_bytes, SampleProducer::kLeastMemory);
  // Far fewer than if the labels stayed.
  EXPECT_LT(producer_->status().bypass, 3 * kSamples / 5);
  // Each file once an epoch, and once more at most what is left in memory.
  EXPECT_LE(source_->reads(), 4 * 2 * kSamples);
}

TEST_F(SampleProducerPairs, OthersTakeAllFilesOfASample) {
  producer_->BeginEpoch(Seed(1), Epoch(0), {});
  producer_->Read(grouping().member(producer_->Bind(SampleId(0)), 0), 0, 1,
                  [](const auto&) {});
  uint64_t taken = 0;
  for (uint64_t name = 1; name < kSamples; ++name) {
    const SampleId sample = producer_->Bind(SampleId(name * 7 % kSamples));
    const auto bytes = producer_->TakeForOthers(sample, 1 << 20);
    if (!bytes) {
      for (const uint32_t column : {0u, 1u}) {
        producer_->ReadForOthers(grouping().member(sample, column), 0, 1 << 20,
                                 [](const auto&) {});
      }
      continue;
    }
    ++taken;
    std::string text;
    for (const iovec& piece : bytes->pieces) {
      text.append(static_cast<const char*>(piece.iov_base), piece.iov_len);
    }
    std::string expected;
    for (const uint32_t column : {0u, 1u}) {
      const EntryId file = grouping().member(sample, column);
      expected.append(dataset_->catalogue().attributes(file).size,
                      static_cast<char>(file.value()));
    }
    ASSERT_TRUE(text == expected) << name;
  }
  EXPECT_GT(taken, kSamples * 9 / 10);
  EXPECT_LT(producer_->status().bypass, kSamples / 10);
}

}  // namespace
}  // namespace shufflefs
