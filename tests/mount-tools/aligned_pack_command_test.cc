// SPDX-License-Identifier: Apache-2.0
// shufflectl pack --align page: what it makes, tells and refuses.
#include "mount-tools/ctl/pack/aligned_pack_command.h"

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/records/aligned/aligned_manifest.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "mount-tools/ctl/pack/aligned_pack_text.h"
#include "mount-tools/ctl/shufflectl_app.h"
#include "nlohmann/json.hpp"
#include "tests/core/formats/tfrecord/tfrecord_fixture.h"
#include "tests/mount-tools/temp_dir.h"

namespace shufflefs {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using testing_support::Tfrecords;

struct AlignedPackResult {
  int code;
  std::string out;
  std::string err;
};

class AlignedPackCommandTest : public ::testing::Test {
 protected:
  // 100 records of 400 bytes, and a short file.
  AlignedPackCommandTest() {
    source_.Write("a.tfrecord", Tfrecords(std::vector<std::string>(
                                    100, std::string(384, 'x'))));
    source_.Write("b.tfrecord", Tfrecords({"one"}));
    source_.Write("labels.txt", "cat\ndog\n");
  }

  // Relative paths are below place_.
  AlignedPackResult Pack(std::vector<std::string> arguments,
                         bool terminal = false) {
    arguments.insert(arguments.begin(), {"pack", "--align", "page"});
    return Run(arguments, terminal);
  }
  AlignedPackResult Run(const std::vector<std::string>& arguments,
                        bool terminal = false) {
    std::ostringstream out;
    std::ostringstream err;
    const CommandContext context{place_.path(), &out, &err, terminal};
    const int code = RunShufflectl(arguments, context);
    return {code, out.str(), err.str()};
  }
  AlignedManifest Manifest(const std::string& pack) const {
    auto manifest = AlignedManifest::Open(place_.path() + "/" + pack);
    EXPECT_TRUE(manifest.ok()) << manifest.status();
    return *std::move(manifest);
  }

