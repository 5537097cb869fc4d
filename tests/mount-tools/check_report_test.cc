// SPDX-License-Identifier: Apache-2.0
#include "mount-tools/ctl/check/check_report.h"

#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/scan/scan.h"
#include "core/source/source_dir.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "mount-tools/ctl/shufflectl_app.h"
#include "nlohmann/json.hpp"
#include "policies/auto/gain_estimate.h"
#include "tests/mount-tools/temp_dir.h"

namespace shufflefs {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

constexpr uint64_t kGiB = uint64_t{1} << 30;

// "brand of 4, 16; reimu of 4": the policies, and the readers of each estimate.
std::string GainsIn(const CheckReport& report) {
  std::string text;
  for (const GainsOfPolicy& of : report.gains) {
    absl::StrAppend(&text, text.empty() ? "" : "; ", of.policy, " of");
    for (const PolicyGain& gain : of.gains) {
      absl::StrAppend(&text, &gain == &of.gains.front() ? " " : ", ",
                      gain.readers);
    }
  }
  return text;
}

class CheckTest : public ::testing::Test {
 protected:
  // Class folders that are proven to be such.
  void WriteClasses() {
    const char* classes[] = {"cat", "dog", "owl"};
    for (int label = 0; label < 3; ++label) {
      for (int i = 0; i < 20; ++i) {
        tree_.Write(absl::StrCat("train/", classes[label], "/",
                                 label * 10000 + i * i * 7 + i, ".jpg"),
                    std::string(1000, 'x'));
      }
    }
  }

  CheckReport Report(DeviceKind device = DeviceKind::kFlash,
                     uint64_t memory = kGiB, double parallel_gain = 1.1) {
    const absl::StatusOr<SourceDir> source = SourceDir::At(tree_.path());
    EXPECT_TRUE(source.ok()) << source.status();
    const absl::StatusOr<Catalogue> catalogue = Scan(*source, ScanOptions());
    EXPECT_TRUE(catalogue.ok()) << catalogue.status();
    CheckInput input;
    input.path = "/data/it's here";
    input.catalogue = &*catalogue;
    input.memory = {memory, "/proc/meminfo"};
    input.view_memory = kGiB;
    input.device.device = device;
    input.device.figures.median_us = 6300;
    input.device.figures.parallel_gain = parallel_gain;
    input.device.figures.bytes_per_second = 144e6;
    input.device.line = "as the test says";
    const absl::StatusOr<CheckReport> report = MakeCheckReport(input);
    EXPECT_TRUE(report.ok()) << report.status();
    return report.ok() ? *report : CheckReport();
  }

