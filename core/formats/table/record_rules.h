// SPDX-License-Identifier: Apache-2.0
// The user's rules that say which files of a view are containers, and of which
// format.
#ifndef SHUFFLEFS_CORE_FORMATS_TABLE_RECORD_RULES_H_
#define SHUFFLEFS_CORE_FORMATS_TABLE_RECORD_RULES_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "core/config/record_options.h"
#include "core/formats/record_align.h"
#include "core/formats/record_format.h"

namespace shufflefs {

// A parsed copy of the rules. Immutable.
class RecordRules {
 public:
  // Errors: InvalidArgument, which names the key and the rule.
  static absl::StatusOr<RecordRules> Parse(const RecordOptions& options);

  const RecordOptions& options() const { return options_; }
  const AlignRules& align() const { return align_; }
  bool empty() const { return rules_.empty() && align_.empty(); }
  // The rules of record.as, as the user wrote them.
  size_t count() const { return rules_.size(); }
  const std::string& text(size_t rule) const { return rules_[rule].text; }
  const RecordFormat* format(size_t rule) const { return rules_[rule].format; }
  // The first rule that matches a file. Empty: none does.
  absl::optional<size_t> RuleOf(absl::string_view path) const;
  // The format that the user's rules give a file. `path` is relative to the
  // view. Null: no rule matches.
  const RecordFormat* Asked(absl::string_view path) const;
  // The options of a file: those of the rule that matches it, and for what the
  // rule leaves open, the keys record.*. Lives as long as the rules.
  const RecordOptions& OptionsOf(absl::string_view path) const;

 private:
  struct Rule {
    std::string text;
    std::string pattern;
    const RecordFormat* format;
    RecordOptions options;
  };
  static absl::StatusOr<Rule> ParseRule(absl::string_view text,
                                        const RecordOptions& defaults);

  RecordOptions options_;
  std::vector<Rule> rules_;
  AlignRules align_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_FORMATS_TABLE_RECORD_RULES_H_
