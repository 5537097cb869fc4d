// SPDX-License-Identifier: Apache-2.0
#include "mount-tools/ctl/shufflectl_app.h"

#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "mount-tools/config/config_file.h"
#include "mount-tools/config/control_text.h"
#include "mount-tools/ctl/control_commands.h"
#include "mount-tools/ctl/order_command.h"
#include "policies/lirs.h"

namespace shufflefs {
namespace {

using ::testing::HasSubstr;

struct AppResult {
  int code;
  std::string out;
  std::string err;
};

AppResult Ctl(const std::vector<std::string>& arguments) {
  std::ostringstream out;
  std::ostringstream err;
  CommandContext context;
  context.cwd = "/";
  context.out = &out;
  context.err = &err;
  const int code = RunShufflectl(arguments, context);
  return {code, out.str(), err.str()};
}

TEST(ShufflectlApp, HelpListsEveryCommand) {
  const AppResult result = Ctl({"--help"});
  EXPECT_EQ(result.code, 0);
  for (const auto& command : MakeCommands()) {
    EXPECT_THAT(result.out,
                HasSubstr("\n  " + std::string(command->name()) + " "));
    EXPECT_THAT(result.out, HasSubstr(std::string(command->help())));
    const AppResult own = Ctl({std::string(command->name()), "--help"});
    EXPECT_EQ(own.code, 0) << command->name();
    EXPECT_THAT(own.out,
                HasSubstr("shufflectl " + std::string(command->name())));
  }
}

TEST(ShufflectlApp, HelpFitsATerminal) {
  std::vector<std::vector<std::string>> calls = {{"--help"}};
  for (const auto& command : MakeCommands()) {
    calls.push_back({std::string(command->name()), "--help"});
  }
  for (const auto& call : calls) {
    std::istringstream lines(Ctl(call).out);
    for (std::string line; std::getline(lines, line);) {
      EXPECT_LE(line.size(), 80u) << call.front() << ": " << line;
    }
  }
}

TEST(ShufflectlApp, Version) {
  const AppResult result = Ctl({"--version"});
  EXPECT_EQ(result.code, 0);
  EXPECT_THAT(result.out, ::testing::MatchesRegex("shufflectl [0-9.]+\n"));
}

TEST(ShufflectlApp, AnErrorCannotWriteToTheTerminal) {
  const AppResult result = Ctl({"status", "/no\x1b[2J\a\x7f"});
  EXPECT_NE(result.code, 0);
  EXPECT_EQ(result.err.find_first_of("\x1b\a\x7f"), std::string::npos);
  EXPECT_THAT(result.err, HasSubstr("/no?[2J??"));
}

TEST(ShufflectlApp, WrongUsageIsTwoAndOneLine) {
  const std::pair<std::vector<std::string>, const char*> cases[] = {
      {{}, "shufflectl: no command; see shufflectl --help\n"},
      {{"stats"}, "shufflectl: no such command: stats; did you mean status?\n"},
      {{"stat"}, "shufflectl: no such command: stat; did you mean status?\n"},
      {{"frobnicate"},
       "shufflectl: no such command: frobnicate; see shufflectl --help\n"},
      {{"status", "--frob"},
       "shufflectl: The following argument was not expected: --frob; see "
       "shufflectl status --help\n"},
      {{"epoch", "last"},
       "shufflectl: epoch last: must be next or the number of an epoch\n"},
      {{"policy", "/mnt", "-m", "/mnt"},
       "shufflectl: /mnt: the mount is given twice, also with -m\n"},
      {{"epoch", "3", "seed=3"},
       "shufflectl: seed=3: is a key; use shufflectl policy seed=3\n"},
      {{"feedback"},
       "shufflectl: feedback LOSS: the loss must be a finite number, such as "
       "0.531\n"},
      {{"feedback", "nan"},
       "shufflectl: feedback nan: the loss must be a finite number, such as "
       "0.531\n"},
      {{"feedback", "0.5", "seed=3"},
       "shufflectl: seed=3: is a key; use shufflectl policy seed=3\n"},
      {{"policy", "lirs", "sead=3"},
       "shufflectl: no such key: sead; did you mean seed?\n"},
      {{"umount", "--wait", "soon"},
       "shufflectl: --wait soon: must be a time such as 500ms or 10s\n"},
  };
  for (const auto& [arguments, message] : cases) {
    const AppResult result = Ctl(arguments);
    EXPECT_EQ(result.code, 2) << message;
    EXPECT_EQ(result.err, message);
    EXPECT_EQ(result.out, "");
  }
}

TEST(ShufflectlApp, FailureIsOne) {
  const AppResult result = Ctl({"status", "/proc"});
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.err,
              ::testing::StartsWith(
                  "shufflectl: /proc: is not inside a shufflefs mount; "));
}

TEST(ShufflectlApp, AnOutputThatFailsIsAnError) {
  std::ostringstream err;
  std::ostringstream out;
  out.setstate(std::ios::badbit);
  CommandContext context;
  context.cwd = "/";
  context.out = &out;
  context.err = &err;
  EXPECT_EQ(RunShufflectl({"--help"}, context), 1);
  EXPECT_EQ(err.str(),
            "shufflectl: cannot write the output; free space there\n");
}

// What the commands write is what the daemon reads.
TEST(ControlCommands, TextsAreControlTexts) {
  const absl::StatusOr<std::string> next = EpochControlText("next");
  EXPECT_TRUE(ParseControl(*next, ViewConfig())->next_epoch);
  const absl::StatusOr<std::string> seven = EpochControlText("7");
  EXPECT_EQ(ParseControl(*seven, ViewConfig())->set_epoch, Epoch(7));
  for (const auto& [word, loss] :
       std::vector<std::pair<std::string, double>>{{".5", 0.5},
                                                   {"-3", -3},
                                                   {"+1e-10", 1e-10},
                                                   {"12345678.9", 12345678.9},
                                                   {"1e300", 1e300}}) {
    const absl::StatusOr<std::string> text = FeedbackControlText(word);
    ASSERT_TRUE(text.ok()) << word;
    EXPECT_EQ(ParseControl(*text, ViewConfig())->feedback, loss) << *text;
  }
  const absl::StatusOr<std::string> policy =
      PolicyControlText("lirs", {"lirs.unit=page", "lirs.page=64KiB", "seed=3",
                                 "epoch=next", "feedback=0.5"});
  const absl::StatusOr<ControlRequest> request =
      ParseControl(*policy, ViewConfig());
  ASSERT_TRUE(request.ok()) << request.status();
  EXPECT_EQ(request->config.policy, "lirs");
  EXPECT_EQ(LirsOptions::Of(request->config.policy_options).page, 65536u);
  EXPECT_EQ(request->config.seed, Seed(3));
  EXPECT_TRUE(request->next_epoch);
  EXPECT_EQ(request->feedback, 0.5);
}

// A negative loss is no option.
TEST(ControlCommands, ALossMayBeNegative) {
  const AppResult result = Ctl({"feedback", "-m", "/proc", "-0.25"});
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.err, HasSubstr("/proc: is not inside a shufflefs mount"));
}

