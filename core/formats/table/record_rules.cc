// SPDX-License-Identifier: Apache-2.0
#include "core/formats/table/record_rules.h"

#include <fnmatch.h>

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/base/status.h"
#include "core/formats/table/formats.h"

namespace shufflefs {
absl::StatusOr<RecordRules> RecordRules::Parse(const RecordOptions& options) {
  RecordRules rules;
  rules.options_ = options;
  ASSIGN_OR_RETURN(rules.align_, AlignRules::Parse(options.align));
  for (absl::string_view rule :
       absl::StrSplit(options.as, ';', absl::SkipWhitespace())) {
    rule = absl::StripAsciiWhitespace(rule);
    const size_t colon = rule.rfind(':');
    const RecordFormat* const format =
        colon == absl::string_view::npos
            ? nullptr
            : FormatNamed(absl::StripAsciiWhitespace(rule.substr(colon + 1)));
    if (format == nullptr || colon == 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          "record.as: \"", rule, "\" is not PATTERN:FORMAT with a format of ",
          FormatNames()));
    }
    const absl::Status lacks = format->CheckOptions(options);
    if (!lacks.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("record.as: \"", rule, "\" ", lacks.message()));
    }
    const absl::string_view pattern =
        absl::StripTrailingAsciiWhitespace(rule.substr(0, colon));
    rules.rules_.push_back({std::string(pattern), format});
  }
  return rules;
}

const RecordFormat* RecordRules::Asked(absl::string_view path) const {
  const std::string whole(path);
  const std::string name(path.substr(path.rfind('/') + 1));
  for (const Rule& rule : rules_) {
    const bool by_path = absl::StrContains(rule.pattern, '/');
    const std::string& text = by_path ? whole : name;
    if (fnmatch(rule.pattern.c_str(), text.c_str(), FNM_PATHNAME) == 0) {
      return rule.format;
    }
  }
  return nullptr;
}

}  // namespace shufflefs
