// SPDX-License-Identifier: Apache-2.0
// Padded TFRecord files, and indexes beside TFRecord files, as a view makes
// them: from the source to the bytes of an epoch.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "core/records/aligned/aligned_pack.h"
#include "core/records/containers/container_set.h"
#include "core/records/content/part_reads.h"
#include "core/records/order/index_text.h"
#include "core/records/order/shuffled_file.h"
#include "core/records/order/source_order.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/base/file_bytes.h"
#include "tests/core/base/temp_tree.h"
#include "tests/core/formats/tfrecord/tfrecord_fixture.h"
#include "tests/core/formats/tfrecord/tfrecord_index_fixture.h"
#include "tests/core/records/containers/record_fixture.h"

namespace shufflefs {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAreArray;
using testing_support::Apply;
using testing_support::PolicyOf;
using testing_support::Slurp;
using testing_support::SpansOf;
using testing_support::TempTree;
using testing_support::Tfrecord;
using testing_support::Tfrecords;

constexpr uint64_t kPage = 4096;

std::vector<std::string> RandomRecords(uint64_t count, uint64_t most,
                                       Rng& rng) {
  std::vector<std::string> records;
  for (uint64_t i = 0; i < count; ++i) {
    records.push_back(testing_support::Letters(rng.Bounded(most), rng));
  }
  return records;
}

std::shared_ptr<const Policy> Pages() {
  PolicyOptions options;
  options.Set("lirs.unit", "page");
  options.Set("lirs.page", kPage);
  return PolicyOf("lirs", options);
}

std::unique_ptr<const RecordOrder> OrderOf(const ContainerShape& shape,
                                           const Policy* policy,
                                           uint64_t epoch) {
  if (policy == nullptr) return MakeSourceOrder(*shape.records);
  RecordOrderOptions options;
  options.seed = Seed(4);
  options.epoch = Epoch(epoch);
  options.order_by = shape.order_by.get();
  return MakeRecordOrder(*policy, *shape.records, options);
}

std::string Whole(const PartedFile& file, const std::string& source) {
  std::string all;
  for (uint64_t part = 0; part < file.part_count(); ++part) {
    EXPECT_EQ(file.part_begin(part), all.size()) << part;
    all += Apply(file.Plan(part), source);
  }
  EXPECT_EQ(all.size(), file.bytes());
  return all;
}

// The frames that an index leads to.
std::vector<std::string> FramesBy(const std::string& index,
                                  const std::string& file) {
  const auto spans = SpansOf(index);
  EXPECT_TRUE(spans.has_value());
  std::vector<std::string> frames;
  uint64_t end = 0;
  for (const TfrecordSpan& span : spans.value()) {
    EXPECT_EQ(span.offset, end);
    frames.push_back(file.substr(span.offset, span.bytes));
    end = span.offset + span.bytes;
  }
  EXPECT_EQ(end, file.size());
  return frames;
}

class PaddedContainerTest : public ::testing::Test {
 protected:
  // Writes padded files, which the tree then shows below "pack".
  void Pack(PageFit fit) {
    AlignOptions options;
    options.page_bytes = kPage;
    options.fit = fit;
    const auto written =
        WriteAligned(unpacked_.At(""), tree_.At("pack"), options);
    ASSERT_TRUE(written.ok()) << written.status();
  }
  std::shared_ptr<ContainerSet> Make(bool only_padded = false) {
    catalogue_ = std::make_shared<const Catalogue>(tree_.Scanned());
    ViewConfig config;
    auto dataset = Dataset::Make(catalogue_, config, "");
    EXPECT_TRUE(dataset.ok()) << dataset.status();
    ContainerSetOptions options;
    options.padded =
        PaddedDirs::Load(tree_.Source(), catalogue_, (*dataset)->root());
    options.only_padded = only_padded;
    return std::make_shared<ContainerSet>(*std::move(dataset),
                                          *RecordRules::Parse({}), options);
  }
  EntryId Entry(const std::string& path) const {
    return *catalogue_->FindPath(path);
  }
  static std::map<std::string, std::string> Untouched(const ContainerSet& set) {
    std::map<std::string, std::string> untouched;
    for (const auto& each : set.Report().untouched) {
      untouched[each.path] = each.why;
    }
    return untouched;
  }

