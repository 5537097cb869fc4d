// SPDX-License-Identifier: Apache-2.0
#include "core/config/value_text.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/types/span.h"

namespace shufflefs {
namespace {

constexpr uint64_t kMaxNodes = 65536;
constexpr size_t kMaxSeeds = 64;
constexpr uint64_t kYear = uint64_t{365} * 24 * 3600 * 1000;  // ms

struct Unit {
  absl::string_view suffix;
  uint64_t factor;
};

// Longer suffixes come first.
constexpr Unit kSizeUnits[] = {{"kib", uint64_t{1} << 10},
                               {"mib", uint64_t{1} << 20},
                               {"gib", uint64_t{1} << 30},
                               {"tib", uint64_t{1} << 40},
                               {"kb", 1'000},
                               {"mb", 1'000'000},
                               {"gb", 1'000'000'000},
                               {"tb", uint64_t{1'000'000'000'000}},
                               {"k", uint64_t{1} << 10},
                               {"m", uint64_t{1} << 20},
                               {"g", uint64_t{1} << 30},
                               {"t", uint64_t{1} << 40},
                               {"b", 1}};
// For printing.
constexpr Unit kByteUnits[] = {{"TiB", uint64_t{1} << 40},
                               {"GiB", uint64_t{1} << 30},
                               {"MiB", uint64_t{1} << 20},
                               {"KiB", uint64_t{1} << 10}};
// In milliseconds. "ms" comes before "s", which is its last letter.
constexpr Unit kTimeUnits[] = {
    {"ms", 1}, {"min", 60'000}, {"h", 3'600'000}, {"s", 1000}};

// Parses number [space] unit. `bare` is the factor of a number without unit.
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

// "0.5gib", "1e6": a decimal number that need not be whole.
absl::optional<uint64_t> ParseFraction(absl::string_view text) {
  double factor = 1;
  for (const Unit& unit : kSizeUnits) {
    if (absl::ConsumeSuffix(&text, unit.suffix)) {
      factor = static_cast<double>(unit.factor);
      text = absl::StripTrailingAsciiWhitespace(text);
      break;
    }
  }
  const bool decimal =
      !text.empty() && absl::ascii_isdigit(text.front()) &&
      text.find_first_not_of("0123456789.e+") == absl::string_view::npos;
  double number = 0;
  if (!decimal || !absl::SimpleAtod(text, &number)) return absl::nullopt;
  const double bytes = number * factor;
  if (bytes >= 9.2e18) return absl::nullopt;  // also if it is infinite
  return static_cast<uint64_t>(bytes);
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
  const std::string lower = absl::AsciiStrToLower(text);
  const absl::optional<uint64_t> whole = ParseWithUnit(lower, kSizeUnits, 1);
  return whole ? whole : ParseFraction(lower);
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
  if (!ms) return absl::nullopt;
  return std::chrono::milliseconds(std::min(*ms, kYear));
}

std::string FormatDuration(std::chrono::milliseconds duration) {
  const int64_t ms = duration.count();
  if (ms % 1000 != 0) return absl::StrCat(ms, "ms");
  return absl::StrCat(ms / 1000, "s");
}

absl::optional<NodeShare> ParseNodes(absl::string_view text) {
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(text, absl::MaxSplits('/', 1));
  const absl::optional<uint64_t> number = ParseNumber(parts.first);
  const absl::optional<uint64_t> count = ParseNumber(parts.second);
  if (!number || !count || *number < 1 || *number > *count ||
      *count > kMaxNodes) {
    return absl::nullopt;
  }
  return NodeShare{static_cast<uint32_t>(*number),
                   static_cast<uint32_t>(*count)};
}

std::string FormatNodes(const absl::optional<NodeShare>& nodes) {
  return nodes ? absl::StrCat(nodes->number, "/", nodes->count) : "";
}

absl::optional<std::vector<uint64_t>> ParseSeeds(absl::string_view text) {
  std::vector<uint64_t> seeds;
  if (text.empty()) return seeds;
  for (const absl::string_view word : absl::StrSplit(text, ';')) {
    const absl::optional<uint64_t> seed = ParseNumber(word);
    if (!seed || seeds.size() == kMaxSeeds) return absl::nullopt;
    seeds.push_back(*seed);
  }
  return seeds;
}

std::string FormatSeeds(const std::vector<uint64_t>& seeds) {
  return absl::StrJoin(seeds, ";");
}

absl::optional<std::string> ParseViewPath(absl::string_view text) {
  if (absl::StartsWith(text, "/") || absl::StrContains(text, '\0')) {
    return absl::nullopt;
  }
  while (absl::ConsumeSuffix(&text, "/")) {
  }
  if (text == "." || text.empty()) return std::string();
  for (const absl::string_view part : absl::StrSplit(text, '/')) {
    if (part.empty() || part == "." || part == "..") return absl::nullopt;
  }
  if (text == ".shufflefs" || absl::StartsWith(text, ".shufflefs/")) {
    return absl::nullopt;
  }
  return std::string(text);
}

std::string ViewName(absl::string_view path) {
  return path.empty() ? "root" : absl::StrReplaceAll(path, {{"/", "~"}});
}

std::string HumanCount(uint64_t count) {
  std::string digits = absl::StrCat(count);
  for (size_t end = digits.size(); end > 3; end -= 3) {
    digits.insert(end - 3, 1, ',');
  }
  return digits;
}

std::string ShownPath(absl::string_view path) {
  std::string shown(path);
  for (char& c : shown) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  return shown;
}

std::string ShownLines(absl::string_view text) {
  std::string shown = ShownPath(text);
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\n' || text[i] == '\t') shown[i] = text[i];
  }
  return shown;
}

const char* NameOf(Substitute substitute) {
  switch (substitute) {
    case Substitute::kAuto:
      return "auto";
    case Substitute::kNever:
      return "never";
    case Substitute::kDirectory:
      return "directory";
    case Substitute::kTree:
      return "tree";
  }
  return "";
}

}  // namespace shufflefs
