// SPDX-License-Identifier: Apache-2.0
// PlainReads reads files that nothing holds in memory from the source. The
// threads that answer the mount's requests use it. None of them waits for a
// device, because a source that hangs would block them all.
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
#include "core/io/make_reader.h"
#include "core/pool/bypass_reads.h"
#include "core/pool/content_provider.h"
#include "core/pool/sample_source.h"
#include "core/source/source_dir.h"
#include "core/source/source_files.h"

namespace shufflefs {

// Thread-safe. No call waits for a device, with one exception: Read does if the
// system gives neither a thread nor memory for the reader.
class PlainReads {
 public:
  struct Parts {
    const SourceDir* source = nullptr;  // outlives the object
    std::shared_ptr<const Catalogue> catalogue;
    size_t open_limit = 1;  // descriptors that are kept open
    std::shared_ptr<BypassReads> bypass = nullptr;  // required to read
    StallClock* stall = nullptr;  // outlives the object; may be null
    ReaderMaker make_reader = nullptr;  // null: MakeFileReader
  };
  explicit PlainReads(const Parts& parts);
  // Waits for the reads under way.
  ~PlainReads() { Stop(); }

  // Returns at once what the kernel has cached, as SourceFiles::Read does.
  // Returns nothing if the kernel has not cached all of it, or if it cannot be
  // read. Read then reports the error.
  absl::optional<size_t> ReadAtOnce(EntryId file, uint64_t offset,
                                    absl::Span<char> out);
  // Errors: as FileRead's. The first call makes the reader, which has threads.
  void Read(EntryId file, uint64_t offset, uint64_t length,
            ContentProvider::ReadDone done);
  // Answers the reads that were not begun with Cancelled and waits for the
  // others. REQUIRES: from now on only reads() and bytes() are called.
  void Stop();

  uint64_t reads() const { return Traffic().reads; }
  uint64_t bytes() const { return Traffic().bytes; }

 private:
  // Errors: if the system gives no thread or no memory.
  absl::StatusOr<std::shared_ptr<SampleSource>> Source()
      ABSL_LOCKS_EXCLUDED(mu_);
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
  std::shared_ptr<SampleSource> source_ ABSL_GUARDED_BY(mu_);
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_POOL_PLAIN_READS_H_
