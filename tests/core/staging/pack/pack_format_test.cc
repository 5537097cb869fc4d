// SPDX-License-Identifier: Apache-2.0
// Manifests: what is written is read, and nothing that is damaged, cut off or
// made to harm is.
#include "core/staging/pack/pack_format.h"

#include <cstring>
#include <functional>

#include "core/random/random.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/checked_bytes.h"

namespace shufflefs {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Chunks of 100 and 0 + 300,000 bytes.
PackManifest Small() {
  PackManifest manifest;
  manifest.fingerprint = 0x0123456789abcdef;
  manifest.state = 0xfedcba9876543210;
  manifest.seed = 5;
  manifest.chunk_size = 64;
  manifest.chunks = {{100, 0, 1}, {300000, 1, 2}};
  manifest.paths = std::string("a/b.jpg\0empty\0a/deep/er/c\n\xff\0", 28);
  manifest.files = {{0, 100, 0, 0}, {0, 0, 1, 8}, {0, 300000, 1, 14}};
  manifest.checks = {11, 22, 33};
  return manifest;
}

TEST(PackFormat, WhatIsWrittenIsRead) {
  const PackManifest manifest = Small();
  const absl::StatusOr<PackManifest> read =
      ParseManifest(SerializeManifest(manifest));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->fingerprint, manifest.fingerprint);
  EXPECT_EQ(read->state, manifest.state);
  EXPECT_EQ(read->seed, 5u);
  EXPECT_EQ(read->chunk_size, 64u);
  EXPECT_EQ(read->bytes(), 300100u);
  ASSERT_EQ(read->chunks.size(), 2u);
  EXPECT_EQ(read->chunks[1].first_file, 1u);
  EXPECT_EQ(read->chunks[1].file_count, 2u);
  ASSERT_EQ(read->files.size(), 3u);
  EXPECT_EQ(read->path(read->files[0]), "a/b.jpg");
  EXPECT_EQ(read->path(read->files[2]), "a/deep/er/c\n\xff");
  EXPECT_THAT(read->checks, ElementsAre(11, 22, 33));
  EXPECT_EQ(read->files[0].first_check, 0u);
  EXPECT_EQ(read->files[1].first_check, 1u);
  EXPECT_EQ(read->files[2].first_check, 1u);
}

TEST(PackFormat, APackOfNothingIsOne) {
  const absl::StatusOr<PackManifest> read =
      ParseManifest(SerializeManifest(PackManifest()));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_TRUE(read->files.empty());
}

TEST(PackFormat, EveryTruncationIsDetected) {
  const std::string bytes = SerializeManifest(Small());
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(ParseManifest(bytes.substr(0, size)).ok()) << size;
  }
  EXPECT_EQ(ParseManifest(bytes.substr(0, bytes.size() - 1)).status().message(),
            "cut off, or not as long as its header says");
  EXPECT_EQ(ParseManifest(bytes + '\0').status().code(),
            absl::StatusCode::kDataLoss);
}

TEST(PackFormat, EveryChangedByteIsDetected) {
  const std::string bytes = SerializeManifest(Small());
  for (size_t at = 0; at < bytes.size(); ++at) {
    std::string changed = bytes;
    changed[at] = static_cast<char>(changed[at] ^ 0x40);
    EXPECT_FALSE(ParseManifest(changed).ok()) << at;
  }
}

TEST(PackFormat, OtherFilesAndVersionsAreNamed) {
  EXPECT_EQ(ParseManifest("name,label\n").status(),
            absl::InvalidArgumentError("not the manifest of a pack"));
  std::string bytes = SerializeManifest(Small());
  bytes[8] = 9;
  EXPECT_EQ(ParseManifest(bytes).status(),
            absl::InvalidArgumentError("a manifest of version 9, not 2"));
}

