// SPDX-License-Identifier: Apache-2.0
// Writes the records of one TFRecord file to another one that is padded to
// pages, with its index (aligned_manifest.h).
#ifndef SHUFFLEFS_CORE_RECORDS_ALIGNED_ALIGNED_COPY_H_
#define SHUFFLEFS_CORE_RECORDS_ALIGNED_ALIGNED_COPY_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "core/records/aligned/aligned_manifest.h"

namespace shufflefs {

struct AlignedCopyOptions {
  std::string source;       // path of a file
  std::string destination;  // of the padded file
  uint64_t page_bytes = 4096;
  PageFit fit = PageFit::kNext;
  // Told of bytes that were read; false ends the work. May be empty.
  std::function<bool(uint64_t bytes)> progress;
};

// Leaves `destination`.tmp and `destination`.idx.tmp, whole and on the device,
// which those who may read the source may read, as far as the umask lets them.
// Gives what the manifest says of them, but for the name. Reads the source
// once; holds what PagePacker holds and one record. Blocks.
//
// Errors, naming the file: what open, read and write give; DataLoss if the
// source is no TFRecord file, and at which byte; FailedPrecondition if it was
// changed meanwhile; Cancelled. Nothing is left behind then.
absl::StatusOr<AlignedFile> CopyAligned(const AlignedCopyOptions& options);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_RECORDS_ALIGNED_ALIGNED_COPY_H_
