// SPDX-License-Identifier: Apache-2.0
#include "core/config/policy_options.h"

#include <algorithm>
#include <bit>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace shufflefs {
namespace {

using Kind = PolicyOption::Kind;

bool IsNumber(Kind kind) {
  return kind == Kind::kNumber || kind == Kind::kBytes;
}

bool Takes(const PolicyOption& option, uint64_t number) {
  if (!IsNumber(option.kind)) return false;
  return number == option.initial ||
         (number >= option.min && number <= option.max &&
          (!option.power_of_two || std::has_single_bit(number)));
}

bool Takes(const PolicyOption& option, const std::string& text) {
  switch (option.kind) {
    case Kind::kWord:
      return std::find(option.words.begin(), option.words.end(), text) !=
             option.words.end();
    case Kind::kText:
      return !text.empty();
    case Kind::kPath:
      return absl::StartsWith(text, "/") && !absl::StrContains(text, '\0');
    case Kind::kFraction: {
      double fraction = 0;
      return absl::SimpleAtod(text, &fraction) && fraction >= 0 &&
             fraction <= 1;
    }
    default:
      return false;
  }
}

bool Takes(const PolicyOption& option, const std::vector<uint64_t>& numbers) {
  return option.kind == Kind::kNumbers && numbers.size() <= option.max;
}

std::string Shown(uint64_t number) { return absl::StrCat(number); }
std::string Shown(const std::string& text) { return text; }
std::string Shown(const std::vector<uint64_t>& numbers) {
  return absl::StrJoin(numbers, ";");
}

}  // namespace

void PolicyOptions::Set(absl::string_view key, uint64_t number) {
  values_[std::string(key)] = number;
}

void PolicyOptions::Set(absl::string_view key, absl::string_view text) {
  values_[std::string(key)] = std::string(text);
}

void PolicyOptions::Set(absl::string_view key, std::vector<uint64_t> numbers) {
  values_[std::string(key)] = std::move(numbers);
}

void PolicyOptions::Add(const PolicyOptions& others) {
  for (const auto& [key, value] : others.values_) values_[key] = value;
}

uint64_t PolicyOptions::number(const PolicyOption& option) const {
  const uint64_t* const number = Find<uint64_t>(option);
  return number != nullptr ? *number : option.initial;
}

std::string PolicyOptions::text(const PolicyOption& option) const {
  if (const std::string* const text = Find<std::string>(option)) return *text;
  return option.words.empty() ? "" : std::string(option.words.front());
}

double PolicyOptions::fraction(const PolicyOption& option) const {
  double fraction = 0;
  return absl::SimpleAtod(text(option), &fraction) ? fraction : 0;
}

std::vector<uint64_t> PolicyOptions::numbers(const PolicyOption& option) const {
  const auto* const numbers = Find<std::vector<uint64_t>>(option);
  return numbers != nullptr ? *numbers : std::vector<uint64_t>();
}

size_t PolicyOptions::WordIndex(const PolicyOption& option) const {
  const auto found =
      std::find(option.words.begin(), option.words.end(), text(option));
  return found == option.words.end() ? 0 : found - option.words.begin();
}

absl::Status PolicyOptions::Check(const PolicyOption& option) const {
  const auto found = values_.find(option.key);
  if (found == values_.end()) return absl::OkStatus();
  return std::visit(
      [&option](const auto& value) {
        return Takes(option, value) ? absl::OkStatus()
                                    : absl::InvalidArgumentError(absl::StrCat(
                                          option.key, ": ", Shown(value),
                                          " is not ", option.values));
      },
      found->second);
}

std::string PolicyOptions::HashText(const PolicyOption& option) const {
  switch (option.kind) {
    case Kind::kWord:
      return absl::StrCat(WordIndex(option));
    case Kind::kNumber:
    case Kind::kBytes:
      return absl::StrCat(number(option));
    case Kind::kNumbers:
      return Shown(numbers(option));
    case Kind::kFraction:
      return absl::StrCat(fraction(option));
    default:
      return text(option);
  }
}

}  // namespace shufflefs
