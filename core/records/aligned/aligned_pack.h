// SPDX-License-Identifier: Apache-2.0
// Writes page-aligned copies of TFRecord files into a separate directory, with
// a manifest (aligned_manifest.h).
//
// It may be interrupted at any point, by a signal or a power failure. The next
// run continues after the last finished file, and writes the same bytes. A file
// gets its name only when the manifest has it. So a file that the manifest does
// not have belongs to somebody else, and is refused.
#ifndef SHUFFLEFS_CORE_RECORDS_ALIGNED_ALIGNED_PACK_H_
#define SHUFFLEFS_CORE_RECORDS_ALIGNED_ALIGNED_PACK_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>

#include "absl/status/statusor.h"
#include "core/records/aligned/page_packer.h"

namespace shufflefs {

inline constexpr uint64_t kLeastAlignedPage = 512;
inline constexpr uint64_t kMostAlignedPage = uint64_t{16} << 20;

struct AlignProgress {
  uint64_t files = 0;  // finished, including those of earlier runs
  uint64_t total_files = 0;
  uint64_t read = 0;  // bytes of the source, including earlier runs
  uint64_t total_bytes = 0;
};

struct AlignOptions {
  uint64_t page_bytes = 4096;  // a power of two
  PageFit fit = PageFit::kNext;
  // Removes what an earlier run wrote to the destination, finished or not.
  bool restart = false;
  // Called at most once per `progress_every`, and when everything is written.
  std::function<void(const AlignProgress&)> progress;
  std::chrono::milliseconds progress_every{100};
  std::stop_token stop;
};

struct AlignResult {
  uint64_t files = 0;
  uint64_t records = 0;
  // Bytes of the records, which is the source's size.
  uint64_t stripped_bytes = 0;
  uint64_t padded_bytes = 0;
  // Number of pages that contain a part of a record, added up over all records:
  // what is read to get every record once, at random, without a cache.
  uint64_t source_pages = 0;
  uint64_t padded_pages = 0;
  uint64_t read_bytes = 0;     // by this run
  uint64_t resumed_files = 0;  // finished by an earlier run
  bool was_complete = false;   // nothing was left to do
};

// Bytes of `pages` pages per byte of records. 1 if there are no records.
double ReadAmplification(uint64_t pages, uint64_t page_bytes,
                         uint64_t record_bytes);

// `source` is a TFRecord file, or a directory. Of a directory the files named
// *.tfrecord are taken, not those of its subdirectories, nor those that end in
// .idx. `destination` is empty, missing (its parent must exist), or holds what
// an earlier run left. Blocks until done.
//
// Errors, each naming the file: those of CopyAligned; InvalidArgument if the
// destination is inside the source; FailedPrecondition if there are no such
// files, if the destination holds something else or was written from other
// files or with another page or fit (use `restart`), or if another process
// writes it; DataLoss if its content is damaged; Cancelled. Finished files stay
// for the next run.
absl::StatusOr<AlignResult> WriteAligned(const std::string& source,
                                         const std::string& destination,
                                         const AlignOptions& options);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_RECORDS_ALIGNED_ALIGNED_PACK_H_
