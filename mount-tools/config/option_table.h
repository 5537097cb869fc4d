// SPDX-License-Identifier: Apache-2.0
// Every user key, declared once: those of the mount and its views here, those
// of policies in their entries. -o, the TOML file, the control file, --help,
// the man pages' test and shufflectl use this table, so a key has one meaning
// everywhere.
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
  // configuration. If `get` prints nothing, words that describe the default.
  absl::string_view default_text;
  absl::string_view values;  // completes the sentence "must be …"
  absl::string_view help;    // one line
  OptionScope scope;
  ValueKind kind;
  // Returns whether the control file may change it while the view is mounted.
  bool run_time;
  // For a key of the mount or its views.
  bool (*set)(absl::string_view text, MountConfig& mount,
              ViewConfig& view) = nullptr;
  std::string (*get)(const MountConfig& mount,
                     const ViewConfig& view) = nullptr;
  // For a key of a policy: its row there.
  const PolicyOption* of_policy = nullptr;

  // Sets the key to `text`. Returns false and changes nothing if that is not an
  // allowed value.
  bool Set(absl::string_view text, MountConfig& mount, ViewConfig& view) const;
  // The value as text that Set accepts. Empty if it is not set.
  std::string Get(const MountConfig& mount, const ViewConfig& view) const;
  // Returns whether a file may write it as a list of whole numbers.
  bool is_numbers() const {
    return of_policy != nullptr &&
           of_policy->kind == PolicyOption::Kind::kNumbers;
  }
};

// In the order of help and man pages.
absl::Span<const Option> Options();

// Also by a name that the key had in an earlier version. Null if there is no
// such key.
const Option* FindOption(absl::string_view key);

// InvalidArgument: there is no such key, with the nearest one.
absl::Status NoSuchKey(absl::string_view key);

// Sets `key`. Errors: NoSuchKey's, or InvalidArgument, which names key, value
// and the allowed values. On an error nothing has changed. An old name of
// a key leaves a line in mount.notes. Paths, except the
// key `path`, must be absolute already.
absl::Status SetOption(absl::string_view key, absl::string_view value,
                       MountConfig& mount, ViewConfig& view);

// SetOption for what a user wrote: relative paths are below `base`. Errors:
// also InvalidArgument for a path of the home directory, "~/x".
absl::Status SetOptionBelow(absl::string_view base, absl::string_view key,
                            std::string value, MountConfig& mount,
                            ViewConfig& view);

// Check rules that concern several keys or several views. Call them when all
// keys are set. InvalidArgument names the keys or the paths.
absl::Status ValidateView(const ViewConfig& view);
absl::Status ValidateMount(const MountConfig& mount);

}  // namespace shufflefs

#endif  // SHUFFLEFS_MOUNT_TOOLS_CONFIG_OPTION_TABLE_H_
