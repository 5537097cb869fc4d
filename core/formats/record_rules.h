// SPDX-License-Identifier: Apache-2.0
// Which files of a view are containers, and of which format: by the user's
// rules, else by names that say so themselves.
#ifndef SHUFFLEFS_CORE_FORMATS_RECORD_RULES_H_
#define SHUFFLEFS_CORE_FORMATS_RECORD_RULES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "core/config/record_options.h"
#include "core/formats/record_align.h"

namespace shufflefs {

enum class RecordFormat {
  kTfrecord,
  kTar,
  kParquet,
  kArrow,  // an IPC file or an IPC stream
  kLines,
  kFixed,
  kNpy,
  kIdx
};

absl::string_view RecordFormatName(RecordFormat format);
absl::optional<RecordFormat> RecordFormatOf(absl::string_view name);
// What of such a file comes in another order, as `status` says: "records",
// "row groups" or "record batches".
absl::string_view RecordLevelName(RecordFormat format);
inline bool IsColumnar(RecordFormat format) {
  return format == RecordFormat::kParquet || format == RecordFormat::kArrow;
}

// A copy of the rules, parsed. Immutable.
class RecordRules {
 public:
  // Errors: InvalidArgument naming the key and the rule.
  static absl::StatusOr<RecordRules> Parse(const RecordOptions& options);

  const RecordOptions& options() const { return options_; }
  const AlignRules& align() const { return align_; }
  bool empty() const { return rules_.empty() && align_.empty(); }
  // What the user says a file is. `path`: in the view.
  absl::optional<RecordFormat> Asked(absl::string_view path) const;

 private:
  struct Rule {
    std::string pattern;
    RecordFormat format;
  };
  RecordOptions options_;
  std::vector<Rule> rules_;
  AlignRules align_;
};

// What a file is by its name, of the formats that can be told without being
// asked; it is one only if its first bytes agree. `name`: without directories.
absl::optional<RecordFormat> FormatByName(absl::string_view name);

// The same of all formats, for a file of which the user says no more than that
// it holds records.
absl::optional<RecordFormat> LikelyFormat(absl::string_view name);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_FORMATS_RECORD_RULES_H_
