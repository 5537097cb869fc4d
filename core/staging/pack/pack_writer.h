// SPDX-License-Identifier: Apache-2.0
// Writes a pack (pack_format.h): reads every file of the chunks once and
// writes it once.
//
// As many whole chunks as the memory holds are filled at a time, their files
// read in the order in which they lie on the device, by several threads; then
// they are written one after the other. On a device that seeks it costs about
// a short seek a file, unless the memory is a good part of the dataset.
//
// It can be ended at any point, by a signal or by losing power: the next run
// for the same chunks goes on behind the last pass that was finished, and
// gives the same bytes.
#ifndef SHUFFLEFS_CORE_STAGING_PACK_PACK_WRITER_H_
#define SHUFFLEFS_CORE_STAGING_PACK_PACK_WRITER_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>

#include "absl/status/statusor.h"
#include "core/catalogue/catalogue.h"
#include "core/source/source_dir.h"
#include "core/staging/pack/pack_layout.h"

namespace shufflefs {

inline constexpr uint64_t kLeastPackMemory = uint64_t{1} << 20;

struct PackProgress {
  uint64_t files = 0;  // in the pack so far, those of earlier runs too
  uint64_t total_files = 0;
  uint64_t read = 0;  // bytes, of earlier runs too
  uint64_t written = 0;
  uint64_t total_bytes = 0;
};

struct PackOptions {
  uint64_t memory_bytes = uint64_t{256} << 20;  // at least kLeastPackMemory
  int threads = 0;                              // 0 = two a core, at least 8
  // Removes the pack, finished or not, that the destination holds.
  bool restart = false;
  // Called by one thread at a time, not more often than that, and when
  // everything is written.
  std::function<void(const PackProgress&)> progress;
  std::chrono::milliseconds progress_every{100};
  std::stop_token stop;
};

struct PackResult {
  uint64_t files = 0;
  uint64_t chunks = 0;
  uint64_t bytes = 0;           // of the files
  uint64_t written_bytes = 0;   // by this run
  uint64_t disk_bytes = 0;      // that the pack takes
  uint64_t resumed_chunks = 0;  // which an earlier run had finished
  bool was_complete = false;    // nothing was left to do
};

// Packs the files of `composition` into `destination`, which must be empty,
// missing (its parent is there) or a pack of the same, finished or not. Blocks
// until done. The result can be read by whoever may read every file in it and,
// if not all may, by the caller's user alone.
//
// Errors, each naming the file: those of SourceFiles::Read where a file cannot
// be read or is not the one that the catalogue knows any more; InvalidArgument
// where the destination lies in the source; FailedPrecondition where it holds
// something else, the pack of another dataset or composition (say `restart`),
// or too little space; DataLoss where what it holds is damaged; Cancelled; what
// writing gives. What was finished stays for the next run.
absl::StatusOr<PackResult> WritePack(const SourceDir& source,
                                     const Catalogue& catalogue,
                                     const PackComposition& composition,
                                     const std::string& destination,
                                     const PackOptions& options);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_STAGING_PACK_PACK_WRITER_H_
