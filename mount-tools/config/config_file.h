// SPDX-License-Identifier: Apache-2.0
// The TOML form of the configuration: read from a file, and written as the
// control file shows it. The only place that knows the TOML library.
//
// Pure but for LoadConfigFile, which reads one file; any thread may call.
#ifndef SHUFFLEFS_MOUNT_TOOLS_CONFIG_CONFIG_FILE_H_
#define SHUFFLEFS_MOUNT_TOOLS_CONFIG_CONFIG_FILE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/config/config.h"

namespace shufflefs {

// One `key = value`: tables are joined with dots, the value is as -o has it.
struct TomlSetting {
  std::string key;
  std::string value;
  bool is_text = false;  // stood in quotes
  uint32_t line = 0;     // of the value, from 1
  uint32_t column = 0;   // from 1
};

struct TomlDocument {
  std::vector<TomlSetting> settings;            // outside of [[view]]
  std::vector<std::vector<TomlSetting>> views;  // one a [[view]]
};

// Errors: InvalidArgument "line:column: …" where `text` is no TOML, a value
// is neither text nor a number, or `view` is something else than [[view]].
absl::StatusOr<TomlDocument> ParseToml(absl::string_view text);

// The configuration that `text` asks for; source and mountpoint stay empty.
// `name` stands in errors, `base` is the absolute directory that relative
// paths are below. Keys outside of [[view]] are every view's default; without
// [[view]] there is one view. Errors: InvalidArgument
// "name:line:column: key = value: …".
absl::StatusOr<MountConfig> ParseConfig(absl::string_view text,
                                        absl::string_view name,
                                        absl::string_view base);

// ParseConfig of a file; relative paths in it are below its directory.
// Errors: also the errno of opening or reading it, naming the path.
absl::StatusOr<MountConfig> LoadConfigFile(const std::string& path,
                                           absl::string_view cwd);

// What the control file shows: every key that has a value, one a line.
// ParseConfig reads it back as the same configuration with this one view
// (but for paths that are not UTF-8, which TOML cannot hold: they appear as a
// comment).
std::string EffectiveToml(const MountConfig& mount, const ViewConfig& view);

// `text` in quotes, with TOML's escapes. REQUIRES: UTF-8.
std::string TomlString(absl::string_view text);

}  // namespace shufflefs

#endif  // SHUFFLEFS_MOUNT_TOOLS_CONFIG_CONFIG_FILE_H_
