// SPDX-License-Identifier: Apache-2.0
// Passes cover what is to be written once, in order, within the memory; and
// the record of a pack that is being written survives being cut off.
#include "core/staging/pack/pack_layout.h"

#include <xxhash.h>

#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include "core/base/files/checked_file.h"
#include "core/staging/pack/pack_journal.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/staging/pack/pack_fixture.h"

namespace shufflefs {
namespace {

using ::testing::ElementsAre;

// A manifest of files of random lengths; no paths are needed here.
PackManifest RandomManifest(Rng& rng) {
  PackManifest manifest;
  uint64_t checks = 0;
  for (uint64_t c = rng.Bounded(8); c > 0; --c) {
    PackManifest::Chunk chunk;
    chunk.first_file = static_cast<uint32_t>(manifest.files.size());
    chunk.file_count = static_cast<uint32_t>(1 + rng.Bounded(9));
    for (uint32_t i = 0; i < chunk.file_count; ++i) {
      uint64_t length = testing_support::RandomLength(rng);
      if (rng.Bounded(10) == 0) length = rng.Bounded(uint64_t{1} << 24);
      manifest.files.push_back({chunk.bytes, length, checks, 0});
      checks += PackChecksOf(length);
      chunk.bytes += length;
    }
    manifest.chunks.push_back(chunk);
  }
  return manifest;
}

// Holds one pass to its memory and to what stood before it in `next` (bytes
// of each file that were given) and `written` (of each chunk).
void CheckPass(const PackManifest& manifest, const PackPass& pass,
               uint64_t memory, std::vector<uint64_t>& next,
               std::vector<uint64_t>& written) {
  uint64_t at = 0;
  for (const PackPiece& piece : pass.pieces) {
    ASSERT_GT(piece.length, 0u);
    ASSERT_LE(piece.length, PackPasses::kPieceBytes);
    ASSERT_EQ(piece.from, next[piece.file]);
    ASSERT_EQ(piece.from % kPackCheckBytes, 0u);
    next[piece.file] += piece.length;
    if (piece.length % kPackCheckBytes != 0) {
      ASSERT_EQ(next[piece.file], manifest.files[piece.file].length);
    }
    ASSERT_EQ(piece.at, at);
    at += piece.length;
  }
  ASSERT_LE(at, memory);
  uint64_t stretched = 0;
  for (const PackStretch& stretch : pass.stretches) {
    ASSERT_EQ(stretch.at, stretched);
    ASSERT_EQ(stretch.from, written[stretch.chunk]);
    stretched += stretch.length;
    written[stretch.chunk] += stretch.length;
    ASSERT_EQ(stretch.last,
              written[stretch.chunk] == manifest.chunks[stretch.chunk].bytes);
  }
  ASSERT_EQ(stretched, at);
}

TEST(PackLayout, PassesCoverEveryByteOnceWithinTheMemory) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Rng rng{RandomKey(seed)};
    const PackManifest manifest = RandomManifest(rng);
    const uint64_t memory =
        kPackCheckBytes + rng.Bounded(uint64_t{1} << (10 + rng.Bounded(15)));
    std::vector<uint32_t> chunks(manifest.chunks.size());
    std::iota(chunks.begin(), chunks.end(), 0);
    if (!chunks.empty() && rng.Bounded(2) == 0) {
      chunks.erase(chunks.begin() + rng.Bounded(chunks.size()));
    }
    std::vector<uint64_t> next(manifest.files.size());
    std::vector<uint64_t> written(manifest.chunks.size());
    std::vector<int> finished(manifest.chunks.size());
    PackPasses passes(manifest, chunks, memory);
    PackPass pass;
    for (int count = 0; passes.Next(pass); ++count) {
      ASSERT_LT(count, 2000);
      CheckPass(manifest, pass, memory, next, written);
      if (HasFatalFailure()) return;
      for (const PackStretch& stretch : pass.stretches) {
        finished[stretch.chunk] += stretch.last ? 1 : 0;
      }
    }
    for (uint32_t c = 0; c < manifest.chunks.size(); ++c) {
      const bool wanted =
          std::find(chunks.begin(), chunks.end(), c) != chunks.end();
      EXPECT_EQ(finished[c], wanted ? 1 : 0);
      EXPECT_EQ(written[c], wanted ? manifest.chunks[c].bytes : 0);
    }
  }
}

TEST(PackLayout, ChunksThatFitTogetherAreOnePass) {
  PackManifest manifest;
  manifest.files = {{0, 100, 0, 0}, {0, 200, 1, 0}, {0, 300000, 2, 0}};
  manifest.chunks = {{100, 0, 1}, {200, 1, 1}, {300000, 2, 1}};
  PackPasses passes(manifest, {0, 1, 2}, 300000);
  PackPass pass;
  ASSERT_TRUE(passes.Next(pass));
  EXPECT_EQ(pass.stretches.size(), 2u);
  ASSERT_TRUE(passes.Next(pass));
  EXPECT_EQ(pass.stretches.size(), 1u);
  EXPECT_EQ(pass.pieces.size(), 1u);
  EXPECT_FALSE(passes.Next(pass));
  EXPECT_TRUE(pass.pieces.empty());
}