  TempTree unpacked_;
  TempTree tree_;
  std::shared_ptr<const Catalogue> catalogue_;
};

TEST_F(PaddedContainerTest, AFileIsShownWithoutItsPadding) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE(seed);
  Rng rng{RandomKey(seed)};
  for (const PageFit fit : {PageFit::kNext, PageFit::kBest}) {
    std::filesystem::remove_all(tree_.At("pack"));
    const std::string packed = Tfrecords(RandomRecords(900, 9000, rng));
    unpacked_.File("a.tfrecord", packed);
    Pack(fit);
    const std::string padded = Slurp(tree_.At("pack/a.tfrecord"));
    ASSERT_GT(padded.size(), packed.size());
    const auto set = Make();
    const EntryId file = Entry("pack/a.tfrecord");
    EXPECT_EQ(set->ShownBytes(file).bytes, packed.size());
    EXPECT_FALSE(set->ShownBytes(file).is_final);
    set->Index(tree_.Source(), {});
    EXPECT_THAT(Untouched(*set), IsEmpty());
    const ContainerShape shape = *set->Shape(file);
    EXPECT_EQ(set->ShownBytes(file).bytes, packed.size());
    EXPECT_TRUE(set->ShownBytes(file).is_final);
    const std::string plain =
        Whole(ShuffledFile(shape, OrderOf(shape, nullptr, 0)), padded);
    if (fit == PageFit::kNext) {
      EXPECT_EQ(plain, packed);
    }
    const std::string index =
        Whole(IndexText(shape, OrderOf(shape, nullptr, 0)), "");
    EXPECT_EQ(set->ShownBytes(Entry("pack/a.tfrecord.idx")).bytes,
              index.size());
    const std::vector<std::string> frames = FramesBy(index, plain);
    ASSERT_EQ(frames.size(), 900u);
    const auto policies = {Pages(), PolicyOf("lirs", PolicyOptions()),
                           PolicyOf("reimu", PolicyOptions())};
    for (const auto& policy : policies) {
      std::set<std::string> seen = {plain};
      for (uint64_t epoch = 0; epoch < 3; ++epoch) {
        const std::string shown = Whole(
            ShuffledFile(shape, OrderOf(shape, policy.get(), epoch)), padded);
        const std::string lines =
            Whole(IndexText(shape, OrderOf(shape, policy.get(), epoch)), "");
        EXPECT_THAT(FramesBy(lines, shown), UnorderedElementsAreArray(frames));
        EXPECT_TRUE(seen.insert(shown).second) << epoch;
      }
    }
  }
}

TEST_F(PaddedContainerTest, PagesOfTheSourceAreEachReadOnce) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE(seed);
  Rng rng{RandomKey(seed)};
  unpacked_.File("a.tfrecord", Tfrecords(RandomRecords(20000, 700, rng)));
  for (const PageFit fit : {PageFit::kNext, PageFit::kBest}) {
    std::filesystem::remove_all(tree_.At("pack"));
    Pack(fit);
    const auto set = Make();
    set->Index(tree_.Source(), {});
    const ContainerShape shape = *set->Shape(Entry("pack/a.tfrecord"));
    const uint64_t pages =
        (std::filesystem::file_size(tree_.At("pack/a.tfrecord")) + kPage - 1) /
        kPage;
    ASSERT_GT(pages, 1000u);
    PartReadLimits exact;
    exact.gap_bytes = 1;
    const ShuffledFile file(shape, OrderOf(shape, Pages().get(), 1));
    std::map<uint64_t, uint64_t> reads_of;  // by page
    for (uint64_t part = 0; part < file.part_count(); ++part) {
      for (const PartRead& read : PlanPartReads(file.Plan(part), exact)) {
        for (uint64_t page = read.offset / kPage;
             page * kPage < read.offset + read.length; ++page) {
          ++reads_of[page];
        }
      }
    }
    EXPECT_EQ(reads_of.size(), pages);
    for (const auto& [page, reads] : reads_of) EXPECT_EQ(reads, 1u) << page;
  }
}

