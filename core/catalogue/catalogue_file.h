// SPDX-License-Identifier: Apache-2.0
// The catalogue on disk, in the state directory: one binary file with a version
// and a checksum (XXH3, 64 bits) over everything behind it.
//
// A file is input like any other. It may be cut off, damaged, old, or made by
// somebody else. Loading checks every count, offset, name and order. Every
// method of a catalogue from an accepted file is safe.
#ifndef SHUFFLEFS_CORE_CATALOGUE_CATALOGUE_FILE_H_
#define SHUFFLEFS_CORE_CATALOGUE_CATALOGUE_FILE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/base/files/owned_dir.h"
#include "core/catalogue/catalogue.h"

namespace shufflefs {

// Errors: as for ReplaceFile, core/base/files/atomic_file.h.
absl::Status SaveCatalogue(const Catalogue& catalogue, const FilePlace& place);

// Errors, each naming the path: the errno of open and read (ENOENT if none was
// saved); InvalidArgument if it is no catalogue or has another version;
// DataLoss if it is cut off, damaged or invalid.
absl::StatusOr<Catalogue> LoadCatalogue(const FilePlace& place);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_CATALOGUE_CATALOGUE_FILE_H_
