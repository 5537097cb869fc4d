// SPDX-License-Identifier: Apache-2.0
// TierMaker owns the performance tiers of a mount, one per view whose policy
// copies samples. It decides how much space each may take, finds what an
// earlier run left there, and loads what the job has taught it.
#ifndef SHUFFLEFS_CORE_ENGINE_TIER_MAKER_H_
#define SHUFFLEFS_CORE_ENGINE_TIER_MAKER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/base/files/reach.h"
#include "core/base/mutex.h"
#include "core/base/worker.h"
#include "core/config/config.h"
#include "core/dataset/dataset.h"
#include "core/engine/saved_factors.h"
#include "core/io/file_reader.h"
#include "core/policy/policy_entry.h"
#include "core/pool/memory/buffer_pool.h"
#include "core/pool/sample_producer.h"
#include "core/staging/stager/tier.h"

namespace shufflefs {

// Thread-safe. A tier is made when the first producer of its view needs it.
// Each later producer of the view takes it over. A thread closes it when
// nothing uses it any more, so that others may have its directory and its
// memory.
class TierMaker {
 public:
  struct Parts {
    const MountConfig* config = nullptr;  // outlives this
    // As in TierShare.
    const std::vector<ViewConfig>* given = nullptr;
    SavedFactors* saved_factors = nullptr;  // outlives this; may be null
    std::shared_ptr<BufferPool> pool;       // gives memory for copies
    PolicyTable policies;
    // As in Tier::Options.
    std::function<uint64_t()> foreground_reads;
    PathReach reach;
  };
  // Who has which part of tier.capacity. It must be the same after a kill,
  // whatever the control file has changed, because orders follow from it. So
  // the views that copy by the command line share it. If there are none, each
  // view of the mount has the same part.
  struct TierShare {
    const MountConfig* mount = nullptr;
    // The views as the command line has them. Null: as in `mount`.
    const std::vector<ViewConfig>* given = nullptr;
    PolicyTable policies;

    // Returns the views that have a part. What they left in the tier is free
    // for them.
    std::vector<const ViewConfig*> Views() const;
    // Returns in how many parts the tier is cut, of which the view has one. 0:
    // others have all.
    uint64_t PartsFor(const ViewConfig& view) const;
  };
  // Returns the bytes of tier.capacity that a view has. Returns 0 if the key is
  // not set, or if others have all.
  static uint64_t CapacityOf(const TierShare& share, const ViewConfig& view);

  struct SourceReader {
    FileReader* reader = nullptr;  // outlives the tiers
    bool seeks = false;            // whether its device seeks
    bool many_pieces = false;      // reads many pieces of each file
  };

  // A view, and the reader for its copies.
  struct Wants {
    const ViewConfig* config = nullptr;
    const Dataset* dataset = nullptr;
    const Policy* policy = nullptr;  // has a staging()
    SourceReader source;
  };

  explicit TierMaker(Parts parts) : parts_(std::move(parts)) {}
  ~TierMaker() { Stop(); }

  // Fills in what a producer and its binder need of the tier. This is the
  // source, which reads through `source`, the tier's bytes, what is there and
  // what was learnt. Takes the memory of copies from the producer's. Blocks.
  // Errors: InvalidArgument naming the key; FailedPrecondition if the tier is
  // in use.
  absl::Status Fill(const Wants& wants, SampleProducer::Parts& parts,
                    BinderInput& input);
  // From now on `producer`, made of these parts, says what is copied.
  void Follow(const Wants& wants,
              const std::shared_ptr<SampleProducer>& producer);
  // Returns the tier of a view whose policy shows mini-epochs of records. Works
  // as Fill. Takes its memory from `memory_bytes`. The tier is open as long as
  // the result or a copy of it exists, at most as long as this object.
  absl::StatusOr<std::shared_ptr<Tier>> OfRecords(const Wants& wants,
                                                  uint64_t& memory_bytes);
  // Returns the largest size of a mini-epoch of a container's records in a tier
  // of this capacity, if no key says how many there are. The mini-epochs of
  // some readers then fit, and the next one of each. 0: any size. It depends on
  // the configuration alone, so that epochs are the same in every mount.
  static uint64_t BytesOfRecords(uint64_t capacity);
  // Returns whether a tier of `capacity` bytes holds `bytes` bytes of files.
  static bool HoldsAll(uint64_t capacity, uint64_t bytes);
  // Saves what the producers have learnt. Blocks for the disk.
  void SaveFactors();
  // Stops copying. The contents of the tiers stay for the next mount.
  void Stop();

 private:
  // A producer, and what is saved of what it learnt.
  struct Learner {
    std::weak_ptr<SampleProducer> producer;
    SavedFactors::Key key;
    std::vector<uint32_t> saved;
  };
  struct ViewTier {
    std::unique_ptr<PoolShare> reserved;  // Room::memory_bytes
    std::unique_ptr<Tier> tier;
    std::weak_ptr<Tier> users;  // expires with the last of them
    bool closing = false;       // by closer_; then `tier` is null
    // A producer that was prepared may go without ever being used, so there may
    // be several.
    std::vector<Learner> learners;
  };
  // What a new tier gets.
  struct Room {
    uint64_t capacity = 0;      // bytes of the device
    uint64_t memory_bytes = 0;  // for copies and widened reads
  };
  // Returns the view's tier, for one more user. Opens it if it is not open.
  absl::StatusOr<std::shared_ptr<Tier>> TierOf(const Wants& wants, Room room);
  absl::Status OpenTier(const Wants& wants, Room room, ViewTier& view)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  std::shared_ptr<Tier> UserOf(const std::string& path, ViewTier& view)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Closes the tier of the view at `path` if nothing uses it. Waits for its
  // device.
  void CloseIdle(const std::string& path);
  // Saves what it has learnt since.
  void Keep(Learner& learner) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Where factors are saved, and what was saved there.
  SavedFactors::Key FactorsKey(const Wants& wants) const;
  std::vector<uint32_t> SavedFactorsOf(const Wants& wants) const;
  // Returns the capacity of the view's open tier, or of one to be opened.
  absl::StatusOr<uint64_t> Capacity(const ViewConfig& config);
  absl::StatusOr<uint64_t> CapacityOfNew(const ViewConfig& config) const;
  TierShare Share() const;

  // Constant after construction.
  const Parts parts_;

  CondVar closed_;
  Mutex mu_;
  std::map<std::string, ViewTier> tiers_ ABSL_GUARDED_BY(mu_);  // by path
  // Closes tiers. Their users keep it, because they may outlive this object.
  // Null: no tier was opened yet.
  std::shared_ptr<Worker> closer_ ABSL_GUARDED_BY(mu_);
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_ENGINE_TIER_MAKER_H_
