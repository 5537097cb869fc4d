// SPDX-License-Identifier: Apache-2.0
#include "mount-tools/ctl/bench/bench_text.h"

#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "mount-tools/ctl/bench/read_speed.h"
#include "mount-tools/ctl/check/scan_source.h"
#include "tests/mount-tools/temp_dir.h"

namespace shufflefs {
namespace {

using ::testing::ElementsAre;

CheckReport Report(const std::string& choice) {
  CheckReport report;
  report.choice.policy = choice;
  return report;
}

TEST(PoliciesToTryTest, AreThoseThatSuit) {
  EXPECT_THAT(PoliciesToTry(Report("native"), false), ElementsAre("native"));
  EXPECT_THAT(PoliciesToTry(Report("native"), true),
              ElementsAre("native", "clairvoyant"));
  CheckReport classes = Report("brand");
  classes.substitution_safety.moves = true;
  EXPECT_THAT(PoliciesToTry(classes, true),
              ElementsAre("native", "brand", "lirs"));
  CheckReport containers = Report("reimu");
  containers.containers = {"a.tfrecord"};
  EXPECT_THAT(PoliciesToTry(containers, false),
              ElementsAre("native", "reimu", "lirs"));
}

BenchResult Read(const std::string& name, const ReadSpeed& speed) {
  BenchResult result;
  result.name = name;
  result.speed = speed;
  return result;
}

BenchResult Took(const std::string& name, double seconds) {
  BenchResult result;
  result.name = name;
  result.seconds = seconds;
  return result;
}

BenchResult Failed(const std::string& name) {
  BenchResult result;
  result.name = name;
  result.trouble = "not mounted";
  return result;
}

const ReadSpeed kSlow = {1000, 10 << 20, 0, 2};
const ReadSpeed kFast = {10000, 60 << 20, 1, 4};

TEST(BenchLineTest, IsAgainstRaw) {
  const BenchResult raw = Read("raw", kSlow);
  EXPECT_EQ(BenchTitles(false),
            "               FILES/S     MIB/S  AGAINST RAW\n");
  EXPECT_EQ(BenchLine(raw, raw), "raw                500       5.0  1.00x\n");
  EXPECT_EQ(BenchLine(Read("brand", kFast), raw),
            "brand            2,500      15.0  3.00x\n"
            "  1 file could not be read\n");
  EXPECT_EQ(BenchLine(Failed("lirs"), raw), "lirs         not mounted\n");
  EXPECT_EQ(BenchLine(raw, Failed("raw")),
            "raw                500       5.0  -\n");
}

TEST(BenchLineTest, OfACommandIsItsTime) {
  EXPECT_EQ(BenchTitles(true), "               SECONDS  AGAINST RAW\n");
  EXPECT_EQ(BenchLine(Took("brand", 4), Took("raw", 10)),
            "brand              4.0  2.50x\n");
}

TEST(BenchVerdictTest, NamesTheFastestIfItIsFaster) {
  EXPECT_EQ(BenchVerdict({Took("raw", 10), Took("lirs", 5), Took("brand", 4),
                          Failed("reimu")}),
            "fastest: brand, 2.5 times raw: -o policy=brand\n");
  const std::string none =
      "no mount was faster than raw: mount only if you need the shuffle\n";
  EXPECT_EQ(BenchVerdict({Took("raw", 10), Took("lirs", 9.9)}), none);
  EXPECT_EQ(BenchVerdict({Failed("raw"), Took("lirs", 1)}), none);
}

TEST(BenchJsonTest, HasNullForWhatIsNotKnown) {
  BenchResult cold = Read("brand", kFast);
  cold.cold = true;
  EXPECT_EQ(BenchJson(cold, Read("raw", kSlow)),
            "{\"name\":\"brand\",\"cold\":true,\"files_per_second\":2500.0,"
            "\"bytes_per_second\":15728640.0,\"seconds\":null,"
            "\"against_raw\":3.0,\"trouble\":null}\n");
  EXPECT_EQ(BenchJson(Failed("x"), Took("raw", 1)),
            "{\"name\":\"x\",\"cold\":false,\"files_per_second\":null,"
            "\"bytes_per_second\":null,\"seconds\":null,\"against_raw\":null,"
            "\"trouble\":\"not mounted\"}\n");
}

TEST(MeasureReadsTest, ReadsEachFileOnceUntilTheTimeIsOver) {
  const TempDir dir;
  for (int i = 0; i < 40; ++i) {
    dir.Write("c/" + std::to_string(i), std::string(1000, 'x'));
  }
  std::ostringstream out;
  CommandContext context{"/", &out, &out};
  const auto scanned = ScanSource(dir.path(), context);
  ASSERT_TRUE(scanned.ok()) << scanned.status();
  std::filesystem::remove(dir.path() + "/c/7");
  const PassedSignals signals;
  ReadOptions options;
  options.time = std::chrono::seconds(60);
  const auto speed =
      MeasureReads(scanned->path, *scanned->catalogue, options, signals);
  ASSERT_TRUE(speed.has_value());
  EXPECT_EQ(speed->files, 39u);
  EXPECT_EQ(speed->bytes, 39000u);
  EXPECT_EQ(speed->errors, 1u);
  EXPECT_GT(speed->seconds, 0);
  EXPECT_LT(speed->seconds, 60);
  // A file without an end.
  std::filesystem::remove(dir.path() + "/c/8");
  std::filesystem::create_symlink("/dev/zero", dir.path() + "/c/8");
  options.time = std::chrono::milliseconds(100);
  const auto endless =
      MeasureReads(scanned->path, *scanned->catalogue, options, signals);
  ASSERT_TRUE(endless.has_value());
  EXPECT_EQ(endless->files, 38u);
  EXPECT_GE(endless->seconds, 0.1);
  EXPECT_LT(endless->seconds, 20);
}

}  // namespace
}  // namespace shufflefs