TEST(PackLayout, TheCompositionEntersTheIdentity) {
  testing_support::TempTree tree;
  tree.Files({"a", "b", "c"});
  const Catalogue catalogue = tree.Scanned();
  const auto composition = [&](std::vector<std::vector<EntryId>> chunks) {
    PackComposition composed;
    composed.chunks = std::move(chunks);
    return LayOutPack(catalogue, composed).composition;
  };
  const EntryId a(0);
  const EntryId b(1);
  const EntryId c(2);
  EXPECT_EQ(composition({{a, b}, {c}}), composition({{a, b}, {c}}));
  EXPECT_NE(composition({{a, b}, {c}}), composition({{a}, {b, c}}));
  EXPECT_NE(composition({{a, b}, {c}}), composition({{b, a}, {c}}));
  EXPECT_NE(composition({{a, b}, {c}}), composition({{a, b}}));
}

PackIdentity Identity() { return {1, 2, 3, 4}; }

std::string BytesOf(const std::vector<uint64_t>& words) {
  return std::string(ColumnBytes(words));
}

std::string Header() { return BytesOf(JournalHeader(Identity())); }

// The record of a chunk behind so many bytes.
std::string Record(uint32_t chunk, const std::vector<uint64_t>& checks,
                   size_t at) {
  return BytesOf(JournalRecord(chunk, checks, at / 8));
}

// Two chunks, recorded one after the other.
std::string TwoRecords() {
  std::string bytes = Header();
  bytes += Record(5, {55, 56}, bytes.size());
  bytes += Record(0, {}, bytes.size());
  return bytes;
}

// A pack that another version began is continued.
TEST(PackJournal, ItsBytesStay) {
  const auto text = [](std::vector<uint64_t> words, uint64_t at) {
    words.push_back(XXH3_64bits_withSeed(words.data(), words.size() * 8, at));
    return BytesOf(words);
  };
  uint64_t magic;
  std::memcpy(&magic, "SHUFPRT\n", sizeof magic);
  EXPECT_EQ(TwoRecords(), text({magic, 2, 1, 2, 3, 4, 0}, 0) +
                              text({5, 2, 55, 56}, 64) + text({0, 0}, 104));
}

TEST(PackJournal, WhatIsRecordedIsRead) {
  const absl::StatusOr<PackJournal> journal = ParseJournal(TwoRecords());
  ASSERT_TRUE(journal.ok()) << journal.status();
  EXPECT_EQ(journal->identity, Identity());
  EXPECT_EQ(journal->words * 8, TwoRecords().size());
  ASSERT_EQ(journal->finished.size(), 2u);
  EXPECT_EQ(journal->finished[0].chunk, 5u);
  EXPECT_THAT(journal->finished[0].checks, ElementsAre(55, 56));
  EXPECT_EQ(journal->finished[1].chunk, 0u);
  EXPECT_THAT(journal->finished[1].checks, ElementsAre());
}

TEST(PackJournal, WhatIsCutOffCountsUpToTheLastWholeRecord) {
  const std::string bytes = TwoRecords();
  const size_t header = Header().size();
  const size_t first = header + Record(5, {55, 56}, header).size();
  for (size_t size = 0; size < bytes.size(); ++size) {
    const absl::StatusOr<PackJournal> journal =
        ParseJournal(bytes.substr(0, size));
    ASSERT_EQ(journal.ok(), size >= header) << size;
    if (!journal.ok()) {
      EXPECT_EQ(journal.status(),
                absl::InvalidArgumentError("not the record of a pack"));
      continue;
    }
    EXPECT_EQ(journal->finished.size(), size >= first ? 1 : 0) << size;
    EXPECT_EQ(journal->words * 8, size >= first ? first : header) << size;
  }
}

TEST(PackJournal, EveryChangedByteIsDetected) {
  const std::string bytes = TwoRecords();
  for (size_t at = 0; at < bytes.size(); ++at) {
    std::string changed = bytes;
    changed[at] = static_cast<char>(changed[at] ^ 0x10);
    const absl::StatusOr<PackJournal> journal = ParseJournal(changed);
    if (journal.ok()) EXPECT_LT(journal->finished.size(), 2u) << at;
  }
}

// A record is not taken for a good one at another place.
TEST(PackJournal, ARecordThatWasMovedIsNone) {
  std::string bytes = Header();
  bytes += Record(5, {55}, bytes.size() + 8);
  EXPECT_EQ(ParseJournal(bytes)->finished.size(), 0u);
}

TEST(PackJournal, AHugeCountAllocatesNothing) {
  std::string bytes = TwoRecords();
  const size_t count_at = Header().size() + 8;
  for (const uint64_t value : {~uint64_t{0}, uint64_t{1} << 61, uint64_t{9}}) {
    std::memcpy(bytes.data() + count_at, &value, sizeof value);
    EXPECT_EQ(ParseJournal(bytes)->finished.size(), 0u);
  }
}

}  // namespace
}  // namespace shufflefs
