// SPDX-License-Identifier: Apache-2.0
#include "mount-tools/daemon/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "mount-tools/config/option_table.h"
#include "policies/lirs.h"

namespace shufflefs {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

CommandLine ParsedLine(const std::vector<std::string>& arguments) {
  absl::StatusOr<CommandLine> line = ParseCommandLine(arguments, "/home/u");
  EXPECT_TRUE(line.ok()) << line.status();
  CommandLine parsed = line.ok() ? *line : CommandLine();
  if (parsed.config.views.empty()) parsed.config.views.emplace_back();
  return parsed;
}

std::string LineError(const std::vector<std::string>& arguments) {
  absl::StatusOr<CommandLine> line = ParseCommandLine(arguments, "/home/u");
  if (line.ok()) return "no error";
  EXPECT_EQ(line.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(line.status().message()),
              ::testing::Not(HasSubstr("\n")));
  return std::string(line.status().message());
}

class ConfigDir {
 public:
  ConfigDir()
      : dir_(std::filesystem::path(::testing::TempDir()) /
             absl::StrCat("command_line_test.", getpid())) {
    std::filesystem::create_directories(dir_);
  }
  ~ConfigDir() { std::filesystem::remove_all(dir_); }
  std::string Write(const std::string& text) const {
    const std::string path = dir_ / "c.toml";
    std::ofstream(path) << text;
    return path;
  }

