// SPDX-License-Identifier: Apache-2.0
// ContentProvider answers reads of samples from memory. It is asked before the
// source.
#ifndef SHUFFLEFS_CORE_POOL_CONTENT_PROVIDER_H_
#define SHUFFLEFS_CORE_POOL_CONTENT_PROVIDER_H_

#include <sys/uio.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "core/base/types.h"

namespace shufflefs {

// For `status`. Bytes, or counts since the memory was made.
struct ProducerStatus {
  uint64_t memory_limit = 0;       // if no other view needs memory
  uint64_t memory_guaranteed = 0;  // of it, whatever others need
  uint64_t pool_bytes = 0;         // in memory or on their way
  // Samples that were in memory or on their way when a reader asked for them.
  uint64_t hits = 0;
  uint64_t misses = 0;
  uint64_t bypass = 0;  // samples read alone
  uint64_t chunk_loads = 0;
  // The samples that were wanted and fitted, as a share of all samples of the
  // loaded chunks. Nothing before the first load.
  absl::optional<double> fill_rate;
  uint64_t source_bytes = 0;
  uint64_t source_reads = 0;
  std::string how;  // how samples are fetched, in a few words
};

// Thread-safe. No call waits for a device.
class ContentProvider {
 public:
  // Gets the bytes asked for, fewer only at the file's end. They are valid only
  // while the function runs. Called once, with no lock held, by the asking
  // thread or by a thread that reads.
  using ReadDone = std::function<void(absl::StatusOr<absl::Span<const iovec>>)>;

  virtual ~ContentProvider() = default;

  // Thread `reader` (0 = hidden) reads the first bytes of `file`. Called before
  // CanServe, for providers that learn from it.
  virtual void OnFirstRead(EntryId /*file*/, uint32_t /*reader*/,
                           std::chrono::milliseconds /*now*/) {}
  // A read of `file`, which is part of a sample, begins. Returns false if the
  // source must answer it.
  virtual bool CanServe(EntryId file) = 0;
  // Predicts what CanServe will return, as far as it is known.
  virtual bool IsResident(EntryId file) const = 0;
  // Returns whether a sample that it answered is read again in each epoch,
  // under its own name or by plan. Then the kernel had better keep its pages.
  virtual bool kernel_should_cache() const = 0;
  // Reads up to `length` bytes of `file` from `offset`. Errors: as FileRead's.
  virtual void Read(EntryId file, uint64_t offset, uint64_t length,
                    ReadDone done) = 0;
  // A descriptor of `file` was closed.
  virtual void Close(EntryId file) = 0;

  virtual ProducerStatus status() const = 0;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_POOL_CONTENT_PROVIDER_H_
