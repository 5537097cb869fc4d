// SPDX-License-Identifier: Apache-2.0
// Saves the device addresses of a catalogue's files beside it: one binary file
// with a version and a checksum (XXH3, 64 bits) over everything behind it. It
// saves only time: if it is gone or refused, the file system is asked again.
//
// A file is input like any other. An accepted file has an address, or one of
// the two special values of KnownAddresses, for each entry of the catalogue.
#ifndef SHUFFLEFS_CORE_SCAN_PLACES_FILE_H_
#define SHUFFLEFS_CORE_SCAN_PLACES_FILE_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/base/files/owned_dir.h"
#include "core/catalogue/catalogue.h"
#include "core/source/physical.h"

namespace shufflefs {

// 64 bits over devices, inode numbers, sizes and both times, in the catalogue's
// order. Catalogues whose files may have different addresses have different
// values.
uint64_t PlacesIdentity(const Catalogue& catalogue);

// Errors: as for ReplaceFile, core/base/files/atomic_file.h. REQUIRES: one
// place per entry.
absl::Status SavePlaces(const KnownAddresses& places,
                        const Catalogue& catalogue, const FilePlace& place);

// Errors, each naming the path: those of ReadWholeFile (ENOENT if none was
// saved); InvalidArgument if it holds no places or has another version;
// FailedPrecondition if it belongs to another catalogue; DataLoss if it is cut
// off, damaged or invalid.
absl::StatusOr<KnownAddresses> LoadPlaces(const Catalogue& catalogue,
                                          const FilePlace& place);

// The same for bytes in memory, for a catalogue with this identity and number
// of entries.
absl::StatusOr<KnownAddresses> ParsePlaces(absl::string_view bytes,
                                           uint64_t identity, uint64_t entries);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_SCAN_PLACES_FILE_H_
