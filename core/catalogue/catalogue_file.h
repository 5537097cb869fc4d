// SPDX-License-Identifier: Apache-2.0
// The catalogue on disk, in the state directory: one binary file with a
// version and a checksum (XXH3, 64 bits) over everything behind it.
//
// A file is input like any other: it may be cut off, damaged, older or made
// by somebody else. Loading checks every count, offset, name and order, and
// a file that passes gives a catalogue whose every method is safe.
#ifndef SHUFFLEFS_CORE_CATALOGUE_CATALOGUE_FILE_H_
#define SHUFFLEFS_CORE_CATALOGUE_CATALOGUE_FILE_H_

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/base/files/owned_dir.h"
#include "core/catalogue/catalogue.h"

namespace shufflefs {

// Bytes [kCatalogueChecksumAt, +8) hold the little-endian checksum of what
// follows them.
inline constexpr size_t kCatalogueChecksumAt = 16;

// As ReplaceFile, core/base/files/whole_file.h.
absl::Status SaveCatalogue(const Catalogue& catalogue, const FilePlace& place);

// Errors, each naming the path: what open and read gave, with its errno
// (ENOENT where none was saved); InvalidArgument if it is no catalogue or one
// of another version; DataLoss if it is cut off, damaged or makes no sense.
absl::StatusOr<Catalogue> LoadCatalogue(const FilePlace& place);

// The same for bytes in memory.
absl::StatusOr<Catalogue> ParseCatalogue(absl::string_view bytes);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_CATALOGUE_CATALOGUE_FILE_H_