TEST_F(PaddedContainerTest, WithoutAShuffleOnlyPaddedFilesAreContainers) {
  unpacked_.File("a.tfrecord", Tfrecords({"one", std::string(4000, 'x'), "y"}));
  unpacked_.File("none.tfrecord", "");
  Pack(PageFit::kNext);
  tree_.File("b.tfrecord", Tfrecords({"one", "two"}));
  const auto set = Make(/*only_padded=*/true);
  set->Index(tree_.Source(), {});
  EXPECT_TRUE(set->Has(Entry("pack/a.tfrecord")));
  EXPECT_TRUE(set->IndexedBy(Entry("pack/a.tfrecord.idx")).has_value());
  EXPECT_FALSE(set->Has(Entry("b.tfrecord")));
  EXPECT_FALSE(set->Has(Entry("pack/none.tfrecord")));
  EXPECT_FALSE(set->IsShuffled(Entry("pack/a.tfrecord")));
  EXPECT_TRUE(set->Shape(Entry("pack/a.tfrecord"))->keeps_order);
  EXPECT_EQ(set->count(), 0u);
  EXPECT_EQ(set->Report().padded, 1u);
  EXPECT_EQ(set->Report().containers, 0u);
}

TEST_F(PaddedContainerTest, WhatTheManifestDoesNotFitIsShownAsItIs) {
  for (const char* name : {"a.tfrecord", "b.tfrecord", "c.tfrecord"}) {
    unpacked_.File(name, Tfrecords({"one", std::string(4090, 'x'), "three"}));
  }
  Pack(PageFit::kNext);
  const std::string pack = tree_.At("pack/");
  std::ofstream(pack + "a.tfrecord", std::ios::app) << "more";
  std::string index = Slurp(pack + "b.tfrecord.idx");
  index[0] = '1';
  std::ofstream(pack + "b.tfrecord.idx") << index;
  auto set = Make();
  set->Index(tree_.Source(), {});
  auto why = Untouched(*set);
  EXPECT_THAT(why["pack/a.tfrecord"],
              HasSubstr("a.tfrecord is not the file that was written"));
  EXPECT_THAT(why["pack/b.tfrecord"],
              HasSubstr("is not the index that was written with it"));
  EXPECT_EQ(why.size(), 2u);
  EXPECT_EQ(set->ShownBytes(Entry("pack/b.tfrecord")).bytes,
            catalogue_->attributes(Entry("pack/b.tfrecord")).size);
  std::string manifest = Slurp(pack + kAlignedManifest);
  manifest.back() ^= 1;
  std::ofstream(pack + kAlignedManifest) << manifest;
  set = Make();
  set->Index(tree_.Source(), {});
  why = Untouched(*set);
  EXPECT_EQ(why.size(), 3u);
  EXPECT_THAT(why["pack/c.tfrecord"],
              HasSubstr("aligned.manifest: the checksum differs"));
}

TEST_F(PaddedContainerTest, AnIndexMustBeTheOneOfTheRecords) {
  const std::vector<std::string> records = {"one", "", "three", "four"};
  const std::string whole = "0 19\n19 16\n35 21\n56 20\n";
  const std::map<std::string, std::string> indexes = {
      {"plain", whole},
      {"blanks", "  0 19 \r\n19\t16\n 35 21\n56 20"},
      {"fewer", "0 19\n19 16\n35 21\n"},
      {"more", whole + "76 16\n"},
      {"moved", "0 19\n19 16\n36 20\n56 20\n"},
      {"words", "zero 19\n19 16\n35 21\n56 20\n"},
      {"empty", ""}};
  for (const auto& [name, text] : indexes) {
    tree_.File(name + ".tfrecord", Tfrecords(records));
    tree_.File(name + ".tfrecord.idx", text);
    if (text.empty()) continue;  // a file without bytes is no member of a pair
    tree_.File("dali/" + name + ".tfrecord", Tfrecords(records));
    tree_.File("dali/" + name + ".idx", text);
  }
  const auto set = Make();
  set->Index(tree_.Source(), {});
  EXPECT_EQ(set->count(), 4u);
  for (const auto& [path, why] : Untouched(*set)) {
    EXPECT_THAT(why, HasSubstr("it has a sidecar file, ")) << path;
    EXPECT_THAT(why, HasSubstr("which is not an index of its records")) << path;
  }
  for (const std::string path : {"plain.tfrecord", "dali/plain.tfrecord"}) {
    const ContainerShape shape = *set->Shape(Entry(path));
    ASSERT_TRUE(shape.index.has_value());
    for (uint64_t epoch = 0; epoch < 5; ++epoch) {
      const auto policy = PolicyOf("lirs", PolicyOptions());
      const std::string shown =
          Whole(ShuffledFile(shape, OrderOf(shape, policy.get(), epoch)),
                Tfrecords(records));
      const std::string lines =
          Whole(IndexText(shape, OrderOf(shape, policy.get(), epoch)), "");
      EXPECT_EQ(lines.size(), shape.index->bytes);
      EXPECT_THAT(
          FramesBy(lines, shown),
          UnorderedElementsAreArray({Tfrecord("one"), Tfrecord(""),
                                     Tfrecord("three"), Tfrecord("four")}));
    }
  }
}

