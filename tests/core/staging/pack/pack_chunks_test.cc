// SPDX-License-Identifier: Apache-2.0
// From a view's samples to the chunks of a pack, and back.
#include "core/staging/pack/pack_chunks.h"

#include "core/base/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/staging/pack/pack_fixture.h"

namespace shufflefs {
namespace {

using ::testing::ElementsAre;
using testing_support::TempTree;

class PackChunksTest : public ::testing::Test {
 protected:
  // Three pairs, and a fixed file.
  PackChunksTest() {
    tree_.Files({"a/1.jpg", "a/1.txt", "a/2.jpg", "a/2.txt", "a/3.jpg",
                 "a/3.txt", "a/.hidden"});
    catalogue_ = std::make_shared<const Catalogue>(tree_.Scanned());
  }
  Grouping Group(PairMode pair, Substitute substitute) const {
    GroupingOptions options;
    options.pair = pair;
    options.substitute = substitute;
    absl::StatusOr<Grouping> grouping = Grouping::Make(*catalogue_, options);
    EXPECT_TRUE(grouping.ok()) << grouping.status();
    return *std::move(grouping);
  }
  std::vector<std::string> Paths(const std::vector<EntryId>& files) const {
    std::vector<std::string> paths;
    for (EntryId file : files) paths.push_back(catalogue_->path(file));
    return paths;
  }
  std::shared_ptr<const PackIndex> Packed(
      std::vector<std::vector<EntryId>> chunks) const {
    PackComposition composition;
    composition.chunks = std::move(chunks);
    EXPECT_TRUE(WritePack(tree_.Source(), *catalogue_, composition,
                          place_.At("pack"), {})
                    .ok());
    absl::StatusOr<SourceDir> dir = SourceDir::At(place_.At("pack"));
    auto index = PackIndex::Open(*dir, catalogue_);
    EXPECT_TRUE(index.ok()) << index.status();
    return *std::move(index);
  }

  TempTree tree_;
  TempTree place_;
  std::shared_ptr<const Catalogue> catalogue_;
};

TEST_F(PackChunksTest, PairsLieTogetherAndComeBack) {
  const Grouping pairs = Group(PairMode::kStem, Substitute::kNever);
  ASSERT_EQ(pairs.sample_count(), 3u);
  const ChunkList chunks = {{2, 0}, {1}};
  const auto files = FilesOfChunks(chunks, pairs);
  ASSERT_EQ(files.size(), 2u);
  EXPECT_THAT(Paths(files[0]),
              ElementsAre("a/3.jpg", "a/3.txt", "a/1.jpg", "a/1.txt"));
  EXPECT_THAT(Paths(files[1]), ElementsAre("a/2.jpg", "a/2.txt"));
  const auto index = Packed(files);
  EXPECT_EQ(*ChunksOfPack(*index, pairs), chunks);
}

// Another notion of a sample than when it was packed: each has a chunk still.
TEST_F(PackChunksTest, APackOfPairsServesFilesAlone) {
  const Grouping pairs = Group(PairMode::kStem, Substitute::kNever);
  const auto index = Packed(FilesOfChunks({{2, 0}, {1}}, pairs));
  const Grouping alone = Group(PairMode::kOff, Substitute::kNever);
  ASSERT_EQ(alone.sample_count(), 6u);
  const absl::StatusOr<ChunkList> chunks = ChunksOfPack(*index, alone);
  ASSERT_TRUE(chunks.ok());
  ASSERT_EQ(chunks->size(), 2u);
  EXPECT_EQ((*chunks)[0].size(), 4u);
  EXPECT_EQ((*chunks)[1].size(), 2u);
  // And the other way round, also where a pair was torn apart.
  const auto torn = [&] {
    PackComposition composition;
    composition.chunks = FilesOfChunks({{0, 1}, {2, 3, 4}, {5}}, alone);
    EXPECT_TRUE(WritePack(tree_.Source(), *catalogue_, composition,
                          place_.At("torn"), {})
                    .ok());
    absl::StatusOr<SourceDir> dir = SourceDir::At(place_.At("torn"));
    return *PackIndex::Open(*dir, catalogue_);
  }();
  const absl::StatusOr<ChunkList> again = ChunksOfPack(*torn, pairs);
  ASSERT_TRUE(again.ok());
  size_t samples = 0;
  for (const auto& chunk : *again) {
    EXPECT_FALSE(chunk.empty());
    samples += chunk.size();
  }
  EXPECT_EQ(samples, 3u);
}

TEST_F(PackChunksTest, ASampleThatIsNotInThePackIsNamed) {
  const Grouping pairs = Group(PairMode::kStem, Substitute::kNever);
  std::vector<std::vector<EntryId>> files = FilesOfChunks({{2, 0}, {1}}, pairs);
  files[1].pop_back();
  const auto index = Packed(files);
  EXPECT_EQ(
      ChunksOfPack(*index, pairs).status(),
      absl::FailedPreconditionError("a/2.txt: is not in the pack; pack again"));
}

}  // namespace
}  // namespace shufflefs
