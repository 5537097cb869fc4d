// SPDX-License-Identifier: Apache-2.0
// The interface of a shuffle policy. A policy defines the order of a stratum's
// samples in an epoch. It is a pure function of (policy options, stratum, seed,
// epoch), without I/O, threads or clocks. The view uses that order to decide
// which sample a name shows, how a directory is listed, and how ranked names
// are numbered.
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

// core/dataset/block_map.h: samples that are together on the device.
class BlockMap;
class Grouping;  // core/dataset/grouping.h: the groups of a view's samples
class Binder;    // core/policy/binder.h: binds names on demand
struct BinderInput;

// Stratum is a set of samples that an order permutes: those of one group, or of
// a whole view.
struct Stratum {
  // Stable name of the stratum; part of the random key. The same dataset and
  // group have the same key on every machine.
  uint64_t key = 0;
  // Number of samples, 0 to 2^40. They are numbered in the source's sorted path
  // order.
  uint64_t size = 0;
  // Null unless the policy wants_blocks(). Outlives the order.
  const BlockMap* blocks = nullptr;
  // The groups of a whole view. Outlives the order.
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
  // The reader decides when a name is asked for, and the pool decides what it
  // shows. Ranked directories and epochs by path show the plan.
  kReactive,
};

// Blocks of records that are read together: the records that begin in the same
// `bytes` bytes of a container. `window` blocks are in memory at a time, and
// their records are mixed.
struct RecordBlocks {
  uint64_t bytes = 0;   // 0: no blocks; Policy::MakeOrder orders records
  uint64_t window = 1;  // blocks, >= 1
  absl::string_view key = {};  // the option that sets `bytes`
};

// The mini-epochs that an epoch shows, if the blocks of a container are shown
// in such parts, each several times before the next (MET). A pass shows each
// mini-epoch `factor` times in succession. It is `factor` epochs long, and this
// one is number `part`, from 0.
struct RecordRepeats {
  uint64_t pass = 0;         // its number; each pass composes new mini-epochs
  uint64_t mini_epochs = 1;  // 0: as many as most_bytes requires
  uint64_t factor = 1;
  uint64_t part = 0;
  uint64_t most_bytes = 0;  // per mini-epoch; 0: any

  bool repeats() const { return factor > 1 && mini_epochs != 1; }
};

// Facets: what a policy wants besides orders. Each is null if the policy does
// not want it. A facet belongs to its policy and is constant. Any thread may
// call it.

// Memory that a binder of the policy fills.
struct PoolFacet {
  enum class Chunks { kAuto, kRandom, kPhysical };
  // Maximum number of samples that are read together. 0: each is read by
  // itself, when a reader asks for it.
  uint32_t chunk_files = 0;
  // The way to form a chunk: files drawn at random, or files that are together
  // on the device. kAuto: whichever the device rewards.
  Chunks chunks = Chunks::kAuto;
  std::string packed = {};            // directory of packed chunks; "" = none
  absl::string_view packed_key = {};  // its key, for errors
};

// Copies of samples in the performance tier. The order of a whole view may then
// contain a sample several times or not at all. PositionOf returns the first
// position, or size().
class StagingFacet {
 public:
  virtual ~StagingFacet() = default;
  // The binder for names that show their own samples, if the order of the view
  // says what is read next (ranked names). `input` outlives the binder.
  virtual std::unique_ptr<Binder> MakeRankBinder(
      const BinderInput& input) const = 0;
  // For a policy with blocks of records.
  virtual RecordRepeats record_repeats(Epoch epoch) const = 0;
  // The number of sets of samples that an epoch's names go through, for a tier
  // of input.tier_bytes. InvalidArgument, which names the key, if the tier
  // cannot hold two of them.
  virtual absl::StatusOr<uint64_t> SetsFor(const BinderInput& input) const = 0;
  // Messages for the user when the policy begins to stage files, or records of
  // containers.
  struct Note {
    bool warns = false;
    std::string text;
  };
  virtual std::vector<Note> Notes(bool of_records) const = 0;
  // The name under which what it learns is saved for the next run; "" = any.
  virtual std::string learns_as() const = 0;
  // The key that sets how often records repeat, for status.
  virtual absl::string_view repeats_by() const = 0;
};

