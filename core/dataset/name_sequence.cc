// SPDX-License-Identifier: Apache-2.0
#include "core/dataset/name_sequence.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"

namespace shufflefs {
namespace {

bool IsDigit(char c) { return absl::ascii_isdigit(static_cast<uint8_t>(c)); }

size_t CommonPrefix(absl::string_view a, absl::string_view b) {
  size_t n = std::min(a.size(), b.size());
  return static_cast<size_t>(
      std::mismatch(a.begin(), a.begin() + n, b.begin()).first - a.begin());
}

size_t CommonSuffix(absl::string_view a, absl::string_view b) {
  size_t n = std::min(a.size(), b.size());
  size_t i = 0;
  while (i < n && a[a.size() - 1 - i] == b[b.size() - 1 - i]) ++i;
  return i;
}

}  // namespace

CommonParts FindCommonParts(const std::vector<absl::string_view>& names) {
  CommonParts parts;
  if (names.size() < 2) return parts;
  absl::string_view first = names[0];
  size_t shortest = first.size();
  parts.prefix = parts.suffix = first.size();
  for (absl::string_view name : names) {
    shortest = std::min(shortest, name.size());
    parts.prefix = std::min(parts.prefix, CommonPrefix(first, name));
    parts.suffix = std::min(parts.suffix, CommonSuffix(first, name));
  }
  while (parts.prefix > 0 && IsDigit(first[parts.prefix - 1])) --parts.prefix;
  // The two must not overlap in the shortest name.
  parts.suffix = std::min(parts.suffix, shortest - parts.prefix);
  while (parts.suffix > 0 && IsDigit(first[first.size() - parts.suffix])) {
    --parts.suffix;
  }
  return parts;
}

bool IsOneSequence(const std::vector<absl::string_view>& names, size_t least) {
  if (names.size() < std::max<size_t>(least, 2)) return false;
  CommonParts parts = FindCommonParts(names);
  std::vector<uint64_t> numbers;
  numbers.reserve(names.size());
  for (absl::string_view name : names) {
    absl::string_view middle =
        name.substr(parts.prefix, name.size() - parts.prefix - parts.suffix);
    uint64_t number = 0;
    if (middle.empty() || !std::all_of(middle.begin(), middle.end(), IsDigit) ||
        !absl::SimpleAtoi(middle, &number)) {
      return false;
    }
    numbers.push_back(number);
  }
  const auto [low, high] = std::minmax_element(numbers.begin(), numbers.end());
  // A complete sequence has one number more than this.
  if (*high - *low >= numbers.size() + numbers.size() / 20) return false;
  std::sort(numbers.begin(), numbers.end());
  return std::adjacent_find(numbers.begin(), numbers.end()) == numbers.end();
}

}  // namespace shufflefs
