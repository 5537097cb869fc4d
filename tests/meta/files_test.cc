// SPDX-License-Identifier: Apache-2.0
// House rules that hold for every file: short files and functions, the
// licence line, include guards, nothing unfinished or switched off.
#include <cctype>
#include <regex>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/meta/repository.h"

namespace shufflefs::meta {
namespace {

constexpr size_t kMaxFileLines = 500;
constexpr size_t kMaxFunctionLines = 60;

const std::vector<std::string>& CodeExtensions() {
  static const std::vector<std::string> extensions = {".h", ".cc", ".py", ".sh",
                                                      ".txt"};
  return extensions;
}

TEST(FilesTest, TheRepositoryIsFound) {
  EXPECT_THAT(Files(), testing::Contains("CMakeLists.txt"));
  EXPECT_THAT(Files(), testing::Contains("core/base/types.h"));
}

TEST(FilesTest, AreShort) {
  for (const auto& file : FilesWith(CodeExtensions())) {
    EXPECT_LE(Lines(file).size(), kMaxFileLines) << file;
  }
}

// In formatted C++ a function outside a class begins with a line at the left
// margin and ends with a lone brace there.
TEST(FilesTest, FunctionsFitAScreen) {
  for (const auto& file : FilesWith({".h", ".cc"})) {
    const std::vector<std::string> lines = Lines(file);
    size_t begin = 0;
    for (size_t i = 0; i < lines.size(); ++i) {
      if (lines[i].empty()) continue;
      const bool margin = std::isspace(lines[i][0]) == 0;
      if (lines[i] == "}") {
        EXPECT_LE(i - begin + 1, kMaxFunctionLines)
            << file << ":" << begin + 1 << ": " << lines[begin];
      } else if (margin && lines[i][0] != '}' &&
                 (i == 0 || lines[i - 1].empty() ||
                  lines[i - 1].rfind("//", 0) == 0 ||
                  lines[i - 1].rfind("}", 0) == 0)) {
        begin = i;
      }
    }
  }
}

TEST(FilesTest, PythonFunctionsFitAScreen) {
  const std::regex definition("^( *)(async )?def .*");
  for (const auto& file : FilesWith({".py"})) {
    const std::vector<std::string> lines = Lines(file);
    for (size_t i = 0; i < lines.size(); ++i) {
      std::smatch match;
      if (!std::regex_match(lines[i], match, definition)) continue;
      const size_t indent = match[1].length();
      size_t last = i;
      for (size_t k = i + 1; k < lines.size(); ++k) {
        const size_t at = lines[k].find_first_not_of(' ');
        if (at == std::string::npos) continue;
        if (at <= indent && lines[k][at] != ')') break;
        last = k;
      }
      EXPECT_LE(last - i + 1, kMaxFunctionLines)
          << file << ":" << i + 1 << ": " << lines[i];
    }
  }
}

TEST(FilesTest, NameTheLicence) {
  const std::string spdx = "SPDX-License-Identifier: Apache-2.0";
  for (const auto& file : FilesWith({".h", ".cc"})) {
    EXPECT_EQ(Lines(file).at(0), "// " + spdx) << file;
  }
  for (const auto& file : FilesWith({".sh", ".py"})) {
    const std::vector<std::string> lines = Lines(file);
    ASSERT_FALSE(lines.empty()) << file;
    const size_t at = lines[0].rfind("#!", 0) == 0 ? 1 : 0;
    EXPECT_EQ(lines.at(at), "# " + spdx) << file;
  }
}

TEST(FilesTest, HeadersAreGuardedByTheirPath) {
  for (const auto& file : FilesWith({".h"})) {
    std::string guard = "SHUFFLEFS_";
    for (char c : file.string()) {
      guard += std::isalnum(c) != 0 ? static_cast<char>(std::toupper(c)) : '_';
    }
    guard += "_";
    const std::vector<std::string> lines = Lines(file);
    EXPECT_THAT(lines, testing::Contains("#ifndef " + guard)) << file;
    EXPECT_THAT(lines, testing::Contains("#define " + guard)) << file;
    EXPECT_EQ(lines.back(), "#endif  // " + guard) << file;
  }
}

// Each word is written in two parts here, or this file would offend.
TEST(FilesTest, HoldNothingUnfinishedOrSwitchedOff) {
  const std::vector<std::string> words = {
      std::string("TO") + "DO",        std::string("FIX") + "ME",
      std::string("GTEST_") + "SKIP",  std::string("DISABLED") + "_",
      std::string("pytest.") + "skip", std::string("pytest.mark.") + "skip",
      std::string("xfa") + "il",       std::string("/wo") + "rk/",
      std::string("/ro") + "ot/",      std::string("/tmp/") + "wt",
  };
  for (const auto& file : Files()) {
    if (file == "LICENSE") continue;
    const std::vector<std::string> lines = Lines(file);
    for (size_t i = 0; i < lines.size(); ++i) {
      for (const std::string& word : words) {
        EXPECT_EQ(lines[i].find(word), std::string::npos)
            << file << ":" << i + 1 << " holds " << word;
      }
    }
  }
}

}  // namespace
}  // namespace shufflefs::meta
