// SPDX-License-Identifier: Apache-2.0
// RecordEpoch is the containers of a view as one epoch shows them, and answers
// reads of them. Its answers are a pure function of the source, the policy, the
// seed and the epoch, as long as it exists.
#ifndef SHUFFLEFS_CORE_RECORDS_EPOCH_RECORD_EPOCH_H_
#define SHUFFLEFS_CORE_RECORDS_EPOCH_RECORD_EPOCH_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "core/base/mutex.h"
#include "core/base/types.h"
#include "core/policy/policy.h"
#include "core/policy/read_before.h"
#include "core/pool/content_provider.h"
#include "core/records/containers/container_set.h"
#include "core/records/content/pass_tracker.h"
#include "core/records/content/position_watch.h"
#include "core/records/content/record_producer.h"
#include "core/records/epoch/record_staging.h"

namespace shufflefs {

// What an epoch tells of its containers, on any thread. No call blocks. Each
// may be null.
struct RecordNotes {
  std::function<void(EntryId)> read_whole;  // it was delivered completely
  // A job goes on that had read these to the end, and no others.
  std::function<void(absl::Span<const EntryId>)> goes_on_from;
  // Called with all that is known whenever there is more.
  std::function<void(uint32_t)> by_hand;  // ContainerSet::by_hand
};

// Thread-safe. Nothing waits for a device. A read of a file that is not indexed
// yet is answered once it is.
class RecordEpoch : public ContentProvider,
                    public std::enable_shared_from_this<RecordEpoch> {
 public:
  struct Parts {
    std::shared_ptr<ContainerSet> containers;
    std::shared_ptr<RecordProducer> producer;
    // Is told which mini-epochs are read. May be null.
    std::shared_ptr<RecordStaging> staging;
    std::shared_ptr<const Policy> policy;
    Seed seed;
    Epoch epoch;
    bool live = false;  // names of the view lead here while the epoch lasts
    RecordNotes notes;
    // Not kNothing: containers are as in the source, because a pass over them
    // began there. kUnknown: nobody can tell when it ends.
    ReadBefore read_before = ReadBefore::kNothing;
  };
  explicit RecordEpoch(Parts parts);
  // Makes the pool forget what was read since ReleaseOrders. So the caller must
  // not hold the pool's lock. The last owner of an epoch may be a request of
  // the pool, and requests are destroyed without the lock.
  ~RecordEpoch() override;

  // Returns whether it is a container, or the index of one.
  bool Has(EntryId file) const { return parts_.containers->Covers(file); }
  Epoch epoch() const { return parts_.epoch; }
  Seed seed() const { return parts_.seed; }
  const Policy& policy() const { return *parts_.policy; }
  bool live() const { return parts_.live; }
  ReadBefore read_before() const { return parts_.read_before; }
  // Tells RecordNotes::by_hand if there is more than at the last time.
  void TellByHand();
  uint32_t by_hand() const { return parts_.containers->by_hand(); }
  // As in PassTracker: OPEN of a container, and LOOKUP of one. If passes end by
  // hand only, no open ends one: readers that use positions of an index, or
  // keep their own (PositionWatch), open the containers again and again.
  PassTracker::OpenIs Open(EntryId file, const PassReader& reader,
                           PassTracker::IsGone is_gone);
  bool BeginsByLookup(EntryId file);
  // The epoch begins because a pass over `before` has ended. If the first read
  // shows that its reader keeps positions, it gets the order of `before`.
  void Follow(std::shared_ptr<RecordEpoch> before);
  // Returns whether it should not have begun: who opened a container first
  // keeps positions, and nothing was read to its end yet.
  bool BegunByMistake() const;
  // Bytes of a container, or of its index, as this epoch shows it. For a
  // container of a family, whose shape must be known, sums up its order to
  // there.
  uint64_t bytes(EntryId file);
  // The same, and whether it is final. Empty if that needs a wait or takes more
  // than a few milliseconds.
  absl::optional<ContainerSet::Shown> KnownBytes(EntryId file);
  // Calls `done` with the size: at once, which may take seconds, or on the
  // indexing thread. Cancelled: indexing was stopped.
  using SizeDone = std::function<void(absl::StatusOr<uint64_t>)>;
  void WhenSized(EntryId file, SizeDone done);
  // In this pass, bytes [begin, end) of a container or of its index were read
  // from the source.
  void NotePassed(EntryId file, uint64_t begin, uint64_t end);
  // Number of containers that were delivered completely.
  uint64_t complete() const;
  // An earlier run of this epoch delivered these completely. Others than
  // containers are ignored.
  void Restore(absl::Span<const EntryId> files);
  // What a job that goes on from here need not read again to end the pass: the
  // containers that were delivered completely. Empty if all were: readers are
  // ahead of the job, and nobody knows how far.
  std::vector<EntryId> WholeFiles() const;
  // Returns whether the pass has ended but for the open that says so.
  bool WasReadToItsEnd() const;
  // A job goes on for which WholeFiles was `files`, perhaps on another machine.
  void GoOnFrom(absl::Span<const EntryId> files);
  // As in PassTracker.
  bool IsReadAgain(EntryId file) const;
  // Releases the tables of its orders. Readers that continue have them made
  // again.
  void ReleaseOrders();

  bool CanServe(EntryId file) override { return Has(file); }
  // False while a read may take seconds to find its position.
  bool IsResident(EntryId file) const override;
  bool kernel_should_cache() const override { return false; }
  void Read(EntryId file, uint64_t offset, uint64_t length,
            ReadDone done) override;
  void Close(EntryId file) override;
  ProducerStatus status() const override { return parts_.producer->status(); }

 private:
  // Wraps `done` to note what is delivered from `offset` on.
  void NoteDelivered(EntryId file, uint64_t begin, uint64_t end);
  ReadDone Noting(EntryId file, uint64_t offset, ReadDone done);
  // For a file whose shape is known.
  void ReadShown(EntryId file, uint64_t offset, uint64_t length, ReadDone done);
  // The file as this epoch shows it. REQUIRES: its shape is known.
  std::shared_ptr<const RecordFile> FileOf(EntryId file);
  std::shared_ptr<const PartedFile> ContentOf(EntryId file)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  RecordOrderOptions OptionsOf(EntryId file) const;
  // The container itself, or the container of this index.
  EntryId ContainerOf(EntryId file) const {
    return parts_.containers->IndexedBy(file).value_or(file);
  }
  bool CountsAsRead(EntryId file) const;
  // The process opens the file. Notes if it does so again and again.
  void NoteOpenOfPiece(EntryId file, uint32_t process);
  // A read is about to begin. Returns the epoch whose bytes it gets, null if it
  // is this one.
  std::shared_ptr<RecordEpoch> NoteWanted(EntryId file, uint64_t begin,
                                          uint64_t end);
  // It was the first of its open, in the middle of the file. Returns the same.
  std::shared_ptr<RecordEpoch> NoteJump(EntryId file);
  // Returns whether the shown size differs between epochs.
  bool SizeFollowsOrder(const ContainerShape& shape) const;

  bool shows_source() const {
    return parts_.read_before != ReadBefore::kNothing;
  }

  // Constant after construction.
  const Parts parts_;
  const bool repeats_;  // the policy shows mini-epochs in this epoch

  // Self-synchronised. Two threads may tell the same.
  std::atomic<uint32_t> noted_by_hand_;

  mutable Mutex mu_;
  PassTracker tracker_ ABSL_GUARDED_BY(mu_);
  PositionWatch watch_ ABSL_GUARDED_BY(mu_);
  // Until the first read, or as long as its order is shown.
  std::shared_ptr<RecordEpoch> before_ ABSL_GUARDED_BY(mu_);
  bool follows_ ABSL_GUARDED_BY(mu_) = false;       // it had a `before_`
  bool shows_before_ ABSL_GUARDED_BY(mu_) = false;  // the order of `before_`
  absl::flat_hash_map<EntryId, std::shared_ptr<const RecordFile>> files_
      ABSL_GUARDED_BY(mu_);
  absl::flat_hash_map<const ContainerFamily*,
                      std::shared_ptr<const FamilyOrder>>
      orders_ ABSL_GUARDED_BY(mu_);
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_RECORDS_EPOCH_RECORD_EPOCH_H_
