// SPDX-License-Identifier: Apache-2.0
// Recogniser finds the order of an epoch from its first opens. It gets each
// open and its thread. It tests the usual orders and, if its owner searches
// them, all seeds. If one order explains nearly all steps of all threads
// (worker_interleave.h), the recogniser claims it. If later opens contradict a
// claim, it drops the claim and claims nothing more in that epoch.
//
// The order of opens among threads does not matter, and threads need not be
// known to be workers. A foreign reader prevents a claim only if it opens as
// much as all workers do.
//
// Pure: no I/O, no threads, no clock. The owner calls Work() and searches seeds
// when it has time, and says when an epoch begins. Use it from one thread, or
// under a lock of its owner.
#ifndef SHUFFLEFS_CORE_SAMPLER_SEARCH_RECOGNISER_H_
#define SHUFFLEFS_CORE_SAMPLER_SEARCH_RECOGNISER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/sampler/search/candidates.h"
#include "core/sampler/search/randperm_head.h"
#include "core/sampler/search/seed_search.h"
#include "core/sampler/search/worker_interleave.h"

namespace shufflefs {

// The order in which an epoch is read.
struct OrderClaim {
  CandidateOrder order;  // kListed: seed is the number of the known order
  // The order is that of the last epoch. With a shuffling sampler, the job
  // forgot set_epoch.
  bool again = false;
  WorkerInterleave lanes;             // unused if kRepeated
  std::vector<uint32_t> permutation;  // place -> index; kRepeated: as opened
  uint64_t opens = 0;                 // opens before the claim

  // Returns all indices that this mount will be asked for in the epoch, from
  // its begin, with the padding of a DistributedSampler.
  std::vector<uint32_t> Predicted() const;
};

// How an open fits the claimed order.
enum class OpenStep {
  kUnjudged,  // nothing is claimed, or it is its thread's first
  kExpected,
  kUnexpected,
};

class Recogniser {
 public:
  struct Options {
    uint32_t n = 0;  // samples, fewer than kLargeRandperm; indices are below it
    // The orders to test; null: UsualCandidates with the default options.
    // Recognisers may share them, because they take some megabytes.
    std::shared_ptr<const std::vector<CandidateOrder>> candidates = nullptr;
    // Orders that the owner knows besides 0, 1, … n - 1, each of length n.
    std::vector<std::vector<uint32_t>> known_orders = {};
    // If there are more samples, the last epoch is not kept. It takes 16 bytes
    // per sample.
    uint32_t most_remembered = 1 << 24;
  };

  enum class State {
    kUndecided,  // more opens, Work() or a search may decide
    kClaimed,
    kUnknown,  // dropped or given up, until the next epoch
  };

  explicit Recogniser(Options options);

  // An epoch begins. `likely` are tested first. They are what the owner knows
  // about the generator (GeneratorTrail).
  void BeginEpoch(const std::vector<CandidateOrder>& likely = {});

  // A thread opened `index`. Returns how this fits the claim. REQUIRES: index <
  // n.
  OpenStep Opened(uint32_t index, uint64_t thread);
  // The same for an open that first counted in the epoch before and turned out
  // to belong to this one. It is no evidence that the last epoch is repeated.
  void OpenedEarly(uint32_t index, uint64_t thread);
  // Returns what each thread of the epoch opened last: (thread, index).
  std::vector<std::pair<uint64_t, uint32_t>> LastOpened() const;

  // Tests a few candidates, for some ms, if there are enough new opens. Returns
  // false if there is nothing to test now.
  bool Work();

  // Returns whether the opens may be those of a shuffle. They are not if most
  // files follow others that are near. This misjudges a shuffle once in 10^7
  // epochs.
  bool may_be_shuffled() const;

  // Returns what a search of seeds should look for, once all candidates were
  // tested and each thread has opened enough. If this search finds nothing, no
  // later search in the epoch will.
  std::optional<SeedQuery> Query() const;

  // Proposes an order that a search or the owner found. Returns true if the
  // opens prove it.
  bool Propose(const CandidateOrder& order);

  // Suggests orders that may be the epoch's. They are tested as usual ones are.
  // Returns true if the opens prove one of them.
  bool Suggest(const std::vector<CandidateOrder>& orders);

  State state() const { return state_; }
  const OrderClaim* claim() const { return claim_.get(); }
  uint64_t opens() const { return opens_; }  // in this epoch
  // Returns whether the order of this epoch may still be found.
  bool is_looking() const { return state_ == State::kUndecided; }

 private:
  struct Stream {
    std::vector<uint32_t> indices;  // the first that it opened
    uint32_t last = 0;              // opened
    size_t early = 0;               // this many came through OpenedEarly
  };
  // The state of a claim that changes with each open.
  struct Tracking {
    std::vector<uint32_t> places;  // index -> place
    uint64_t recent = 0;           // one bit per open: expected
    uint32_t new_threads = 0;
  };

  void BeginAttempt();
  bool MayFit(const CandidateOrder& order);
  bool Try(const CandidateOrder& order, uint64_t candidates);
  bool TryOrder(const CandidateOrder& order, std::vector<uint32_t> permutation,
                uint64_t candidates);
  bool TryKnown();
  bool TryRepeated();
  size_t CandidateCount() const;
  CandidateOrder CandidateAt(size_t candidate) const;
  bool TryAt(size_t candidate);
  void Claim(OrderClaim claim, std::vector<uint32_t> places);
  OpenStep Track(Stream& stream, bool known, uint32_t index);
  std::vector<std::vector<uint32_t>> Streams() const;

  const Options options_;
  const std::shared_ptr<const std::vector<CandidateOrder>> usual_;
  // Generators draw those of usual_ from first_drawn_ on. The first stateful_
  // of these are also tested in the form of a StatefulDataLoader.
  const size_t first_drawn_;
  const size_t stateful_;

  // This epoch.
  State state_ = State::kUndecided;
  std::vector<CandidateOrder> likely_;
  absl::flat_hash_map<uint64_t, Stream> streams_;  // by thread
  uint64_t opens_ = 0;
  uint64_t steps_ = 0;  // opens that follow one of the same thread
  uint64_t near_ = 0;   // of these, to a near index
  size_t attempts_ = 0;
  size_t next_ = 0;  // of CandidateCount(), in this attempt
  bool at_work_ = false;
  std::unique_ptr<OrderClaim> claim_;
  Tracking tracking_;

  // The opens of an epoch, to recognise it if it is repeated.
  struct Memory {
    std::vector<uint32_t> followers;  // of each index in its thread; n: none
    std::vector<uint32_t> opened;     // the indices in their order
  };
  Memory memory_;
  Memory last_memory_;
  std::optional<CandidateOrder> last_order_;
  // The last claim, and the epochs that began since then.
  std::optional<CandidateOrder> claimed_;
  uint64_t epochs_since_ = 0;

  // The opens of this attempt by index: in which stream, and at which position.
  struct Opening {
    uint32_t stream;
    uint32_t nth;
  };
  absl::flat_hash_map<uint32_t, Opening> openings_;
  std::vector<uint64_t> opened_bits_;  // hashed; rules out most indices
  std::vector<std::vector<uint32_t>> evidence_;
  std::vector<uint32_t> first_places_;  // the candidate's, by stream
  RandpermHead head_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_SAMPLER_SEARCH_RECOGNISER_H_
