// SPDX-License-Identifier: Apache-2.0
// The performance tiers of a mount, one for each view whose policy copies
// samples: how much each may take, what an earlier run left there, and what the
// job has taught it.
#ifndef SHUFFLEFS_CORE_ENGINE_TIER_MAKER_H_
#define SHUFFLEFS_CORE_ENGINE_TIER_MAKER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/base/mutex.h"
#include "core/config/config.h"
#include "core/dataset/dataset.h"
#include "core/engine/learnt_factors.h"
#include "core/io/file_reader.h"
#include "core/policy/policy_entry.h"
#include "core/pool/buffer_pool.h"
#include "core/pool/supply.h"
#include "core/staging/stager/tier.h"

namespace shufflefs {

// Thread-safe. A tier is made when the first supply of its view needs it, and
// lives as long as this; each supply of the view takes it over.
class TierMaker {
 public:
  struct Parts {
    const MountConfig* config = nullptr;  // outlives this
    LearntFactors* learnt = nullptr;      // outlives this; may be null
    std::shared_ptr<BufferPool> pool;     // copies take memory of it
    PolicyTable policies;
    // As Tier::Options'.
    std::function<uint64_t()> foreground_reads;
  };
  // The bytes of tier.capacity that a view has; 0 where that is not given.
  static uint64_t CapacityOf(const MountConfig& mount, const ViewConfig& view,
                             PolicyTable policies);

  struct SourceReader {
    FileReader* reader = nullptr;  // outlives the tiers
    bool seeks = false;            // its device
    bool many_pieces = false;      // of each file are read
  };

  // A view, and what its copies are read with.
  struct Wants {
    const ViewConfig* config = nullptr;
    const Dataset* dataset = nullptr;
    const Policy* policy = nullptr;  // has a staging()
    SourceReader source;
  };

  explicit TierMaker(Parts parts) : parts_(std::move(parts)) {}

  // Fills in what a supply and its binder need of the tier: the source, which
  // reads by `source`, the tier's bytes, what is there, what was learnt; takes
  // the copies' memory from what the supply has. Blocks. Errors:
  // InvalidArgument naming the key; FailedPrecondition where the tier is in
  // use.
  absl::Status Fill(const Wants& wants, Supply::Parts& parts,
                    BinderInput& input);
  // `supply`, made of these parts, says from now on what is copied.
  void Follow(const ViewConfig& config, const std::shared_ptr<Supply>& supply);
  // The tier of a view whose policy shows mini-epochs of records: as Fill.
  // Takes its memory from `memory_bytes`. The tier lives as long as this.
  absl::StatusOr<Tier*> OfRecords(const Wants& wants, uint64_t& memory_bytes);
  // How large a mini-epoch of a container's records is at most, where no key
  // says how many there are, in a tier of so many bytes: what some readers are
  // in, and what comes next in each, fits into it. 0: any. A function of the
  // configuration alone, so that epochs are the same in every mount.
  static uint64_t BytesOfRecords(uint64_t capacity);
  // Whether a tier of `capacity` bytes holds all of so many bytes of files.
  static bool HoldsAll(uint64_t capacity, uint64_t bytes);
  // Writes down what the supplies have learnt.
  void KeepLearnt();
  // Ends the copying. What is in the tiers stays for the next mount.
  void Stop();

 private:
  struct ViewTier {
    std::unique_ptr<PoolShare> reserved;  // for copies
    std::unique_ptr<Tier> tier;
    std::weak_ptr<Supply> supply;
    LearntFactors::Key key;
  };
  absl::StatusOr<Tier*> TierOf(const Wants& wants, uint64_t memory_bytes);
  absl::StatusOr<uint64_t> Capacity(const ViewConfig& config) const;

  // Constant after construction.
  const Parts parts_;

  Mutex mu_;
  std::map<std::string, ViewTier> tiers_ ABSL_GUARDED_BY(mu_);  // by path
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_ENGINE_TIER_MAKER_H_
