// SPDX-License-Identifier: Apache-2.0
// The interface of a shuffle policy. A policy says in which order the samples
// of a stratum come in an epoch: a pure function of (policy options, stratum,
// seed, epoch), without I/O, threads or clocks. The view decides what that
// order is used for: which sample a name shows, how a directory is listed,
// how ranked names are numbered.
#ifndef SHUFFLEFS_CORE_POLICY_POLICY_H_
#define SHUFFLEFS_CORE_POLICY_POLICY_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/base/device.h"
#include "core/base/types.h"
#include "core/config/policy_options.h"

namespace shufflefs {

class BlockMap;  // core/dataset/block_map.h: samples that lie together on the
                 // device
class Grouping;  // core/dataset/grouping.h: the groups of a view's samples
class Binder;    // core/policy/binder.h: binds names as they are asked for
struct BinderInput;

// What an order permutes: the samples of one group, or of a whole view.
struct Stratum {
  // Stable name of the stratum; enters the random key. The same dataset and
  // group give the same key on every machine.
  uint64_t key = 0;
  // Samples, 0 to 2^40. They are numbered in the source's sorted path order.
  uint64_t size = 0;
  // Null unless the policy wants_blocks(). Outlives the order.
  const BlockMap* blocks = nullptr;
  // Of a whole view: its groups. Outlives the order.
  const Grouping* grouping = nullptr;
};

// A bijection between positions and samples of a stratum, both [0, size()).
// Immutable; any thread may call.
class Order {
 public:
  virtual ~Order() = default;
  virtual uint64_t size() const = 0;
  // The sample at `position`. REQUIRES: position < size().
  virtual uint64_t SampleAt(uint64_t position) const = 0;
  // The inverse. REQUIRES: sample < size().
  virtual uint64_t PositionOf(uint64_t sample) const = 0;
};

enum class Consumption {
  kSource,   // names, bytes and listing order are the source's
  kPlanned,  // the order is the plan, known in advance
  // The reader decides when a name is asked for, the pool what it shows. The
  // plan is what ranked directories and epochs by path show.
  kReactive,
};

// Records of a container that are read together: those that begin in `bytes`
// bytes of it. `window` such blocks are in memory at a time, and their records
// are mixed.
struct RecordBlocks {
  uint64_t bytes = 0;   // 0: no blocks, Policy::MakeOrder orders records
  uint64_t window = 1;  // blocks, >= 1
};

// Which mini-epochs an epoch shows, where the blocks of a container come in
// such parts, each several times before the next (MET). A pass shows each of
// them `factor` times, one after the other, and is `factor` epochs long, of
// which this is number `part`, from 0.
struct RecordRepeats {
  uint64_t pass = 0;         // its number; each composes mini-epochs of its own
  uint64_t mini_epochs = 1;  // 0: as many as most_bytes asks for
  uint64_t factor = 1;
  uint64_t part = 0;
  uint64_t most_bytes = 0;  // of a mini-epoch; 0: any