 private:
  const std::filesystem::path dir_;
};

TEST(CommandLine, PathsBecomeAbsolute) {
  const CommandLine line = ParsedLine({"data", "../mnt/"});
  EXPECT_EQ(line.action, CommandLine::Action::kMount);
  EXPECT_EQ(line.config.source, "/home/u/data");
  EXPECT_EQ(line.config.mountpoint, "/home/mnt");
  EXPECT_EQ(line.config.views.size(), 1u);
  EXPECT_FALSE(line.run.foreground);
  EXPECT_FALSE(line.run.debug);
  EXPECT_FALSE(line.config.read_only);
  EXPECT_FALSE(line.config.allow_other);
}

TEST(CommandLine, BracketsArePartOfAName) {
  const CommandLine line = ParsedLine({"-o", "policy=lirs", "[data]", "[a,b]"});
  EXPECT_EQ(line.config.source, "/home/u/[data]");
  EXPECT_EQ(line.config.mountpoint, "/home/u/[a,b]");
}

TEST(CommandLine, FlagsAnywhere) {
  EXPECT_TRUE(ParsedLine({"-f", "a", "b"}).run.foreground);
  EXPECT_TRUE(ParsedLine({"a", "-f", "b"}).run.foreground);
  const CommandLine debug = ParsedLine({"a", "b", "-d"});
  EXPECT_TRUE(debug.run.foreground);
  EXPECT_TRUE(debug.run.debug);
  EXPECT_EQ(ParsedLine({"--", "-a", "-b"}).config.source, "/home/u/-a");
}

TEST(CommandLine, OptionsInEveryForm) {
  const CommandLine line =
      ParsedLine({"-o", "policy=lirs,seed=3", "a", "-oseed=4", "b", "-o",
                  "lirs.unit=page,ro"});
  const ViewConfig& view = line.config.views[0];
  EXPECT_EQ(view.policy, "lirs");
  EXPECT_EQ(view.seed, Seed(4)) << "the last word wins";
  EXPECT_EQ(LirsOptions::Of(view.policy_options).unit,
            LirsOptions::Unit::kPage);
  EXPECT_TRUE(line.config.read_only);
}

TEST(CommandLine, AnOptionTakesOneArgument) {
  const CommandLine line = ParsedLine({"-o", "seed=3", "a", "b"});
  EXPECT_EQ(line.config.source, "/home/u/a");
  EXPECT_EQ(line.config.mountpoint, "/home/u/b");
}

// As mount.fuse3 calls us for an fstab line, as root and for a user.
TEST(CommandLine, TakesWhatMountPasses) {
  const CommandLine line = ParsedLine(
      {"/data", "/mnt", "-o",
       "rw,noauto,nofail,_netdev,x-systemd.automount,x-gvfs-name=A b,user,"
       "noexec,nosuid,nodev,dev,suid,exec,noatime,defaults,allow_other,"
       "comment=mine,seed=9"});
  EXPECT_TRUE(line.config.allow_other);
  EXPECT_FALSE(line.config.read_only);
  EXPECT_EQ(line.config.views[0].seed, Seed(9));
}

// mount(8): `user` and `users` mean noexec if no later word says `exec`.
TEST(CommandLine, NoexecIsKept) {
  const auto is_no_exec = [](const char* words) {
    return ParsedLine({"a", "b", "-o", words}).run.no_exec;
  };
  EXPECT_FALSE(is_no_exec("nosuid"));
  EXPECT_TRUE(is_no_exec("noexec,nosuid,nodev"));
  EXPECT_TRUE(is_no_exec("exec,noexec"));
  EXPECT_FALSE(is_no_exec("noexec,exec"));
  EXPECT_TRUE(is_no_exec("users"));
  EXPECT_FALSE(is_no_exec("user,exec"));
}

TEST(CommandLine, RoAndRwTheLastWins) {
  EXPECT_TRUE(ParsedLine({"a", "b", "-o", "rw,ro"}).config.read_only);
  EXPECT_FALSE(ParsedLine({"a", "b", "-o", "ro,rw"}).config.read_only);
}

TEST(CommandLine, CommasInValuesAreEscaped) {
  EXPECT_THAT(SplitMountOptions("a=1,b=2"), ElementsAre("a=1", "b=2"));
  EXPECT_THAT(SplitMountOptions(",a,,b,"), ElementsAre("a", "b"));
  EXPECT_THAT(SplitMountOptions(""), IsEmpty());
  EXPECT_THAT(SplitMountOptions(R"(a=x\,y,b=\\,c=\n,d=\)"),
              ElementsAre("a=x,y", R"(b=\)", R"(c=\n)", R"(d=\)"));
  EXPECT_EQ(
      ParsedLine({"a", "b", "-o", R"(groups=f\,1)"}).config.views[0].groups,
      "/home/u/f,1");
}

// A comma is between the options of a rule, too.
TEST(CommandLine, RulesOfRecordsKeepTheirOptions) {
  const auto rules = [](const std::string& option) {
    return ParsedLine({"-o", option, "/data", "/mnt"})
        .config.views[0]
        .record.as;
  };
  EXPECT_EQ(rules("record.as=*.bin:fixed,bytes=785,header=16,seed=7"),
            "*.bin:fixed,bytes=785,header=16");
  EXPECT_EQ(rules("record.as=*.bin:fixed,bytes=785;*.csv:lines,header=1"),
            "*.bin:fixed,bytes=785;*.csv:lines,header=1");
  EXPECT_EQ(rules(R"(record.as=*.bin:fixed\,bytes=1K)"),
            "*.bin:fixed,bytes=1K");
  EXPECT_EQ(
      ParsedLine({"-o", "record.as=a:fixed,bytes=5,seed=7", "/data", "/mnt"})
          .config.views[0]
          .seed,
      Seed(7));
  EXPECT_EQ(LineError({"-o", "policy=lirs,bytes=785", "/data", "/mnt"}),
            "-o: no such key: bytes; did you mean record.bytes?");
}

TEST(CommandLine, RelativePathsInOptionsAreBelowTheWorkingDirectory) {
  const CommandLine line = ParsedLine({"a", "b", "-o", "state=st,groups=../g"});
  EXPECT_EQ(line.config.state, "/home/u/st");
  EXPECT_EQ(line.config.views[0].groups, "/home/g");
  EXPECT_EQ(ParsedLine({"a", "b", "-o", "path=train/"}).config.views[0].path,
            "train");
}

TEST(CommandLine, PathsOfTheHomeDirectoryAreRefused) {
  EXPECT_EQ(LineError({"a", "b", "-o", "state=~/x"}),
            "-o: state: ~/x: ~ is not replaced here; write the whole path");
  EXPECT_EQ(LineError({"a", "b", "-o", "config=~/c.toml"}),
            "config: ~/c.toml: ~ is not replaced here; write the whole path");
  EXPECT_EQ(ParsedLine({"a", "b", "-o", "state=./~/x"}).config.state,
            "/home/u/~/x");
}

TEST(CommandLine, OptionsWinOverTheFileAndReachEveryView) {
  const ConfigDir dir;
  const std::string file = dir.Write(
      "seed = 1\nepoch.pad = 3\nwait = \"1s\"\n"
      "[[view]]\npath = \"x\"\nseed = 2\n[[view]]\npath = \"y\"\n");
  const CommandLine plain = ParsedLine({"a", "b", "--config", file});
  ASSERT_EQ(plain.config.views.size(), 2u);
  EXPECT_EQ(plain.config.views[0].seed, Seed(2));
  EXPECT_EQ(plain.config.views[1].seed, Seed(1));
  const CommandLine line =
      ParsedLine({"a", "b", "-o", "seed=5,wait=2s", "--config=" + file});
  EXPECT_EQ(line.config.views[0].seed, Seed(5));
  EXPECT_EQ(line.config.views[1].seed, Seed(5));
  EXPECT_EQ(line.config.views[1].epoch_pad, 3u);
  EXPECT_EQ(line.config.wait, std::chrono::seconds(2));
  EXPECT_EQ(LineError({"a", "b", "-o", "path=z", "--config", file}),
            "-o: path: the configuration file has several views; write it "
            "there");
}

TEST(CommandLine, ErrorsOfTheFileAreItsOwn) {
  const ConfigDir dir;
  const std::string file = dir.Write("sead = 1\n");
  EXPECT_EQ(LineError({"a", "b", "--config", file}),
            file + ":1:8: no such key: sead; did you mean seed?");
  const absl::StatusOr<CommandLine> line =
      ParseCommandLine({"a", "b", "--config", file + ".not"}, "/home/u");
  EXPECT_EQ(ErrnoOf(line.status()), ENOENT);
}

TEST(CommandLine, WrongUsageSaysWhat) {
  EXPECT_EQ(LineError({}),
            "SOURCE and MOUNTPOINT are needed, 0 paths are given; see "
            "shufflefs --help");
  EXPECT_EQ(LineError({"a"}),
            "SOURCE and MOUNTPOINT are needed, 1 path is given; see "
            "shufflefs --help");
  EXPECT_EQ(LineError({"a", "b", "c"}),
            "SOURCE and MOUNTPOINT are needed, 3 paths are given; see "
            "shufflefs --help");
  EXPECT_EQ(LineError({"", "b"}),
            "SOURCE and MOUNTPOINT are needed, 2 paths are given; see "
            "shufflefs --help");
  EXPECT_THAT(LineError({"a", "b", "--frobnicate"}), HasSubstr("--frobnicate"));
  EXPECT_THAT(LineError({"a", "b", "-o"}), HasSubstr("-o"));
  EXPECT_EQ(LineError({"a", "b", "-o", "policy"}),
            "-o: policy: needs a value: must be auto, native, lirs, brand, "
            "met, reimu, clairvoyant, window or static");
  EXPECT_EQ(LineError({"a", "b", "-o", "policy=mte"}),
            "-o: policy = mte: must be auto, native, lirs, brand, "
            "met, reimu, clairvoyant, window or static; did you mean met?");
  EXPECT_EQ(LineError({"a", "b", "-o", "lirs"}),
            "-o: no such key: lirs; did you mean policy=lirs?");
  EXPECT_EQ(LineError({"a", "b", "-o", "seeds=1"}),
            "-o: no such key: seeds; did you mean seed?");
  EXPECT_EQ(LineError({"a", "b", "-o", "allow_othr"}),
            "-o: no such key: allow_othr; see shufflefs --help=all");
  EXPECT_EQ(LineError({"a", "b", "-o", "seed=1=2"}),
            "-o: seed = 1=2: must be a whole number from 0 to "
            "18446744073709551615");
  EXPECT_EQ(
      LineError({"a", "b", "-o", "groups=/g,substitute=never"}),
      "groups has no meaning with substitute = never; remove one of them");
}

TEST(CommandLine, HelpAndVersionNeedNoPaths) {
  EXPECT_EQ(ParsedLine({"--help"}).action, CommandLine::Action::kHelp);
  EXPECT_EQ(ParsedLine({"-h", "a"}).action, CommandLine::Action::kHelp);
  EXPECT_EQ(ParsedLine({"--version"}).action, CommandLine::Action::kVersion);
  EXPECT_THAT(VersionText(), ::testing::MatchesRegex("shufflefs [0-9.]+\n"));
}

TEST(CommandLine, HelpTakesATopic) {
  EXPECT_EQ(ParsedLine({"--help"}).help_topic, "");
  EXPECT_EQ(ParsedLine({"--help", "a", "b"}).help_topic, "");
  EXPECT_EQ(ParsedLine({"--help=met"}).help_topic, "met");
}

TEST(CommandLine, AKeyInThePlaceOfAnOptionIsExplained) {
  EXPECT_THAT(LineError({"--policy", "lirs", "a", "b"}),
              HasSubstr("; use -o policy=lirs"));
  EXPECT_THAT(LineError({"--policy=lirs", "a", "b"}),
              HasSubstr("; use -o policy=lirs"));
  EXPECT_THAT(LineError({"a", "b", "--seed"}),
              HasSubstr("; use -o seed=VALUE"));
  EXPECT_EQ(LineError({"policy=lirs", "a", "b"}),
            "SOURCE and MOUNTPOINT are needed, 3 paths are given; use -o "
            "policy=lirs");
}

// Keys that need each other may be given in both.
TEST(CommandLine, OptionsCompleteTheFile) {
  const ConfigDir dir;
  const std::string file = dir.Write("record.as = \"*.bin:fixed\"\n");
  const CommandLine line =
      ParsedLine({"a", "b", "--config", file, "-o", "record.bytes=785"});
  EXPECT_EQ(line.config.views[0].record.bytes, 785u);
  // The file is named if it is wrong by itself, and nothing mends that.
  EXPECT_THAT(LineError({"a", "b", "--config", file, "-o", "seed=1"}),
              ::testing::StartsWith(file + ": record.as: "));
  EXPECT_THAT(LineError({"a", "b", "-o", "record.as=*.bin:fixed"}),
              ::testing::StartsWith("record.as: "));
  const std::string alone =
      dir.Write("groups = \"g\"\nsubstitute = \"never\"\n");
  EXPECT_EQ(
      ParsedLine({"a", "b", "--config", alone, "-o", "substitute=directory"})
          .config.views[0]
          .substitute,
      Substitute::kDirectory);
}

TEST(CommandLine, AnOptionNamesTheConfigurationFile) {
  const ConfigDir dir;
  const std::string file = dir.Write("seed = 1\nepoch.pad = 3\n");
  const CommandLine line =
      ParsedLine({"a", "b", "-o", "seed=5,config=" + file + ",ro"});
  EXPECT_EQ(line.config.views[0].seed, Seed(5)) << "other words win";
  EXPECT_EQ(line.config.views[0].epoch_pad, 3u);
  EXPECT_TRUE(line.config.read_only);
  EXPECT_EQ(LineError({"a", "b", "-o", "config=" + file, "--config", file}),
            "one configuration file is allowed, two are given");
  EXPECT_EQ(LineError({"a", "b", "-o", "config="}),
            "-o: config: needs the path of a file");
  EXPECT_EQ(ErrnoOf(ParseCommandLine({"a", "b", "-o", "config=c.toml"},
                                     "/does/not/exist")
                        .status()),
            ENOENT);
}

}  // namespace
}  // namespace shufflefs
