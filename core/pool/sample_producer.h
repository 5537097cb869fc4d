// SPDX-License-Identifier: Apache-2.0
// SampleProducer fetches the samples of one reactive view into memory: whole,
// in batches, and in the order that a binder says. It answers readers from
// memory. A sample leaves when it was read, unless the next epoch begins with
// it. Nothing is evicted before it was read.
//
// If a sample is in memory, its reader is answered at once. If it is on its
// way, the read is answered when the sample arrives, and no thread waits for
// it. Otherwise its chunk is fetched if there is room. Without room only the
// bytes asked for are read ("bypass"). So no reader ever waits for another
// reader.
#ifndef SHUFFLEFS_CORE_POOL_SAMPLE_PRODUCER_H_
#define SHUFFLEFS_CORE_POOL_SAMPLE_PRODUCER_H_

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "core/base/bitmap.h"
#include "core/base/metrics.h"
#include "core/base/mutex.h"
#include "core/base/types.h"
#include "core/binding/nodes/shared_names.h"
#include "core/dataset/dataset.h"
#include "core/policy/binder.h"
#include "core/policy/retained_bindings.h"
#include "core/pool/bypass_reads.h"
#include "core/pool/content_provider.h"
#include "core/pool/file_extent.h"
#include "core/pool/memory/buffer_pool.h"
#include "core/pool/memory/extents.h"
#include "core/pool/pool_memory.h"
#include "core/pool/sample_source.h"
#include "core/pool/staged_sets.h"

