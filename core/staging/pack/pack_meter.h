// SPDX-License-Identifier: Apache-2.0
// PackMeter counts what a run of the pack writer has done, and reports it now
// and then. Thread-safe. It calls `progress` with its lock held.
#ifndef SHUFFLEFS_CORE_STAGING_PACK_PACK_METER_H_
#define SHUFFLEFS_CORE_STAGING_PACK_PACK_METER_H_

#include <chrono>
#include <cstdint>
#include <functional>

#include "absl/base/thread_annotations.h"
#include "absl/types/span.h"
#include "core/base/mutex.h"
#include "core/staging/pack/pack_format.h"
#include "core/staging/pack/pack_writer.h"

namespace shufflefs {

class PackMeter {
 public:
  // `missing`: the chunks that this run writes. All other chunks count as done.
  PackMeter(const PackManifest& manifest, absl::Span<const uint32_t> missing,
            const PackOptions& options)
      : tell_(options.progress), every_(options.progress_every) {
    now_.total_files = manifest.files.size();
    now_.total_bytes = manifest.bytes();
    now_.files = now_.total_files;
    now_.read = now_.total_bytes;
    for (uint32_t chunk : missing) {
      now_.files -= manifest.chunks[chunk].file_count;
      now_.read -= manifest.chunks[chunk].bytes;
    }
    now_.written = now_.read;
  }

  // `whole`: these bytes complete a file.
  void Read(uint64_t bytes, bool whole) {
    MutexLock lock(mu_);
    now_.read += bytes;
    if (whole) ++now_.files;
    Tell();
  }
  void Wrote(uint64_t bytes) {
    MutexLock lock(mu_);
    now_.written += bytes;
    Tell();
  }
  void Finished() {
    MutexLock lock(mu_);
    now_.files = now_.total_files;  // empty files were not read
    if (tell_) tell_(now_);
  }

 private:
  void Tell() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    if (!tell_) return;
    const auto time = std::chrono::steady_clock::now();
    if (time - reported_ < every_) return;
    reported_ = time;
    tell_(now_);
  }

  // Constant after construction.
  const std::function<void(const PackProgress&)> tell_;
  const std::chrono::milliseconds every_;

  Mutex mu_;
  PackProgress now_ ABSL_GUARDED_BY(mu_);
  std::chrono::steady_clock::time_point reported_ ABSL_GUARDED_BY(mu_);
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_STAGING_PACK_PACK_METER_H_
