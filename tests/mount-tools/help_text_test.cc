// SPDX-License-Identifier: Apache-2.0
#include "mount-tools/daemon/help_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "mount-tools/config/option_table.h"
#include "policies/registry.h"

namespace shufflefs {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string Help(absl::string_view topic) {
  const absl::StatusOr<std::string> text = HelpText(topic);
  EXPECT_TRUE(text.ok()) << text.status();
  return text.ok() ? *text : "";
}

std::vector<std::string> LinesOf(const std::string& text) {
  return absl::StrSplit(text, '\n');
}

// The keys that have a line of their own.
std::vector<std::string> KeysIn(const std::string& text) {
  std::vector<std::string> keys;
  for (const std::string& line : LinesOf(text)) {
    if (!absl::StartsWith(line, "  ")) continue;
    const std::string key = line.substr(2, line.find(' ', 2) - 2);
    if (FindOption(key) != nullptr) keys.push_back(key);
  }
  return keys;
}

std::vector<std::string> Topics() {
  std::vector<std::string> topics = {"", "all", "record", "epoch.pad"};
  for (const absl::string_view policy : PolicyNames()) {
    topics.emplace_back(policy);
  }
  return topics;
}

TEST(HelpText, FitsATerminal) {
  for (const std::string& topic : Topics()) {
    for (const std::string& line : LinesOf(Help(topic))) {
      EXPECT_LE(line.size(), 80u) << line;
      EXPECT_FALSE(absl::EndsWith(line, " ")) << line;
    }
  }
}

TEST(HelpText, IsShortUnlessAllIsAskedFor) {
  EXPECT_LE(LinesOf(Help("")).size(), 60u);
  const std::vector<std::string> keys = KeysIn(Help(""));
  EXPECT_GE(keys.size(), 12u);
  EXPECT_LE(keys.size(), 14u);
  EXPECT_THAT(keys, ::testing::Contains("memory"));
  EXPECT_THAT(Help(""), HasSubstr("--help=all"));
}

TEST(HelpText, AllHasEveryKeyAndItsDefault) {
  const std::string help = Help("all");
  std::vector<std::string> keys;
  for (const Option& option : Options()) {
    keys.emplace_back(option.key);
    EXPECT_THAT(help, HasSubstr(absl::StrCat(" ", option.help)));
    EXPECT_THAT(
        help, HasSubstr(absl::StrCat("(default: ", option.default_text, ")")));
  }
  EXPECT_EQ(KeysIn(help), keys);
}

TEST(HelpText, APolicyHasItsKeysAndTheirValues) {
  EXPECT_THAT(KeysIn(Help("lirs")),
              ElementsAre("lirs.unit", "lirs.page", "lirs.batch"));
  EXPECT_THAT(Help("lirs"), HasSubstr("must be instance or page\n"));
  EXPECT_THAT(Help("lirs"), HasSubstr(std::string(PolicyHelp("lirs"))));
  EXPECT_THAT(Help("native"), HasSubstr("no keys"));
}

TEST(HelpText, PartsOfKeysAndKeysAreTopics) {
  EXPECT_THAT(KeysIn(Help("tier")),
              ElementsAre("tier.path", "tier.capacity", "tier.bandwidth"));
  EXPECT_THAT(KeysIn(Help("memory")), ElementsAre("memory"));
}

TEST(HelpText, AnUnknownTopicNamesTheNearest) {
  EXPECT_EQ(HelpText("mte").status().message(),
            "no help about mte; did you mean --help=met?");
  EXPECT_EQ(HelpText("quite another").status().message(),
            "no help about quite another; see shufflefs --help=all");
}

// The help of a key is a noun phrase, on one line with its name.
TEST(HelpText, HelpOfKeysIsANounPhrase) {
  for (const Option& option : Options()) {
    EXPECT_LE(option.help.size(), 59u) << option.key;
    for (const absl::string_view word :
         {"of ", "whether ", "who ", "what lies", "how ", "where "}) {
      EXPECT_FALSE(absl::StartsWith(option.help, word)) << option.help;
    }
    EXPECT_FALSE(absl::EndsWith(option.help, ".")) << option.help;
  }
}

}  // namespace
}  // namespace shufflefs
