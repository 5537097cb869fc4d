// SPDX-License-Identifier: Apache-2.0
// A supply of samples that are several files each: they come, are bound and
// leave together.
#include <algorithm>
#include <atomic>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/supply/chunk_map.h"
#include "core/supply/supply.h"
#include "gtest/gtest.h"
#include "policies/group_binder.h"
#include "tests/core/temp_tree.h"

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

TEST(SupplyPairs, BothFilesOfANameAreThoseOfOneSample) {
  TempTree tree;
  for (int c = 0; c < 3; ++c) {
    for (int f = 0; f < 120; ++f) {
      const std::string stem = "c" + std::to_string(c) + "/" +
                               std::to_string((f * 7919 + c) % 100003);
      tree.File(stem + ".jpg", std::string(9000 + f, 'x'));
      tree.File(stem + ".json", std::string(9000 + f % 7, 'x'));
    }
  }
  auto catalogue = std::make_shared<const Catalogue>(tree.Scanned());
  ViewConfig config;
  config.substitute = Substitute::kDirectory;
  auto made = Dataset::Make(catalogue, config, "");
  ASSERT_TRUE(made.ok()) << made.status();
  const std::shared_ptr<const Dataset> dataset = *std::move(made);
  const Grouping& grouping = dataset->grouping();
  ASSERT_EQ(grouping.sample_count(), 360u);

  Supply::Parts parts;
  parts.dataset = dataset;
  parts.memory_bytes = Supply::kLeastMemory;
  auto input = std::make_unique<BinderInput>();
  input->grouping = &grouping;
  input->bytes.assign(360, 2 * Arena::Footprint(9200));
  input->chunks = ComposeRandomChunks(grouping, dataset->key(), 16);
  input->memory_bytes = Supply::PoolBytes(parts.memory_bytes);
  parts.binder = std::make_unique<GroupBinder>(*input);
  parts.input = std::move(input);
  auto source = std::make_unique<InstantSource>();
  InstantSource* const reads = source.get();
  parts.source = std::move(source);
  auto supply = Supply::Make(std::move(parts));
  ASSERT_TRUE(supply.ok()) << supply.status();

  for (uint64_t epoch = 0; epoch < 3; ++epoch) {
    (*supply)->BeginEpoch(Seed(3), Epoch(epoch), {});
    std::set<uint64_t> shown;
    for (uint64_t n = 0; n < 360; ++n) {
      const SampleId name(n * 7 % 360);
      const SampleId sample = (*supply)->Bind(name);
      EXPECT_TRUE(shown.insert(sample.value()).second) << "shown twice";
      const GroupId group = grouping.group_of(sample);
      ASSERT_EQ(group, grouping.group_of(name));
      const auto index = static_cast<uint32_t>(
          sample.value() - grouping.group(group).first_sample);
      // Most readers do not look at the label.
      for (uint32_t column = 0; column < (n % 8 == 0 ? 2u : 1u); ++column) {
        const EntryId file = grouping.member(group, index, column);
        const uint64_t size = catalogue->attributes(file).size;
        uint64_t got = 0;
        (*supply)->Read(file, 0, size,
                        [&](absl::StatusOr<absl::Span<const iovec>> bytes) {
                          ASSERT_TRUE(bytes.ok()) << bytes.status();
                          for (const iovec& run : *bytes) {
                            got += run.iov_len;
                            EXPECT_EQ(static_cast<char*>(run.iov_base)[0],
                                      static_cast<char>(file.value()));
                          }
                        });
        EXPECT_EQ(got, size);
        (*supply)->Close(file);
      }
    }
    EXPECT_EQ(shown.size(), 360u);
  }
  EXPECT_LE((*supply)->status().pool_bytes, Supply::kLeastMemory);
  EXPECT_LT((*supply)->status().bypass, 3u * 360 / 50);
  // Each file once an epoch, and once more at most what is left in memory.
  EXPECT_LE(reads->reads(), 3u * 720 + 720);
}

}  // namespace
}  // namespace shufflefs
