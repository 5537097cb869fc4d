// SPDX-License-Identifier: Apache-2.0
// What bash completes is what the programs take.
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "mount-tools/config/option_table.h"
#include "mount-tools/ctl/shufflectl_app.h"
#include "tests/meta/repository.h"

namespace shufflefs {
namespace {

using ::testing::IsSupersetOf;
using Words = std::set<std::string>;

// What bash offers for the last of `words`, which may be empty. As readline
// does, a word is broken at `=`.
Words Complete(const std::vector<std::string>& words) {
  std::vector<std::string> broken;
  for (const std::string& word : words) {
    const std::string spaced = absl::StrReplaceAll(word, {{"=", "\n=\n"}});
    for (absl::string_view part : absl::StrSplit(spaced, '\n')) {
      broken.push_back(absl::StrCat("'", part, "'"));
    }
  }
  const std::string line = absl::StrJoin(words, " ");
  const meta::ShellResult result = meta::Shell(absl::StrCat(
      "bash -c '. mount-tools/completions/", words[0],
      "; . /dev/stdin' <<'E'\n", "COMP_WORDS=(", absl::StrJoin(broken, " "),
      ")\nCOMP_CWORD=", broken.size() - 1, "\nCOMP_LINE='", line,
      "'\nCOMP_POINT=", line.size(), "\n_", words[0],
      "\nprintf '%s\\n' \"${COMPREPLY[@]}\"\nE\n"));
  Words offered;
  for (absl::string_view word :
       absl::StrSplit(result.output, '\n', absl::SkipEmpty())) {
    offered.emplace(word);
  }
  return offered;
}

Words LongOptions(const std::string& command) {
  std::ostringstream out;
  CommandContext context{"/", &out, &out};
  EXPECT_EQ(RunShufflectl({command, "--help"}, context), 0);
  Words options;
  for (absl::string_view word :
       absl::StrSplit(out.str(), absl::ByAnyChar(" ,\n"))) {
    if (absl::StartsWith(word, "--")) options.emplace(word);
  }
  return options;
}

// "auto, never or tree" as words.
Words ValueWords(absl::string_view values) {
  const std::string commas = absl::StrReplaceAll(values, {{" or ", ", "}});
  Words words;
  for (absl::string_view word : absl::StrSplit(commas, ", ")) {
    words.emplace(word);
  }
  return words;
}

TEST(Completions, CommandsOfShufflectl) {
  Words commands = {"--help", "--version"};
  for (const auto& command : MakeCommands()) {
    commands.emplace(command->name());
  }
  EXPECT_EQ(Complete({"shufflectl", ""}), commands);
  EXPECT_EQ(Complete({"shufflectl", "st"}), Words{"status"});
}

TEST(Completions, OptionsOfEachCommand) {
  for (const auto& command : MakeCommands()) {
    const std::string name(command->name());
    EXPECT_EQ(Complete({"shufflectl", name, "x", "--"}), LongOptions(name))
        << name;
  }
}

TEST(Completions, ValuesOfOptionsOfPack) {
  EXPECT_EQ(Complete({"shufflectl", "pack", "--align", ""}), Words{"page"});
  EXPECT_EQ(Complete({"shufflectl", "pack", "--fit", ""}),
            (Words{"next", "best"}));
  EXPECT_EQ(Complete({"shufflectl", "pack", "--page", ""}), Words());
}

TEST(Completions, PoliciesAndSettings) {
  const Words policies = ValueWords(FindOption("policy")->values);
  EXPECT_THAT(Complete({"shufflectl", "policy", ""}), IsSupersetOf(policies));
  EXPECT_THAT(Complete({"shufflectl", "simulate", ""}), IsSupersetOf(policies));
  Words settings;
  for (const Option& option : Options()) {
    if (option.run_time) settings.insert(absl::StrCat(option.key, "="));
  }
  Words offered = Complete({"shufflectl", "policy", "lirs", ""});
  for (const std::string& option : LongOptions("policy")) offered.erase(option);
  EXPECT_EQ(offered, settings);
}

TEST(Completions, KeysOfShufflefs) {
  Words keys = {"config=", "ro", "rw", "allow_other"};
  for (const Option& option : Options()) {
    keys.insert(absl::StrCat(option.key, "="));
  }
  EXPECT_EQ(Complete({"shufflefs", "-o", ""}), keys);
  EXPECT_EQ(Complete({"shufflefs", "-o", "ro,se"}), Words{"ro,seed="});
  EXPECT_EQ(Complete({"shufflefs", "-o", "seed=3,lirs.u"}),
            Words{"3,lirs.unit="});
}

TEST(Completions, ValuesOfKeys) {
  for (const Option& option : Options()) {
    const std::string list = absl::StrCat("ro,", option.key, "=");
    const Words offered = Complete({"shufflefs", "-o", list});
    if (option.kind == ValueKind::kWord) {
      EXPECT_EQ(offered, ValueWords(option.values)) << option.key;
    } else if (option.key != "epoch.length") {
      EXPECT_EQ(offered, Words()) << option.key;
    }
  }
  EXPECT_EQ(Complete({"shufflefs", "-o", "seed=1,policy=li"}), Words{"lirs"});
}

TEST(Completions, FlagsOfShufflefs) {
  EXPECT_EQ(Complete({"shufflefs", "-"}),
            (Words{"-o", "-f", "-d", "--foreground", "--debug", "--config",
                   "--help", "--version"}));
  EXPECT_THAT(Complete({"shufflefs", "mount-t"}),
              ::testing::ElementsAre("mount-tools"));
}

}  // namespace
}  // namespace shufflefs
