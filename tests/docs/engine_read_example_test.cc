// SPDX-License-Identifier: Apache-2.0
// examples/engine_read.cc does what it says: under each policy it reads every
// file of a dataset once, without a mount, and leaves nothing behind.
#include <filesystem>
#include <iterator>
#include <regex>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/records/tfrecord_api/tfrecord_writer.h"
#include "gtest/gtest.h"
#include "tests/core/base/temp_tree.h"
#include "tests/meta/repository.h"
#include "tests/testing/paths.h"

namespace shufflefs {
namespace {

const std::string kEngineRead =
    testing_support::BuildDir() + "/examples/engine_read";

struct Printed {
  std::string policy;
  uint64_t files = 0;
  uint64_t bytes = 0;
};

Printed Read(const std::string& dataset, const std::string& policy) {
  const meta::ShellResult run =
      meta::Shell(kEngineRead + " '" + dataset + "' " + policy + " 2>/dev/null");
  EXPECT_EQ(run.code, 0) << run.output;
  const std::regex line(
      "([a-z]+): ([0-9]+) files, ([0-9]+) bytes, [0-9.]+ s, [0-9.]+ MB/s\n");
  std::smatch match;
  if (!std::regex_match(run.output, match, line)) {
    ADD_FAILURE() << run.output;
    return {};
  }
  return {match[1], std::stoull(match[2]), std::stoull(match[3])};
}

TEST(EngineReadExample, ReadsEveryFileOnceUnderEachPolicy) {
  testing_support::TempTree tree;
  uint64_t files = 0;
  uint64_t bytes = 0;
  for (const char* label : {"train/cat", "train/dog", "val/cat", "val/dog"}) {
    for (int i = 0; i < 20; ++i) {
      const std::string content(1000 + 997 * files, 'x');
      tree.File(absl::StrCat(label, "/photo-", i * i, ".jpg"), content);
      ++files;
      bytes += content.size();
    }
  }
  const std::string large((size_t{5} << 20) + 1, 'y');
  tree.File("train/cat/large.jpg", large);
  tree.File("README");
  files += 2;
  bytes += large.size() + 1;
  const auto entries = [&] {
    using Walk = std::filesystem::recursive_directory_iterator;
    return std::distance(Walk(tree.root()), Walk());
  };
  const auto before = entries();
  for (const char* policy : {"native", "lirs", "brand", "static", "window"}) {
    const Printed printed = Read(tree.root(), policy);
    EXPECT_EQ(printed.policy, policy);
    EXPECT_EQ(printed.files, files) << policy;
    EXPECT_EQ(printed.bytes, bytes) << policy;
  }
  EXPECT_EQ(Read(tree.root(), "").policy, "native");  // it fits into memory
  EXPECT_EQ(entries(), before);
}

TEST(EngineReadExample, ReadsShuffledContainers) {
  testing_support::TempTree tree;
  tree.File("data/two.txt", "not a container");
  auto writer = TfrecordWriter::Create(tree.At("data/one.tfrecord"));
  ASSERT_TRUE(writer.ok()) << writer.status();
  for (int i = 0; i < 5000; ++i) {
    ASSERT_TRUE(writer->Add(absl::StrCat("record ", i)).ok());
  }
  ASSERT_TRUE(writer->Finish().ok());
  const Printed printed = Read(tree.root(), "reimu");
  EXPECT_EQ(printed.files, 2u);
  EXPECT_EQ(printed.bytes, writer->bytes() + 15);
}

TEST(EngineReadExample, TellsWhatItCannotRead) {
  const meta::ShellResult none = meta::Shell(kEngineRead + " /proc/none 2>&1");
  EXPECT_EQ(none.code, 1);
  EXPECT_NE(none.output.find("/proc/none"), std::string::npos) << none.output;
  const testing_support::TempTree tree;
  const meta::ShellResult unknown =
      meta::Shell(kEngineRead + " '" + tree.root() + "' nonsense 2>&1");
  EXPECT_EQ(unknown.code, 1);
  EXPECT_NE(unknown.output.find("nonsense"), std::string::npos)
      << unknown.output;
  EXPECT_EQ(meta::Shell(kEngineRead + " 2>&1").code, 2);
}

}  // namespace
}  // namespace shufflefs
