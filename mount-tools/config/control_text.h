// SPDX-License-Identifier: Apache-2.0
// The request in a write to a control file. Pure; any thread may call.
#ifndef SHUFFLEFS_MOUNT_TOOLS_CONFIG_CONTROL_TEXT_H_
#define SHUFFLEFS_MOUNT_TOOLS_CONFIG_CONTROL_TEXT_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "core/config/config.h"

namespace shufflefs {

// What a write changes of the whole mount.
struct ControlledMount {
  absl::optional<LogLevel> log_level;
};

// Parses one or more lines `key = value`, as TOML: `policy = "lirs"`,
// `lirs.page = "64KiB"`, `seed = 3`, `epoch = "next"`, `epoch = 7`, `feedback =
// 0.531`. Comments and empty lines are skipped. All or nothing: the result is
// `current` with every line applied, or an error.
//
// A key that cannot change while mounted is accepted with its present value, so
// that a user can edit the content of the control file and write it back.
// `mount` has the keys of the whole mount (null: they are refused). Those that
// may change while mounted are returned in `controlled`.
//
// Errors: InvalidArgument, one line. "line N: …" names the key that is unknown,
// wrong, given twice, or cannot change while mounted; "nothing to do" for a
// text without settings.
absl::StatusOr<ControlRequest> ParseControl(
    absl::string_view text, const ViewConfig& current,
    const MountConfig* mount = nullptr, ControlledMount* controlled = nullptr);

}  // namespace shufflefs

#endif  // SHUFFLEFS_MOUNT_TOOLS_CONFIG_CONTROL_TEXT_H_