  const TempDir source_;
  const TempDir place_;
};

// 10 records of 400 bytes fit a page; every tenth or so lay across.
TEST_F(AlignedPackCommandTest, PadsAndTellsSo) {
  const AlignedPackResult result = Pack({source_.path(), "p"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(result.err, "");
  const std::string pack = place_.path() + "/p";
  EXPECT_THAT(
      result.out,
      StartsWith(absl::StrCat(
          pack, ": 101 records in 2 files, 39.1 KiB, of ", source_.path(),
          "\npadded to pages of 4KiB by next fit: 39.9 KiB\n"
          "read for each byte, records at random, page by page: 11.259 before, "
          "10.337 after\ntook ")));
  EXPECT_THAT(result.out, EndsWith("/s\n"));
  const AlignedManifest manifest = Manifest("p");
  EXPECT_EQ(manifest.page_bytes(), 4096u);
  EXPECT_EQ(manifest.fit(), PageFit::kNext);
  ASSERT_EQ(manifest.files().size(), 2u);
  EXPECT_EQ(manifest.files()[0].padded_bytes, 9 * 4096u + 4000);
  EXPECT_THAT(place_.Read("p/a.tfrecord.idx"), StartsWith("0 400\n400 400\n"));
  EXPECT_FALSE(std::filesystem::exists(pack + "/labels.txt"));
}

TEST_F(AlignedPackCommandTest, JsonForPrograms) {
  const AlignedPackResult result = Pack(
      {source_.path(), "p", "--json", "--fit", "best", "--page", "512"}, true);
  const nlohmann::json json = nlohmann::json::parse(result.out);
  EXPECT_EQ(json["source"], source_.path());
  EXPECT_EQ(json["pack"], place_.path() + "/p");
  EXPECT_EQ(json["page_bytes"], 512);
  EXPECT_EQ(json["fit"], "best");
  EXPECT_EQ(json["files"], 2);
  EXPECT_EQ(json["records"], 101);
  EXPECT_EQ(json["bytes"], 40019);
  EXPECT_EQ(json["padded_bytes"], 99 * 512 + 400 + 19);
  EXPECT_GT(json["amplification_before"], json["amplification_after"]);
  EXPECT_DOUBLE_EQ(json["amplification_after"], 101 * 512 / 40019.0);
  EXPECT_EQ(json["read_bytes"], 40019);
  EXPECT_EQ(json["resumed_files"], 0);
  EXPECT_EQ(json["was_complete"], false);
  EXPECT_GT(json["seconds"], 0.0);
  EXPECT_GT(json["bytes_per_second"], 0);
  EXPECT_EQ(Manifest("p").fit(), PageFit::kBest);
}

TEST_F(AlignedPackCommandTest, ProgressIsDrawnOnATerminalAlone) {
  const AlignedPackResult drawn = Pack({source_.path(), "p"}, true);
  EXPECT_THAT(drawn.err, HasSubstr("\r\x1b[Kpacking: 100 %  2 of 2 files"));
  EXPECT_THAT(drawn.err, EndsWith("\r\x1b[K"));
  EXPECT_EQ(Pack({source_.path(), "q"}).err, "");
}

TEST_F(AlignedPackCommandTest, ASecondRunWritesNothing) {
  ASSERT_EQ(Pack({source_.path(), "p"}).code, 0);
  const AlignedPackResult again = Pack({source_.path(), "p"});
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_THAT(again.out,
              EndsWith("was complete already, nothing was written\n"));
  const AlignedPackResult other = Pack({source_.path(), "p", "--page", "1KiB"});
  EXPECT_EQ(other.code, 1);
  EXPECT_EQ(other.err,
            absl::StrCat("shufflectl: ", place_.path(),
                         "/p: holds a pack made with --fit next --page 4096, "
                         "not --fit next --page 1024; give an empty directory, "
                         "or --restart to replace it\n"));
  EXPECT_EQ(Pack({source_.path(), "p", "--page", "1KiB", "--restart"}).code, 0);
  EXPECT_EQ(Manifest("p").page_bytes(), 1024u);
}

TEST_F(AlignedPackCommandTest, Refusals) {
  const auto refusal = [](const AlignedPackResult& result, int code) {
    EXPECT_EQ(result.code, code) << result.err;
    EXPECT_EQ(result.out, "");
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1);
    return result.err;
  };
  const std::string source = source_.path();
  EXPECT_EQ(refusal(Pack({source, source + "/p"}), 2),
            absl::StrCat("shufflectl: ", source,
                         "/p: lies in the source, which is never written "
                         "to; give a directory outside\n"));
  EXPECT_EQ(refusal(Pack({source, "p", "--fit", "first"}), 2),
            "shufflectl: --fit: must be next or best\n");
  for (const std::string page : {"256", "1000", "32MiB", "x"}) {
    EXPECT_EQ(refusal(Pack({source, "p", "--page", page}), 2),
              "shufflectl: --page: must be a power of two from 512 to 16MiB\n");
  }
  for (const std::string option : {"--chunk", "--seed", "--memory"}) {
    EXPECT_EQ(refusal(Pack({source, "p", option, "1"}), 2),
              absl::StrCat("shufflectl: ", option,
                           ": not with --align; leave one out\n"));
  }
  for (const std::string option : {"--fit", "--page"}) {
    EXPECT_EQ(refusal(Run({"pack", source, "p", option, "next"}), 2),
              absl::StrCat("shufflectl: ", option,
                           ": only with --align; add --align page\n"));
  }
  EXPECT_EQ(refusal(Run({"pack", "--align", "word", source, "p"}), 2),
            "shufflectl: --align: must be page\n");
  EXPECT_THAT(refusal(Pack({source + "/gone", "p"}), 1), HasSubstr("/gone: "));
  EXPECT_EQ(refusal(Pack({source + "/labels.txt", "p"}), 1),
            absl::StrCat(
                "shufflectl: ", source,
                "/labels.txt: the file ends at byte 8, inside the "
                "record at byte 0; get a whole copy of this TFRecord file\n"));
}

TEST(AlignedPackText, SaysWhatAnEarlierRunHadDone) {
  AlignedPackReport report;
  report.source = "/data/a";
  report.destination = "/fast/a";
  report.page_bytes = 1 << 20;
  report.fit = PageFit::kBest;
  report.result.files = 3;
  report.result.records = 1;
  report.result.stripped_bytes = 3 << 20;
  report.result.padded_bytes = 4 << 20;
  report.result.source_pages = 6;
  report.result.padded_pages = 3;
  report.result.read_bytes = 2 << 20;
  report.result.resumed_files = 1;
  report.seconds = 4;
  EXPECT_EQ(AlignedPackText(report),
            "/fast/a: 1 record in 3 files, 3.00 MiB, of /data/a\n"
            "padded to pages of 1MiB by best fit: 4.00 MiB\n"
            "read for each byte, records at random, page by page: 2.000 "
            "before, 1.000 after\n"
            "took 4.0 s, 512 KiB/s\n"
            "went on behind 1 file of an earlier run\n");
}

TEST(AlignedPackText, ProgressSaysHowLongItTakes) {
  const AlignProgress begun{1, 9, 2 << 20, 10 << 20};
  const AlignProgress now{4, 9, 4 << 20, 10 << 20};
  EXPECT_EQ(AlignProgressText(begun, now, 2),
            "packing:  40 %  4 of 9 files, 1.00 MiB/s, 6 s left");
  EXPECT_EQ(AlignProgressText(begun, now, 200),
            "packing:  40 %  4 of 9 files, 10.2 KiB/s, 10 min left");
  EXPECT_EQ(AlignProgressText(begun, begun, 0), "packing:  20 %  1 of 9 files");
  EXPECT_EQ(AlignProgressText({}, {}, 0), "packing: 100 %  0 of 0 files");
}

}  // namespace
}  // namespace shufflefs
