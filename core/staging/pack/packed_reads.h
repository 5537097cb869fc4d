// SPDX-License-Identifier: Apache-2.0
// How files that are wanted become reads of chunk files: pure, no I/O, no
// threads. Internal to packed_source.
#ifndef SHUFFLEFS_CORE_STAGING_PACK_PACKED_READS_H_
#define SHUFFLEFS_CORE_STAGING_PACK_PACKED_READS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "core/base/mutex.h"
#include "core/pool/arena.h"
#include "core/pool/sample_source.h"
#include "core/staging/pack/pack_index.h"
#include "core/staging/pack/scatter.h"

namespace shufflefs {

// What is wanted of a file, widened to what can be checked: whole pieces of
// kPackCheckBytes. What was not asked for goes into memory of its own.
class PackedWant {
 public:
  // REQUIRES: `piece` is within the file, which lies at `place`.
  PackedWant(FilePiece piece, const PackIndex::Place& place);

  const PackIndex::Place& place() const { return place_; }
  EntryId file() const { return piece_.file; }
  // Where it lies in the chunk.
  uint64_t begin() const { return place_.offset + from_; }
  uint64_t end() const { return place_.offset + to_; }
  // The memory of [begin(), end()).
  const Scatter& memory() const { return memory_; }

  // Before any read begins: how many will give a part of it.
  void SetParts(uint64_t parts) {
    MutexLock lock(mu_);
    parts_ = parts;
  }
  // One of them ended. True for the last: then the caller calls Finish.
  bool PartEnded(const absl::Status& status);
  // Checks the bytes if all came, and calls `done`. `index` is the one that
  // `place` is from.
  void Finish(const PackIndex& index);

 private:
  absl::Status Check(const PackIndex& index) const;

  // Constant after construction.
  FilePiece piece_;
  const PackIndex::Place place_;
  const uint64_t from_;  // bytes of the file
  const uint64_t to_;
  std::unique_ptr<char[]> before_;  // bytes [from_, piece_.offset)
  std::unique_ptr<char[]> behind_;  // bytes behind the piece, up to to_
  Scatter memory_;

  Mutex mu_;
  uint64_t parts_ ABSL_GUARDED_BY(mu_) = 0;
  absl::Status failed_ ABSL_GUARDED_BY(mu_);
};

// One read of a chunk file. Belongs to one thread at a time.
struct PackedRead {
  struct Part {
    std::shared_ptr<PackedWant> want;
    uint64_t begin = 0;  // bytes of the chunk, of what this read gives it
    uint64_t end = 0;
  };
  uint32_t chunk = 0;
  uint64_t begin = 0;  // bytes of the chunk, a multiple of kReadAlignment
  uint64_t end = 0;    // bytes
  bool urgent = false;
  std::vector<Part> parts;               // at least 1
  std::unique_ptr<MemoryBlock> staging;  // while it is under way
};

struct PackedReadLimits {
  uint64_t read_bytes = uint64_t{1} << 20;  // a multiple of kReadAlignment
  // What lies between two wanted files of a chunk is read and left, up to this
  // size: it is cheaper than another read. A larger one costs the testbed's
  // disk as much to pass over as to read; no other disk was asked.
  uint64_t gap_bytes = uint64_t{64} << 10;
};

// The reads for `wants`, in their order: those that follow each other in a
// chunk are one stretch, cut into aligned reads. Sets the wants' parts.
std::vector<PackedRead> PlanPackedReads(
    std::vector<std::shared_ptr<PackedWant>> wants,
    const PackedReadLimits& limits);

// The same for each part of a read by itself: one that cannot be read takes
// no other with it. REQUIRES: more than one part.
std::vector<PackedRead> SplitPackedRead(PackedRead read);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_STAGING_PACK_PACKED_READS_H_
