// SPDX-License-Identifier: Apache-2.0
// The words of a source, for the tests of what it names.
#ifndef SHUFFLEFS_TESTS_META_SOURCE_WORDS_H_
#define SHUFFLEFS_TESTS_META_SOURCE_WORDS_H_

#include <cctype>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "tests/meta/repository.h"

namespace shufflefs::meta {

// The code without comments, its strings apart.
struct Code {
  std::string text;
  std::vector<std::string> strings;
};

inline Code CodeOf(const std::filesystem::path& file) {
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
inline std::vector<std::string> WordsOf(const std::string& text) {
  std::vector<std::string> words(1);
  for (const char c : text) {
    const bool letter = std::isalpha(static_cast<unsigned char>(c)) != 0;
    const bool capital = std::isupper(static_cast<unsigned char>(c)) != 0;
    if ((!letter || capital) && !words.back().empty()) words.emplace_back();
    if (letter) words.back().push_back(absl::ascii_tolower(c));
  }
  return words;
}

}  // namespace shufflefs::meta

#endif  // SHUFFLEFS_TESTS_META_SOURCE_WORDS_H_
