// SPDX-License-Identifier: Apache-2.0
#include "tests/examples/framed_format.h"

#include <memory>
#include <string>
#include <vector>

#include "core/dataset/dataset.h"
#include "core/dataset/file_kinds.h"
#include "core/formats/table/formats.h"
#include "core/formats/table/record_rules.h"
#include "core/records/containers/container_finder.h"
#include "core/records/index/container_index.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/base/temp_tree.h"
#include "tests/core/formats/scanner_fixture.h"

namespace shufflefs {
namespace {

using testing_support::ScanEveryWay;
using testing_support::Scanned;
using testing_support::TempTree;

std::string Framed(const std::vector<std::string>& messages) {
  std::string file(kFramedMagic);
  for (const std::string& message : messages) {
    for (int byte = 0; byte < 4; ++byte) {
      file.push_back(static_cast<char>(message.size() >> (8 * byte)));
    }
    file += message;
  }
  return file;
}

Scanned Scan(const std::string& file) {
  return ScanEveryWay(
      [&] {
        return FramedFormat().MakeScanner({"f.framed", file.size(), nullptr});
      },
      file);
}

TEST(FramedFormatTest, FindsTheMessages) {
  const std::string file = Framed({"one", "", std::string(70000, 'x'), "last"});
  const Scanned scanned = Scan(file);
  EXPECT_EQ(scanned.status, absl::OkStatus());
  EXPECT_EQ(scanned.begin, 8u);
  EXPECT_THAT(scanned.sizes, testing::ElementsAre(7, 4, 70004, 8));
  EXPECT_TRUE(Scan(Framed({})).sizes.empty());
}

TEST(FramedFormatTest, SaysWhereAFileIsDamaged) {
  const std::string file = Framed({"one", "two"});
  EXPECT_EQ(Scan(file.substr(0, file.size() - 1)).status,
            absl::DataLossError(
                "the message at byte 15 is longer than the rest of the file"));
  EXPECT_EQ(Scan(file.substr(0, 17)).status,
            absl::DataLossError("it ends within a message, at byte 17"));
}

// All that a user meets comes from the entry.
TEST(FramedFormatTest, IsKnownByItsNames) {
  EXPECT_EQ(FormatNamed("framed"), &FramedFormat());
  EXPECT_EQ(FormatByName("a.Framed"), &FramedFormat());
  EXPECT_EQ(KindOfFile("a.framed"), FileKind::kContainer);
  RecordOptions options;
  options.as = "*.bin:framed";
  EXPECT_EQ(RecordRules::Parse(options)->Asked("x.bin"), &FramedFormat());
  options.as = "*.bin:other";
  EXPECT_THAT(std::string(RecordRules::Parse(options).status().message()),
              testing::HasSubstr("npy, idx, framed"));
}

// So do the names of its indexes: a container that has one is left alone.
TEST(FramedFormatTest, AnIndexBesideItIsKnown) {
  TempTree tree;
  tree.File("a.framed", Framed({"one", "two"}));
  tree.File("b.framed", Framed({"one", "two"}));
  tree.File("b.framed.offsets", "8 7\n");
  tree.File("c.framed", Framed({"one", "two"}));
  tree.File("index/c.offsets", "8 7\n");
  const auto catalogue = std::make_shared<const Catalogue>(tree.Scanned());
  const auto dataset = Dataset::Make(catalogue, ViewConfig(), "");
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  const FoundContainers found = FindContainers(**dataset, RecordRules(), {});
  ASSERT_EQ(found.containers.size(), 1u);
  EXPECT_EQ(catalogue->path(found.containers[0].file), "a.framed");
  std::vector<std::string> untouched;
  for (const UntouchedFile& each : found.untouched) {
    untouched.push_back(each.path + ": " + each.why);
  }
  EXPECT_THAT(untouched,
              testing::ElementsAre(
                  "b.framed: it has a sidecar file, b.framed.offsets",
                  "c.framed: it has a sidecar file, index/c.offsets"));
}

// A name that no format claims makes no container.
TEST(FramedFormatTest, WhatNoFormatClaimsIsNoContainer) {
  TempTree tree;
  tree.File("a.frames", Framed({"one", "two"}));
  const auto dataset = Dataset::Make(
      std::make_shared<const Catalogue>(tree.Scanned()), ViewConfig(), "");
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  const FoundContainers found = FindContainers(**dataset, RecordRules(), {});
  EXPECT_TRUE(found.containers.empty());
  EXPECT_TRUE(found.untouched.empty());
}

TEST(FramedFormatTest, IsIndexed) {
  TempTree tree;
  tree.File("a.framed", Framed({"one", "three"}));
  tree.File("b.framed", "framed00");
  const SourceDir source = tree.Source();
  const Catalogue catalogue = tree.Scanned();
  const RecordOptions options;
  IndexRequest request;
  request.path = "a.framed";
  request.expected = catalogue.attributes(*catalogue.FindPath("a.framed"));
  request.format = &FramedFormat();
  request.options = &options;
  const absl::StatusOr<ContainerShape> shape = IndexContainer(source, request);
  ASSERT_TRUE(shape.ok()) << shape.status();
  EXPECT_EQ(shape->records->count(), 2u);
  EXPECT_EQ(shape->records->begin(1), 15u);
  request.path = "b.framed";
  request.expected = catalogue.attributes(*catalogue.FindPath("b.framed"));
  EXPECT_EQ(IndexContainer(source, request).status(),
            absl::FailedPreconditionError(
                "its first bytes are not those of a framed file"));
}

}  // namespace
}  // namespace shufflefs
