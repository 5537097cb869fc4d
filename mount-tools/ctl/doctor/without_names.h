// SPDX-License-Identifier: Apache-2.0
// A mount's status and settings without the names of the dataset's files. Pure
// functions.
#ifndef SHUFFLEFS_MOUNT_TOOLS_CTL_DOCTOR_WITHOUT_NAMES_H_
#define SHUFFLEFS_MOUNT_TOOLS_CTL_DOCTOR_WITHOUT_NAMES_H_

#include <string>

#include "absl/strings/string_view.h"

namespace shufflefs {

// `json` with numbers, the texts that come from a fixed set of words, and the
// grade of `mixing`. Every other text is replaced by kLeftOut, because a path
// or a message may hold a name. "" if it is no JSON.
std::string StatusWithoutNames(absl::string_view json);

// The keys of `control`, the content of a control file, that differ from their
// defaults: `key = value` lines. Without `names` texts and paths are left out.
// "" if it is no such content.
std::string SettingsText(absl::string_view control, bool names);

inline constexpr char kLeftOut[] = "(left out)";

}  // namespace shufflefs

#endif  // SHUFFLEFS_MOUNT_TOOLS_CTL_DOCTOR_WITHOUT_NAMES_H_