std::string Split(const std::vector<std::string>& words) {
  const absl::StatusOr<ControlWords> split = SplitControlWords(
      words, [](const std::string& word) { return word == "mount"; });
  if (!split.ok()) return std::string(split.status().message());
  return absl::StrCat(split->mountpoint, "|", split->value, "|",
                      absl::StrJoin(split->settings, ","));
}

TEST(ControlCommands, TheMountMayComeFirst) {
  EXPECT_EQ(Split({}), "||");
  EXPECT_EQ(Split({"next"}), "|next|");
  EXPECT_EQ(Split({"/mnt/x"}), "/mnt/x||");
  EXPECT_EQ(Split({"./3"}), "./3||");
  EXPECT_EQ(Split({"mnt", "3"}), "mnt|3|");
  EXPECT_EQ(Split({"mount"}), "mount||");
  EXPECT_EQ(Split({"mount", "memory=1GiB"}), "mount||memory=1GiB");
  EXPECT_EQ(Split({"3", "mount"}), "3|mount|");
  EXPECT_EQ(Split({"/mnt/a=b", "lirs", "seed=3", "lirs.unit=page"}),
            "/mnt/a=b|lirs|seed=3,lirs.unit=page");
  EXPECT_EQ(Split({"a", "b", "c"}), "c: was not expected");
}

TEST(ControlCommands, KeysAloneKeepThePolicy) {
  const absl::StatusOr<std::string> text = PolicyControlText("", {"seed=3"});
  EXPECT_EQ(*text, "seed = \"3\"\n");
  ViewConfig lirs;
  lirs.policy = "lirs";
  EXPECT_EQ(ParseControl(*text, lirs)->config.policy, "lirs");
}

// A value cannot smuggle in a second line.
TEST(ControlCommands, ValuesAreQuoted) {
  const absl::StatusOr<std::string> text =
      PolicyControlText("lirs\"\nseed = 4\n#", {});
  EXPECT_THAT(std::string(ParseControl(*text, ViewConfig()).status().message()),
              ::testing::StartsWith("line 1: policy = lirs\"\nseed"));
}

TEST(OrderCommand, JsonIsOneObjectALine) {
  std::ostringstream out;
  EXPECT_TRUE(PrintOrderJson("0\ta/1.png\ta/7.png\n1\t\xff\tb\"\n"
                             "2\ta\\tb\\nc\\\\n\t\\x\\\n",
                             out)
                  .ok());
  EXPECT_EQ(
      out.str(),
      "{\"rank\":0,\"name\":\"a/1.png\",\"sample\":\"a/7.png\"}\n"
      "{\"rank\":1,\"name\":\"\xef\xbf\xbd\",\"sample\":\"b\\\"\"}\n"
      "{\"rank\":2,\"name\":\"a\\tb\\nc\\\\n\",\"sample\":\"\\\\x\\\\\"}\n");
  out.str("");
  EXPECT_TRUE(PrintOrderJson("", out).ok());
  EXPECT_EQ(out.str(), "");
  EXPECT_EQ(PrintOrderJson("0\ta\tb\n1\ta\n", out).message(),
            "order, line 2: is not rank TAB name TAB sample; is the mount of "
            "another version? see shufflectl doctor");
  EXPECT_EQ(PrintOrderJson("x\ta\tb\n", out).message(),
            "order, line 1: is not rank TAB name TAB sample; is the mount of "
            "another version? see shufflectl doctor");
}

}  // namespace
}  // namespace shufflefs
