// SPDX-License-Identifier: Apache-2.0
// SourceFiles reads files of the source by catalogue id, through a bounded
// cache of open descriptors. It never returns a byte of a file that is not the
// one in the catalogue.
#ifndef SHUFFLEFS_CORE_SOURCE_SOURCE_FILES_H_
#define SHUFFLEFS_CORE_SOURCE_SOURCE_FILES_H_

#include <sys/uio.h>

#include <atomic>
#include <cstdint>
#include <list>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "core/base/files/unique_fd.h"
#include "core/base/mutex.h"
#include "core/base/types.h"
#include "core/catalogue/catalogue.h"
#include "core/source/cached_read.h"
#include "core/source/source_dir.h"

namespace shufflefs {

// Thread-safe. Read blocks on the device. The lock is not held meanwhile.
class SourceFiles {
 public:
  // Keeps at most `open_limit` (>= 1) descriptors open besides those in use.
  // `source` and `catalogue` outlive the object.
  SourceFiles(const SourceDir& source, const Catalogue& catalogue,
              size_t open_limit);

  // Reads up to out.size() bytes of `file` from byte `offset`. Returns fewer
  // only at the end of the file according to the catalogue. Errors name the
  // path: ESTALE if the file is gone or its identity differs from the
  // catalogue's; EACCES if it lost a read permission or its owner changed; EIO
  // if it ends early; those of open and read.
  absl::StatusOr<size_t> Read(EntryId file, uint64_t offset,
                              absl::Span<char> out);

  // Like ReadIfCached (core/source/cached_read.h), for a file that is still the
  // one in the catalogue. Also returns false if it is not, if opening it could
  // wait for the device, and for every file that is not on the source's own
  // device.
  bool ReadCached(EntryId file, uint64_t offset, uint64_t length,
                  const std::vector<iovec>& into,
                  IfUnknown if_unknown = IfUnknown::kLeave);

  uint64_t reads() const { return reads_.load(std::memory_order_relaxed); }
  uint64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }

 private:
  struct Slot {
    std::shared_ptr<const UniqueFd> fd;
    std::list<EntryId>::iterator place;
  };
  using OpenedFile = std::shared_ptr<const UniqueFd>;

  absl::StatusOr<OpenedFile> Get(EntryId file);
  absl::StatusOr<OpenedFile> OpenChecked(EntryId file);
  // The same if this need not wait for the device; else null.
  OpenedFile GetAtOnce(EntryId file);
  OpenedFile OpenAtOnce(EntryId file) const;
  // Null if the file is not open.
  OpenedFile Find(EntryId file);
  OpenedFile Keep(EntryId file, OpenedFile fd);
  void Drop(EntryId file);
  absl::Status Check(int fd, EntryId file) const;
  absl::StatusOr<size_t> ReadAt(int fd, uint64_t offset, absl::Span<char> out);

  // Constant after construction.
  const SourceDir& source_;
  const Catalogue& catalogue_;
  const size_t open_limit_;
  // The source's device, if its file system is known to answer from memory.
  // Else empty.
  const absl::optional<uint64_t> local_device_;

  // Self-synchronised.
  std::atomic<uint64_t> reads_{0};
  std::atomic<uint64_t> bytes_{0};
  std::atomic<bool> drop_behind_{true};  // RWF_DONTCACHE works here

  Mutex mu_;
  std::list<EntryId> recent_ ABSL_GUARDED_BY(mu_);  // most recently used first
  absl::flat_hash_map<EntryId, Slot> open_ ABSL_GUARDED_BY(mu_);
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_SOURCE_SOURCE_FILES_H_
