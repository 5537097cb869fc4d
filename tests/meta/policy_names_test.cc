// SPDX-License-Identifier: Apache-2.0
// core knows policies by their entries and facets only: no identifier and no
// string of it names one. Comments may: they cite papers.
#include <algorithm>
#include <cctype>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "policies/registry.h"
#include "tests/meta/repository.h"

namespace shufflefs::meta {
namespace {

// Words that a program has for other things: of these, what a string says of
// the policy is looked for.
bool IsCommonWord(const std::string& name) {
  return name == "native" || name == "static" || name == "window";
}

// The code without comments, its strings apart.
struct Code {
  std::string text;
  std::vector<std::string> strings;
};

Code CodeOf(const std::filesystem::path& file) {
  Code code;
  for (const std::string& line : Lines(file)) {
    if (line.rfind("#include", 0) == 0) continue;
    bool quoted = false;
    for (size_t i = 0; i < line.size(); ++i) {
      const char c = line[i];
      if (quoted && c == '\\') {
        ++i;
      } else if (c == '"' && !(i > 0 && line[i - 1] == '\'')) {
        quoted = !quoted;
        if (quoted) code.strings.emplace_back();
      } else if (quoted) {
        code.strings.back().push_back(c);
      } else if (c == '/' && line.compare(i, 2, "//") == 0) {
        break;
      } else {
        code.text.push_back(c);
      }
    }
    code.text.push_back('\n');
  }
  return code;
}

// kLirsPage and lirs_page both have the words lirs and page.
std::vector<std::string> WordsOf(const std::string& text) {
  std::vector<std::string> words(1);
  for (const char c : text) {
    const bool letter = std::isalpha(static_cast<unsigned char>(c)) != 0;
    const bool capital = std::isupper(static_cast<unsigned char>(c)) != 0;
    if ((!letter || capital) && !words.back().empty()) words.emplace_back();
    if (letter) words.back().push_back(absl::ascii_tolower(c));
  }
  return words;
}

// What a string says of a policy: its name alone, a key of it, or its choice.
bool Tells(const std::string& text, const std::string& name) {
  return text == name || absl::StartsWith(text, name + ".") ||
         absl::StrContains(text, "policy = " + name) ||
         absl::StrContains(text, "policy=" + name) ||
         absl::StrContains(text, " " + name + ".");
}

std::vector<std::string> NamedIn(const std::filesystem::path& file) {
  const Code code = CodeOf(file);
  std::vector<std::string> words = WordsOf(code.text);
  for (const std::string& text : code.strings) {
    for (std::string& word : WordsOf(text)) words.push_back(std::move(word));
  }
  std::vector<std::string> named;
  for (const PolicyEntry* entry : OwnPolicies()) {
    const std::string name(entry->name);
    bool found = false;
    if (IsCommonWord(name)) {
      for (const std::string& text : code.strings) found |= Tells(text, name);
    } else {
      found = std::find(words.begin(), words.end(), name) != words.end();
    }
    if (found) named.push_back(name);
  }
  return named;
}

TEST(PolicyNamesTest, CoreNamesNone) {
  int files = 0;
  for (const auto& file : FilesWith({".h", ".cc"})) {
    if (file.begin()->string() != "core") continue;
    ++files;
    EXPECT_THAT(NamedIn(file), testing::IsEmpty()) << file;
  }
  EXPECT_GT(files, 100);
}

// The search finds what is there to be found.
TEST(PolicyNamesTest, PoliciesNameThemselves) {
  EXPECT_THAT(NamedIn("policies/lirs.cc"), testing::Contains("lirs"));
  EXPECT_THAT(NamedIn("policies/brand/brand.h"), testing::Contains("brand"));
  EXPECT_THAT(NamedIn("policies/window.cc"), testing::Contains("window"));
  EXPECT_THAT(NamedIn("policies/registry.cc"),
              testing::IsSupersetOf({"met", "reimu", "clairvoyant"}));
  EXPECT_THAT(NamedIn("policies/static_policy.cc"),
              testing::Contains("static"));
}

TEST(PolicyNamesTest, AnExampleHasAtMost60Lines) {
  EXPECT_LE(Lines("tests/examples/reverse_policy.h").size() +
                Lines("tests/examples/reverse_policy.cc").size(),
            60u);
}

}  // namespace
}  // namespace shufflefs::meta