TEST_F(PaddedContainerTest, ASecondSidecarKeepsTheFileAsItIs) {
  const std::string data = Tfrecords({"one", "two"});
  tree_.File("a.tfrecord", data);
  tree_.File("a.tfrecord.idx", "0 19\n19 19\n");
  tree_.File("a.idx", "0 19\n19 19\n");
  tree_.File("b.tfrecord", data);
  tree_.File("b.tfrecord.idx", "0 19\n19 19\n");
  tree_.File("b.labels", "x\ny\n");
  const auto set = Make();
  EXPECT_TRUE(set->empty());
  EXPECT_EQ(Untouched(*set).size(), 2u);
}

// It leads to the records of one, and is shown in the order of one.
TEST_F(PaddedContainerTest, AnIndexOfTwoFilesKeepsBothAsTheyAre) {
  const std::string data = Tfrecords({"one", "two"});
  const std::string index = "0 19\n19 19\n";
  tree_.File("a/train.tfrecord", data);
  tree_.File("a/train.idx", index);
  tree_.File("a/train.tfrecord-00001-of-00002", Tfrecords({"1", "2", "3"}));
  tree_.File("b/train.tfrecord", data);
  tree_.File("b/train.idx", index);
  const auto set = Make();
  EXPECT_EQ(set->count(), 1u);
  EXPECT_TRUE(set->Has(Entry("b/train.tfrecord")));
  EXPECT_FALSE(set->IndexedBy(Entry("a/train.idx")).has_value());
  const auto untouched = Untouched(*set);
  EXPECT_EQ(untouched.size(), 2u);
  for (const auto& [path, why] : untouched) {
    EXPECT_THAT(why, HasSubstr("train.idx, which another file may have"))
        << path;
  }
}

TEST_F(PaddedContainerTest, APaddedFileKeepsAnIndexThatAnotherMayHave) {
  unpacked_.File("a.tfrecord", Tfrecords({"one", "two"}));
  Pack(PageFit::kNext);
  const std::string index = Slurp(tree_.At("pack/a.tfrecord.idx"));
  tree_.File("pack/a.tfrecord.tfrecord", Tfrecords({"one", "two"}));
  const auto set = Make();
  set->Index(tree_.Source(), {});
  EXPECT_TRUE(set->Has(Entry("pack/a.tfrecord")));
  EXPECT_FALSE(set->Has(Entry("pack/a.tfrecord.tfrecord")));
  EXPECT_EQ(set->IndexedBy(Entry("pack/a.tfrecord.idx")),
            Entry("pack/a.tfrecord"));
  EXPECT_EQ(set->Report().padded, 1u);
}

