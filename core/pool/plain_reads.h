// SPDX-License-Identifier: Apache-2.0
// Reads of files that nothing holds in memory: from the source, for the
// threads that answer the mount's requests. None of them waits for a device, or
// a source that hangs would take them all.
#ifndef SHUFFLEFS_CORE_POOL_PLAIN_READS_H_
#define SHUFFLEFS_CORE_POOL_PLAIN_READS_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "core/base/metrics.h"
#include "core/base/mutex.h"
#include "core/base/types.h"
#include "core/catalogue/catalogue.h"
#include "core/io/file_reader.h"
#include "core/pool/lone_reads.h"
#include "core/pool/sample_memory.h"
#include "core/source/source_dir.h"
#include "core/source/source_files.h"

namespace shufflefs {

// Thread-safe. Nothing waits for a device, but for Read where the system gives
// neither thread nor memory for the reader.
class PlainReads {
 public:
  struct Parts {
    const SourceDir* source = nullptr;  // outlives the object
    std::shared_ptr<const Catalogue> catalogue;
    size_t open_limit = 1;        // descriptors that are kept
    StallClock* stall = nullptr;  // outlives the object; may be null
  };
  explicit PlainReads(const Parts& parts);
  // Waits for the reads under way.
  ~PlainReads() { Stop(); }

  // What the kernel has cached, at once: as SourceFiles::Read. Nothing where
  // that is not all of it, or it cannot be read: then Read tells.
  absl::optional<size_t> ReadAtOnce(EntryId file, uint64_t offset,
                                    absl::Span<char> out);
  // Errors: as FileRead's. The first one makes the reader, which has threads.
  void Read(EntryId file, uint64_t offset, uint64_t length,
            SampleMemory::ReadDone done);
  // What was not begun is answered with Cancelled. Waits for what was.
  // REQUIRES: nothing else is called from now on, but reads() and bytes().
  void Stop();

  uint64_t reads() const { return Traffic().reads; }
  uint64_t bytes() const { return Traffic().bytes; }

 private:
  // Errors: no thread, no memory.
  absl::StatusOr<std::shared_ptr<LoneReads>> Lone() ABSL_LOCKS_EXCLUDED(mu_);
  void ReadHere(EntryId file, const ReadWaiter& waiter);
  FileReaderStats Traffic() const;

  // Constant after construction.
  const Parts parts_;

  // Self-synchronised.
  SourceFiles files_;
  std::atomic<uint64_t> reads_at_once_{0};
  std::atomic<uint64_t> bytes_at_once_{0};

  mutable Mutex mu_;
  FileReaderStats before_ ABSL_GUARDED_BY(mu_);  // of a reader that is gone
  std::unique_ptr<FileReader> reader_ ABSL_GUARDED_BY(mu_);
  std::shared_ptr<LoneReads> lone_ ABSL_GUARDED_BY(mu_);
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_POOL_PLAIN_READS_H_
