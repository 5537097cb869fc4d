// SPDX-License-Identifier: Apache-2.0
// Where the files of a catalogue lie on the device, on disk beside it: one
// binary file with a version and a checksum (XXH3, 64 bits) over everything
// behind it. It saves asking the file system again, and nothing else: when it
// is gone or refused, that costs time.
//
// A file is input like any other. What passes gives an address, one of the two
// words of KnownPlaces, for each entry of the catalogue.
#ifndef SHUFFLEFS_CORE_SCAN_PLACES_FILE_H_
#define SHUFFLEFS_CORE_SCAN_PLACES_FILE_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/base/files/owned_dir.h"
#include "core/catalogue/catalogue.h"
#include "core/source/physical.h"

namespace shufflefs {

// Bytes [kPlacesChecksumAt, +8) hold the little-endian checksum of what
// follows them.
inline constexpr size_t kPlacesChecksumAt = 16;

// Tells catalogues apart of which a file may lie elsewhere: 64 bits over
// devices, inode numbers, sizes and both times, in the catalogue's order.
uint64_t PlacesIdentity(const Catalogue& catalogue);

// As ReplaceFile, core/base/files/whole_file.h. REQUIRES: one place an entry.
absl::Status SavePlaces(const KnownPlaces& places, const Catalogue& catalogue,
                        const FilePlace& place);

// Errors, each naming the path: those of ReadWholeFile (ENOENT where none was
// saved); InvalidArgument if it holds no places, or is of another version;
// FailedPrecondition if it is of another catalogue; DataLoss if it is cut off,
// damaged or makes no sense.
absl::StatusOr<KnownPlaces> LoadPlaces(const Catalogue& catalogue,
                                       const FilePlace& place);

// The same for bytes in memory, of a catalogue with this identity and so many
// entries.
absl::StatusOr<KnownPlaces> ParsePlaces(absl::string_view bytes,
                                        uint64_t identity, uint64_t entries);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_SCAN_PLACES_FILE_H_
