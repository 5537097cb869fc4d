// SPDX-License-Identifier: Apache-2.0
// Which files of a view have rows that belong together, as the user says:
// record.align.
#ifndef SHUFFLEFS_CORE_FORMATS_RECORD_ALIGN_H_
#define SHUFFLEFS_CORE_FORMATS_RECORD_ALIGN_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"

namespace shufflefs {

// Rules separated by `;`. Each has two patterns or more, separated by `:`,
// each of one file: "X.npy:y.npy". A pattern may have one `*`, which stands
// for any text without a slash, the same in all patterns of the rule:
// "*-images:*-labels". If one has a slash all are paths in the view, else they
// are names in one directory, whichever. Immutable.
class AlignRules {
 public:
  // Errors: InvalidArgument naming the key and the rule.
  static absl::StatusOr<AlignRules> Parse(absl::string_view text);

  bool empty() const { return rules_.empty(); }
  size_t count() const { return rules_.size(); }
  const std::string& text(size_t rule) const { return rules_[rule].text; }

  // The files that belong together, and which of them one is.
  struct Place {
    size_t rule = 0;
    size_t slot = 0;
    std::vector<std::string> paths;  // in the view, by slot
  };
  // The first rule, and in it the first pattern, that matches decides.
  absl::optional<Place> Match(absl::string_view path) const;

 private:
  struct Pattern {
    std::string before;  // the star, or all of it
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