// Names and bytes stay the source's. The view predicts what readers are going
// to open, and prefetches it.
struct PrefetchFacet {
  std::vector<uint64_t> seeds;  // of the job's samplers, besides common ones
  uint32_t search_cores = 0;    // cores that a search of all seeds may use
  friend bool operator==(const PrefetchFacet&, const PrefetchFacet&) = default;
};

class Policy {
 public:
  virtual ~Policy() = default;
  virtual absl::string_view name() const = 0;
  virtual Consumption consumption() const = 0;
  // Returns whether strata must have the blocks of their samples.
  virtual bool wants_blocks() const { return false; }
  // Bytes of the device address range that is one block. 0 without blocks.
  virtual uint64_t block_bytes() const { return 0; }
  // The order in which the samples of `stratum` are supplied in `epoch`. By
  // default a full random shuffle.
  virtual std::unique_ptr<const Order> MakeOrder(const Stratum& stratum,
                                                 Seed seed, Epoch epoch) const;
  // A permutation r of positions for listing names that already show the plan's
  // samples. Supplying MakeOrder's samples as order[r[0]], order[r[1]], … keeps
  // the policy's locality. r differs between epochs. By default a full random
  // shuffle.
  virtual std::unique_ptr<const Order> MakeListing(const Stratum& stratum,
                                                   Seed seed,
                                                   Epoch epoch) const;
  // Null unless consumption() is kReactive or pool() is not null. `input`
  // outlives the binder.
  virtual std::unique_ptr<Binder> MakeBinder(const BinderInput& input) const;
  // Returns whether the records inside container files are shuffled.
  // record_blocks: how.
  virtual bool shuffles_records() const { return false; }
  virtual RecordBlocks record_blocks() const { return {}; }

  // For a kReactive policy: the policy to use instead if several nodes read, as
  // a value of `policy`. "" if none is known.
  virtual absl::string_view instead_on_nodes() const { return ""; }

  // For a kReactive policy: the nodes of a job may share its names and samples
  // (core/binding/nodes/shared_names.h). Then its binder has ForShare.
  virtual bool shares_names() const { return false; }
  // If it does: for how many names of other nodes, 0 to 1, a node asks to show
  // a sample of its own.
  virtual double locality() const { return 0; }

  virtual const PoolFacet* pool() const { return nullptr; }
  virtual const StagingFacet* staging() const { return nullptr; }
  virtual const PrefetchFacet* prefetch() const { return nullptr; }

  // Returns whether memory is filled once, with what is read first, and keeps
  // it.
  bool keeps_first() const {
    return consumption() == Consumption::kSource && pool() != nullptr;
  }
  bool stages() const { return staging() != nullptr; }
  RecordRepeats record_repeats(Epoch epoch) const;
};

// The facts that `policy = auto` considers. The caller measures them.
struct DatasetFacts {
  uint64_t files = 0;
  uint64_t bytes = 0;
  uint64_t memory_bytes = 0;  // what the machine or control group can cache
  DeviceKind device = DeviceKind::kUnknown;
  DeviceSpeed speed;
  uint64_t file_bytes = 0;  // average size of a file that may move
  uint64_t pool_bytes = 0;  // memory that the view gets from `memory`
  // Container files outside of splits whose records may be shuffled, as
  // recognised by their names.
  uint64_t record_files = 0;
  uint64_t record_bytes = 0;   // of all of them
  uint64_t record_memory = 0;  // bytes that the view gets from `memory`
  PolicyOptions options;       // the view's policy options
  // The job spans several, as it was configured. Each of them chooses by its
  // own memory and device, and nobody compares what records they show.
  bool several_nodes = false;
  // Passes are seen, or opens do not advance epochs.
  bool passes_are_seen = true;
  // A key that excludes binding names on demand, such as "layout = ranked". ""
  // if there is none.
  std::string held_back;
  // A key that excludes predicting opens, such as "layout = ranked". "" if
  // there is none.
  std::string not_foreseen;
  // The policy of an unfinished epoch. "" if there is none.
  std::string under_way;
  bool names_may_move = false;        // proven class folders
  bool has_validation_split = false;  // there is a separate validation split
  uint64_t classes = 0;               // groups that move
  std::string layout;                 // one clause with what was found
};

struct AutoChoice {
  std::string policy;  // never "auto"
  std::string why;     // one line: found, chosen, expected gain
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_POLICY_POLICY_H_
