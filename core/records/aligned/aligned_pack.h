// SPDX-License-Identifier: Apache-2.0
// Writes page-aligned copies of TFRecord files into a directory of their own,
// with a manifest (aligned_manifest.h).
//
// It can be ended at any point, by a signal or by losing power: the next run
// goes on behind the last file that was finished, and gives the same bytes. A
// file has its name only when the manifest knows it, so one that the manifest
// does not know is somebody else's, and is refused.
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
  uint64_t files = 0;  // finished, those of earlier runs too
  uint64_t total_files = 0;
  uint64_t read = 0;  // bytes of the source, of earlier runs too
  uint64_t total_bytes = 0;
};

struct AlignOptions {
  uint64_t page_bytes = 4096;  // a power of two
  PageFit fit = PageFit::kNext;
  // Removes what an earlier run wrote to the destination, finished or not.
  bool restart = false;
  // Called not more often than that, and when everything is written.
  std::function<void(const AlignProgress&)> progress;
  std::chrono::milliseconds progress_every{100};
  std::stop_token stop;
};

struct AlignResult {
  uint64_t files = 0;
  uint64_t records = 0;
  uint64_t stripped_bytes = 0;  // of the records, which is the source
  uint64_t padded_bytes = 0;
  // Pages that each record lies in, summed up: what is read to get every
  // record once, at random, where nothing is cached.
  uint64_t source_pages = 0;
  uint64_t padded_pages = 0;
  uint64_t read_bytes = 0;     // by this run
  uint64_t resumed_files = 0;  // which an earlier run had finished
  bool was_complete = false;   // nothing was left to do
};

// Bytes of so many pages for each byte of records; 1 where there are none.
double ReadAmplification(uint64_t pages, uint64_t page_bytes,
                         uint64_t record_bytes);

// `source` is a TFRecord file, or a directory of which the files named
// *.tfrecord* are taken, those of its directories not, nor those that end in
// .idx. `destination` is empty, missing (its parent is there), or holds what an
// earlier run left. Blocks until done.
//
// Errors, each naming the file: those of CopyAligned; InvalidArgument where the
// destination lies in the source; FailedPrecondition where there are no such
// files, where the destination holds something else, or was written from other
// files or with another page or fit (say `restart`), or another process writes
// it; DataLoss where what it holds is damaged; Cancelled. What was finished
// stays for the next run.
absl::StatusOr<AlignResult> WriteAligned(const std::string& source,
                                         const std::string& destination,
                                         const AlignOptions& options);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_RECORDS_ALIGNED_ALIGNED_PACK_H_
