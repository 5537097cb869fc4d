// SPDX-License-Identifier: Apache-2.0
// The user's rules for files of a view whose rows correspond: record.align.
#ifndef SHUFFLEFS_CORE_FORMATS_RECORD_ALIGN_H_
#define SHUFFLEFS_CORE_FORMATS_RECORD_ALIGN_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"

namespace shufflefs {

// Rules separated by `;`. Each has two patterns or more, separated by `:`, one
// per file: "X.npy:y.npy". A pattern may have one `*`, which stands for any
// text without a slash, the same in all patterns of the rule:
// "*-images:*-labels". If one pattern has a slash, all are paths in the view.
// Otherwise they are names in the same directory, which may be any. Immutable.
class AlignRules {
 public:
  // Errors: InvalidArgument, which names the key and the rule.
  static absl::StatusOr<AlignRules> Parse(absl::string_view text);

  bool empty() const { return rules_.empty(); }
  size_t count() const { return rules_.size(); }
  const std::string& text(size_t rule) const { return rules_[rule].text; }

  // The files that correspond, and which of them a file is.
  struct Place {
    size_t rule = 0;
    size_t slot = 0;
    std::vector<std::string> paths;  // in the view, by slot
  };
  // The first rule that matches decides, and in it the first pattern.
  absl::optional<Place> Match(absl::string_view path) const;

 private:
  struct Pattern {
    std::string before;  // before the star, or the whole pattern
    std::string behind;
    bool has_star = false;
  };
  struct Rule {
    std::string text;
    std::vector<Pattern> patterns;
    bool of_paths = false;
  };
  static absl::StatusOr<Rule> ParseRule(absl::string_view text);

  std::vector<Rule> rules_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_FORMATS_RECORD_ALIGN_H_