  bool repeats() const { return factor > 1 && mini_epochs != 1; }
};

// Facets: what a policy wants beside orders. Each is null where it does not.
// A facet belongs to its policy, is constant, and any thread may call.

// Memory that a binder of the policy fills.
struct PoolFacet {
  enum class Chunks { kAuto, kRandom, kPhysical };
  // Samples that are read together, at most; 0: each by itself, as readers
  // ask for it.
  uint32_t chunk_files = 0;
  // What makes a chunk: files drawn at random, or what lies together; kAuto:
  // as the device rewards.
  Chunks chunks = Chunks::kAuto;
  std::string packed = {};            // directory of packed chunks; "" = none
  absl::string_view packed_key = {};  // names it in errors
};

// Copies of samples in the performance tier. Then the order of a whole view
// may hold a sample several times, or not at all (PositionOf gives the first
// position, or size()).
class StagingFacet {
 public:
  virtual ~StagingFacet() = default;
  // Where names show their own samples and the order of the view says what is
  // read next (ranked names). `input` outlives the binder.
  virtual std::unique_ptr<Binder> MakeRankBinder(
      const BinderInput& input) const = 0;
  // Of a policy with blocks of records.
  virtual RecordRepeats record_repeats(Epoch epoch) const = 0;
  // Sets of samples that an epoch's names go through, for a tier of
  // input.tier_bytes. InvalidArgument, which names the key, where the tier
  // does not hold two of them.
  virtual absl::StatusOr<uint64_t> SetsFor(const BinderInput& input) const = 0;
  // What a user should know when it begins to stage files, or records of
  // containers.
  struct Note {
    bool warns = false;
    std::string text;
  };
  virtual std::vector<Note> Notes(bool of_records) const = 0;
  // By which name what it learns is kept for the next run; "" = any.
  virtual std::string learns_as() const = 0;
  // The key that says how often records repeat, for status.
  virtual absl::string_view repeats_by() const = 0;
};

// Names and bytes stay the source's; what readers are going to open is found
// out, and read ahead of them.
struct PrefetchFacet {
  std::vector<uint64_t> seeds;  // of the job's samplers, besides common ones
  uint32_t search_cores = 0;    // that a search of all seeds may take
  friend bool operator==(const PrefetchFacet&, const PrefetchFacet&) = default;
};

class Policy {
 public:
  virtual ~Policy() = default;
  virtual absl::string_view name() const = 0;
  virtual Consumption consumption() const = 0;
  // Whether strata must come with the blocks of their samples.
  virtual bool wants_blocks() const { return false; }
  // Bytes of a device address range that is one block; 0 without blocks.
  virtual uint64_t block_bytes() const { return 0; }
  // The order in which the samples of `stratum` are supplied in `epoch`.
  virtual std::unique_ptr<const Order> MakeOrder(const Stratum& stratum,
                                                 Seed seed,
                                                 Epoch epoch) const = 0;
  // A permutation r of positions such that supplying MakeOrder's samples as
  // order[r[0]], order[r[1]], … keeps the policy's locality, and r differs
  // between epochs. Used to list names that already show the plan's samples.
  virtual std::unique_ptr<const Order> MakeListing(const Stratum& stratum,
                                                   Seed seed,
                                                   Epoch epoch) const = 0;
  // Null unless consumption() is kReactive, or there is a pool(). `input`
  // outlives the binder.
  virtual std::unique_ptr<Binder> MakeBinder(const BinderInput& input) const;
  // Whether the records inside container files are shuffled, and how.
  virtual bool shuffles_records() const { return false; }
  virtual RecordBlocks record_blocks() const { return {}; }

  // Of one that is kReactive: which one to take where several nodes read, as
  // `policy` takes it; "" if none is known.
  virtual absl::string_view instead_on_nodes() const { return ""; }

  virtual const PoolFacet* pool() const { return nullptr; }
  virtual const StagingFacet* staging() const { return nullptr; }
  virtual const PrefetchFacet* prefetch() const { return nullptr; }

  // Whether memory is filled once, with what is read first, and keeps it.
  bool keeps_first() const {
    return consumption() == Consumption::kSource && pool() != nullptr;
  }
  bool stages() const { return staging() != nullptr; }
  RecordRepeats record_repeats(Epoch epoch) const;
};

// What `policy = auto` looks at before it chooses. Measured by the caller.
struct DatasetFacts {
  uint64_t files = 0;
  uint64_t bytes = 0;
  uint64_t memory_bytes = 0;  // what the machine or group can cache
  DeviceKind device = DeviceKind::kUnknown;
  DeviceSpeed speed;
  uint64_t file_bytes = 0;  // of a file that may move, on average
  uint64_t pool_bytes = 0;  // what `memory` gives the view
  // Container files whose records may be shuffled, outside of splits, which is
  // told by their names.
  uint64_t record_files = 0;
  uint64_t record_bytes = 0;    // of all of them
  uint64_t record_memory = 0;   // bytes that `memory` gives the view
  PolicyOptions options;        // what the view gives policies
  bool passes_are_seen = true;  // or epochs are not advanced by opens
  // A key that leaves no room for binding names as they are asked for, such
  // as "layout = ranked"; "" if there is none.
  std::string held_back;
  // A key that leaves no room for finding out what will be opened, such as
  // "layout = ranked"; "" if there is none.
  std::string not_foreseen;
  // The policy of an epoch that was begun and is not finished; "" if none is.
  std::string under_way;
  bool names_may_move = false;        // proven class folders
  bool has_validation_split = false;  // a split of its own beside them
  uint64_t classes = 0;               // groups that move
  std::string layout;                 // one clause of prose: what was found
};

struct AutoChoice {
  std::string policy;  // never "auto"
  std::string why;     // one line: found, chosen, gain to expect
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_POLICY_POLICY_H_
