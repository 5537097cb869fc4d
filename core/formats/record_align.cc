// SPDX-License-Identifier: Apache-2.0
#include "core/formats/record_align.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/base/status.h"

namespace shufflefs {
namespace {

absl::Status Refused(absl::string_view rule, absl::string_view why) {
  return absl::InvalidArgumentError(
      absl::StrCat("record.align: \"", rule, "\" ", why));
}

// The text that the star matches, if `name` matches the pattern.
absl::optional<std::string> StarOf(absl::string_view name,
                                   absl::string_view before,
                                   absl::string_view behind, bool has_star) {
  if (!has_star) {
    if (name != before) return absl::nullopt;
    return std::string();
  }
  if (name.size() < before.size() + behind.size() ||
      !absl::StartsWith(name, before) || !absl::EndsWith(name, behind)) {
    return absl::nullopt;
  }
  const absl::string_view star =
      name.substr(before.size(), name.size() - before.size() - behind.size());
  if (absl::StrContains(star, '/')) return absl::nullopt;
  return std::string(star);
}

}  // namespace

absl::StatusOr<AlignRules::Rule> AlignRules::ParseRule(absl::string_view text) {
  Rule rule;
  rule.text = std::string(text);
  rule.of_paths = absl::StrContains(text, '/');
  std::vector<absl::string_view> seen;
  for (absl::string_view word : absl::StrSplit(text, ':')) {
    word = absl::StripAsciiWhitespace(word);
    if (word.empty()) return Refused(text, "has a pattern without a character");
    if (std::find(seen.begin(), seen.end(), word) != seen.end()) {
      return Refused(text, "names a file twice");
    }
    seen.push_back(word);
    const size_t star = word.find('*');
    Pattern pattern;
    pattern.has_star = star != absl::string_view::npos;
    pattern.before = std::string(word.substr(0, star));
    if (pattern.has_star) pattern.behind = std::string(word.substr(star + 1));
    if (word.find_first_of("?[") != absl::string_view::npos ||
        absl::StrContains(pattern.behind, '*')) {
      return Refused(text,
                     "has a pattern with more than one *, or with ? or [");
    }
    rule.patterns.push_back(std::move(pattern));
  }
  if (rule.patterns.size() < 2) return Refused(text, "names one file alone");
  for (const Pattern& pattern : rule.patterns) {
    if (pattern.has_star != rule.patterns.front().has_star) {
      return Refused(text, "has a * in some patterns only");
    }
  }
  return rule;
}

absl::StatusOr<AlignRules> AlignRules::Parse(absl::string_view text) {
  AlignRules rules;
  for (absl::string_view rule :
       absl::StrSplit(text, ';', absl::SkipWhitespace())) {
    ASSIGN_OR_RETURN(Rule parsed, ParseRule(absl::StripAsciiWhitespace(rule)));
    rules.rules_.push_back(std::move(parsed));
  }
  return rules;
}

absl::optional<AlignRules::Place> AlignRules::Match(
    absl::string_view path) const {
  const size_t slash = path.rfind('/');
  const size_t name_at = slash == absl::string_view::npos ? 0 : slash + 1;
  for (size_t r = 0; r < rules_.size(); ++r) {
    const Rule& rule = rules_[r];
    const size_t from = rule.of_paths ? 0 : name_at;
    for (size_t slot = 0; slot < rule.patterns.size(); ++slot) {
      const Pattern& own = rule.patterns[slot];
      const absl::optional<std::string> star =
          StarOf(path.substr(from), own.before, own.behind, own.has_star);
      if (!star) continue;
      Place place{r, slot, {}};
      for (const Pattern& each : rule.patterns) {
        place.paths.push_back(absl::StrCat(path.substr(0, from), each.before,
                                           *star, each.behind));
      }
      return place;
    }
  }
  return absl::nullopt;
}

}  // namespace shufflefs
