// SPDX-License-Identifier: Apache-2.0
// ReadAhead fetches samples ahead of readers that follow an order known in
// advance: the ranks, the names, or a directory listing. It leaves random reads
// to the source.
#ifndef SHUFFLEFS_CORE_POOL_READ_AHEAD_H_
#define SHUFFLEFS_CORE_POOL_READ_AHEAD_H_

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "core/base/metrics.h"
#include "core/base/mutex.h"
#include "core/base/types.h"
#include "core/binding/sequence.h"
#include "core/dataset/dataset.h"
#include "core/pool/content_provider.h"
#include "core/pool/cursors.h"
#include "core/pool/prefetched_files.h"
#include "core/pool/sample_source.h"

namespace shufflefs {

// Thread-safe. No call waits for a device. May be destroyed on any thread, also
// while reads are under way.
class ReadAhead : public ContentProvider,
                  public std::enable_shared_from_this<ReadAhead> {
 public:
  static constexpr uint64_t kLeastMemory = PrefetchedFiles::kLeastMemory;

  struct Parts {
    std::shared_ptr<const Dataset> dataset;
    std::unique_ptr<SampleSource> source;
    PoolMemory memory;  // guarantees at least kLeastMemory
    // By SampleId: the sample's place on a device that seeks. Each batch is
    // read in the order of these. If empty, the order of reads does not matter.
    std::vector<uint64_t> addresses;
    // Files that somebody else answers. They are never fetched or asked for,
    // and readers of the rest go past them. Empty: there are none. No call may
    // block.
    std::function<bool(EntryId)> leaves_out;
    std::string how;              // for `status`
    StallClock* stall = nullptr;  // outlives this; may be null
  };
  static absl::StatusOr<std::shared_ptr<ReadAhead>> Make(Parts parts);

  using Sequences = std::vector<std::unique_ptr<Sequence>>;
  // Follows the orders of the live epoch, and no longer those of the previous
  // one.
  void FollowLive(Sequences sequences);
  // Follows the orders of an epoch by path, or its ranks. If there are too
  // many, those named last are followed.
  void FollowFixed(const std::shared_ptr<const Binding>& binding, bool ranks);

  bool CanServe(EntryId file) override;
  bool IsResident(EntryId file) const override;
  bool kernel_should_cache() const override { return true; }
  void Read(EntryId file, uint64_t offset, uint64_t length,
            ReadDone done) override;
  void Close(EntryId file) override;
  ProducerStatus status() const override;

 private:
  // A sequence and the cursors of its readers.
  struct Followed {
    uint64_t id = 0;                   // owner of the files fetched for it
    const Binding* binding = nullptr;  // null: the live epoch's
    bool ranks = false;
    std::unique_ptr<const Sequence> sequence;  // keeps the binding alive
    Cursors cursors;
  };
  using Pieces = PrefetchedFiles::Pieces;

  ReadAhead(Parts parts, std::shared_ptr<PrefetchedFiles> files);

  void Add(const Binding* binding, bool ranks,
           std::unique_ptr<Sequence> sequence)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Note(SampleId sample) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Plan(Pieces& pieces) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Appends, in device order, the part of a range that fits. Returns false if
  // nothing fits.
  bool Start(Followed& followed, const Cursors::Range& range, Pieces& pieces)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  uint64_t MeanBytes() const;
  bool IsLeftOut(EntryId file) const {
    return leaves_out_ && leaves_out_(file);
  }
  // Returns false if there is no memory for the sample.
  bool StartSample(const Followed& followed, uint64_t position, Pieces& pieces)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Drops the files that no reader will ask for.
  void Reclaim() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool Awaited(const PrefetchedFiles::Owner& owner)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  uint64_t MostAhead() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  void Fill();

  // Constant after construction.
  const std::shared_ptr<const Dataset> dataset_;
  const std::vector<uint64_t> addresses_;
  const std::function<bool(EntryId)> leaves_out_;  // may be empty
  const std::string how_;
  // The samples all of whose files are left out.
  const std::shared_ptr<const std::vector<SampleId>> left_out_;
  const uint64_t mean_bytes_;  // of a sample that is read ahead
  // Self-synchronised. Called with mu_ held. Its lock is never held when mu_ is
  // taken.
  const std::shared_ptr<PrefetchedFiles> files_;

  mutable Mutex mu_;
  std::list<Followed> followed_ ABSL_GUARDED_BY(mu_);  // last read first
  absl::optional<SampleId> last_noted_ ABSL_GUARDED_BY(mu_);
  uint64_t last_id_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t noted_ ABSL_GUARDED_BY(mu_) = 0;         // samples
  uint64_t reclaimed_at_ ABSL_GUARDED_BY(mu_) = 0;  // noted_ then
  uint64_t hits_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t misses_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_POOL_READ_AHEAD_H_
