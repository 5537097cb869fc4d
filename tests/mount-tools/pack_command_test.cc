// SPDX-License-Identifier: Apache-2.0
// shufflectl pack over small trees: what it makes, tells and refuses.
#include "mount-tools/ctl/pack/pack_command.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "core/staging/pack/pack_format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "mount-tools/ctl/pack/pack_text.h"
#include "mount-tools/ctl/shufflectl_app.h"
#include "mount-tools/daemon/command_line.h"
#include "nlohmann/json.hpp"
#include "tests/mount-tools/temp_dir.h"

namespace shufflefs {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::StartsWith;

struct PackResult {
  int code;
  std::string out;
  std::string err;
};

class PackCommandTest : public ::testing::Test {
 protected:
  PackCommandTest() {
    for (int label = 0; label < 4; ++label) {
      for (int i = 0; i < 25; ++i) {
        source_.Write(
            absl::StrCat("train/c", label, "/", label * 1000 + i * i, ".jpg"),
            std::string(100 + static_cast<size_t>(i), 'a'));
      }
    }
    source_.Write("val/c0/v.jpg", "validation");
  }

  // Relative paths are below place_.
  PackResult Pack(std::vector<std::string> arguments, bool terminal = false) {
    arguments.insert(arguments.begin(), "pack");
    std::ostringstream out;
    std::ostringstream err;
    const CommandContext context{place_.path(), &out, &err, terminal};
    const int code = RunShufflectl(arguments, context);
    return {code, out.str(), err.str()};
  }
  PackManifest Manifest(const std::string& pack) const {
    const std::string bytes = place_.Read(pack + "/manifest");
    absl::StatusOr<PackManifest> manifest = ParseManifest(bytes);
    EXPECT_TRUE(manifest.ok()) << manifest.status();
    return *std::move(manifest);
  }
  std::map<std::string, std::string> Contents(const std::string& pack) const {
    std::map<std::string, std::string> contents;
    for (const auto& entry :
         std::filesystem::directory_iterator(place_.path() + "/" + pack)) {
      const std::string name = entry.path().filename();
      contents[name] = place_.Read(pack + "/" + name);
    }
    return contents;
  }

