// SPDX-License-Identifier: Apache-2.0
// The supply of one reactive view: memory that is filled with whole samples
// in batches, in the order that a binder says, and from which readers are
// answered. A sample leaves when it was read, unless the next epoch begins
// with it; nothing is evicted before.
//
// A reader of a sample that is in memory is answered at once; of one on its
// way, when it arrives, and no thread waits for it; of any other, by fetching
// its chunk where there is room, else by reading just what was asked for
// ("bypass"). So nobody ever waits for another reader.
#ifndef SHUFFLEFS_CORE_POOL_SUPPLY_H_
#define SHUFFLEFS_CORE_POOL_SUPPLY_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "core/base/metrics.h"
#include "core/base/mutex.h"
#include "core/base/name_bits.h"
#include "core/base/types.h"
#include "core/binding/bound_names.h"
#include "core/dataset/dataset.h"
#include "core/policy/binder.h"
#include "core/policy/carried.h"
#include "core/pool/arena.h"
#include "core/pool/lone_reads.h"
#include "core/pool/sample_memory.h"
#include "core/pool/sample_source.h"
#include "core/staging/staging_plan.h"
#include "core/staging/tier_status.h"

namespace shufflefs {

// Thread-safe. Nothing waits for a device. May go while reads are under way,
// on any thread.
class Supply : public SampleMemory,
               public BoundNames,
               public StagingPlan,
               public std::enable_shared_from_this<Supply> {
 public:
  // A supply cannot do with less: a read and a few samples.
  static constexpr uint64_t kLeastMemory = 4 << 20;

  struct Parts {
    std::shared_ptr<const Dataset> dataset;
    std::unique_ptr<const BinderInput> input;
    std::unique_ptr<Binder> binder;  // made from *input
    std::unique_ptr<SampleSource> source;
    uint64_t memory_bytes = 0;    // >= kLeastMemory; a hard bound
    std::string how;              // of the chunks, for `status`
    StallClock* stall = nullptr;  // outlives the supply; may be null
    // Of a binder with mini-epochs: called, with no lock held, after it began
    // to want other sets. By SampleId where samples lie on a device that
    // seeks, else empty. What the tier does, for `status`. May be empty.
    std::function<void()> wishes_changed;
    std::vector<uint64_t> addresses;
    std::function<TierStatus()> tier;
  };
  // What of `memory_bytes` holds samples: the rest is for bypasses.
  static uint64_t PoolBytes(uint64_t memory_bytes);
  static absl::StatusOr<std::shared_ptr<Supply>> Make(Parts parts);

  // As Binder's. What was bound and not read leaves before.
  void BeginEpoch(Seed seed, Epoch epoch, absl::Span<const CarriedPair> bound);
  SampleId Bind(SampleId name) override;
  absl::optional<SampleId> Bound(SampleId name) const override;
  absl::optional<SampleId> NameOf(SampleId sample) const override;

  // Whether the binder has mini-epochs; what follows is then of these.
  bool repeats() const override { return repeats_; }
  // As MiniEpochs'.
  uint32_t OrdinalOf(SampleId name) const override;
  absl::optional<SampleId> NameAt(SampleId sample,
                                  uint32_t ordinal) const override;
  void Opened(SampleId name) override;
  std::string Served() const override;
  std::string ServedNow() const;
  absl::Status TakeServed(absl::string_view served);
  void Feedback(double loss);
  std::vector<uint32_t> learnt() const;
  absl::optional<MiniEpochStatus> mini_epoch() const;
  TierStatus tier() const;

  std::vector<uint64_t> WantedSets() const override;
  std::vector<StagedRange> RangesOf(uint64_t set) const override;
  void SetReady(uint64_t set) override;

  bool Answers(EntryId) override { return true; }
  bool Holds(EntryId) const override { return true; }
  bool comes_again() const override { return false; }
  void Read(EntryId file, uint64_t offset, uint64_t length,
            ReadDone done) override;
  // The file leaves, read or not. Who reads on through another descriptor gets
  // his bytes past the pool.
  void Close(EntryId file) override;
  SupplyStatus status() const override;

 private:
  // A file in memory or on its way.
  struct Held {
    std::shared_ptr<MemoryBlock> memory;
    uint64_t length = 0;
    uint64_t delivered = 0;  // bytes
    bool here = false;
    bool counted = true;  // the binder takes it for on its way or in memory
    bool closed = false;  // nobody wants it any more: leaves when it arrives
    std::vector<ReadWaiter> waiters;
  };
  using Pieces = std::vector<FilePiece>;

  Supply(Parts parts, std::unique_ptr<Arena> pool,
         std::shared_ptr<SampleSource> source,
         std::shared_ptr<LoneReads> bypasses);

  uint64_t Room() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Puts the files of samples on their way: appends what is to be fetched.
  void Start(const std::vector<SampleId>& samples, Pieces& pieces)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // What is to be fetched next, while there is room.
  void Plan(Pieces& pieces) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Tries to put on its way what a reader wants that is not held.
  void Want(EntryId file, Pieces& pieces) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // False without memory for it.
  bool StartFile(EntryId file, bool counted, Pieces& pieces)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool KeptForNext(EntryId file, const Held& held) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Whether it is in memory for this epoch and no name shows it yet.
  bool Foreign(EntryId file, const Held& held) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Its reader is done with it. True if its sample stays for the next epoch.
  bool Keep(EntryId file, const Held& held) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Drop(EntryId file) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void LeaveSample(SampleId sample) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Its reader is done with `file`.
  void Finish(EntryId file) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void DropLingering() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void DropUnread(absl::Span<const CarriedPair> bound)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Whether all files of the sample of `file` are here.
  bool SampleIsHere(SampleId sample) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  uint32_t Columns(SampleId sample) const;
  EntryId Member(SampleId sample, uint32_t column) const;

  // Tells of other wishes than those that were told of. Without a lock.
  void TellWishes() ABSL_LOCKS_EXCLUDED(mu_);
  void Refill();
  void Send(Pieces pieces, EntryId wanted);
  void Arrived(EntryId file, const std::shared_ptr<Held>& held,
               const absl::Status& status);
  void Deliver(EntryId file, const std::shared_ptr<Held>& held,
               const ReadWaiter& waiter);
  void Wait() const;  // a reader begins to wait for the source
  void Waited() const;

  // Constant after construction.
  const std::shared_ptr<const Dataset> dataset_;
  const std::unique_ptr<const BinderInput> input_;
  const std::string how_;
  const uint64_t memory_bytes_;
  StallClock* const stall_;
  const bool repeats_;
  const std::function<void()> wishes_changed_;
  const std::vector<uint64_t> addresses_;
  const std::function<TierStatus()> tier_;
  // Self-synchronised.
  const std::shared_ptr<SampleSource> source_;
  const std::unique_ptr<Arena> pool_;
  const std::shared_ptr<LoneReads> bypasses_;

  mutable Mutex mu_;
  const std::unique_ptr<Binder> binder_ ABSL_PT_GUARDED_BY(mu_);
  absl::flat_hash_map<EntryId, std::shared_ptr<Held>> held_
      ABSL_GUARDED_BY(mu_);
  // Bytes that were planned and have not arrived.
  uint64_t on_way_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t epochs_ ABSL_GUARDED_BY(mu_) = 0;   // begun
  bool wanted_ ABSL_GUARDED_BY(mu_) = false;   // somebody reads
  bool stopped_ ABSL_GUARDED_BY(mu_) = false;  // the source reads no more
  // Samples of which something was read, or was to be, in this epoch.
  NameBits served_ ABSL_GUARDED_BY(mu_);
  uint64_t bypassed_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t told_wishes_ ABSL_GUARDED_BY(mu_) = 0;
  // The other files of samples of which one was read, oldest first: they may
  // never be asked for, and go when memory is needed.
  std::deque<EntryId> lingering_ ABSL_GUARDED_BY(mu_);
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_POOL_SUPPLY_H_
