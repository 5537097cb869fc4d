// SPDX-License-Identifier: Apache-2.0
// The TOML form of the configuration: read from a file, and written as the
// control file shows it. Only this file knows the TOML library.
//
// Pure except LoadConfigFile, which reads one file. Any thread may call.
#ifndef SHUFFLEFS_MOUNT_TOOLS_CONFIG_CONFIG_FILE_H_
#define SHUFFLEFS_MOUNT_TOOLS_CONFIG_CONFIG_FILE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/config/config.h"

namespace shufflefs {

struct Option;  // option_table.h

// One `key = value`. Tables are joined with dots; the value has the form that
// -o takes.
struct TomlSetting {
  std::string key;
  std::string value;
  bool is_text = false;  // was written in quotes
  uint32_t line = 0;     // of the value, from 1
  uint32_t column = 0;   // from 1
};

struct TomlDocument {
  std::vector<TomlSetting> settings;            // outside of [[view]]
  std::vector<std::vector<TomlSetting>> views;  // one element per [[view]]
};

// Errors: InvalidArgument "line:column: …" if `text` is no TOML, if a value is
// neither text nor a number, or if `view` is not [[view]].
absl::StatusOr<TomlDocument> ParseToml(absl::string_view text);

// The configuration in `text`. Source and mount point stay empty. `name` is for
// errors. Relative paths are below the absolute directory `base`. Keys outside
// [[view]] are defaults of every view. Without [[view]] there is one view.
// Errors: InvalidArgument "name:line:column: key = value: …".
absl::StatusOr<MountConfig> ParseConfig(absl::string_view text,
                                        absl::string_view name,
                                        absl::string_view base);

// ParseConfig of a file, which other settings may complete: only each value by
// itself is checked. Relative paths in it are below its directory. Errors: also
// the errno of opening or reading it, naming the path.
absl::StatusOr<MountConfig> LoadConfigFile(const std::string& path,
                                           absl::string_view cwd);

// The content of the control file: every key that has a value, one per line.
// ParseConfig reads it back as the same configuration with this one view. The
// exception is a path that is not UTF-8, which TOML cannot hold: it becomes a
// comment, which ParseEffective reads.
std::string EffectiveToml(const MountConfig& mount, const ViewConfig& view);
// The same of a mount of several views: the keys of the mount once, then a
// [[view]] for each. Of one view it is EffectiveToml.
std::string TomlOfViews(const MountConfig& mount,
                        const std::vector<ViewConfig>& views);
// The configuration in such a text, whatever bytes its paths have. Errors: as
// ParseConfig.
absl::StatusOr<MountConfig> ParseEffective(absl::string_view control,
                                           absl::string_view name);
// The state in such a text, or in several in succession: whatever bytes it has.
// "" if there is none.
std::string StateIn(absl::string_view control);
// One line of it: `key = value`.
std::string TomlLine(const Option& option, const std::string& value);

// `text` in quotes, with TOML's escapes. REQUIRES: UTF-8.
std::string TomlString(absl::string_view text);

}  // namespace shufflefs

#endif  // SHUFFLEFS_MOUNT_TOOLS_CONFIG_CONFIG_FILE_H_