TEST(PackFormat, HugeCountsAreRefusedBeforeAnythingIsAllocated) {
  constexpr size_t kChunks = 56;
  constexpr size_t kFiles = 64;
  constexpr size_t kChecks = 72;
  constexpr size_t kPathBytes = 80;
  for (const size_t at : {kChunks, kFiles, kChecks, kPathBytes}) {
    for (const uint64_t value :
         {uint64_t{1} << 32, uint64_t{1} << 60, ~uint64_t{0},
          (uint64_t{1} << 61) + 3, uint64_t{0xFFFFFFFF}}) {
      std::string bytes = SerializeManifest(Small());
      std::memcpy(bytes.data() + at, &value, sizeof value);
      testing_support::Seal(bytes);
      EXPECT_EQ(
          ParseManifest(bytes).status(),
          absl::DataLossError("cut off, or not as long as its header says"))
          << at << ": " << value;
    }
  }
}

TEST(PackFormat, ContentsThatMakeNoSenseAreRefused) {
  struct Case {
    const char* message;
    std::function<void(PackManifest&)> spoil;
  };
  const Case cases[] = {
      {"file 2: does not begin where the one before it ends",
       [](PackManifest& m) { m.files[2].offset = 7; }},
      {"file 0: does not begin where the one before it ends",  // outside
       [](PackManifest& m) { m.files[0].offset = uint64_t{1} << 50; }},
      {"file 2: is too long",
       [](PackManifest& m) { m.files[2].length = ~uint64_t{0}; }},
      {"chunk 0: is not as long as its files together",
       [](PackManifest& m) { m.files[0].length = 99; }},
      {"chunk 1: is not as long as its files together",
       [](PackManifest& m) { m.chunks[1].bytes = ~uint64_t{0}; }},
      {"chunk 0: its number of files is invalid",
       [](PackManifest& m) { m.chunks[0].file_count = 0; }},
      {"chunk 1: its number of files is invalid",
       [](PackManifest& m) { m.chunks[1].file_count = 3; }},
      {"there are files in no chunk",
       [](PackManifest& m) { m.chunks[1].file_count = 1; }},
      {"file 2: has too few checksums",
       [](PackManifest& m) { m.checks.pop_back(); }},
      {"there are checksums or paths that belong to no file",
       [](PackManifest& m) { m.checks.push_back(1); }},
      {"there are checksums or paths that belong to no file",
       [](PackManifest& m) { m.paths.append("more", 5); }},
      {"file 2: has no path", [](PackManifest& m) { m.paths.pop_back(); }},
      {"file 0: has a path that leaves the source",
       [](PackManifest& m) { m.paths.replace(0, 7, "../b.jp"); }},
      {"file 0: has a path that leaves the source",
       [](PackManifest& m) { m.paths[0] = '/'; }},
      {"file 0: has a path that leaves the source",
       [](PackManifest& m) { m.paths.replace(0, 7, "a/..///"); }},
      {"file 1: has a path that leaves the source",
       [](PackManifest& m) { m.paths[8] = '\0'; }},
  };
  for (const Case& spoiled : cases) {
    PackManifest manifest = Small();
    spoiled.spoil(manifest);
    EXPECT_EQ(ParseManifest(SerializeManifest(manifest)).status(),
              absl::DataLossError(spoiled.message));
  }
}

TEST(PackFormat, ChunkNames) {
  EXPECT_EQ(PackChunkName(7), "chunk-000007.pack");
  EXPECT_EQ(PackChunkName(1234567), "chunk-1234567.pack");
  for (const uint32_t chunk : {0u, 7u, 999999u, 1000000u, 4294967295u}) {
    EXPECT_EQ(ParsePackChunkName(PackChunkName(chunk)), chunk);
  }
  for (const char* name :
       {"", "chunk-.pack", "chunk-7.pack", "chunk-0000007.pack",
        "chunk-+00007.pack", "chunk- 00007.pack", "chunk-00000x.pack",
        "chunk-4294967296.pack", "chunk-000007.pack.tmp", "chunk-000007",
        "xchunk-000007.pack", "manifest"}) {
    EXPECT_EQ(ParsePackChunkName(name), absl::nullopt) << name;
  }
}

}  // namespace
}  // namespace shufflefs
