// SPDX-License-Identifier: Apache-2.0
// Which files of a view are containers, and of which format, by the user's
// rules.
#ifndef SHUFFLEFS_CORE_FORMATS_TABLE_RECORD_RULES_H_
#define SHUFFLEFS_CORE_FORMATS_TABLE_RECORD_RULES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/config/record_options.h"
#include "core/formats/record_align.h"
#include "core/formats/record_format.h"

namespace shufflefs {

// A copy of the rules, parsed. Immutable.
class RecordRules {
 public:
  // Errors: InvalidArgument naming the key and the rule.
  static absl::StatusOr<RecordRules> Parse(const RecordOptions& options);

  const RecordOptions& options() const { return options_; }
  const AlignRules& align() const { return align_; }
  bool empty() const { return rules_.empty() && align_.empty(); }
  // What the user says a file is. `path`: in the view.
  // Null: nothing.
  const RecordFormat* Asked(absl::string_view path) const;

 private:
  struct Rule {
    std::string pattern;
    const RecordFormat* format;
  };
  RecordOptions options_;
  std::vector<Rule> rules_;
  AlignRules align_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_FORMATS_TABLE_RECORD_RULES_H_
