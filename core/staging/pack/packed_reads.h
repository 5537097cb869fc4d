// SPDX-License-Identifier: Apache-2.0
// Turns wanted files into reads of chunk files. Pure: no I/O, no threads.
// Internal to packed_source.
#ifndef SHUFFLEFS_CORE_STAGING_PACK_PACKED_READS_H_
#define SHUFFLEFS_CORE_STAGING_PACK_PACKED_READS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "core/base/mutex.h"
#include "core/io/io_buf.h"
#include "core/pool/memory/arena.h"
#include "core/pool/sample_source.h"
#include "core/staging/pack/pack_index.h"

namespace shufflefs {

// PackedWant is a wanted piece of a file, widened to whole checksums: pieces of
// kPackCheckBytes. Bytes that nobody asked for go into memory of its own.
class PackedWant {
 public:
  // REQUIRES: `piece` is inside the file, and `place` is the place of that
  // file.
  PackedWant(FilePiece piece, const PackIndex::Place& place);

  const PackIndex::Place& place() const { return place_; }
  EntryId file() const { return piece_.file; }
  // The bytes of the chunk that it needs: [begin(), end()).
  uint64_t begin() const { return place_.offset + from_; }
  uint64_t end() const { return place_.offset + to_; }
  // The memory of [begin(), end()).
  const IoBuf& memory() const { return memory_; }

  // Sets how many reads will each supply a part of it. Call it before any of
  // them begins.
  void SetParts(uint64_t parts) {
    MutexLock lock(mu_);
    parts_ = parts;
  }
  // One of these reads ended. Returns true for the last one; then the caller
  // calls Finish.
  bool PartEnded(const absl::Status& status);
  // Checks the bytes if all reads succeeded, and calls `done`. `index` must be
  // the index that gave `place`.
  void Finish(const PackIndex& index);

 private:
  absl::Status Check(const PackIndex& index) const;

  // Constant after construction.
  FilePiece piece_;
  const PackIndex::Place place_;
  const uint64_t from_;  // bytes of the file
  const uint64_t to_;
  std::unique_ptr<char[]> before_;  // bytes [from_, piece_.offset)
  std::unique_ptr<char[]> behind_;  // bytes after the piece, up to to_
  IoBuf memory_;

  Mutex mu_;
  uint64_t parts_ ABSL_GUARDED_BY(mu_) = 0;
  absl::Status failed_ ABSL_GUARDED_BY(mu_);
};

// One read of a chunk file. It belongs to one thread at a time.
struct PackedRead {
  struct Part {
    std::shared_ptr<PackedWant> want;
    uint64_t begin = 0;  // bytes of the chunk that this read supplies
    uint64_t end = 0;
  };
  uint32_t chunk = 0;
  uint64_t begin = 0;  // bytes of the chunk, a multiple of kReadAlignment
  uint64_t end = 0;    // bytes
  bool urgent = false;
  std::vector<Part> parts;               // at least 1
  std::unique_ptr<MemoryBlock> staging;  // while the read is under way
};

struct PackedReadLimits {
  uint64_t read_bytes = uint64_t{1} << 20;  // a multiple of kReadAlignment
  // A gap of at most this size between two wanted files of a chunk is read and
  // discarded, because that is cheaper than another read. On the testbed's disk
  // a larger gap costs as much to skip as to read; no other disk was measured.
  uint64_t gap_bytes = uint64_t{64} << 10;
};

// The reads for `wants`, in their order. Wants that are adjacent in a chunk
// become one stretch, which is cut into aligned reads. Sets the parts of every
// want.
std::vector<PackedRead> PlanPackedReads(
    std::vector<std::shared_ptr<PackedWant>> wants,
    const PackedReadLimits& limits);

// Splits a failed read into one stretch per part. So one part that cannot be
// read fails no other part. REQUIRES: more than one part.
std::vector<PackedRead> SplitPackedRead(const PackedRead& read);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_STAGING_PACK_PACKED_READS_H_
