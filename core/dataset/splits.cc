// SPDX-License-Identifier: Apache-2.0
#include "core/dataset/splits.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"

namespace shufflefs {
namespace {

bool IsLetter(char c) { return absl::ascii_isalpha(static_cast<uint8_t>(c)); }

// `word` is a maximal run of letters.
SplitKind KindOfWord(absl::string_view word) {
  constexpr size_t kShortest = 3;  // val
  constexpr size_t kLongest = 10;  // validation
  // Nearly all words of nearly all names are rejected here.
  if (word.size() < kShortest || word.size() > kLongest ||
      absl::string_view("vdetVDET").find(word[0]) == absl::string_view::npos) {
    return SplitKind::kNone;
  }
  for (const char* name : {"val", "valid", "validation", "dev", "eval"}) {
    if (absl::EqualsIgnoreCase(word, name)) return SplitKind::kValidation;
  }
  for (const char* name : {"test", "testing"}) {
    if (absl::EqualsIgnoreCase(word, name)) return SplitKind::kTest;
  }
  return SplitKind::kNone;
}

// MNIST's name for its test set. It contains digits, so it is no run of
// letters.
bool HoldsT10k(absl::string_view name) {
  constexpr absl::string_view kWord = "t10k";
  for (size_t one = name.find("10"); one != absl::string_view::npos;
       one = name.find("10", one + 1)) {
    if (one == 0) continue;
    size_t at = one - 1;
    size_t end = at + kWord.size();
    if (absl::EqualsIgnoreCase(name.substr(at, kWord.size()), kWord) &&
        (at == 0 || !IsLetter(name[at - 1])) &&
        (end == name.size() || !IsLetter(name[end]))) {
      return true;
    }
  }
  return false;
}

// Every word and ending that SplitOf knows has one of these letters, and many
// names have neither.
bool HasTOrV(absl::string_view name) {
  bool found = false;
  for (const char c : name) {
    const int lower = c | 0x20;
    found |= lower == 't' || lower == 'v';
  }
  return found;
}

}  // namespace

SplitKind SplitOf(absl::string_view name) {
  if (!HasTOrV(name)) return SplitKind::kNone;
  for (size_t begin = 0; begin < name.size();) {
    if (!IsLetter(name[begin])) {
      ++begin;
      continue;
    }
    size_t end = begin;
    while (end < name.size() && IsLetter(name[end])) ++end;
    SplitKind kind = KindOfWord(name.substr(begin, end - begin));
    if (kind != SplitKind::kNone) return kind;
    begin = end;
  }
  // LIBSVM's test files: a9a.t beside a9a.
  if (absl::EndsWithIgnoreCase(name, ".t") || HoldsT10k(name)) {
    return SplitKind::kTest;
  }
  return SplitKind::kNone;
}

std::vector<bool> SplitDirs(const Catalogue& catalogue) {
  std::vector<bool> split(catalogue.dir_count(), false);
  // Parents come before their children.
  for (uint32_t d = 1; d < catalogue.dir_count(); ++d) {
    split[d] = split[catalogue.parent(DirId(d)).value()] ||
               IsSplitName(catalogue.name(*catalogue.entry_of(DirId(d))));
  }
  return split;
}

}  // namespace shufflefs
