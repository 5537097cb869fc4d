// SPDX-License-Identifier: Apache-2.0
// Reads samples of orders that are known in advance ahead of whoever reads
// along one: by ranks, by the names, or as directories list them. Who reads at
// random is left to the source.
#ifndef SHUFFLEFS_CORE_POOL_READ_AHEAD_H_
#define SHUFFLEFS_CORE_POOL_READ_AHEAD_H_

#include <cstdint>
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
#include "core/pool/cursors.h"
#include "core/pool/held_files.h"
#include "core/pool/sample_memory.h"
#include "core/pool/sample_source.h"

namespace shufflefs {

// Thread-safe. Nothing waits for a device. May go while reads are under way,
// on any thread.
class ReadAhead : public SampleMemory,
                  public std::enable_shared_from_this<ReadAhead> {
 public:
  static constexpr uint64_t kLeastMemory = HeldFiles::kLeastMemory;

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
    uint64_t id = 0;                   // of the owner of what is fetched for it
    const Binding* binding = nullptr;  // null: the live epoch's
    bool ranks = false;
    std::unique_ptr<const Sequence> sequence;  // keeps the binding
    Cursors cursors;
  };
  using Pieces = HeldFiles::Pieces;

  ReadAhead(Parts parts, std::shared_ptr<HeldFiles> files);

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
  bool Awaited(const HeldFiles::Owner& owner)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  uint64_t MostAhead() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  void Fill();

  // Constant after construction.
  const std::shared_ptr<const Dataset> dataset_;
  const std::vector<uint64_t> addresses_;
  const std::string how_;
  const uint64_t mean_bytes_;  // of a sample
  // Self-synchronised. Asked with mu_ held; never the other way round.
  const std::shared_ptr<HeldFiles> files_;

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
