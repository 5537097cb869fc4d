// SPDX-License-Identifier: Apache-2.0
// How samples are read from a pack: few and large reads within the staging
// memory, what is urgent first, failures one by one, and an end at any time.
#include "core/staging/pack/packed_reads.h"

#include <errno.h>

#include <utility>
#include <vector>

#include "core/base/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/io/held_reader.h"
#include "tests/core/staging/pack/packed_source_fixture.h"

namespace shufflefs {
namespace {

using ::testing::ElementsAre;
using ::testing::StartsWith;
using testing_support::Asked;
using testing_support::HeldReader;
using testing_support::PackedSourceFixture;
using testing_support::TreeOf;

class PackedReadsTest : public PackedSourceFixture {};

std::vector<std::pair<uint64_t, uint64_t>> Ranges(const HeldReader& reader) {
  std::vector<std::pair<uint64_t, uint64_t>> ranges;
  for (const FileRead& read : reader.submitted) {
    ranges.emplace_back(read.offset, read.offset + read.length);
  }
  return ranges;
}

TEST_F(PackedReadsTest, AChunkIsReadInLargePieces) {
  Open(TreeOf(std::vector<uint64_t>(25, 100000)));
  HeldReader reader(*dir_);
  const auto source = SourceOver(&reader);
  Fetch(*source, FilesIn(0));
  reader.CompleteAll();
  ExpectAllRight();
  EXPECT_THAT(Ranges(reader),
              ElementsAre(std::pair(0, 1 << 20), std::pair(1 << 20, 2 << 20),
                          std::pair(2 << 20, 2500000)));
}

TEST_F(PackedReadsTest, SmallGapsAreReadOverAndLargeOnesAreNot) {
  Open(TreeOf({1000, 50000, 3000, 100000, 5000}));
  HeldReader reader(*dir_);
  const auto source = SourceOver(&reader);
  const std::vector<EntryId> files = FilesIn(0);
  Fetch(*source, {files[0], files[2], files[4]});
  reader.CompleteAll();
  ExpectAllRight();
  const uint64_t last = 154000 / kReadAlignment * kReadAlignment;
  EXPECT_THAT(Ranges(reader),
              ElementsAre(std::pair(0, 54000), std::pair(last, 159000)));
}

TEST_F(PackedReadsTest, ManyAreUnderWayButNeverMoreThanTheStagingMemory) {
  Open(TreeOf(std::vector<uint64_t>(40, 700001)));
  HeldReader reader(*dir_);
  const auto source = SourceOver(&reader);
  Fetch(*source, FilesIn(0));
  EXPECT_EQ(reader.held.size(), 8u);
  const EntryId first = FilesIn(0).front();
  Asked& urgent = asked_.emplace_back(first, 0, SizeOf(first));
  source->FetchNow(urgent.Piece());
  EXPECT_EQ(reader.urgent.size(), 0u);
  reader.Complete(5);
  // Before all that waits.
  EXPECT_EQ(reader.urgent.size(), 1u);
  EXPECT_EQ(reader.held.back().offset, 0u);
  reader.Complete(reader.held.size() - 1);
  EXPECT_EQ(urgent.calls(), 1);
  while (!reader.held.empty()) reader.Complete(reader.held.size() / 2);
  ExpectAllRight();
  EXPECT_LE(reader.most_in_flight, PackedSource::kMostStaging);
  EXPECT_GT(reader.most_in_flight, PackedSource::kMostStaging * 3 / 4);
}

// Also where less memory is free than it needs, and enough for others.
TEST_F(PackedReadsTest, NothingOvertakesWhatIsUrgent) {
  constexpr uint64_t kHalf = 512 << 10;
  Open(TreeOf({14 * kHalf, kHalf, kHalf, 4096, 2 * kHalf}));
  HeldReader reader(*dir_);
  const auto source = SourceOver(&reader);
  const std::vector<EntryId> files = FilesIn(0);
  for (size_t i = 0; i < 4; ++i) Fetch(*source, {files[i]});
  ASSERT_EQ(reader.held.size(), 9u);  // all of the memory
  source->FetchNow(Ask(files[4]).Piece());
  reader.Complete(7);
  EXPECT_EQ(reader.held.size(), 8u);
  reader.Complete(7);
  ASSERT_EQ(reader.held.size(), 8u);
  EXPECT_EQ(reader.held.back().offset, 16 * kHalf + 4096);
  EXPECT_EQ(reader.urgent.size(), 1u);
  reader.CompleteAll();
  ExpectAllRight();
}

// For a disk: the first read at a place is alone with the last one at the
// place before, and only then come the others.
TEST_F(PackedReadsTest, PlaceByPlaceWhereAskedFor) {
  auto tree = TreeOf({3 << 20, 5 << 19, 1000});
  const std::vector<EntryId> all = tree->composition.chunks[0];
  tree->composition.chunks = {{all[0]}, {all[1]}, {all[2]}};
  Open(std::move(tree));
  HeldReader reader(*dir_);
  PackedSource::Options options;
  options.place_by_place = true;
  auto source = PackedSource::Make(index_, &reader, options);
  ASSERT_TRUE(source.ok()) << source.status();
  Fetch(**source, {all[0], all[1]});
  EXPECT_EQ(reader.held.size(), 1u);
  (*source)->FetchNow(Ask(all[2]).Piece());
  EXPECT_EQ(reader.urgent, std::vector<std::string>{"chunk-000002.pack"});
  reader.Complete(1);  // what is urgent neither waits nor is waited for
  EXPECT_EQ(reader.held.size(), 1u);
  reader.Complete(0);
  EXPECT_EQ(reader.held.size(), 2u);  // the others at the first place
  EXPECT_EQ(reader.held[1].offset, 2u << 20);
  reader.Complete(0);
  ASSERT_EQ(reader.held.size(), 2u);
  EXPECT_EQ(reader.held[1].path, "chunk-000001.pack");
  EXPECT_EQ(reader.held[1].offset, 0u);
  reader.Complete(0);
  EXPECT_EQ(reader.held.size(), 1u);
  reader.Complete(0);
  EXPECT_EQ(reader.held.size(), 2u);
  reader.CompleteAll();
  ExpectAllRight();
}

TEST_F(PackedReadsTest, FurtherOnInAChunkIsTheSamePlace) {
  Open(TreeOf({100000, 300000, 100000}));
  HeldReader reader(*dir_);
  PackedSource::Options options;
  options.place_by_place = true;
  auto source = PackedSource::Make(index_, &reader, options);
  ASSERT_TRUE(source.ok()) << source.status();
  const std::vector<EntryId> files = FilesIn(0);
  Fetch(**source, {files[0], files[2]});
  ASSERT_EQ(reader.held.size(), 1u);
  reader.Complete(0);
  Fetch(**source, {files[2]});
  EXPECT_EQ(reader.held.size(), 2u);  // forward
  Fetch(**source, {files[1]});
  EXPECT_EQ(reader.held.size(), 2u);  // back
  reader.Complete(0);
  EXPECT_EQ(reader.held.size(), 2u);
  reader.CompleteAll();
  ExpectAllRight();
}

// A bad place on the device costs the one file that lies there.
TEST_F(PackedReadsTest, AReadThatFailsIsDoneAgainForEachOfItsFiles) {
  Open(TreeOf({100000, 100000, 100000}));
  HeldReader reader(*dir_);
  const auto source = SourceOver(&reader);
  Fetch(*source, FilesIn(0));
  ASSERT_EQ(reader.held.size(), 1u);
  const absl::Status bad = ErrnoStatus(EIO, "chunk-000000.pack: read");
  reader.Complete(0, bad);
  ASSERT_EQ(reader.held.size(), 3u);
  EXPECT_EQ(reader.held[1].offset, 100000 / kReadAlignment * kReadAlignment);
  reader.Complete(1, bad);
  reader.CompleteAll();
  EXPECT_EQ(reader.submitted.size(), 4u);
  for (size_t i : {0u, 2u}) {
    EXPECT_TRUE(asked_[i].Wait().ok());
    EXPECT_EQ(asked_[i].bytes(), ContentOf(asked_[i].file));
  }
  EXPECT_EQ(asked_[1].calls(), 1);
  EXPECT_EQ(ErrnoOf(asked_[1].Wait()), EIO);
  EXPECT_THAT(std::string(asked_[1].Wait().message()),
              StartsWith("f1001: chunk-000000.pack: read"));
}

// One read of several failed: the file's end comes once, after all of them.
TEST_F(PackedReadsTest, AFileOfSeveralReadsEndsOnce) {
  Open(TreeOf({3000000}));
  HeldReader reader(*dir_);
  const auto source = SourceOver(&reader);
  Fetch(*source, FilesIn(0));
  ASSERT_EQ(reader.held.size(), 3u);
  reader.Complete(1, ErrnoStatus(EIO, "chunk-000000.pack"));
  EXPECT_EQ(asked_[0].calls(), 0);  // its memory may still be written to
  reader.CompleteAll();
  EXPECT_EQ(asked_[0].calls(), 1);
  EXPECT_EQ(ErrnoOf(asked_[0].Wait()), EIO);
}

// The source may go while reads are under way, also on a thread of theirs.
TEST_F(PackedReadsTest, MayGoWhileReadsAreUnderWay) {
  Open(TreeOf(std::vector<uint64_t>(20, 1 << 20)));
  HeldReader reader(*dir_);
  auto source = SourceOver(&reader);
  Fetch(*source, FilesIn(0));
  ASSERT_EQ(reader.held.size(), 8u);
  source.reset();
  for (size_t i = 8; i < asked_.size(); ++i) {
    ASSERT_EQ(asked_[i].calls(), 1) << i;
    EXPECT_EQ(asked_[i].Wait().code(), absl::StatusCode::kCancelled);
  }
  reader.Complete(3, ErrnoStatus(EIO, "chunk-000000.pack"));
  reader.CompleteAll();
  EXPECT_EQ(reader.submitted.size(), 8u);
  for (size_t i = 0; i < 8; ++i) {
    ASSERT_EQ(asked_[i].calls(), 1);
    EXPECT_EQ(asked_[i].Wait().ok(), i != 3);
  }
}

TEST_F(PackedReadsTest, MayGoInACallOfItsOwn) {
  Open(TreeOf({1000}));
  HeldReader reader(*dir_);
  auto source = SourceOver(&reader);
  FilePiece piece = Ask(FilesIn(0)[0]).Piece();
  piece.done = [&](const absl::Status& status) {
    EXPECT_TRUE(status.ok()) << status;
    source.reset();
  };
  source->FetchNow(std::move(piece));
  reader.CompleteAll();
  EXPECT_EQ(source, nullptr);
}

TEST_F(PackedReadsTest, CancelledReadsAreNotDoneAgain) {
  Open(TreeOf({1000, 2000}));
  HeldReader reader(*dir_);
  const auto source = SourceOver(&reader);
  Fetch(*source, FilesIn(0));
  reader.Complete(0, absl::CancelledError("ended"));
  EXPECT_TRUE(reader.held.empty());
  for (Asked& asked : asked_) {
    EXPECT_EQ(asked.Wait().code(), absl::StatusCode::kCancelled);
  }
}

}  // namespace
}  // namespace shufflefs
