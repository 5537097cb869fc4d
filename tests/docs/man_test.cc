// SPDX-License-Identifier: Apache-2.0
// The man pages say what the option table and --help say, all of it and
// nothing else.
#include <algorithm>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "mount-tools/config/option_table.h"
#include "mount-tools/ctl/shufflectl_app.h"
#include "mount-tools/daemon/help_text.h"
#include "tests/meta/repository.h"

namespace shufflefs {
namespace {

using Words = std::set<std::string>;

// The lines of a page between `.Sh title` and the next section.
std::vector<std::string> Section(const std::string& page,
                                 const std::string& title) {
  std::vector<std::string> section;
  bool inside = false;
  for (const std::string& line : meta::Lines("mount-tools/man/" + page)) {
    if (absl::StartsWith(line, ".Sh ")) inside = line == ".Sh " + title;
    if (inside) section.push_back(line);
  }
  EXPECT_GT(section.size(), 1u) << page << " has no section " << title;
  return section;
}

// Every item of a key, with the lines below it.
struct Item {
  std::string key;
  std::vector<std::string> lines;
};

std::vector<Item> KeyItems(const std::string& page) {
  std::vector<Item> items;
  int depth = 0;  // of lists: keys are the items of the outer one
  for (const std::string& line : Section(page, "KEYS")) {
    if (absl::StartsWith(line, ".Bl ")) ++depth;
    if (line == ".El") --depth;
    if (depth == 1 && absl::StartsWith(line, ".It Cm ")) {
      items.push_back({line.substr(7), {}});
    } else if (!items.empty()) {
      items.back().lines.push_back(line);
    }
  }
  return items;
}

std::vector<std::string> Keys(const std::vector<Item>& items) {
  std::vector<std::string> keys;
  for (const Item& item : items) keys.push_back(item.key);
  return keys;
}

std::vector<std::string> TableKeys() {
  std::vector<std::string> keys;
  for (const Option& option : Options()) keys.emplace_back(option.key);
  return keys;
}

std::string Sentence(absl::string_view text) {
  std::string sentence = absl::StrCat(text, ".");
  sentence[0] = absl::ascii_toupper(sentence[0]);
  return sentence;
}

Words AllMatches(const std::string& text, const std::string& expression) {
  Words words;
  const std::regex regex(expression);
  for (std::sregex_iterator it(text.begin(), text.end(), regex), end; it != end;
       ++it) {
    words.insert((*it)[1]);
  }
  return words;
}

std::string CommandHelp(const std::vector<std::string>& arguments) {
  std::ostringstream out;
  CommandContext context{"/", &out, &out};
  EXPECT_EQ(RunShufflectl(arguments, context), 0);
  return out.str();
}

TEST(ManPages, PassLint) {
  const meta::ShellResult lint =
      meta::Shell("mandoc -T lint -W warning mount-tools/man/*");
  EXPECT_EQ(lint.code, 0);
  EXPECT_EQ(lint.output, "");
}

TEST(ManPages, TomlPageHasTheKeysOfTheTable) {
  EXPECT_EQ(Keys(KeyItems("shufflefs.toml.5")), TableKeys());
}

TEST(ManPages, TomlPageSaysWhatTheTableSays) {
  for (const Item& item : KeyItems("shufflefs.toml.5")) {
    const Option* option = FindOption(item.key);
    ASSERT_NE(option, nullptr) << item.key;
    ASSERT_GE(item.lines.size(), 3u) << item.key;
    EXPECT_EQ(item.lines[0], Sentence(option->help)) << item.key;
    EXPECT_EQ(item.lines[1],
              absl::StrCat("Default: ", option->default_text, "."));
    EXPECT_EQ(item.lines[2], absl::StrCat("Must be ", option->values, "."));
    const bool mount = option->scope == OptionScope::kMount;
    std::vector<std::string> marks;
    if (mount) marks.push_back("mount");
    if (option->run_time) marks.push_back("run time");
    const auto marked = std::find_if(
        item.lines.begin(), item.lines.end(), [](const std::string& line) {
          return line == ".Pq mount" || line == ".Pq run time" ||
                 line == ".Pq mount, run time";
        });
    EXPECT_EQ(marked == item.lines.end() ? "" : *marked,
              marks.empty() ? "" : ".Pq " + absl::StrJoin(marks, ", "))
        << item.key;
  }
}

TEST(ManPages, MountPageSaysWhatTheTableSays) {
  const std::vector<Item> items = KeyItems("shufflefs.1");
  EXPECT_EQ(Keys(items), TableKeys());
  for (const Item& item : items) {
    const Option* option = FindOption(item.key);
    ASSERT_NE(option, nullptr) << item.key;
    ASSERT_GE(item.lines.size(), 2u) << item.key;
    EXPECT_EQ(item.lines[0], std::string(option->help)) << item.key;
    EXPECT_EQ(item.lines[1],
              absl::StrCat("(default: ", option->default_text, ")"));
  }
}

TEST(ManPages, MountPageHasTheFlagsOfHelp) {
  const std::string help = *HelpText("");
  const std::string page =
      absl::StrJoin(Section("shufflefs.1", "DESCRIPTION"), "\n");
  EXPECT_EQ(AllMatches(page, "\\.It.* Fl Fl ([a-z]+)"),
            AllMatches(help, " --([a-z]+)"));
  EXPECT_EQ(AllMatches(page, "\\.It Fl ([a-zA-Z]) "),
            AllMatches(help, "\n  -([a-zA-Z])[ ,]"));
}

TEST(ManPages, CommandsAreThoseOfHelp) {
  Words commands;
  for (const auto& command : MakeCommands()) {
    commands.emplace(command->name());
  }
  const std::string text =
      absl::StrJoin(Section("shufflectl.1", "DESCRIPTION"), "\n");
  EXPECT_EQ(AllMatches(text, "\\.It Cm ([a-z]+)"), commands);
  const std::string synopsis =
      absl::StrJoin(Section("shufflectl.1", "SYNOPSIS"), "\n");
  EXPECT_EQ(AllMatches(synopsis, "\\.Nm\n\\.Cm ([a-z]+)"), commands);
}

// `Fl Fl x` in a command's synopsis is one of its options, and every option
// of a command is somewhere on the page.
TEST(ManPages, OptionsOfCommandsAreThoseOfHelp) {
  const std::string page =
      absl::StrJoin(meta::Lines("mount-tools/man/shufflectl.1"), "\n");
  const std::string synopsis =
      absl::StrJoin(Section("shufflectl.1", "SYNOPSIS"), "\n") + "\n.Nm\n";
  for (const auto& command : MakeCommands()) {
    const std::string name(command->name());
    const Words options =
        AllMatches(CommandHelp({name, "--help"}), "--([a-z]+)");
    EXPECT_THAT(AllMatches(page, "Fl Fl ([a-z]+)"),
                ::testing::IsSupersetOf(options))
        << name;
    const size_t begin = synopsis.find("\n.Cm " + name + "\n");
    ASSERT_NE(begin, std::string::npos) << name;
    const size_t end = synopsis.find("\n.Nm\n", begin);
    EXPECT_THAT(options,
                ::testing::IsSupersetOf(AllMatches(
                    synopsis.substr(begin, end - begin), "Fl Fl ([a-z]+)")))
        << name;
  }
}

TEST(ManPages, NoOptionIsMadeUp) {
  Words options = {"help", "version", "view", "json", "mount"};
  for (const auto& command : MakeCommands()) {
    options.merge(AllMatches(
        CommandHelp({std::string(command->name()), "--help"}), "--([a-z]+)"));
  }
  const std::string page =
      absl::StrJoin(meta::Lines("mount-tools/man/shufflectl.1"), "\n");
  EXPECT_THAT(options,
              ::testing::IsSupersetOf(AllMatches(page, "Fl Fl ([a-z]+)")));
}

// Defaults of a command's options are the same on the page.
TEST(ManPages, DefaultsOfOptionsAreThoseOfHelp) {
  std::string page =
      absl::StrJoin(meta::Lines("mount-tools/man/shufflectl.1"), " ");
  for (const std::string command :
       {"simulate", "bench", "pack", "top", "umount"}) {
    std::string help = CommandHelp({command, "--help"});
    help = std::regex_replace(help, std::regex("\\s+"), " ");
    // Before the next option.
    const std::regex option(
        "--([a-z]+) [A-Z]+ (?:(?! --)[^(])*\\(default: ([0-9A-Za-z]+)\\)");
    int found = 0;
    for (std::sregex_iterator it(help.begin(), help.end(), option), end;
         it != end; ++it, ++found) {
      const std::regex written(absl::StrCat("Fl Fl ", (*it)[1].str(),
                                            "[^(]*\\(default: ", (*it)[2].str(),
                                            "\\)"));
      EXPECT_TRUE(std::regex_search(page, written)) << (*it)[0].str();
    }
    EXPECT_GT(found, 0) << help;
  }
}

}  // namespace
}  // namespace shufflefs
