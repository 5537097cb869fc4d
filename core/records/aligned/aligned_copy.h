// SPDX-License-Identifier: Apache-2.0
// Copies the records of one TFRecord file to another file that is padded to
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
  std::string source;       // path of the source file
  std::string destination;  // path of the padded file
  uint64_t page_bytes = 4096;
  PageFit fit = PageFit::kNext;
  // Called with the number of bytes read. Returning false ends the work. May be
  // empty.
  std::function<bool(uint64_t bytes)> progress;
};

// Leaves `destination`.tmp and `destination`.idx.tmp, complete and on the
// device. If everybody may read the source, everybody may read them, as far as
// the umask allows. Otherwise only their owner may. Returns their entry of the
// manifest, without the name. Reads the source once. Holds in memory what
// PagePacker holds and one record. Blocks.
//
// Errors, naming the file: those of open, read and write; DataLoss, with the
// byte, if the source is no TFRecord file; FailedPrecondition if it was changed
// meanwhile; Cancelled. Then nothing is left behind.
absl::StatusOr<AlignedFile> CopyAligned(const AlignedCopyOptions& options);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_RECORDS_ALIGNED_ALIGNED_COPY_H_
