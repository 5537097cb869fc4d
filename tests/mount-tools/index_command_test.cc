// SPDX-License-Identifier: Apache-2.0
// shufflectl index over small trees: what it makes, tells and refuses.
#include "mount-tools/ctl/pack/index_command.h"

#include <filesystem>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/engine/state_dir.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "mount-tools/ctl/progress_line.h"
#include "mount-tools/ctl/shufflectl_app.h"
#include "nlohmann/json.hpp"
#include "tests/core/formats/tfrecord/tfrecord_fixture.h"
#include "tests/mount-tools/temp_dir.h"

namespace shufflefs {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using testing_support::Tfrecords;

struct IndexResult {
  int code;
  std::string out;
  std::string err;
};

class IndexCommandTest : public ::testing::Test {
 protected:
  IndexCommandTest() {
    source_.Write("a.tfrecord", Tfrecords({"one", "two", "three"}));
    source_.Write("b.tfrecord", Tfrecords({"four", "five"}));
    source_.Write("c.svm", "1 1:1\n-1 2:1\n");
    source_.Write("d.tfrecord", "nothing of the kind");
    source_.Write("val/e.tfrecord", Tfrecords({"six"}));
  }

  // Relative paths are below place_.
  IndexResult Index(std::vector<std::string> arguments, bool terminal = false) {
    arguments.insert(arguments.begin(), "index");
    std::ostringstream out;
    std::ostringstream err;
    const CommandContext context{place_.path(), &out, &err, terminal};
    const int code = RunShufflectl(arguments, context);
    return {code, out.str(), err.str()};
  }
  nlohmann::json Json(std::vector<std::string> arguments) {
    arguments.push_back("--json");
    const IndexResult result = Index(std::move(arguments));
    EXPECT_EQ(result.code, 0) << result.err;
    return nlohmann::json::parse(result.out);
  }
  std::set<std::string> Saved(const std::string& state) const {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(
             place_.path() + "/" + state + "/records")) {
      names.insert(entry.path().filename());
    }
    return names;
  }

  const TempDir source_;
  const TempDir place_;
};

TEST_F(IndexCommandTest, IndexesOnceAndTellsSo) {
  const std::vector<std::string> words = {"--state", "s", "-o",
                                          "policy=lirs,record.as=*.svm:lines",
                                          source_.path()};
  const IndexResult result = Index(words);
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(result.err, "");
  EXPECT_THAT(
      result.out,
      AllOf(StartsWith(
                absl::StrCat(source_.path(), ": 3 containers of 7 records, ")),
            HasSubstr("\n3 were read in "), HasSubstr(", 0 up to date; "),
            HasSubstr(
                absl::StrCat(" of index, in ", place_.path(), "/s/records\n")),
            HasSubstr("\nuntouched: d.tfrecord: its first bytes are not"),
            HasSubstr("\nuntouched: val/e.tfrecord: it is in a split")));
  EXPECT_EQ(Saved("s").size(), 3u);
  const nlohmann::json again = Json(words);
  EXPECT_EQ(again["indexed"], 3);
  EXPECT_EQ(again["read_through"], 0);
  EXPECT_EQ(again["records"], 7);
  EXPECT_EQ(again["interrupted"], false);
  EXPECT_EQ(again["untouched"].size(), 2u);
  EXPECT_EQ(again["views"][0]["policy"], "lirs");
  EXPECT_EQ(again["saved"], place_.path() + "/s/records");
}

TEST_F(IndexCommandTest, OnlyWhatChangedOrIsLostIsReadAgain) {
  const std::vector<std::string> words = {"--state", "s", "-o", "policy=reimu",
                                          source_.path()};
  EXPECT_EQ(Json(words)["read_through"], 2);
  source_.Write("a.tfrecord", Tfrecords({"one", "two", "three", "four"}));
  nlohmann::json again = Json(words);
  EXPECT_EQ(again["read_through"], 1);
  EXPECT_EQ(again["records"], 6);
  for (const std::string& name : Saved("s")) {
    place_.Write("s/records/" + name, "damaged");
  }
  EXPECT_EQ(Json(words)["read_through"], 2);
  EXPECT_EQ(Json(words)["read_through"], 0);
}

