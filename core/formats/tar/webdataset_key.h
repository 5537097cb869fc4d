// SPDX-License-Identifier: Apache-2.0
// The rule by which webdataset makes samples from the members of a tar archive.
#ifndef SHUFFLEFS_CORE_FORMATS_TAR_WEBDATASET_KEY_H_
#define SHUFFLEFS_CORE_FORMATS_TAR_WEBDATASET_KEY_H_

#include "absl/strings/string_view.h"
#include "absl/types/optional.h"

namespace shufflefs {

// The key of a member is a prefix of its name: the directory, and the base name
// up to its first dot. Successive members with the same key are one sample.
// Empty for a name that webdataset skips: one without a dot in its base name,
// or one whose first part is between double underscores (its metadata). For a
// hidden file its expression, ^((?:.*/|)[^.]+)[.]([^/]*)$, takes the directory
// with its slash as the key ("a/.b": "a/"), if that directory's own name has no
// dot. REQUIRES: no newline in `name`.
absl::optional<absl::string_view> WebDatasetKey(absl::string_view name);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_FORMATS_TAR_WEBDATASET_KEY_H_
