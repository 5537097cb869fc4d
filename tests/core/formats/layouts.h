// SPDX-License-Identifier: Apache-2.0
// The table type of layouts_test and substitution_safety_test: a tree, and what
// must be said of it.
#ifndef SHUFFLEFS_TESTS_CORE_FORMATS_LAYOUTS_H_
#define SHUFFLEFS_TESTS_CORE_FORMATS_LAYOUTS_H_

#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"

namespace shufflefs::testing_support {

using Paths = std::vector<std::string>;

inline Paths operator+(Paths a, const Paths& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// `format` holds one %d, for each of the numbers.
inline Paths Numbered(const std::string& format,
                      const std::vector<int>& numbers) {
  Paths paths;
  auto parsed = absl::ParsedFormat<'d'>::New(format);
  for (int number : numbers) {
    paths.push_back(absl::StrFormat(*parsed, number));
  }
  return paths;
}

inline Paths Consecutive(const std::string& format, int first, int count) {
  std::vector<int> numbers;
  for (int i = 0; i < count; ++i) numbers.push_back(first + i);
  return Numbered(format, numbers);
}

// Numbers as a class gets them from an index over the whole set; other
// `salt`s below 3 give other numbers.
inline Paths Scattered(const std::string& format, int salt) {
  std::vector<int> numbers;
  for (int i = 0; i < 12; ++i) numbers.push_back(salt + i * 37 % 211 * 3);
  return Numbered(format, numbers);
}

struct TreeLayout {
  std::string name;
  Paths files;
  std::string reason;  // what the verdict must say; names the culprit
  bool moves = false;
  uint64_t classes = 0;   // looked at where names move
  std::string view = {};  // relative to the source
  bool validation = false;
  Paths splits = {};    // paths that must be splits
  Paths nosplits = {};  // paths that must not

  TreeLayout View(std::string path) && {
    view = std::move(path);
    return std::move(*this);
  }
  TreeLayout Validation() && {
    validation = true;
    return std::move(*this);
  }
  TreeLayout Splits(Paths in, Paths out) && {
    splits = std::move(in);
    nosplits = std::move(out);
    return std::move(*this);
  }
};

inline TreeLayout Moves(std::string name, Paths files, uint64_t classes) {
  return {std::move(name), std::move(files), "the directory is the label", true,
          classes};
}

inline TreeLayout Stays(std::string name, Paths files, std::string reason) {
  return {std::move(name), std::move(files), std::move(reason)};
}

inline void PrintTo(const TreeLayout& layout, std::ostream* out) {
  *out << layout.name;
}

}  // namespace shufflefs::testing_support

#endif  // SHUFFLEFS_TESTS_CORE_FORMATS_LAYOUTS_H_
