// SPDX-License-Identifier: Apache-2.0
#include "core/formats/table/record_rules.h"

#include <fnmatch.h>

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "core/base/status.h"
#include "core/config/value_text.h"
#include "core/formats/table/formats.h"

namespace shufflefs {
namespace {

absl::Status WrongRule(absl::string_view rule, absl::string_view why) {
  return absl::InvalidArgumentError(
      absl::StrCat("record.as: \"", rule, "\" ", why));
}

// Sets one option of a rule, such as "bytes=785". An error's message follows
// the rule.
absl::Status SetRuleOption(absl::string_view text, const RecordFormat& format,
                           RecordOptions& options) {
  const size_t equals = text.find('=');
  const absl::string_view name =
      absl::StripAsciiWhitespace(text.substr(0, equals));
  const absl::string_view value =
      equals == absl::string_view::npos
          ? ""
          : absl::StripAsciiWhitespace(text.substr(equals + 1));
  const absl::Span<const absl::string_view> known = format.options();
  if (std::find(known.begin(), known.end(), name) == known.end()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "has the option \"", name, "\"; ", format.name(), " takes ",
        known.empty() ? "none" : absl::StrJoin(known, " and ")));
  }
  if (name == "csv") {
    options.csv = value == "quoted" ? RecordOptions::Csv::kQuoted
                                    : RecordOptions::Csv::kPlain;
    if (value == "quoted" || value == "plain") return absl::OkStatus();
    return absl::InvalidArgumentError("has a csv other than plain or quoted");
  }
  const absl::optional<uint64_t> number =
      name == "bytes" ? ParseBytes(value) : ParseNumber(value);
  if (!number || *number > RecordOptions::kMost) {
    return absl::InvalidArgumentError(absl::StrCat(
        "has no number after ", name, "=, at most ", RecordOptions::kMost));
  }
  (name == "bytes" ? options.bytes : options.header) = *number;
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<RecordRules::Rule> RecordRules::ParseRule(
    absl::string_view text, const RecordOptions& defaults) {
  const size_t colon = text.rfind(':');
  const std::vector<absl::string_view> words =
      absl::StrSplit(text.substr(colon + 1), ',');
  const RecordFormat* const format =
      colon == absl::string_view::npos
          ? nullptr
          : FormatNamed(absl::StripAsciiWhitespace(words.front()));
  if (format == nullptr || colon == 0) {
    return WrongRule(
        text,
        absl::StrCat("is not PATTERN:FORMAT with a format of ", FormatNames()));
  }
  Rule rule{
      std::string(text),
      std::string(absl::StripTrailingAsciiWhitespace(text.substr(0, colon))),
      format, defaults};
  for (size_t i = 1; i < words.size(); ++i) {
    const absl::Status set = SetRuleOption(words[i], *format, rule.options);
    if (!set.ok()) return WrongRule(text, set.message());
  }
  const absl::Status lacks = format->CheckOptions(rule.options);
  if (!lacks.ok()) return WrongRule(text, lacks.message());
  return rule;
}

absl::StatusOr<RecordRules> RecordRules::Parse(const RecordOptions& options) {
  RecordRules rules;
  rules.options_ = options;
  ASSIGN_OR_RETURN(rules.align_, AlignRules::Parse(options.align));
  for (absl::string_view rule :
       absl::StrSplit(options.as, ';', absl::SkipWhitespace())) {
    ASSIGN_OR_RETURN(Rule parsed,
                     ParseRule(absl::StripAsciiWhitespace(rule), options));
    rules.rules_.push_back(std::move(parsed));
  }
  return rules;
}

absl::optional<size_t> RecordRules::RuleOf(absl::string_view path) const {
  const std::string whole(path);
  const std::string name(path.substr(path.rfind('/') + 1));
  for (size_t i = 0; i < rules_.size(); ++i) {
    const std::string& pattern = rules_[i].pattern;
    const std::string& text = absl::StrContains(pattern, '/') ? whole : name;
    if (fnmatch(pattern.c_str(), text.c_str(), FNM_PATHNAME) == 0) return i;
  }
  return absl::nullopt;
}

const RecordFormat* RecordRules::Asked(absl::string_view path) const {
  const absl::optional<size_t> rule = RuleOf(path);
  return rule ? rules_[*rule].format : nullptr;
}

const RecordOptions& RecordRules::OptionsOf(absl::string_view path) const {
  const absl::optional<size_t> rule = RuleOf(path);
  return rule ? rules_[*rule].options : options_;
}

}  // namespace shufflefs
