// SPDX-License-Identifier: Apache-2.0
// The pages in Markdown name what is there: sources that are named exist, keys
// in `key=value` are keys of the option table. pages.py looks at their links.
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "mount-tools/config/option_table.h"
#include "tests/meta/repository.h"

namespace shufflefs {
namespace {

std::vector<std::filesystem::path> Pages() { return meta::FilesWith({".md"}); }

std::string Text(const std::filesystem::path& file) {
  std::string text;
  for (const std::string& line : meta::Lines(file)) text += line + "\n";
  return text;
}

// The first group of each match.
std::set<std::string> Matches(const std::string& text, const std::string& of) {
  const std::regex pattern(of);
  std::set<std::string> found;
  std::sregex_iterator it(text.begin(), text.end(), pattern);
  for (; it != std::sregex_iterator(); ++it) found.insert((*it)[1].str());
  return found;
}

bool Exists(const std::filesystem::path& path) {
  return std::filesystem::exists(meta::Root() / path);
}

TEST(Pages, EveryFolderHasOne) {
  for (const std::string folder :
       {"core", "docs", "examples", "fs", "mount-tools", "policies", "tests"}) {
    EXPECT_TRUE(Exists(folder + "/README.md")) << folder;
  }
  EXPECT_THAT(Pages(), testing::Contains("README.md"));
}

// Whether a file of this name lies anywhere below the folder.
bool IsBelow(const std::filesystem::path& folder, const std::string& name) {
  for (const auto& file : meta::Files()) {
    const std::string path = file.string();
    if (file.filename() == name && path.rfind(folder.string() + "/", 0) == 0) {
      return true;
    }
  }
  return false;
}

// `view.h` in a folder's page is a file of that folder, or of one below it;
// with a slash it may be said from the root.
TEST(Pages, SourcesThatAreNamedExist) {
  size_t named = 0;
  for (const auto& page : Pages()) {
    for (const std::string& name :
         Matches(Text(page), "`([a-z_-][a-z_/-]*\\.(?:h|cc|sh|toml|py))`")) {
      if (page == "README.md" && name.find('/') == std::string::npos) continue;
      const bool local = Exists(page.parent_path() / name) ||
                         IsBelow(page.parent_path(), name);
      EXPECT_TRUE(local || Exists(name)) << page << ": " << name;
      ++named;
    }
  }
  EXPECT_GT(named, 50u);
}

TEST(Pages, KeysThatAreSetExist) {
  std::set<std::string> seen;
  for (const auto& page : Pages()) {
    const bool says_keys = page == "README.md" ||
                           page == "policies/README.md" ||
                           page.parent_path() == "docs";
    if (!says_keys) continue;
    // -o a=1,b=2 and `a=1` or `a = 1`.
    const std::string text = Text(page);
    for (const std::string& list : Matches(text, "-o ([a-z_.]+=[^ `]+)")) {
      seen.merge(Matches("," + list, ",([a-z_.]+)="));
    }
    seen.merge(Matches(text, "`([a-z_.]+) ?= ?[^`]*`"));
  }
  EXPECT_GT(seen.size(), 5u);
  // Two that only a control write has, options of a rule of record.as,
  // arguments of other programs, a word that only -o takes, and the word that
  // pages put in the place of any key.
  const std::set<std::string> others = {
      "bytes",        "header",  "csv",           "epoch",
      "feedback",     "shuffle", "dont_use_mmap", "opendir",
      "attr_timeout", "key",     "config"};
  for (const std::string& key : seen) {
    EXPECT_TRUE(others.count(key) > 0 || FindOption(key) != nullptr) << key;
  }
}

}  // namespace
}  // namespace shufflefs
