// SPDX-License-Identifier: Apache-2.0
// The rule by which webdataset makes samples of the members of a tar archive.
#ifndef SHUFFLEFS_CORE_FORMATS_TAR_WEBDATASET_KEY_H_
#define SHUFFLEFS_CORE_FORMATS_TAR_WEBDATASET_KEY_H_

#include "absl/strings/string_view.h"
#include "absl/types/optional.h"

namespace shufflefs {

// The key of a member, a prefix of its name: directory and name up to the
// first dot of the base name. Members that follow each other and share it are
// one sample. Nothing for a name that webdataset passes over: one without a
// dot in its base name, or whose first part is between double underscores
// (its metadata). Its expression, ^((?:.*/|)[^.]+)[.]([^/]*)$, takes the
// directory with its slash for the key of a hidden file ("a/.b": "a/"), if
// that directory's own name has no dot. REQUIRES: no newline in `name`.
absl::optional<absl::string_view> WebDatasetKey(absl::string_view name);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_FORMATS_TAR_WEBDATASET_KEY_H_
