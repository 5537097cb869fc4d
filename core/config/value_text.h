// SPDX-License-Identifier: Apache-2.0
// Parses and formats numbers, sizes, times and paths as users write them. Pure
// functions; any thread may call. A parser reads formatted text as the same
// value.
#ifndef SHUFFLEFS_CORE_CONFIG_VALUE_TEXT_H_
#define SHUFFLEFS_CORE_CONFIG_VALUE_TEXT_H_

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "core/config/config.h"

namespace shufflefs {

// Decimal digits only: no sign, no space, no exponent. Empty for any other
// text, or if the number does not fit 64 bits.
absl::optional<uint64_t> ParseNumber(absl::string_view text);

// Bytes: a number, alone or followed by a unit: "4096", "1e6", "8G", "8GiB",
// "0.5 GiB", "8GB". As in GNU's tools, K and KiB are 1024 bytes and KB is 1000,
// and so on for M, G and T. Upper and lower case are the same. A fraction of a
// byte is left out.
absl::optional<uint64_t> ParseBytes(absl::string_view text);
// With the largest unit that divides `bytes`: "4KiB", "5000".
std::string FormatBytes(uint64_t bytes);
// Rounded for people, three digits: "1.25 GiB".
std::string HumanBytes(uint64_t bytes);

// A time: a number followed by ms, s, min or h. A number alone is in seconds.
// Longer than a year is a year, so that it can be added to any moment.
absl::optional<std::chrono::milliseconds> ParseDuration(absl::string_view text);
std::string FormatDuration(std::chrono::milliseconds duration);

// "k/n": this node is the k-th of n, at most 65536. "" if nothing is set.
absl::optional<NodeShare> ParseNodes(absl::string_view text);
std::string FormatNodes(const absl::optional<NodeShare>& nodes);

// "7;99": at most 64 whole numbers. Empty text is none.
absl::optional<std::vector<uint64_t>> ParseSeeds(absl::string_view text);
std::string FormatSeeds(const std::vector<uint64_t>& seeds);

// A directory below the source, without slashes at the ends; "" for ".". Empty
// if it is absolute, contains . or .., or is a control directory.
absl::optional<std::string> ParseViewPath(absl::string_view text);

// The name of the view at a path, on command lines and in the control
// directory: "train~a" for "train/a", "root" for "".
std::string ViewName(absl::string_view path);

// As the key `substitute` has it.
const char* NameOf(Substitute substitute);

// 1234567 as "1,234,567".
std::string HumanCount(uint64_t count);
// "1 file", "2,000 files".
inline std::string Counted(uint64_t count, absl::string_view one,
                           absl::string_view many) {
  return absl::StrCat(HumanCount(count), " ", count == 1 ? one : many);
}
// A path for a terminal. Names may contain anything, so `?` stands for each
// control character.
std::string ShownPath(absl::string_view path);
// The same of a text that has lines and tabs of its own.
std::string ShownLines(absl::string_view text);
// Clears the terminal's line, so that a line of progress replaces the last.
inline constexpr char kClearLine[] = "\r\x1b[K";

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_CONFIG_VALUE_TEXT_H_
