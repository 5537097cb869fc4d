// SPDX-License-Identifier: Apache-2.0
#include "mount-tools/config/nearest_word.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace shufflefs {
namespace {

// A word much longer than every key is no misspelt key.
constexpr size_t kMaxTyped = 64;
// Fewer letters are the beginning of too many words.
constexpr size_t kLeastBeginning = 3;

// The number of letters to insert, delete, change or swap with the next one to
// turn `b` into `a` (optimal string alignment).
size_t EditDistance(absl::string_view a, absl::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  std::vector<size_t> above;
  std::vector<size_t> two_above;
  for (size_t i = 0; i < a.size(); ++i) {
    two_above = std::exchange(above, row);
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t changed = above[j] + (a[i] == b[j] ? 0 : 1);
      row[j + 1] = std::min({above[j + 1] + 1, row[j] + 1, changed});
      if (i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j]) {
        row[j + 1] = std::min(row[j + 1], two_above[j - 1] + 1);
      }
    }
  }
  return row[b.size()];
}

}  // namespace

absl::string_view NearestWord(absl::string_view typed,
                              absl::Span<const absl::string_view> known) {
  if (typed.empty() || typed.size() > kMaxTyped) return "";
  const std::string lower = absl::AsciiStrToLower(typed);
  absl::string_view best;
  // Not near from this distance on.
  size_t best_distance = lower.size() / 3 + 1;
  for (absl::string_view word : known) {
    const size_t distance = EditDistance(lower, word);
    if (distance < best_distance) {
      best_distance = distance;
      best = word;
    }
  }
  if (!best.empty()) return best;
  for (absl::string_view word : known) {
    if (absl::EndsWith(word, absl::StrCat(".", lower))) return word;
    if (lower.size() >= kLeastBeginning && absl::StartsWith(word, lower)) {
      return word;
    }
  }
  return "";
}

}  // namespace shufflefs
