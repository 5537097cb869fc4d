// SPDX-License-Identifier: Apache-2.0
// One header of a tar archive: its block of 512 bytes, in the formats V7, ustar
// (POSIX.1-1988), GNU and pax (POSIX.1-2001), and what a pax extended header
// adds to it. Pure functions. Their errors do not say where.
#ifndef SHUFFLEFS_CORE_FORMATS_TAR_TAR_HEADER_H_
#define SHUFFLEFS_CORE_FORMATS_TAR_TAR_HEADER_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"

namespace shufflefs {

inline constexpr size_t kTarBlockBytes = 512;

struct TarHeader {
  enum class Kind {
    kFile,
    kDirectory,
    kLongName,  // GNU 'L': its data is the next member's name
    kLongLink,  // GNU 'K': its data is the next link's target
    kExtended,  // pax 'x'
  };
  Kind kind = Kind::kFile;
  uint64_t size = 0;  // bytes of data after the header
  std::string name;   // may be empty
};

// REQUIRES of `block`, here and below: kTarBlockBytes bytes. Returns whether
// all bytes are 0, which marks the end.
bool IsZeroTarBlock(absl::string_view block);

// Returns whether the block contains the checksum of its own bytes, as a header
// does.
bool HasTarChecksum(absl::string_view block);

// Errors: DataLoss if the checksum is wrong or the size is invalid.
// FailedPrecondition, with the reason, for members that are not moved (links,
// devices, sparse ones, …) and those on which readers disagree.
absl::StatusOr<TarHeader> ParseTarHeader(absl::string_view block);

// The fields of a pax extended header that matter here.
struct PaxFields {
  absl::optional<std::string> path;
  absl::optional<uint64_t> size;
};

// Errors: DataLoss if `records` are malformed; FailedPrecondition if they are
// of a sparse member.
absl::StatusOr<PaxFields> ParsePaxRecords(absl::string_view records);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_FORMATS_TAR_TAR_HEADER_H_
