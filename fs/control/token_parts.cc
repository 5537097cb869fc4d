// SPDX-License-Identifier: Apache-2.0
#include "fs/control/token_parts.h"

#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace shufflefs {

std::string TokenParts::Part(absl::string_view token, uint64_t number) {
  return absl::StrCat("part ", number, " of ", Count(token), "\n",
                      token.substr((number - 1) * kPart, kPart));
}

absl::StatusOr<absl::optional<std::string>> TokenParts::Take(
    absl::string_view text) {
  if (!absl::StartsWith(text, "part ")) {
    return absl::make_optional(std::string(text));
  }
  const size_t line = text.substr(0, 64).find('\n');
  const std::vector<absl::string_view> words =
      absl::StrSplit(text.substr(0, line), ' ');
  uint64_t number = 0, count = 0;
  const bool understood =
      line != absl::string_view::npos && words.size() == 4 &&
      absl::SimpleAtoi(words[1], &number) && absl::SimpleAtoi(words[3], &count);
  if (number == 1) {
    next_ = 1;
    text_.clear();
  }
  if (!understood || number != next_ || number > count ||
      text_.size() + text.size() > kMostBytes) {
    text_ = std::string();
    next_ = 1;
    return absl::InvalidArgumentError(
        "token: its parts are out of order; write it again");
  }
  ++next_;
  text.remove_prefix(line + 1);
  text_.append(text.data(), text.size());
  if (number < count) return absl::optional<std::string>();
  next_ = 1;
  return absl::make_optional(std::exchange(text_, std::string()));
}

}  // namespace shufflefs
