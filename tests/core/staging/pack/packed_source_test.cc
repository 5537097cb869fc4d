// SPDX-License-Identifier: Apache-2.0
// Samples from a pack: byte for byte those of the source, by whole chunks and
// by pieces, and EIO where a byte is not what it was.
#include "core/staging/pack/packed_source.h"

#include <errno.h>

#include <algorithm>

#include "core/base/status.h"
#include "core/io/make_reader.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/io/held_reader.h"
#include "tests/core/staging/pack/packed_source_fixture.h"

namespace shufflefs {
namespace {

using ::testing::StartsWith;
using testing_support::Asked;
using testing_support::HeldReader;
using testing_support::PackedSourceFixture;
using testing_support::PackedTree;
using testing_support::Slurp;
using testing_support::Spill;
using testing_support::TreeOf;

class PackedSourceTest : public PackedSourceFixture {};

TEST_F(PackedSourceTest, RandomTreesAreReadByteForByte) {
  for (uint64_t seed = 0; seed < 5; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Rng rng{RandomKey(seed)};
    Open(std::make_unique<PackedTree>(rng, 50, 1 + rng.Bounded(20)));
    FileReaderOptions options;
    options.io_uring = rng.Bounded(2) == 0;
    options.direct = rng.Bounded(2) == 0;
    const auto reader = MakeFileReader(*dir_, options);
    const auto source = SourceOver(reader.get());
    asked_.clear();
    for (uint32_t chunk = 0; chunk < index_->chunk_count(); ++chunk) {
      std::vector<EntryId> files = FilesIn(chunk);
      if (rng.Bounded(4) == 0) std::reverse(files.begin(), files.end());
      // Some were consumed already.
      while (!files.empty() && rng.Bounded(3) == 0) {
        files.erase(files.begin() + rng.Bounded(files.size()));
      }
      Fetch(*source, files);
    }
    for (int i = 0; i < 30; ++i) {
      const uint32_t chunk = rng.Bounded(index_->chunk_count());
      const std::vector<EntryId> files = FilesIn(chunk);
      if (files.empty()) continue;
      const EntryId file = files[rng.Bounded(files.size())];
      const uint64_t offset =
          rng.Bounded(SizeOf(file)) / kReadAlignment * kReadAlignment;
      const uint64_t length = 1 + rng.Bounded(SizeOf(file) - offset);
      source->FetchNow(asked_.emplace_back(file, offset, length).Piece());
    }
    ExpectAllRight();
    if (HasFatalFailure()) return;
    EXPECT_GT(source->reads(), 0u);
    EXPECT_GE(source->bytes_read(), 1u);
    EXPECT_THAT(source->how(), StartsWith("packed chunks by "));
  }
}

// Every place of every chunk is somebody's: whoever covers the changed byte
// gets EIO that names chunk, place and path, and everybody else their bytes.
TEST_F(PackedSourceTest, EveryChangedByteIsDetected) {
  Open(11, 40, 10);
  Rng rng{RandomKey(11)};
  for (int i = 0; i < 25; ++i) {
    const uint32_t chunk = rng.Bounded(index_->chunk_count());
    const uint64_t at = rng.Bounded(index_->chunk_attributes(chunk).size);
    SCOPED_TRACE(testing::Message()
                 << "seed 11, chunk " << chunk << " byte " << at);
    Corrupt(chunk, at);
    HeldReader reader(*dir_);
    const auto source = SourceOver(&reader);
    asked_.clear();
    Fetch(*source, FilesIn(chunk));
    reader.CompleteAll();
    int damaged = 0;
    for (Asked& asked : asked_) {
      const PackIndex::Place place = *index_->Find(asked.file);
      ASSERT_EQ(asked.calls(), 1);
      if (at < place.offset || at >= place.offset + place.length) {
        ASSERT_TRUE(asked.Wait().ok()) << asked.Wait();
        ASSERT_EQ(asked.bytes(), ContentOf(asked.file));
        continue;
      }
      ++damaged;
      const uint64_t unit =
          (at - place.offset) / kPackCheckBytes * kPackCheckBytes;
      EXPECT_EQ(ErrnoOf(asked.Wait()), EIO);
      EXPECT_THAT(
          std::string(asked.Wait().message()),
          StartsWith(absl::StrCat(
              packed_->catalogue->path(asked.file), ": ", PackChunkName(chunk),
              " at byte ", place.offset + unit, ": the checksum differs")));
    }
    EXPECT_EQ(damaged, 1);
    Corrupt(chunk, at);  // as it was
  }
}

// A piece is checked by itself: one that does not cover the damage is served.
TEST_F(PackedSourceTest, APieceOfALargeFileIsChecked) {
  Rng rng{RandomKey(12)};
  auto tree = std::make_unique<PackedTree>(rng, 3, 10);
  tree->tree.File("c0/large",
                  testing_support::RandomBytes(rng, 5 * kPackCheckBytes + 77));
  tree->catalogue = std::make_shared<const Catalogue>(tree->tree.Scanned());
  tree->composition =
      testing_support::RandomComposition(rng, *tree->catalogue, 10);
  Open(std::move(tree));
  const EntryId large = *packed_->catalogue->FindPath("c0/large");
  const PackIndex::Place place = *index_->Find(large);
  Corrupt(0, place.offset + 2 * kPackCheckBytes + 5);
  HeldReader reader(*dir_);
  const auto source = SourceOver(&reader);
  struct Case {
    uint64_t offset;
    uint64_t length;
    bool ok;
  };
  const Case cases[] = {{0, 4096, true},
                        {kPackCheckBytes, kPackCheckBytes, true},
                        {kPackCheckBytes, kPackCheckBytes + 1, false},
                        {2 * kPackCheckBytes + 8192, 100, false},
                        {3 * kPackCheckBytes, 2 * kPackCheckBytes + 77, true},
                        {5 * kPackCheckBytes, 77, true}};
  for (const Case& wanted : cases) {
    Asked& asked = asked_.emplace_back(large, wanted.offset, wanted.length);
    source->FetchNow(asked.Piece());
    reader.CompleteAll();
    ASSERT_EQ(asked.calls(), 1);
    EXPECT_EQ(asked.Wait().ok(), wanted.ok) << wanted.offset;
    if (wanted.ok) {
      EXPECT_EQ(asked.bytes(),
                ContentOf(large).substr(wanted.offset, wanted.length));
    } else {
      EXPECT_EQ(ErrnoOf(asked.Wait()), EIO);
    }
  }
  // No more was read than can be checked.
  for (const FileRead& read : reader.submitted) {
    EXPECT_LE(read.length, 3 * kPackCheckBytes + kReadAlignment);
  }
}

TEST_F(PackedSourceTest, AChunkThatChangedIsStale) {
  Open(TreeOf({1000, 2000}));
  const auto reader = MakeFileReader(*dir_, FileReaderOptions());
  const auto source = SourceOver(reader.get());
  const std::string path = packed_->dest() + "/chunk-000000.pack";
  Spill(path, Slurp(path) + "more");
  Fetch(*source, FilesIn(0));
  for (Asked& asked : asked_) {
    EXPECT_EQ(ErrnoOf(asked.Wait()), ESTALE);
    EXPECT_THAT(std::string(asked.Wait().message()),
                StartsWith(packed_->catalogue->path(asked.file) +
                           ": chunk-000000.pack"));
  }
  EXPECT_EQ(reader->stats().reads, 1u);  // and is not asked for again
}

TEST_F(PackedSourceTest, WhatIsNotInThePackIsNamed) {
  Rng rng{RandomKey(1)};
  auto tree = TreeOf({1000, 2000});
  tree->composition.chunks[0].pop_back();
  Open(std::move(tree));
  HeldReader reader(*dir_);
  const auto source = SourceOver(&reader);
  Fetch(*source, {EntryId(1)});
  EXPECT_EQ(asked_[0].calls(), 1);
  EXPECT_EQ(ErrnoOf(asked_[0].Wait()), EIO);
  EXPECT_THAT(std::string(asked_[0].Wait().message()),
              StartsWith("f1001: is not in the pack"));
}

}  // namespace
}  // namespace shufflefs