  const TempDir tree_;
};

TEST_F(CheckTest, SaysThatSizesAreEstimated) {
  WriteClasses();
  CheckReport report = Report();
  EXPECT_THAT(CheckText(report), HasSubstr("directories, 58.6 KiB, scanned"));
  EXPECT_EQ(nlohmann::json::parse(CheckJson(report))["bytes_are_estimated"],
            false);
  report.estimated = true;
  EXPECT_THAT(CheckText(report),
              HasSubstr("directories, about 58.6 KiB, scanned"));
  EXPECT_THAT(CheckText(report),
              HasSubstr("sizes:      estimated from a part of the files\n"));
  EXPECT_EQ(nlohmann::json::parse(CheckJson(report))["bytes_are_estimated"],
            true);
}

TEST_F(CheckTest, ClassFoldersWithSplits) {
  WriteClasses();
  tree_.Write("val/cat/a.jpg", "x");
  tree_.Write("val/dog/b.jpg", "x");
  tree_.Write("train/test_batch.jpg", "x");
  const CheckReport report = Report();
  EXPECT_EQ(report.files, 63u);
  EXPECT_EQ(report.directories, 7u);
  EXPECT_TRUE(report.substitution_safety.moves)
      << report.substitution_safety.reason;
  EXPECT_EQ(report.substitution_safety.classes, 3u);
  EXPECT_TRUE(report.substitution_safety.has_validation_split);
  EXPECT_EQ(report.samples, 60u);
  ASSERT_THAT(report.splits, SizeIs(2));
  // Entries come directory by directory.
  EXPECT_EQ(report.splits[0].path, "val");
  EXPECT_EQ(report.splits[0].kind, SplitKind::kValidation);
  EXPECT_EQ(report.splits[0].files, 2u);
  EXPECT_EQ(report.splits[1].path, "train/test_batch.jpg");
  EXPECT_EQ(report.splits[1].kind, SplitKind::kTest);
  EXPECT_THAT(report.manifests, IsEmpty());
  EXPECT_THAT(report.suggestions, SizeIs(3));
  EXPECT_EQ(report.suggestions[0].command,
            R"(shufflefs '/data/it'\''s here' MOUNTPOINT)");
  EXPECT_EQ(report.suggestions[2].command,
            R"(shufflefs -o policy=lirs '/data/it'\''s here' MOUNTPOINT)");
  const std::string text = CheckText(report);
  EXPECT_THAT(text, HasSubstr("may show other samples inside 3 classes"));
  EXPECT_THAT(text, HasSubstr("val (validation, 2 files), "
                              "train/test_batch.jpg (test, 1 file)"));
}

TEST_F(CheckTest, AManifestKeepsNames) {
  WriteClasses();
  tree_.Write("train/labels.csv", "a,b\n");
  const CheckReport report = Report();
  EXPECT_FALSE(report.substitution_safety.moves);
  EXPECT_THAT(report.manifests, ElementsAre("train/labels.csv"));
  EXPECT_THAT(report.suggestions, SizeIs(2));
  const std::string text = CheckText(report);
  EXPECT_THAT(text, HasSubstr("keep their own samples: train/labels.csv"));
  EXPECT_THAT(text, HasSubstr("manifests:  train/labels.csv\n"));
  EXPECT_THAT(text, HasSubstr("splits:     none\n"));
}

TEST_F(CheckTest, PairsAndContainersAreNamed) {
  for (int i = 0; i < 10; ++i) {
    tree_.Write(absl::StrCat("a/", i * i, ".jpg"), "x");
    tree_.Write(absl::StrCat("a/", i * i, ".txt"), "x");
    tree_.Write(absl::StrCat("shard-", i, ".tar"), "x");
  }
  const CheckReport report = Report();
  EXPECT_EQ(report.paired_samples, 10u);
  EXPECT_THAT(report.containers, SizeIs(10));
  const std::string text = CheckText(report);
  EXPECT_THAT(text, HasSubstr("10 samples are several files"));
  EXPECT_THAT(text, HasSubstr("shard-4.tar and 5 more\n"));
}

TEST_F(CheckTest, MemoryAndDeviceDecideWhatIsAdvised) {
  WriteClasses();
  tree_.Write("val/cat/a.jpg", "x");
  const CheckReport fits = Report(DeviceKind::kSeekBound, kGiB);
  EXPECT_TRUE(fits.fits_in_memory);
  EXPECT_THAT(fits.suggestions[1].command, Not(HasSubstr("lirs.unit")));
  const CheckReport large = Report(DeviceKind::kSeekBound, 1000);
  EXPECT_FALSE(large.fits_in_memory);
  EXPECT_THAT(large.suggestions[1].command,
              HasSubstr("policy=lirs,lirs.unit=page,layout=ranked"));
  EXPECT_THAT(CheckText(large), HasSubstr("the dataset is larger: 1000 B"));
  const CheckReport flash = Report(DeviceKind::kFlash, 1000);
  EXPECT_THAT(flash.suggestions[1].command, Not(HasSubstr("lirs.unit")));
}

// [S-3.13a] The policy auto says what it found and what to expect.
TEST_F(CheckTest, TheGainIsEstimatedWhereThereIsOne) {
  WriteClasses();
  const auto seeks = DeviceKind::kSeekBound;
  // Without a validation split brand is for who knows that nothing is split.
  const CheckReport report = Report(seeks, 1000);
  EXPECT_EQ(report.choice.policy, "native");
  ASSERT_EQ(GainsIn(report), "brand of 4, 16");
  EXPECT_GT(report.gains[0].gains[0].gain(), 10);
  ASSERT_THAT(report.suggestions, SizeIs(4));
  EXPECT_EQ(report.suggestions[1].command,
            R"(shufflefs -o policy=brand '/data/it'\''s here' MOUNTPOINT)");
  EXPECT_THAT(report.suggestions[1].when,
              HasSubstr("if the job does not split by name"));
  EXPECT_THAT(CheckText(report), HasSubstr("gain:       brand about "));
  const nlohmann::json json = nlohmann::json::parse(CheckJson(report));
  EXPECT_EQ(json["gain"][0]["readers"], 4);
  EXPECT_DOUBLE_EQ(json["gain"][0]["gain"], report.gains[0].gains[0].gain());

  tree_.Write("val/cat/a.jpg", "x");
  const CheckReport with_split = Report(seeks, 1000);
  EXPECT_EQ(with_split.choice.policy, "brand");
  EXPECT_THAT(with_split.suggestions[0].when, HasSubstr("auto is brand here"));
  EXPECT_THAT(with_split.suggestions, SizeIs(3));

  const CheckReport fits = Report(seeks, kGiB);
  EXPECT_EQ(fits.choice.policy, "native");
  EXPECT_THAT(CheckText(fits), HasSubstr("in the first epoch only"));
  const CheckReport flash = Report(DeviceKind::kFlash, 1000);
  EXPECT_EQ(GainsIn(flash), "");
  EXPECT_THAT(CheckText(flash), Not(HasSubstr("gain:")));
}

TEST_F(CheckTest, ClairvoyantWhereNamesStayOnASlowSource) {
  for (int i = 0; i < 1000; ++i) {
    tree_.Write(absl::StrCat("images/", i * i, ".jpg"), "x");
  }
  tree_.Write("labels.csv", "a,b\n");
  const auto network = DeviceKind::kLatencyBound;
  const CheckReport report = Report(network, 1000, 8);
  EXPECT_EQ(report.choice.policy, "clairvoyant") << report.choice.why;
  EXPECT_EQ(report.suggestions[0].when,
            "safe for every client, reads ahead of stock PyTorch samplers; "
            "auto is clairvoyant here");
  EXPECT_EQ(report.suggestions[0].command,
            R"(shufflefs '/data/it'\''s here' MOUNTPOINT)");
  ASSERT_EQ(GainsIn(report), "clairvoyant of 4, 16");
  EXPECT_THAT(CheckText(report),
              HasSubstr("gain:       clairvoyant about 6x the files a second "
                        "of 4 plain readers at random, about "));
  const auto json = nlohmann::json::parse(CheckJson(report));
  ASSERT_EQ(json["gain"].size(), 2u);
  EXPECT_EQ(json["gain"][0]["policy"], "clairvoyant");
  EXPECT_DOUBLE_EQ(json["gain"][0]["gain"], report.gains[0].gains[0].gain());
  const CheckReport disk = Report(DeviceKind::kSeekBound, 1000);
  EXPECT_EQ(disk.choice.policy, "clairvoyant");
  EXPECT_THAT(CheckText(disk), Not(HasSubstr("gain:")));
}

TEST_F(CheckTest, LargeContainersAreShuffledAndTheGainIsEstimated) {
  tree_.Write("a.tfrecord", std::string(20000, 'x'));
  tree_.Write("b.tar", std::string(30000, 'x'));
  tree_.Write("val/c.tar", std::string(10000, 'x'));
  CheckReport report = Report(DeviceKind::kSeekBound, 40000);
  EXPECT_EQ(report.choice.policy, "reimu") << report.choice.why;
  EXPECT_THAT(report.choice.why, HasSubstr("; 2 containers, whose records"));
  ASSERT_EQ(GainsIn(report), "reimu of 4");
  EXPECT_GT(report.gains[0].gains[0].gain(), kWorthwhileGain);
  EXPECT_THAT(CheckText(report),
              HasSubstr("gain:       reimu about 3x the records a second of 4 "
                        "plain readers at random ("));
  EXPECT_THAT(CheckText(report),
              HasSubstr("for clients that read containers from start to end; "
                        "auto is reimu here"));
  const auto json = nlohmann::json::parse(CheckJson(report));
  ASSERT_EQ(json["gain"].size(), 1u);
  EXPECT_EQ(json["gain"][0]["policy"], "reimu");
  EXPECT_EQ(Report(DeviceKind::kFlash, 40000).choice.policy, "lirs");
  report = Report(DeviceKind::kSeekBound, 50000);
  EXPECT_EQ(report.choice.policy, "native") << report.choice.why;
  tree_.Write("a.index", "0");
  report = Report(DeviceKind::kSeekBound, 40000);
  EXPECT_EQ(report.choice.policy, "native") << report.choice.why;
}

TEST_F(CheckTest, TheVerdictComesFirst) {
  WriteClasses();
  tree_.Write("val/cat/a.jpg", "x");
  EXPECT_THAT(CheckText(Report(DeviceKind::kSeekBound, kGiB)),
              ::testing::StartsWith(
                  "No gain in speed: the dataset fits in memory.\n"
                  "File names can show other samples of their class.\n"
                  "Run: shufflefs '/data/it'\\''s here' MOUNTPOINT\n\n"));
  EXPECT_THAT(CheckText(Report(DeviceKind::kSeekBound, 1000)),
              ::testing::ContainsRegex(
                  "^Gain: about [0-9]+x the files per second, by brand.\n"));
}

TEST_F(CheckTest, RecordsOfContainersThatFitInMemoryCanBeShuffled) {
  for (int i = 0; i < 4; ++i) {
    tree_.Write(absl::StrCat("train-", i, ".tar"), std::string(1000, 'x'));
  }
  const CheckReport report = Report();
  EXPECT_TRUE(report.mostly_records);
  EXPECT_THAT(CheckText(report),
              HasSubstr("Records inside containers can be shuffled.\n"));
  ASSERT_THAT(report.suggestions, SizeIs(2));
  EXPECT_THAT(report.suggestions[1].command, HasSubstr("-o policy=lirs '"));
  EXPECT_THAT(report.suggestions[1].when, HasSubstr("full shuffle of the rec"));
}

TEST_F(CheckTest, AnEmptySourceGetsNoAdvice) {
  const CheckReport report = Report();
  EXPECT_EQ(report.files, 0u);
  EXPECT_THAT(report.suggestions, SizeIs(1));
}

TEST_F(CheckTest, NamesCannotCommandATerminal) {
  tree_.Write("a\x1b[31m/labels.csv", "x");
  tree_.Write("a\x1b[31m/\xff.jpg", "x");
  const CheckReport report = Report();
  const std::string text = CheckText(report);
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  EXPECT_THAT(text, HasSubstr("a?[31m/labels.csv"));
  const nlohmann::json json = nlohmann::json::parse(CheckJson(report));
  EXPECT_EQ(json["manifests"][0], "a\x1b[31m/labels.csv");
}

TEST_F(CheckTest, LayoutsThatHaveANameAreNamed) {
  tree_.Write("train/images/1.jpg", "x");
  tree_.Write("train/labels/1.txt", "0 0.5 0.5 0.1 0.1\n");
  const CheckReport yolo = Report();
  EXPECT_EQ(nlohmann::json::parse(CheckJson(yolo))["known_layout"], "YOLO");
  EXPECT_THAT(CheckSummary(yolo),
              ::testing::StartsWith(
                  "YOLO: the boxes of train/images are in train/labels.\n"));
  EXPECT_FALSE(yolo.substitution_safety.moves);
}

TEST_F(CheckTest, CocoIsNamedByItsAnnotations) {
  tree_.Write("train2017/1.jpg", "x");
  tree_.Write("annotations/instances_train2017.json", "{}");
  EXPECT_THAT(CheckText(Report()),
              ::testing::StartsWith("COCO: the annotations are in "
                                    "annotations/instances_train2017.json.\n"));
}

TEST_F(CheckTest, WebDatasetIsNamedByItsShards) {
  tree_.Write("train-000000.tar", "x");
  tree_.Write("train-000001.tar", "x");
  const std::string summary = CheckSummary(Report());
  EXPECT_THAT(summary,
              ::testing::StartsWith("WebDataset: its records are in 2 shards, "
                                    "such as train-000000.tar.\n"));
  EXPECT_THAT(summary,
              HasSubstr("For a full shuffle: shufflefs -o policy=lirs "));
}

TEST_F(CheckTest, WhatOnlyLooksLikeSuchALayoutHasNoName) {
  tree_.Write("labels/1.txt", "x");    // no images beside it
  tree_.Write("a/labels/1.xml", "x");  // no text
  tree_.Write("a/images/1.jpg", "x");
  tree_.Write("notes_instances.json", "{}");
  tree_.Write("sources.tar", "x");
  const CheckReport report = Report();
  EXPECT_FALSE(report.known_layout);
  EXPECT_TRUE(
      nlohmann::json::parse(CheckJson(report))["known_layout"].is_null());
}

TEST_F(CheckTest, TheSummaryIsTheVerdict) {
  WriteClasses();
  const CheckReport report = Report();
  EXPECT_EQ(CheckSummary(report),
            "No gain in speed: the dataset fits in memory.\n"
            "File names can show other samples of their class.\n"
            "Run: shufflefs '/data/it'\\''s here' MOUNTPOINT\n\n"
            "  names:      may show other samples inside 3 classes: " +
                report.substitution_safety.reason +
                "\n  memory:     the dataset fits: 1.00 GiB (/proc/meminfo)\n"
                "  device:     as the test says\n\n"
                "The evidence, and other commands: shufflectl check -v "
                "'/data/it'\\''s here'\n");
}

TEST_F(CheckTest, FilesThatNeedARuleAreNamed) {
  tree_.Write("train/X.npy", std::string(9000, 'x'));
  tree_.Write("train/labels.CSV", "a,b\n");
  tree_.Write("train/a.jpg", std::string(100, 'x'));
  const CheckReport report = Report(DeviceKind::kLatencyBound, 1000);
  const std::string line =
      "  records:    no rule cuts train/X.npy and 1 more; if each row is a "
      "sample, use -o policy=reimu,record.as='*.CSV:lines,header=1;*.npy:npy', "
      "and record.align if rows of files correspond\n";
  EXPECT_THAT(CheckSummary(report), HasSubstr(line));
  EXPECT_THAT(CheckText(report), HasSubstr(line));
  EXPECT_EQ(nlohmann::json::parse(CheckJson(report))["record_as"],
            "*.CSV:lines,header=1;*.npy:npy");
}

TEST_F(CheckTest, ARecordRuleIsSuggestedOnlyForMostOfTheBytes) {
  const auto rules = [&] {
    const auto hint = Report().record_hint;
    return hint ? hint->rules : "none";
  };
  tree_.Write("a/train.bin", std::string(900, 'x'));
  EXPECT_EQ(rules(), "*.bin:fixed,bytes=SIZE");
  EXPECT_THAT(CheckText(Report()),
              HasSubstr("a/train.bin; if each row is a sample, use -o "
                        "policy=lirs,record.as='*.bin:fixed,bytes=SIZE'\n"));
  tree_.Write("a/b.tfrecord", std::string(1000, 'x'));
  EXPECT_EQ(rules(), "none");
  tree_.Write("val/b.npy", std::string(10000, 'x'));
  EXPECT_EQ(rules(), "none") << "a split is not shuffled";
  // Each may be a sample.
  for (int i = 0; i < 20; ++i) {
    tree_.Write(absl::StrCat("c/", i, ".npy"), std::string(1000, 'x'));
  }
  EXPECT_EQ(rules(), "none");
}

TEST_F(CheckTest, JsonSaysTheSame) {
  WriteClasses();
  tree_.Write("val/cat/a.jpg", "x");
  const nlohmann::json json = nlohmann::json::parse(CheckJson(Report()));
  EXPECT_EQ(json["files"], 61);
  EXPECT_EQ(json["names_may_move"], true);
  EXPECT_EQ(json["splits"][0]["kind"], "validation");
  EXPECT_EQ(json["device"]["class"], "flash");
  EXPECT_EQ(json["policy"], "native");
  EXPECT_EQ(json["commands"].size(), 3u);
}

TEST_F(CheckTest, TheCommandMeasuresThisMachine) {
  WriteClasses();
  std::ostringstream out;
  std::ostringstream err;
  CommandContext context{tree_.path(), &out, &err, /*err_terminal=*/true};
  EXPECT_EQ(RunShufflectl({"check", "train"}, context), 0) << err.str();
  EXPECT_THAT(out.str(), HasSubstr("Run: shufflefs "));
  EXPECT_THAT(out.str(), Not(HasSubstr("60 files in 3")));
  EXPECT_EQ(RunShufflectl({"check", "-v", "train"}, context), 0) << err.str();
  EXPECT_THAT(out.str(),
              HasSubstr("\n" + tree_.path() + "/train: 60 files in 3"));
  EXPECT_THAT(out.str(), HasSubstr("use:        shufflefs "));
  EXPECT_THAT(err.str(), HasSubstr("scanning: 63 names"));
  EXPECT_EQ(RunShufflectl({"check"}, context), 2);
  EXPECT_EQ(RunShufflectl({"check", "gone"}, context), 1);
  EXPECT_THAT(err.str(), HasSubstr("shufflectl: " + tree_.path() +
                                   "/gone: No such file or directory; name the "
                                   "directory of the dataset\n"));
}

}  // namespace
}  // namespace shufflefs