TEST(IndexLinesTest, AnyRangeIsThatOfTheWholeTextOfAnySize) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE(seed);
  Rng rng{RandomKey(seed)};
  for (const uint64_t source_bytes : {0u, 40000u, 70001u, 5000001u}) {
    const auto sizes = testing_support::RandomSizes(3000, 30000, rng);
    const auto container = testing_support::MakeContainer(sizes, 0, 0, rng);
    ContainerShape shape = container.shape;
    IndexLinesOf lines;
    for (const uint64_t size : sizes) lines.Add(size);
    shape.index = lines.Finish(source_bytes);
    EXPECT_GE(shape.index->bytes, source_bytes);
    const std::string all =
        Whole(IndexText(shape, OrderOf(shape, Pages().get(), 2)), "");
    if (source_bytes > 60000) {
      EXPECT_EQ(all.size(), source_bytes);
    }
    const IndexText text(shape, OrderOf(shape, Pages().get(), 2));
    std::set<uint64_t> checked;
    for (int i = 0; i < 200; ++i) {
      const uint64_t offset = rng.Bounded(all.size());
      const uint64_t part = text.PartAt(offset);
      ASSERT_LE(text.part_begin(part), offset);
      ASSERT_GT(text.part_begin(part + 1), offset);
      if (!checked.insert(part).second) continue;
      ASSERT_EQ(Apply(text.Plan(part), ""),
                all.substr(text.part_begin(part),
                           text.part_begin(part + 1) - text.part_begin(part)));
    }
  }
}

TEST(IndexLinesTest, PartsOfAnIndexTakeLittleMemory) {
  Rng rng{RandomKey(1)};
  for (const uint64_t source_bytes :
       {0u, 2000000u * 3 - 1, 2000000u * 40 - 1}) {
    ContainerShape shape;
    shape.records = std::make_shared<FixedTable>(0, 16, 2000000);
    IndexLinesOf lines;
    for (uint64_t i = 0; i < 2000000; ++i) lines.Add(16);
    shape.index = lines.Finish(source_bytes);
    shape.file_bytes = 32000000;
    RecordOrderOptions options;
    options.whole_bytes = uint64_t{1} << 40;
    const auto policy = PolicyOf("lirs", PolicyOptions());
    const IndexText text(shape,
                         MakeRecordOrder(*policy, *shape.records, options));
    for (int i = 0; i < 5; ++i) {
      const uint64_t part = rng.Bounded(text.part_count());
      EXPECT_LE(text.Plan(part).literals.front().bytes.capacity(),
                uint64_t{1} << 20);
    }
    EXPECT_EQ(text.part_begin(text.part_count()), text.bytes());
  }
}

TEST(TfrecordIndexLinesTest, PiecesOfAnySizeGiveTheSameLines) {
  const std::string text = "0 100\n  100\t7 \r\n107 20";
  for (size_t piece = 1; piece <= text.size(); ++piece) {
    TfrecordIndexLines lines;
    std::vector<TfrecordSpan> spans;
    const TfrecordIndexLines::Take take = [&](const TfrecordSpan& span) {
      spans.push_back(span);
      return absl::OkStatus();
    };
    for (size_t at = 0; at < text.size(); at += piece) {
      ASSERT_TRUE(lines.Feed(text.substr(at, piece), take).ok());
    }
    ASSERT_TRUE(lines.Finish(take).ok());
    EXPECT_EQ(spans, *SpansOf(text));
  }
}

// A view shows as long lines, and each takes memory.
TEST(TfrecordIndexLinesTest, LinesHaveABound) {
  const TfrecordIndexLines::Take take = [](const TfrecordSpan&) {
    return absl::OkStatus();
  };
  const auto feed = [&](size_t bytes, bool whole) {
    TfrecordIndexLines lines;
    EXPECT_TRUE(lines.Feed("0 16\n", take).ok());
    return lines.Feed(std::string(bytes, ' ') + (whole ? "16 16\n" : ""), take)
        .code();
  };
  EXPECT_EQ(feed(250, true), absl::StatusCode::kOk);
  EXPECT_EQ(feed(256, false), absl::StatusCode::kOk);
  for (const bool whole : {true, false}) {
    EXPECT_EQ(feed(257, whole), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(feed(5000, whole), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(feed(1048576, whole), absl::StatusCode::kInvalidArgument);
  }
  // What is left over comes before the first line.
  TfrecordIndexLines lines;
  EXPECT_TRUE(lines.Feed(std::string(100000, ' ') + "0 16\n", take).ok());
  EXPECT_EQ(TfrecordIndexLines()
                .Feed(std::string(1048576, ' ') + "0 16\n", take)
                .code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace shufflefs
