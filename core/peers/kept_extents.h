// SPDX-License-Identifier: Apache-2.0
// KeptExtents is the part of the cluster's memory that this daemon lends to all
// members: the parts of files that it owns. What is there stays, unless this
// daemon's own views need the memory.
#ifndef SHUFFLEFS_CORE_PEERS_KEPT_EXTENTS_H_
#define SHUFFLEFS_CORE_PEERS_KEPT_EXTENTS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "core/base/mutex.h"
#include "core/catalogue/catalogue.h"
#include "core/io/file_reader.h"
#include "core/peers/owners.h"
#include "core/peers/peer_transport.h"
#include "core/pool/memory/buffer_pool.h"

namespace shufflefs {

// Thread-safe. Nothing blocks.
class KeptExtents : public std::enable_shared_from_this<KeptExtents> {
 public:
  static std::shared_ptr<KeptExtents> Make(
      std::shared_ptr<const Catalogue> catalogue,
      std::shared_ptr<PoolShare> share);

  // Called exactly once with the bytes of the whole extent, or with the error
  // of the read. A thread of the reader calls it; it must not block.
  using Ready = std::function<void(absl::StatusOr<PeerBytes>)>;
  struct Claim {
    enum class What {
      kKept,    // `bytes` are the whole extent; `ready` is not called
      kComing,  // another's read brings it: `ready` will be called
      kRead,    // submit `read`; then `ready` will be called
      kFull,    // no memory: it is not kept, and `ready` is not called
    };
    What what = What::kFull;
    PeerBytes bytes;
    FileRead read;
  };
  // REQUIRES: the extent exists: its first byte is within the file.
  Claim Take(ExtentId id, Ready ready);

  uint64_t bytes() const;  // of memory, kept or coming

 private:
  // Memory of one extent.
  struct Kept {
    std::unique_ptr<MemoryBlock> memory;
    uint64_t length = 0;  // bytes of the file
  };
  struct Place {
    std::shared_ptr<const Kept> kept;  // null: it is coming
    std::vector<Ready> waiting;        // while it is coming
  };

  KeptExtents(std::shared_ptr<const Catalogue> catalogue,
              std::shared_ptr<PoolShare> share);
  FileRead ReadOf(ExtentId id, std::shared_ptr<Kept> into);
  void Came(ExtentId id, const std::shared_ptr<const Kept>& kept,
            const absl::Status& status);
  void GiveBack(uint64_t bytes);
  static PeerBytes BytesOf(const std::shared_ptr<const Kept>& kept);

  // Constant after construction.
  const std::shared_ptr<const Catalogue> catalogue_;

  // Self-synchronised.
  const std::shared_ptr<PoolShare> share_;

  Mutex mu_;
  absl::flat_hash_map<ExtentId, Place> places_ ABSL_GUARDED_BY(mu_);
  std::vector<ExtentId> order_ ABSL_GUARDED_BY(mu_);  // as they came
};

// Copies the `length` bytes from `offset` of `from` into the beginning of
// `into`. REQUIRES: both have them.
void CopyPieces(const std::vector<iovec>& from, uint64_t offset,
                uint64_t length, const std::vector<iovec>& into);

// The pieces of the bytes [offset, offset + length) of `pieces`.
std::vector<iovec> SlicePieces(const std::vector<iovec>& pieces,
                               uint64_t offset, uint64_t length);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_PEERS_KEPT_EXTENTS_H_