  const TempDir source_;
  const TempDir place_;
};

TEST_F(PackCommandTest, PacksTheSamplesAndTellsSo) {
  const PackResult result = Pack({source_.path(), "p"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(result.err, "");
  const std::string pack = place_.path() + "/p";
  EXPECT_THAT(result.out,
              StartsWith(absl::StrCat(pack, ": 100 files in 2 chunks, 10.9 KiB",
                                      ", of ", source_.path(), "\ntook ")));
  EXPECT_THAT(result.out, HasSubstr("/s; "));
  EXPECT_THAT(result.out, HasSubstr(" of disk\n"));
  EXPECT_THAT(result.out, HasSubstr("1 file is not in it: splits"));
  EXPECT_THAT(result.out, EndsWith(absl::StrCat(
                              "\nmount it: shufflefs -o policy=brand,"
                              "brand.packed=",
                              pack, " ", source_.path(), " MOUNTPOINT\n")));
  const PackManifest manifest = Manifest("p");
  EXPECT_EQ(manifest.chunk_size, 64u);
  EXPECT_EQ(manifest.files.size(), 100u);
  std::set<std::string> paths;
  for (const auto& file : manifest.files) {
    paths.emplace(manifest.path(file));
    EXPECT_THAT(std::string(manifest.path(file)), StartsWith("train/c"));
  }
  EXPECT_EQ(paths.size(), 100u);
}

// Under any other command the pack would not be read.
TEST_F(PackCommandTest, TheCommandForNamesThatStayIsOneThatReadsThePack) {
  source_.Write("train/labels.csv", "c0/0.jpg,1\n");
  EXPECT_EQ(Pack({source_.path(), "p"}).code, 1);
  const PackResult result = Pack({source_.path(), "p", "--force"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("\nmount it: shufflefs -o policy=brand,"
                                    "substitute=directory,brand.packed="));
}

TEST_F(PackCommandTest, ThePathInTheCommandIsOneWord) {
  const std::string name = "a,b\\c'd";
  const PackResult result = Pack({source_.path(), name});
  EXPECT_EQ(result.code, 0) << result.err;
  const size_t begin = result.out.find("policy=brand");
  ASSERT_NE(begin, std::string::npos);
  // As a shell reads what is quoted.
  std::string word = result.out.substr(begin);
  word.resize(word.find(source_.path()) - 1);
  for (const auto& [from, to] :
       {std::pair("'\\''", "\n"), std::pair("'", ""), std::pair("\n", "'")}) {
    word = absl::StrReplaceAll(word, {{from, to}});
  }
  EXPECT_THAT(
      SplitMountOptions(word),
      ElementsAre("policy=brand",
                  absl::StrCat("brand.packed=", place_.path(), "/", name)));
}

// A chunk mixes labels: of 64 files in 4 classes every class has some.
TEST_F(PackCommandTest, ChunksMixLabels) {
  ASSERT_EQ(Pack({source_.path(), "p"}).code, 0);
  const PackManifest manifest = Manifest("p");
  std::map<std::string, int> labels;
  for (uint32_t i = 0; i < 64; ++i) {
    ++labels[std::string(manifest.path(manifest.files[i]).substr(0, 8))];
  }
  EXPECT_EQ(labels.size(), 4u);
  for (const auto& [label, count] : labels) EXPECT_GT(count, 4) << label;
}

TEST_F(PackCommandTest, TheSeedDecidesTheChunks) {
  ASSERT_EQ(Pack({source_.path(), "a", "--chunk", "10"}).code, 0);
  ASSERT_EQ(Pack({source_.path(), "b", "--chunk", "10", "--seed", "0"}).code,
            0);
  ASSERT_EQ(Pack({source_.path(), "c", "--chunk", "10", "--seed", "1"}).code,
            0);
  EXPECT_EQ(Contents("a"), Contents("b"));
  EXPECT_EQ(Contents("a").size(), 11u);
  EXPECT_NE(Manifest("a").paths, Manifest("c").paths);
  EXPECT_EQ(Manifest("c").seed, 1u);
}

TEST_F(PackCommandTest, JsonForPrograms) {
  const PackResult result = Pack({source_.path(), "p", "--json"}, true);
  const nlohmann::json json = nlohmann::json::parse(result.out);
  EXPECT_EQ(json["source"], source_.path());
  EXPECT_EQ(json["pack"], place_.path() + "/p");
  EXPECT_EQ(json["files"], 100);
  EXPECT_EQ(json["chunks"], 2);
  EXPECT_EQ(json["unpacked_files"], 1);
  EXPECT_EQ(json["bytes"], 100 * 100 + 4 * 300);
  EXPECT_EQ(json["written_bytes"], json["bytes"]);
  EXPECT_GE(json["disk_bytes"], json["bytes"]);
  EXPECT_EQ(json["resumed_chunks"], 0);
  EXPECT_EQ(json["was_complete"], false);
  EXPECT_GT(json["seconds"], 0.0);
  EXPECT_GT(json["bytes_per_second"], 0);
  EXPECT_GE(json["memory_bytes"], 256 << 20);
  EXPECT_EQ(nlohmann::json::parse(
                Pack({source_.path(), "q", "--json", "--memory", "5MiB"})
                    .out)["memory_bytes"],
            5 << 20);
}

TEST_F(PackCommandTest, ProgressIsDrawnOnATerminalAlone) {
  const PackResult drawn = Pack({source_.path(), "p"}, true);
  EXPECT_THAT(drawn.err, HasSubstr("\r\x1b[Kpacking: "));
  EXPECT_THAT(drawn.err, HasSubstr("packing: 100 %  100 of 100 files"));
  EXPECT_THAT(drawn.err, EndsWith("\r\x1b[K"));
  EXPECT_EQ(Pack({source_.path(), "q"}).err, "");
}

TEST_F(PackCommandTest, ASecondRunWritesNothing) {
  ASSERT_EQ(Pack({source_.path(), "p"}).code, 0);
  const auto before = Contents("p");
  const PackResult again = Pack({source_.path(), "p"});
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_THAT(again.out,
              HasSubstr("was complete already, nothing was written"));
  EXPECT_EQ(Contents("p"), before);
  const PackResult other = Pack({source_.path(), "p", "--chunk", "7"});
  EXPECT_EQ(other.code, 1);
  EXPECT_EQ(other.err,
            absl::StrCat("shufflectl: ", place_.path(),
                         "/p: holds a pack made with --chunk 64 --seed 0, not "
                         "--chunk 7 --seed 0; give an empty directory, or "
                         "--restart to replace it\n"));
  EXPECT_EQ(Contents("p"), before);
  EXPECT_EQ(Pack({source_.path(), "p", "--chunk", "7", "--restart"}).code, 0);
  EXPECT_EQ(Manifest("p").chunk_size, 7u);
}

TEST_F(PackCommandTest, Refusals) {
  const auto refusal = [this](const std::vector<std::string>& arguments,
                              int code) {
    const PackResult result = Pack(arguments);
    EXPECT_EQ(result.code, code) << result.err;
    EXPECT_EQ(result.out, "");
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1);
    return result.err;
  };
  const std::string source = source_.path();
  EXPECT_EQ(refusal({source, source + "/p"}, 2),
            absl::StrCat("shufflectl: ", source,
                         "/p: lies in the source, which is never written "
                         "to; give a directory outside\n"));
  EXPECT_EQ(refusal({source, "p", "--chunk", "0"}, 2),
            "shufflectl: --chunk: must be at least 1\n");
  EXPECT_EQ(refusal({source, "p", "--seed", "x"}, 2),
            "shufflectl: --seed: must be a number\n");
  EXPECT_EQ(refusal({source, "p", "--memory", "1023KiB"}, 2),
            "shufflectl: --memory: must be at least 1MiB\n");
  EXPECT_THAT(refusal({source}, 2), HasSubstr("destination"));
  EXPECT_THAT(refusal({source + "/gone", "p"}, 1), HasSubstr("/gone: "));
  const TempDir splits;
  splits.Write("test/c0/x.jpg", "x");
  EXPECT_EQ(refusal({splits.path(), "p"}, 1),
            absl::StrCat("shufflectl: ", splits.path(),
                         ": there are no samples outside of splits; name "
                         "the directory of the training data\n"));
  EXPECT_FALSE(std::filesystem::exists(place_.path() + "/p"));
}

TEST(PackText, ProgressSaysHowLongItTakes) {
  const PackProgress begun{10, 100, 1 << 20, 1 << 20, 10 << 20};
  const PackProgress now{40, 100, 4 << 20, 2 << 20, 10 << 20};
  EXPECT_EQ(PackProgressText(begun, now, 2),
            "packing:  30 %  40 of 100 files, 1.00 MiB/s, 7 s left");
  EXPECT_EQ(PackProgressText(begun, now, 200),
            "packing:  30 %  40 of 100 files, 10.2 KiB/s, 12 min left");
  EXPECT_EQ(PackProgressText(begun, begun, 0),
            "packing:  10 %  10 of 100 files");
  EXPECT_EQ(PackProgressText({}, {}, 0), "packing: 100 %  0 of 0 files");
}

TEST(PackText, SaysWhatAnEarlierRunHadDone) {
  PackReport report;
  report.source = "/data/with space";
  report.destination = "/fast/it's";
  report.result.files = 1;
  report.result.chunks = 3;
  report.result.bytes = 3 << 20;
  report.result.written_bytes = 2 << 20;
  report.result.disk_bytes = 4 << 20;
  report.result.resumed_chunks = 1;
  report.seconds = 4;
  EXPECT_EQ(PackText(report),
            "/fast/it's: 1 file in 3 chunks, 3.00 MiB, of /data/with space\n"
            "took 4.0 s, 512 KiB/s; 4.00 MiB of disk\n"
            "went on behind 1 chunk of an earlier run\n"
            "mount it: shufflefs -o policy=brand,brand.packed='/fast/it'\\''s' "
            "'/data/with space' MOUNTPOINT\n");
}

}  // namespace
}  // namespace shufflefs
