// SPDX-License-Identifier: Apache-2.0
// KeptExtents is the part of the cluster's memory that this daemon lends to all
// members: the parts of files that it owns. What is there stays, unless this
// daemon's own views need the memory.
//
// The same memory holds files that members sent before they were asked for
// (TakeSent). These stay until they are read once.
#ifndef SHUFFLEFS_CORE_PEERS_KEPT_EXTENTS_H_
#define SHUFFLEFS_CORE_PEERS_KEPT_EXTENTS_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/types/optional.h"
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
  // The owners as they are now. Called with no lock held; must not block.
  using GetOwners = std::function<std::shared_ptr<const Owners>()>;
  static std::shared_ptr<KeptExtents> Make(
      std::shared_ptr<const Catalogue> catalogue,
      std::shared_ptr<PoolShare> share, GetOwners owners);

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
  // If there is no memory, extents that other members own by now make room.
  // REQUIRES: the extent exists: its first byte is within the file.
  Claim Take(ExtentId id, Ready ready);

  // A copy in the same memory, or NotFound if there is no room for it.
  absl::StatusOr<PeerBytes> CopyOf(const std::vector<iovec>& pieces,
                                   uint64_t length) const;
  // What is kept of the file goes: it is of an earlier state of it.
  void Drop(EntryId file);

  uint64_t bytes() const;  // of memory, kept, coming or sent

  // The binding of an epoch of a view, for which members send files.
  struct SentFor {
    std::string view;
    uint64_t binding = 0;
  };
  // From now on only files for `next` are taken. Those of the view's earlier
  // epochs go, whether they were read or not.
  void BeginSent(SentFor next);
  // Returns how many bytes of files an answer may bring, at most `most`. They
  // are reserved until the same number is given to EndSent. Together with what
  // is there they are at most what the share is guaranteed.
  uint64_t ReserveSent(uint64_t most);
  void EndSent(uint64_t reserved);
  // Copies the whole file, which begins at `offset` of `bytes`, and keeps it
  // until it was read. Nothing happens if there is no memory, or if the epoch
  // is over. REQUIRES: the file is at most as long as an extent; the bytes are
  // there.
  void TakeSent(const SentFor& epoch, EntryId file, const PeerBytes& bytes,
                uint64_t offset);
  // The whole file, of which the caller gives `length` bytes to a reader. When
  // all were given, it goes. Empty if it was not sent.
  absl::optional<PeerBytes> GiveSent(EntryId file, uint64_t length);

 private:
  using Clock = std::chrono::steady_clock;
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
              std::shared_ptr<PoolShare> share, GetOwners owners);
  // Empty if there is no memory for it.
  absl::optional<Claim> TryTake(ExtentId id, Ready& ready)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Finds what members keep instead of this daemon, once per group.
  void FindOthers(const std::shared_ptr<const Owners>& owners)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Drops the last extent of `order`.
  std::shared_ptr<const Kept> DropLast(std::vector<ExtentId>& order)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  FileRead ReadOf(ExtentId id, std::shared_ptr<Kept> into);
  void Came(ExtentId id, const std::shared_ptr<const Kept>& kept,
            const absl::Status& status);
  // A file that was sent.
  struct Sent {
    std::shared_ptr<const Kept> kept;
    std::string view;
    uint64_t given = 0;  // bytes
    Clock::time_point since;
    uint64_t number = 0;  // counts all that came
  };
  void GiveBack(uint64_t bytes);
  uint64_t RoomForSent() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Drops files that nobody has read for long.
  void DropOldSent() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void DropSent(EntryId file) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  static PeerBytes BytesOf(const std::shared_ptr<const Kept>& kept);

  // Constant after construction.
  const std::shared_ptr<const Catalogue> catalogue_;
  const GetOwners owners_;

  // Self-synchronised.
  const std::shared_ptr<PoolShare> share_;

  mutable Mutex mu_;
  absl::flat_hash_map<ExtentId, Place> places_ ABSL_GUARDED_BY(mu_);
  std::vector<ExtentId> order_ ABSL_GUARDED_BY(mu_);  // as they came
  // Kept as well: other members owned them when this was looked up for `seen_`.
  std::vector<ExtentId> of_others_ ABSL_GUARDED_BY(mu_);
  std::shared_ptr<const Owners> seen_ ABSL_GUARDED_BY(mu_);
  absl::flat_hash_map<EntryId, Sent> sent_ ABSL_GUARDED_BY(mu_);
  std::map<uint64_t, EntryId> sent_order_ ABSL_GUARDED_BY(mu_);  // by number
  uint64_t last_sent_ ABSL_GUARDED_BY(mu_) = 0;

  // By view: for which binding files are taken.
  absl::flat_hash_map<std::string, uint64_t> bindings_ ABSL_GUARDED_BY(mu_);
  uint64_t sent_bytes_ ABSL_GUARDED_BY(mu_) = 0;  // of memory
  uint64_t reserved_ ABSL_GUARDED_BY(mu_) = 0;
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
