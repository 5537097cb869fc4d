// SPDX-License-Identifier: Apache-2.0
// RecordEpoch is the containers of a view as one epoch shows them, and answers
// reads of them. Its answers are a pure function of the source, the policy, the
// seed and the epoch, as long as it exists.
#ifndef SHUFFLEFS_CORE_RECORDS_EPOCH_RECORD_EPOCH_H_
#define SHUFFLEFS_CORE_RECORDS_EPOCH_RECORD_EPOCH_H_

#include <cstdint>
#include <functional>
#include <memory>

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
#include "core/records/content/record_pool.h"
#include "core/records/epoch/record_staging.h"

namespace shufflefs {

// Thread-safe. Nothing waits for a device. A read of a file that is not indexed
// yet is answered once it is.
class RecordEpoch : public ContentProvider,
                    public std::enable_shared_from_this<RecordEpoch> {
 public:
  struct Parts {
    std::shared_ptr<ContainerSet> containers;
    std::shared_ptr<RecordPool> pool;
    // Is told which mini-epochs are read. May be null.
    std::shared_ptr<RecordStaging> staging;
    std::shared_ptr<const Policy> policy;
    Seed seed;
    Epoch epoch;
    bool live = false;  // names of the view lead here while the epoch lasts
    // Called, on any thread, when a container was delivered completely. It does
    // not block. May be null.
    std::function<void(EntryId)> read_whole;
    // Not kNothing: containers are as in the source, because a pass over them
    // began there. kUnknown: nobody can tell when it ends.
    ReadBefore read_before = ReadBefore::kNothing;
  };
  explicit RecordEpoch(Parts parts);
  // Makes the pool forget what was read since Rest. So the caller must not hold
  // the pool's lock. The last owner of an epoch may be a request of the pool,
  // and requests are destroyed without the lock.
  ~RecordEpoch() override;

  // Returns whether it is a container, or the index of one.
  bool Has(EntryId file) const {
    return parts_.containers->Has(file) ||
           parts_.containers->IndexedBy(file).has_value();
  }
  Epoch epoch() const { return parts_.epoch; }
  Seed seed() const { return parts_.seed; }
  const Policy& policy() const { return *parts_.policy; }
  bool live() const { return parts_.live; }
  ReadBefore read_before() const { return parts_.read_before; }
  // As in PassTracker: OPEN of a container by a thread, and LOOKUP of one.
  // After a reader has read an index, no pass ends, because readers that use
  // positions open the containers again and again.
  PassTracker::OpenIs Open(EntryId file, uint32_t reader);
  bool BeginsByLookup(EntryId file);
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
  // Releases the tables of its orders. Readers that continue have them made
  // again.
  void Rest();

  bool CanServe(EntryId file) override { return Has(file); }
  // False while a read may take seconds to find its position.
  bool IsResident(EntryId file) const override;
  bool kernel_should_cache() const override { return false; }
  void Read(EntryId file, uint64_t offset, uint64_t length,
            ReadDone done) override;
  void Close(EntryId file) override;
  SupplyStatus status() const override { return parts_.pool->status(); }

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
  // Returns whether the shown size differs between epochs.
  bool SizeFollowsOrder(const ContainerShape& shape) const;

  bool shows_source() const {
    return parts_.read_before != ReadBefore::kNothing;
  }

  // Constant after construction.
  const Parts parts_;
  const bool repeats_;  // the policy shows mini-epochs in this epoch

  mutable Mutex mu_;
  PassTracker tracker_ ABSL_GUARDED_BY(mu_);
  absl::flat_hash_map<EntryId, std::shared_ptr<const RecordFile>> files_
      ABSL_GUARDED_BY(mu_);
  absl::flat_hash_map<const ContainerFamily*,
                      std::shared_ptr<const FamilyOrder>>
      orders_ ABSL_GUARDED_BY(mu_);
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_RECORDS_EPOCH_RECORD_EPOCH_H_