TEST_F(IndexCommandTest, TheMountpointSaysWhereTheStateIs) {
  place_.Write("xdg/x", "");
  MountConfig config;
  config.source = source_.path();
  config.mountpoint = place_.path() + "/mnt";
  const nlohmann::json json =
      Json({"-o", absl::StrCat("policy=lirs,state=", place_.path(), "/k"),
            source_.path(), "mnt"});
  EXPECT_EQ(json["saved"], place_.path() + "/k/records");
  const IndexResult nowhere = Index({"-o", "policy=lirs", source_.path()});
  EXPECT_EQ(nowhere.code, 2);
  EXPECT_THAT(nowhere.err, HasSubstr("give its MOUNTPOINT, or --state DIR"));
}

TEST_F(IndexCommandTest, ViewsOfAFileAreIndexedEachByItsPolicy) {
  source_.Write("in/f.tfrecord", Tfrecords({"seven"}));
  source_.Write("raw/g.tfrecord", Tfrecords({"eight", "nine"}));
  place_.Write("c.toml",
               "[[view]]\npath = \"\"\npolicy = \"lirs\"\n"
               "[[view]]\npath = \"in\"\npolicy = \"reimu\"\n"
               "[[view]]\npath = \"raw\"\npolicy = \"native\"\n");
  const nlohmann::json json =
      Json({"--config", "c.toml", "--state", "s", source_.path()});
  ASSERT_EQ(json["views"].size(), 3u);
  EXPECT_EQ(json["views"][0]["records"], 5);
  EXPECT_EQ(json["views"][1]["records"], 1);
  EXPECT_EQ(json["views"][2]["shuffles_records"], false);
  EXPECT_EQ(json["containers"], 3);
  const IndexResult text =
      Index({"--config", "c.toml", "--state", "s", source_.path()});
  EXPECT_THAT(text.out, HasSubstr("raw: native leaves records where they are: "
                                  "nothing to index (asked for"));
}

TEST_F(IndexCommandTest, WrongUsageAndBadPlacesAreRefused) {
  EXPECT_EQ(Index({}).code, 2);
  EXPECT_EQ(Index({source_.path(), "--state", "s", "-o", "polcy=lirs"}).code,
            2);
  EXPECT_EQ(Index({"nowhere", "--state", "s"}).code, 1);
  const std::string blocked = place_.Write("file", "");
  const IndexResult result = Index({source_.path(), "--state", "file/s"});
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.err, StartsWith("shufflectl: "));
  EXPECT_THAT(result.err, HasSubstr(blocked));
  // A daemon, or another run, has the state.
  const auto held = StateDir::Open(place_.path() + "/held");
  ASSERT_TRUE(held.ok()) << held.status();
  const IndexResult locked = Index({source_.path(), "--state", "held"});
  EXPECT_EQ(locked.code, 1);
  EXPECT_THAT(locked.err, HasSubstr("another shufflefs uses this state"));
}

TEST_F(IndexCommandTest, AnIndexThatCannotBeSavedIsAnError) {
  // A directory stands where each would go.
  const std::vector<std::string> words = {"--state", "s", "-o", "policy=lirs",
                                          source_.path()};
  ASSERT_EQ(Index(words).code, 0);
  for (const std::string& name : Saved("s")) {
    const std::string path = place_.path() + "/s/records/" + name;
    std::filesystem::remove(path);
    std::filesystem::create_directories(path + "/taken");
  }
  const IndexResult result = Index(words);
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.err, HasSubstr("/s/records/"));
}

TEST_F(IndexCommandTest, ProgressIsInBytesOnATerminal) {
  const IndexResult result =
      Index({"--state", "s", "-o", "policy=lirs", source_.path()}, true);
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("indexing: [####"));
  EXPECT_EQ(
      ProgressText("indexing", {uint64_t{3} << 30, uint64_t{12} << 30, 2.0}),
      "indexing: [###         ]  25 %, 3.00 GiB of 12.0 GiB, "
      "1.50 GiB/s, 6 s left");
  EXPECT_EQ(ProgressText("indexing", {0, 100, 0}),
            "indexing: [            ]   0 %, 0 B of 100 B");
}

}  // namespace
}  // namespace shufflefs
