// SPDX-License-Identifier: Apache-2.0
#include "core/records/aligned/aligned_manifest.h"

#include <errno.h>
#include <xxhash.h>

#include <cstring>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/base/temp_tree.h"
#include "tests/testing/checked_bytes.h"

namespace shufflefs {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing_support::TempTree;

std::string Text() { return "0 40\n64 64\n"; }

AlignedFile File(const std::string& name) {
  return {.name = name,
          .padded_bytes = 128,
          .stripped_bytes = 104,
          .records = 2,
          .source_identity = 0xfedcba9876543210,
          .source_pages = 3,
          .padded_pages = 2,
          .idx_bytes = Text().size(),
          .idx_checksum = XXH3_64bits(Text().data(), Text().size())};
}

AlignedManifest Manifest() {
  AlignedManifest manifest(64, PageFit::kBest);
  manifest.Add(File("b.tfrecord"));
  manifest.Add(File("a.tfrecord"));
  return manifest;
}

std::string Sealed(std::string bytes) {
  testing_support::Seal(bytes);
  return bytes;
}

template <typename T>
std::string With(std::string bytes, size_t at, T number) {
  std::memcpy(bytes.data() + at, &number, sizeof number);
  return Sealed(bytes);
}

TEST(AlignedManifestTest, ComesBack) {
  const auto parsed = AlignedManifest::Parse(Manifest().Serialize());
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(parsed->page_bytes(), 64u);
  EXPECT_EQ(parsed->fit(), PageFit::kBest);
  EXPECT_THAT(parsed->files(),
              ElementsAre(File("a.tfrecord"), File("b.tfrecord")));
  EXPECT_EQ(*parsed->Find("b.tfrecord"), File("b.tfrecord"));
  EXPECT_EQ(parsed->Find("b.tfrecor"), nullptr);
  EXPECT_EQ(parsed->Find("c"), nullptr);
  EXPECT_TRUE(
      AlignedManifest::Parse(AlignedManifest(512, PageFit::kNext).Serialize())
          ->files()
          .empty());
}

// Bytes as the header file tells them.
TEST(AlignedManifestTest, LiesAsDocumented) {
  const std::string bytes = Manifest().Serialize();
  EXPECT_EQ(bytes.size(), 56 + 2 * 72 + 20u);
  EXPECT_EQ(bytes.substr(0, 16),
            std::string("SHUFALN\n\x02\0\0\0\x38\0\0\0", 16));
  EXPECT_EQ(bytes.substr(24, 16),
            std::string("\x40\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0", 16));
  EXPECT_EQ(bytes.substr(56, 8), std::string("\x80\0\0\0\0\0\0\0", 8));
  EXPECT_EQ(bytes.substr(56 + 24, 8), "\x10\x32\x54\x76\x98\xba\xdc\xfe");
  EXPECT_EQ(bytes.substr(200), "a.tfrecordb.tfrecord");
}

TEST(AlignedManifestTest, EveryChangedByteIsSeen) {
  const std::string good = Manifest().Serialize();
  for (size_t at = 0; at < good.size(); ++at) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 0x10);
    const absl::Status status = AlignedManifest::Parse(bad).status();
    EXPECT_EQ(status.code(), at < 16 ? absl::StatusCode::kInvalidArgument
                                     : absl::StatusCode::kDataLoss)
        << at;
  }
  for (size_t size = 0; size < good.size(); ++size) {
    EXPECT_FALSE(AlignedManifest::Parse(good.substr(0, size)).ok()) << size;
  }
}

TEST(AlignedManifestTest, WhatMakesNoSenseIsRefused) {
  const std::string good = Manifest().Serialize();
  const auto refusal = [](const std::string& bytes) {
    const absl::Status status = AlignedManifest::Parse(bytes).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << status;
    return std::string(status.message());
  };
  EXPECT_THAT(refusal(With(good, 24, uint64_t{65})), HasSubstr("page size"));
  EXPECT_THAT(refusal(With(good, 24, uint64_t{0})), HasSubstr("page size"));
  EXPECT_THAT(refusal(With(good, 32, uint32_t{2})), HasSubstr("or fit"));
  EXPECT_THAT(refusal(With(good, 40, ~uint64_t{0})), HasSubstr("as long"));
  EXPECT_THAT(refusal(With(good, 48, uint64_t{19})), HasSubstr("as long"));
  EXPECT_THAT(refusal(With(good, 56, uint64_t{103})),
              HasSubstr("the sizes of a.tfrecord"));
  EXPECT_THAT(refusal(With(good, 56, ~uint64_t{0})), HasSubstr("the sizes"));
  EXPECT_THAT(refusal(With(good, 56 + 16, uint64_t{0})),
              HasSubstr("the sizes"));
  EXPECT_THAT(refusal(With(good, 56 + 16, uint64_t{7})),
              HasSubstr("the sizes"));
  EXPECT_THAT(refusal(With(good, 56 + 64, uint32_t{9})),
              HasSubstr("left over"));
  EXPECT_THAT(refusal(With(good, 56 + 64, uint32_t{99})), HasSubstr("a name"));
  EXPECT_THAT(refusal(With(good, 56 + 72 + 64, uint32_t{9})),
              HasSubstr("left over"));
  EXPECT_THAT(refusal(With(good, 200, '/')), HasSubstr("a name"));
  EXPECT_THAT(refusal(With(good, 200, '\0')), HasSubstr("a name"));
  EXPECT_THAT(refusal(With(good, 200, 'z')), HasSubstr("order"));
  EXPECT_FALSE(IsAlignedName(""));
  EXPECT_FALSE(IsAlignedName(".."));
  EXPECT_FALSE(IsAlignedName("aligned.manifest.part"));
  EXPECT_FALSE(IsAlignedName("a.tfrecord.tmp"));
  EXPECT_FALSE(IsAlignedName(std::string(248, 'a')));
  EXPECT_TRUE(IsAlignedName(std::string(247, 'a')));
}

TEST(AlignedManifestTest, OpenLooksAtTheFiles) {
  TempTree tree;
  EXPECT_EQ(ErrnoOf(AlignedManifest::Open(tree.root()).status()), ENOENT);
  tree.File(kAlignedPart, Manifest().Serialize());
  EXPECT_EQ(AlignedManifest::Open(tree.root()).status().code(),
            absl::StatusCode::kFailedPrecondition);
  tree.File(kAlignedManifest, Manifest().Serialize());
  for (const std::string name : {"a.tfrecord", "b.tfrecord"}) {
    tree.File(name, std::string(128, 'x'));
    tree.File(name + ".idx", Text());
  }
  const auto manifest = AlignedManifest::Open(tree.root());
  ASSERT_TRUE(manifest.ok()) << manifest.status();
  tree.File("b.tfrecord", "short");
  EXPECT_EQ(AlignedManifest::Open(tree.root()).status(),
            absl::DataLossError(absl::StrCat(
                tree.At("b.tfrecord"),
                ": is not the file of 128 bytes that was written")));
  tree.File(kAlignedManifest, "other");
  EXPECT_EQ(
      AlignedManifest::Open(tree.root()).status(),
      absl::InvalidArgumentError(absl::StrCat(
          tree.At(kAlignedManifest), ": no manifest of page-aligned files")));
}

}  // namespace
}  // namespace shufflefs
