// SPDX-License-Identifier: Apache-2.0
#include "mount-tools/value_text.h"

#include <algorithm>
#include <limits>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "absl/types/span.h"

namespace shufflefs {
namespace {

struct Unit {
  absl::string_view suffix;
  uint64_t factor;
};

constexpr Unit kByteUnits[] = {{"TiB", uint64_t{1} << 40},
                               {"GiB", uint64_t{1} << 30},
                               {"MiB", uint64_t{1} << 20},
                               {"KiB", uint64_t{1} << 10}};
// Milliseconds. "ms" comes before "s", which is its last letter.
constexpr Unit kTimeUnits[] = {
    {"ms", 1}, {"min", 60'000}, {"h", 3'600'000}, {"s", 1000}};

// number [space] unit; `bare` is the factor of a number alone.
absl::optional<uint64_t> ParseWithUnit(absl::string_view text,
                                       absl::Span<const Unit> units,
                                       uint64_t bare) {
  uint64_t factor = bare;
  for (const Unit& unit : units) {
    if (absl::ConsumeSuffix(&text, unit.suffix)) {
      factor = unit.factor;
      text = absl::StripTrailingAsciiWhitespace(text);
      break;
    }
  }
  absl::optional<uint64_t> number = ParseNumber(text);
  if (!number) return absl::nullopt;
  if (*number > std::numeric_limits<uint64_t>::max() / factor) {
    return absl::nullopt;
  }
  return *number * factor;
}

}  // namespace

absl::optional<uint64_t> ParseNumber(absl::string_view text) {
  if (text.empty() || !std::all_of(text.begin(), text.end(), [](char c) {
        return absl::ascii_isdigit(static_cast<unsigned char>(c));
      })) {
    return absl::nullopt;
  }
  uint64_t value = 0;
  if (!absl::SimpleAtoi(text, &value)) return absl::nullopt;
  return value;
}

absl::optional<uint64_t> ParseBytes(absl::string_view text) {
  return ParseWithUnit(text, kByteUnits, 1);
}

std::string FormatBytes(uint64_t bytes) {
  for (const Unit& unit : kByteUnits) {
    if (bytes >= unit.factor && bytes % unit.factor == 0) {
      return absl::StrCat(bytes / unit.factor, unit.suffix);
    }
  }
  return absl::StrCat(bytes);
}

std::string HumanBytes(uint64_t bytes) {
  for (const Unit& unit : kByteUnits) {
    if (bytes < unit.factor) continue;
    const double value =
        static_cast<double>(bytes) / static_cast<double>(unit.factor);
    const int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
    return absl::StrFormat("%.*f %s", decimals, value, unit.suffix);
  }
  return absl::StrCat(bytes, " B");
}

absl::optional<std::chrono::milliseconds> ParseDuration(
    absl::string_view text) {
  absl::optional<uint64_t> ms = ParseWithUnit(text, kTimeUnits, 1000);
  if (!ms || *ms > uint64_t{std::numeric_limits<int64_t>::max()}) {
    return absl::nullopt;
  }
  return std::chrono::milliseconds(*ms);
}

std::string FormatDuration(std::chrono::milliseconds duration) {
  const int64_t ms = duration.count();
  if (ms % 1000 != 0) return absl::StrCat(ms, "ms");
  return absl::StrCat(ms / 1000, "s");
}

std::string HumanCount(uint64_t count) {
  std::string digits = absl::StrCat(count);
  for (size_t end = digits.size(); end > 3; end -= 3) {
    digits.insert(end - 3, 1, ',');
  }
  return digits;
}

}  // namespace shufflefs
