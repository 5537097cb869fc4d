// SPDX-License-Identifier: Apache-2.0
// core, fs, mount-tools and policies/auto know policies by their entries and
// facets only: no identifier and no string of them names one. Comments may:
// they cite papers.
#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "policies/registry.h"
#include "tests/meta/repository.h"
#include "tests/meta/source_words.h"

namespace shufflefs::meta {
namespace {

// Words that a program has for other things: of these, what a string says of
// the policy is looked for.
bool IsCommonWord(const std::string& name) {
  return name == "native" || name == "static" || name == "window";
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

// The policy that a file names nevertheless. Each is in an example of what to
// type.
const std::map<std::string, std::string>& Examples() {
  static const std::map<std::string, std::string> examples = {
      {"mount-tools/config/control_text.cc", "native"},  // policy = "native"
      {"mount-tools/ctl/check/simulate_command.cc",
       "lirs"},                                        // simulate lirs DATA
      {"mount-tools/ctl/run/run_command.cc", "lirs"},  // -o policy=lirs
      {"mount-tools/daemon/help_text.cc", "met"},      // --help=met
  };
  return examples;
}

bool KnowsNoPolicy(const std::filesystem::path& file) {
  return absl::StartsWith(file.string(), "core/") ||
         absl::StartsWith(file.string(), "fs/") ||
         absl::StartsWith(file.string(), "mount-tools/") ||
         absl::StartsWith(file.string(), "policies/auto/");
}

TEST(PolicyNamesTest, WhatIsNoPolicyNamesNone) {
  std::map<std::string, int> files;
  for (const auto& file : FilesWith({".h", ".cc"})) {
    if (!KnowsNoPolicy(file)) continue;
    ++files[file.begin()->string()];
    const auto example = Examples().find(file.string());
    if (example == Examples().end()) {
      EXPECT_THAT(NamedIn(file), testing::IsEmpty()) << file;
    } else {
      EXPECT_THAT(NamedIn(file), testing::ElementsAre(example->second)) << file;
    }
  }
  EXPECT_GT(files["core"], 100);
  EXPECT_GT(files["fs"], 30);
  EXPECT_GT(files["mount-tools"], 100);
  EXPECT_GT(files["policies"], 5);
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

}  // namespace
}  // namespace shufflefs::meta
