// SPDX-License-Identifier: Apache-2.0
// Reads samples of orders that are known in advance ahead of whoever reads
// along one: by ranks, by the names, or as directories list them. Who reads at
// random is left to the source.
#ifndef SHUFFLEFS_CORE_SUPPLY_READ_AHEAD_H_
#define SHUFFLEFS_CORE_SUPPLY_READ_AHEAD_H_

#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "core/dataset.h"
#include "core/metrics.h"
#include "core/mutex.h"
#include "core/supply/arena.h"
#include "core/supply/cursors.h"
#include "core/supply/lone_reads.h"
#include "core/supply/sample_memory.h"
#include "core/supply/sample_source.h"
#include "core/supply/sequence.h"
#include "core/types.h"

namespace shufflefs {

// Thread-safe. Nothing waits for a device. May go while reads are under way,
// on any thread.
class ReadAhead : public SampleMemory,
                  public std::enable_shared_from_this<ReadAhead> {
 public:
  static constexpr uint64_t kLeastMemory = 8 << 20;

  struct Parts {
    std::shared_ptr<const Dataset> dataset;
    std::unique_ptr<SampleSource> source;
    uint64_t memory_bytes = 0;  // >= kLeastMemory; a hard bound
    // By SampleId: where it lies on a device that seeks, so that each batch is
    // read in that order. Empty: the order of reads does not matter.
    std::vector<uint64_t> addresses;
    std::string how;              // for `status`
    StallClock* stall = nullptr;  // outlives this; may be null
  };
  static absl::StatusOr<std::shared_ptr<ReadAhead>> Make(Parts parts);

  using Sequences = std::vector<std::unique_ptr<Sequence>>;
  // The orders of the live epoch, in the place of those of the one before.
  void FollowLive(Sequences sequences);
  // The orders of an epoch by path, or its ranks. Those that were named last
  // are followed.
  void FollowFixed(const std::shared_ptr<const Binding>& binding, bool ranks);

  bool Answers(EntryId file) override;
  bool Holds(EntryId file) const override;
  bool comes_again() const override { return true; }
  void Read(EntryId file, uint64_t offset, uint64_t length,
            ReadDone done) override;
  void Close(EntryId file) override;
  SupplyStatus status() const override;

 private:
  // A sequence and who reads along it.
  struct Followed {
    uint64_t id = 0;
    const Binding* binding = nullptr;  // null: the live epoch's
    bool ranks = false;
    std::unique_ptr<const Sequence> sequence;  // keeps the binding
    Cursors cursors;
  };
  // A file in memory or on its way, fetched for a cursor of a sequence.
  struct Held {
    std::shared_ptr<MemoryBlock> memory;
    uint64_t length = 0;
    uint64_t delivered = 0;  // bytes
    bool here = false;
    uint64_t owner = 0;  // id of a Followed, which may be gone
    uint64_t position = 0;
    std::vector<ReadWaiter> waiters;
  };
  using Pieces = std::vector<FilePiece>;

  ReadAhead(Parts parts, std::shared_ptr<SampleSource> source,
            std::unique_ptr<Arena> pool, std::shared_ptr<LoneReads> others);

  void Add(const Binding* binding, bool ranks,
           std::unique_ptr<const Sequence> sequence)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Note(SampleId sample) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Plan(Pieces& pieces) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Appends what of a range fits, in device order; false if nothing does.
  bool Start(Followed& followed, const Cursors::Range& range, Pieces& pieces)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // False without memory for it.
  bool StartSample(const Followed& followed, uint64_t position, Pieces& pieces)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Drops what nobody will come for any more.
  void Reclaim() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool Awaited(const Held& held) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  uint64_t MostAhead() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  void Fill();
  void Arrived(EntryId file, const std::shared_ptr<Held>& held,
               const absl::Status& status);
  void Deliver(EntryId file, const std::shared_ptr<Held>& held,
               const ReadWaiter& waiter);

  // Constant after construction.
  const std::shared_ptr<const Dataset> dataset_;
  const std::vector<uint64_t> addresses_;
  const std::string how_;
  const uint64_t memory_bytes_;
  const uint64_t mean_bytes_;  // of a sample
  StallClock* const stall_;
  // Self-synchronised.
  const std::shared_ptr<SampleSource> source_;
  const std::unique_ptr<Arena> pool_;
  const std::shared_ptr<LoneReads> others_;

  mutable Mutex mu_;
  std::list<Followed> followed_ ABSL_GUARDED_BY(mu_);  // last read first
  absl::flat_hash_map<EntryId, std::shared_ptr<Held>> held_
      ABSL_GUARDED_BY(mu_);
  absl::optional<SampleId> last_noted_ ABSL_GUARDED_BY(mu_);
  uint64_t last_id_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t noted_ ABSL_GUARDED_BY(mu_) = 0;         // samples
  uint64_t reclaimed_at_ ABSL_GUARDED_BY(mu_) = 0;  // noted_ then
  uint64_t hits_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t misses_ ABSL_GUARDED_BY(mu_) = 0;
  bool stopped_ ABSL_GUARDED_BY(mu_) = false;  // the source reads no more
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_SUPPLY_READ_AHEAD_H_
