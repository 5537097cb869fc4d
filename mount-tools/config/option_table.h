// SPDX-License-Identifier: Apache-2.0
// Every key that a user can set, declared once: those of the mount and its
// views here, those of policies in their entries. The table feeds -o, the TOML
// file, the control file, --help, the man pages' test and shufflectl, so a key
// means the same wherever it is written.
//
// Constant; any thread may call. Nothing here does I/O.
#ifndef SHUFFLEFS_MOUNT_TOOLS_CONFIG_OPTION_TABLE_H_
#define SHUFFLEFS_MOUNT_TOOLS_CONFIG_OPTION_TABLE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/config/config.h"

namespace shufflefs {

enum class OptionScope {
  kView,   // each view has its own
  kMount,  // one for the whole mount
};

enum class ValueKind {
  kWord,
  kText,
  kNumber,
  kBytes,
  kDuration,
  kShare,
  kPath
};

struct Option {
  absl::string_view key;
  // As the man page and --help show it, and as `get` prints it for a default
  // configuration; where that is empty, words that say what happens instead.
  absl::string_view default_text;
  absl::string_view values;  // completes the sentence "must be …"
  absl::string_view help;    // one line
  OptionScope scope;
  ValueKind kind;
  // Whether the control file may change it while the view is mounted.
  bool run_time;
  // Of a key of the mount or its views.
  bool (*set)(absl::string_view text, MountConfig& mount,
              ViewConfig& view) = nullptr;
  std::string (*get)(const MountConfig& mount,
                     const ViewConfig& view) = nullptr;
  // Of a key of a policy: its row there.
  const PolicyOption* of_policy = nullptr;

  // Takes over `text`; false when that is not an allowed value, and then
  // nothing has changed.
  bool Set(absl::string_view text, MountConfig& mount, ViewConfig& view) const;
  // The value as text that Set takes; empty when it is not set.
  std::string Get(const MountConfig& mount, const ViewConfig& view) const;
  // Whether a file may write it as a list of whole numbers.
  bool is_numbers() const {
    return of_policy != nullptr &&
           of_policy->kind == PolicyOption::Kind::kNumbers;
  }
};

// In the order in which help and man pages list them.
absl::Span<const Option> Options();

// Null when there is no such key.
const Option* FindOption(absl::string_view key);

// InvalidArgument that says there is no such key, with the nearest one.
absl::Status NoSuchKey(absl::string_view key);

// Sets `key`. Errors: NoSuchKey's, or InvalidArgument that names key, value
// and what is allowed. On error nothing has changed. Paths must be absolute
// already (see AbsolutePath in mount-tools/config/paths.h), but for the key
// `path`.
absl::Status SetOption(absl::string_view key, absl::string_view value,
                       MountConfig& mount, ViewConfig& view);

// Rules that concern several keys or several views. Call when all keys are
// set. InvalidArgument names the keys or the paths.
absl::Status ValidateView(const ViewConfig& view);
absl::Status ValidateMount(const MountConfig& mount);

}  // namespace shufflefs

#endif  // SHUFFLEFS_MOUNT_TOOLS_CONFIG_OPTION_TABLE_H_