namespace shufflefs {

// Thread-safe. No call waits for a device. May be destroyed on any thread, also
// while reads are under way.
class SampleProducer : public ContentProvider,
                       public OwnedNames,
                       public std::enable_shared_from_this<SampleProducer> {
 public:
  // The least memory that a producer needs: room for a few samples.
  static constexpr uint64_t kLeastMemory = 2 << 20;
  // A reader has asked for the last bytes of a file by then, or goes on past
  // the pool.
  static constexpr std::chrono::milliseconds kOpenLong{1000};

  struct Parts {
    std::shared_ptr<const Dataset> dataset;
    std::unique_ptr<const BinderInput> input;
    std::unique_ptr<Binder> binder;  // made from *input
    std::unique_ptr<SampleSource> source;
    // It guarantees at least kLeastMemory.
    PoolMemory memory;
    // Describes the chunks, for `status`.
    std::string how;
    // The binder's chunks are in the order of their places on a device that
    // seeks. So those that wait are best read in this order.
    bool device_order = false;
    StallClock* stall = nullptr;  // outlives the producer; may be null
    StagedSets::Parts sets;       // for a binder with mini-epochs
  };
  static absl::StatusOr<std::shared_ptr<SampleProducer>> Make(Parts parts);

  // These work as Binder's. BeginEpoch first drops what was bound and not read.
  void BeginEpoch(Seed seed, Epoch epoch,
                  absl::Span<const NameBinding> bound) override;
  SampleId Bind(SampleId name) override;
  bool IsReady(SampleId name) const override {
    MutexLock lock(mu_);
    return binder_->IsReady(name);
  }
  absl::optional<SampleId> Bound(SampleId name) const override {
    MutexLock lock(mu_);
    return binder_->Bound(name);
  }
  absl::optional<SampleId> NameOf(SampleId sample) const override {
    MutexLock lock(mu_);
    return binder_->NameOf(sample);
  }

  const NodeShares::Chunks& chunks() const override { return input_->chunks; }
  bool Holds(SampleId sample) const override {
    return input_->bytes[sample.value()] <= input_->memory_bytes;
  }
  // REQUIRES: the binder has ForShare.
  void TakeShare(const std::vector<uint32_t>& chunks) override;

  // What the binder says of mini-epochs, if it has some (repeats()). Lives as
  // long as the producer.
  StagedSets& sets() { return sets_; }
  const StagedSets& sets() const { return sets_; }
  bool repeats() const override { return sets_.exist(); }
  uint32_t OrdinalOf(SampleId name) const override {
    return sets_.OrdinalOf(name);
  }
  absl::optional<SampleId> NameAt(SampleId sample,
                                  uint32_t ordinal) const override {
    return sets_.NameAt(sample, ordinal);
  }
  void Opened(SampleId name) override { sets_.Opened(name); }
  std::string Served() const override { return sets_.Served(); }

  bool CanServe(EntryId) override { return true; }
  bool IsResident(EntryId) const override { return true; }
  bool kernel_should_cache() const override { return false; }
  void Read(EntryId file, uint64_t offset, uint64_t length,
            ReadDone done) override {
    Read(file, {offset, length, std::move(done)});
  }
  // Bytes in memory that `owner` keeps.
  struct HeldBytes {
    std::vector<iovec> pieces;
    std::shared_ptr<const void> owner;
  };
  // The same for another node. It does not say when it closes the file. So a
  // file is closed when many others were read after it. Bytes without an owner
  // are gone when `done` returns: the memory is not the pool's.
  void ReadForOthers(EntryId file, uint64_t offset, uint64_t length,
                     std::function<void(absl::StatusOr<HeldBytes>)> done);
  // All files of a sample, if it is in memory, if a name shows it, and if they
  // have 1 to `most` bytes. Another node reads them all now.
  absl::optional<HeldBytes> TakeForOthers(SampleId sample, uint64_t most);
  // Drops the file, whether it was read or not. A reader that reads on through
  // another descriptor gets its bytes past the pool.
  void Close(EntryId file) override;
  ProducerStatus status() const override;

  // A reader has opened the file, which may be of no sample. Nobody will say
  // when it closes it: the kernel reports opens only. After kOpenLong the file
  // counts as closed. If the kernel has its pages, the reader never asks for
  // bytes.
  void NoteReportedOpen(EntryId file);

 private:
  struct Held : FileExtent {
    bool counted = true;  // the binder counts it as on its way or here
    bool closed = false;  // no reader wants it; leaves when it arrives
  };
  struct ReportedFile {
    EntryId file;
    std::chrono::steady_clock::time_point since;
  };
  using Pieces = std::vector<FilePiece>;

  SampleProducer(Parts parts, std::unique_ptr<PoolShare> pool);
  void Read(EntryId file, ReadWaiter waiter);

  // Frees about `bytes` bytes of samples for other users of the pool.
  void GiveBack(uint64_t bytes);
  // Puts the files of samples on their way. Appends the pieces to fetch.
  void Start(const std::vector<SampleId>& samples, Pieces& pieces)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Appends what to fetch next, while there is room.
  void Plan(Pieces& pieces) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // A reader wants a file that is not held. Tries to put it on its way.
  void Want(EntryId file, Pieces& pieces) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Returns false if there is no memory for the file.
  bool StartFile(EntryId file, bool counted, Pieces& pieces)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool KeptForNext(EntryId file, const Held& held) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Returns whether it is in memory for this epoch and no name shows it yet.
  bool Foreign(EntryId file, const Held& held) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Its reader is done with it. Returns true if its sample stays for the next
  // epoch.
  bool Keep(EntryId file, const Held& held) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Drop(EntryId file) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Drops a file that is here. One on its way cannot be called back: it leaves
  // when it arrives, unless a reader waits for it.
  void DropOrClose(EntryId file, Held& held) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Returns whether it had a file that the binder counted.
  bool LeaveSample(SampleId sample) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // The reader of `file` is done with it.
  void Finish(EntryId file) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // The reader of `file` closed it.
  void CloseHeld(EntryId file, Held& held) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // The same for what was opened long ago.
  void CloseReported() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void DropLingering() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // The epoch is over. Forgets what lingers, and drops what the binder does not
  // count.
  void DropUncounted() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Drops files that the binder does not count, until about `bytes` bytes are
  // free. Their readers go on past the pool. Returns the bytes.
  uint64_t FreeUncounted(uint64_t bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void DropUnread(absl::Span<const NameBinding> bound)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Returns whether all files of the sample are in memory.
  bool SampleIsHere(SampleId sample) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  uint32_t Columns(SampleId sample) const {
    return dataset_->grouping().columns(sample);
  }
  EntryId Member(SampleId sample, uint32_t column) const {
    return dataset_->grouping().member(sample, column);
  }

  void Refill();
  void Send(Pieces pieces, EntryId wanted);
  void Arrived(EntryId file, const std::shared_ptr<Held>& held,
               const absl::Status& status);
  void Deliver(EntryId file, const std::shared_ptr<Held>& held,
               const ReadWaiter& waiter);
  // So many bytes of the file went to a reader.
  void Delivered(EntryId file, const std::shared_ptr<Held>& held,
                 uint64_t length) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Wait() const {  // a reader begins to wait for the source
    if (stall_ != nullptr) stall_->Enter();
  }
  void Waited() const {
    if (stall_ != nullptr) stall_->Leave();
  }

  // Constant after construction.
  const std::shared_ptr<const Dataset> dataset_;
  const std::unique_ptr<const BinderInput> input_;
  const std::string how_;
  const bool device_order_;
  const uint64_t memory_bytes_;
  StallClock* const stall_;
  // Self-synchronised.
  const std::shared_ptr<SampleSource> source_;
  const std::unique_ptr<PoolShare> pool_;
  const std::shared_ptr<BypassReads> bypass_;

  mutable Mutex mu_;
  std::unique_ptr<const BinderInput> share_ ABSL_GUARDED_BY(mu_);
  std::unique_ptr<Binder> binder_ ABSL_GUARDED_BY(mu_) ABSL_PT_GUARDED_BY(mu_);
  ExtentTable<EntryId, Held> held_ ABSL_GUARDED_BY(mu_);
  // Bytes that were planned and have not arrived yet.
  uint64_t on_way_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t epochs_ ABSL_GUARDED_BY(mu_) = 0;   // begun
  bool wanted_ ABSL_GUARDED_BY(mu_) = false;   // a reader has read
  bool stopped_ ABSL_GUARDED_BY(mu_) = false;  // the source reads nothing more
  // Samples of which something was read, or was to be read, in this epoch.
  Bitmap served_ ABSL_GUARDED_BY(mu_);
  uint64_t bypassed_ ABSL_GUARDED_BY(mu_) = 0;
  // If one file of a sample was read, its other files are here, oldest first.
  // They may never be asked for, so they leave when memory is needed.
  std::deque<EntryId> lingering_ ABSL_GUARDED_BY(mu_);
  // Files that other nodes have read last, oldest first.
  std::deque<EntryId> read_by_others_ ABSL_GUARDED_BY(mu_);
  // Files whose opens were reported in this epoch, oldest first.
  std::deque<ReportedFile> opened_ ABSL_GUARDED_BY(mu_);
  StagedSets sets_;  // self-synchronised, by mu_
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_POOL_SAMPLE_PRODUCER_H_
