// SPDX-License-Identifier: Apache-2.0
// WritePack writes a pack (pack_format.h). It reads every file of the chunks
// once and writes it once.
//
// A pass fills as many whole chunks as the memory holds. Several threads read
// their files, in the order of the files on the device. Then the pass writes
// the chunks one after the other. On a device that seeks this costs about one
// short seek per file, unless the memory is a large share of the dataset.
//
// A signal or a power cut may end the run at any point. The next run for the
// same chunks continues after the last finished pass, and writes the same
// bytes.
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
  uint64_t files = 0;  // in the pack so far, including earlier runs
  uint64_t total_files = 0;
  uint64_t read = 0;  // bytes, including earlier runs
  uint64_t written = 0;
  uint64_t total_bytes = 0;
};

struct PackOptions {
  uint64_t memory_bytes = uint64_t{256} << 20;  // at least kLeastPackMemory
  int threads = 0;                              // 0: two per core, at least 8
  // Removes the pack in the destination, finished or not.
  bool restart = false;
  // Called by one thread at a time, at most once per progress_every, and when
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
  uint64_t disk_bytes = 0;      // disk space of the pack
  uint64_t resumed_chunks = 0;  // finished by an earlier run
  bool was_complete = false;    // nothing was left to do
};

// Packs the files of `composition` into `destination`. That must be empty, or
// missing (then its parent must exist), or hold a pack of the same composition,
// finished or not. Blocks until done. PackModeOf says who may read the pack.
//
// Every error names the file. Errors of SourceFiles::Read: a file cannot be
// read, or is no longer the one that the catalogue knows. InvalidArgument: the
// destination is inside the source. FailedPrecondition: the destination holds
// something else or the pack of another dataset or composition (set `restart`),
// or has too little space. DataLoss: what it holds is damaged. Cancelled.
// Errors of writing. Finished chunks stay for the next run.
absl::StatusOr<PackResult> WritePack(const SourceDir& source,
                                     const Catalogue& catalogue,
                                     const PackComposition& composition,
                                     const std::string& destination,
                                     const PackOptions& options);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_STAGING_PACK_PACK_WRITER_H_
