// SPDX-License-Identifier: Apache-2.0
// Archives that the system's tar wrote, and what it reads when their records
// come in another order.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "absl/strings/str_split.h"
#include "core/formats/tar/tar_scanner.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/base/temp_tree.h"
#include "tests/core/formats/scanner_fixture.h"

namespace shufflefs {
namespace {

using testing_support::ScanEveryWay;
using testing_support::Scanned;
using testing_support::TempTree;

// What `command` prints; it must succeed.
std::string Shell(const std::string& command) {
  FILE* const pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) std::abort();
  std::string output;
  char buffer[4096];
  for (size_t n; (n = fread(buffer, 1, sizeof buffer, pipe)) > 0;) {
    output.append(buffer, n);
  }
  EXPECT_EQ(pclose(pipe), 0) << command;
  return output;
}

std::string Read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Ten samples of two files, some with paths beyond the 100 bytes of a header.
void MakeSamples(TempTree& tree) {
  std::string directory = "data/";
  for (int i = 0; i < 10; ++i) {
    if (i % 4 == 0) directory += std::string(60, 'c') + "/";
    const std::string key = absl::StrCat(directory, std::string(20, 'k'), i);
    tree.File(key + ".cls", absl::StrCat(i));
    tree.File(key + ".img", std::string(static_cast<size_t>(i) * 300, 'i'));
  }
}

// An archive of data/ in `format`, with what else tar is told.
std::string MakeArchive(const TempTree& tree, const std::string& format,
                        const std::string& more = "") {
  Shell("cd '" + tree.root() + "' && tar --sort=name --format=" + format + " " +
        more + " -cf archive.tar data");
  return Read(tree.At("archive.tar"));
}

// What tar lists, without the directories.
std::vector<std::string> FilesIn(const std::string& archive) {
  return absl::StrSplit(Shell("tar -tf '" + archive + "' | grep -v '/$'"), '\n',
                        absl::SkipEmpty());
}

Scanned ScanTar(const std::string& file) {
  return ScanEveryWay([&] { return MakeTarScanner(file.size()); }, file);
}

class TarProgram : public ::testing::TestWithParam<const char*> {};

TEST_P(TarProgram, ReadsTheRecordsInAnotherOrder) {
  TempTree tree;
  MakeSamples(tree);
  const std::string file = MakeArchive(tree, GetParam());
  ASSERT_TRUE(LooksLikeTar(file));
  const Scanned scanned = ScanTar(file);
  ASSERT_EQ(scanned.status, absl::OkStatus());
  ASSERT_EQ(scanned.sizes.size(), 10u);
  std::vector<std::string> records = scanned.Records(file);
  std::reverse(records.begin(), records.end());
  std::string reversed = file.substr(0, *scanned.begin);
  for (const std::string& record : records) reversed += record;
  reversed += file.substr(scanned.end());
  ASSERT_EQ(reversed.size(), file.size());
  tree.File("out/reversed.tar", reversed);

  Shell("cd '" + tree.At("out") +
        "' && tar -xf reversed.tar 2>&1 && diff -r data ../data");
  // Both files of a sample together, from the last sample to the first.
  const std::vector<std::string> names = FilesIn(tree.At("archive.tar"));
  ASSERT_EQ(names.size(), 20u);
  std::vector<std::string> expected;
  for (size_t i = 20; i > 0; i -= 2) {
    expected.insert(expected.end(), {names[i - 2], names[i - 1]});
  }
  EXPECT_EQ(FilesIn(tree.At("out/reversed.tar")), expected);
}

INSTANTIATE_TEST_SUITE_P(Formats, TarProgram,
                         ::testing::Values("ustar", "gnu", "posix", "oldgnu"));

TEST(TarProgramV7, AndTheOldestFormat) {
  TempTree tree;
  tree.File("data/1.cls", "1");
  tree.File("data/1.img", "image");
  tree.File("data/2.cls", "2");
  const std::string file = MakeArchive(tree, "v7");
  const Scanned scanned = ScanTar(file);
  EXPECT_EQ(scanned.status, absl::OkStatus());
  EXPECT_EQ(scanned.begin, 512u);  // data/ stays
  EXPECT_THAT(scanned.sizes, ::testing::ElementsAre(2048, 1024));
}

TEST(TarProgramRefused, WhatIsNotShuffled) {
  TempTree tree;
  tree.File("data/1.img", "data, then a hole");
  std::filesystem::resize_file(tree.At("data/1.img"), 1 << 20);
  const std::string sparse = "--sparse";
  const auto refused = [](const std::string& file) {
    const absl::Status status = ScanTar(file).status;
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    return std::string(status.message());
  };
  EXPECT_THAT(refused(MakeArchive(tree, "gnu", sparse)),
              ::testing::EndsWith(": a sparse member"));
  EXPECT_THAT(refused(MakeArchive(tree, "posix", sparse)),
              ::testing::EndsWith(": a sparse member"));
  EXPECT_EQ(refused(MakeArchive(tree, "posix", "--pax-option=comment=all")),
            "the member at byte 0: a pax global header");
  tree.Link("data/2.img", "1.img");
  EXPECT_THAT(refused(MakeArchive(tree, "gnu")),
              ::testing::EndsWith(": a symbolic link"));
  ASSERT_EQ(link(tree.At("data/1.img").c_str(), tree.At("data/1.jpg").c_str()),
            0);
  EXPECT_THAT(refused(MakeArchive(tree, "gnu")),
              ::testing::EndsWith(": a hard link"));
}

}  // namespace
}  // namespace shufflefs
