// SPDX-License-Identifier: Apache-2.0
// FileExtent is a whole file in a pool, or on its way there.
#ifndef SHUFFLEFS_CORE_POOL_FILE_EXTENT_H_
#define SHUFFLEFS_CORE_POOL_FILE_EXTENT_H_

#include <sys/uio.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "core/base/types.h"
#include "core/pool/content_provider.h"
#include "core/pool/memory/extents.h"
#include "core/pool/sample_source.h"

namespace shufflefs {

// A reader that waits for bytes of a file.
struct ReadWaiter {
  uint64_t offset = 0;  // offset + length is within the file
  uint64_t length = 0;  // > 0
  ContentProvider::ReadDone done;
  uint32_t device = 0;  // of the file, as Catalogue::device
  // Called before `done`, if the bytes are in memory that may stay for a while:
  // as long as the owner that is given. May be empty.
  std::function<void(std::shared_ptr<const void> owner)> keep{};
};

struct FileExtent : Extent<ReadWaiter> {
  // The piece that fetches the file into `memory`.
  FilePiece Fetch(EntryId file, std::function<void(absl::Status)> done) const {
    FilePiece piece;
    piece.file = file;
    piece.length = length;
    piece.into = memory->pieces();
    piece.done = std::move(done);
    return piece;
  }
  // Answers a reader. REQUIRES: the file is here. Call it with no lock held.
  void Answer(const ReadWaiter& waiter) const {
    const std::vector<iovec> range =
        memory->Range(waiter.offset, waiter.length);
    if (waiter.keep) waiter.keep(memory);
    waiter.done(absl::Span<const iovec>(range));
  }
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_POOL_FILE_EXTENT_H_
