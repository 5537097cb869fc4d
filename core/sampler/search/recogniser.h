// SPDX-License-Identifier: Apache-2.0
// Which order an epoch is read in, from its first opens. Fed with what was
// opened and by which thread, it looks through the usual orders and, if the
// owner searches for it, all seeds, until one explains nearly all steps of all
// threads (lanes.h): then it claims that order. A claim that the opens no
// longer bear out is dropped, and nothing more is claimed in that epoch.
//
// The order of opens among threads does not matter, and none has to be known to
// be a worker: a foreign reader costs a claim only if it opens as much as all
// workers do.
//
// Pure: no I/O, no threads, no clock. The owner calls Work() and searches seeds
// when it has time to spare, and says when an epoch begins. Belongs to one
// thread, or to a lock of the owner's.
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
#include "core/sampler/search/lanes.h"
#include "core/sampler/search/randperm_head.h"
#include "core/sampler/search/seed_search.h"

namespace shufflefs {

// What an epoch is read in.
struct OrderClaim {
  CandidateOrder order;  // of kListed: seed is the number of the known order
  // As in the last epoch: with a shuffling sampler, set_epoch was forgotten.
  bool again = false;
  Lanes lanes;                        // of no use if kRepeated
  std::vector<uint32_t> permutation;  // place -> index; kRepeated: as opened
  uint64_t opens = 0;                 // after so many it was claimed

  // All that this mount is going to be asked for in the epoch, from its begin,
  // with the padding of a DistributedSampler.
  std::vector<uint32_t> Predicted() const;
};

// What an open is in the order that was claimed.
enum class OpenStep {
  kUnjudged,  // nothing is claimed, or it is the first of its thread
  kExpected,
  kUnexpected,
};

class Recogniser {
 public:
  struct Options {
    uint32_t n = 0;  // samples, fewer than kLargeRandperm; indices are below it
    // The orders to look through, of the usual options if null. Recognisers may
    // share them: they take some megabytes.
    std::shared_ptr<const std::vector<CandidateOrder>> candidates = nullptr;
    // Orders that the owner knows beside 0, 1, … n - 1, all of them of n.
    std::vector<std::vector<uint32_t>> known_orders = {};
    // Of more samples the last epoch is not kept, at 16 bytes each.
    uint32_t most_remembered = 1 << 24;
  };

  enum class State {
    kUndecided,  // more opens, Work() or a search may tell
    kClaimed,
    kUnknown,  // dropped or given up, until the next epoch
  };

  explicit Recogniser(Options options);

  // An epoch begins. `likely` are looked at first: what the owner knows of the
  // generator (GeneratorTrail).
  void BeginEpoch(const std::vector<CandidateOrder>& likely = {});

  // REQUIRES: index < n.
  OpenStep Opened(uint32_t index, uint64_t thread);
  // The same of what was told of as one of the epoch before, and turned out to
  // be of this one: it does not prove that the other comes again.
  void OpenedEarly(uint32_t index, uint64_t thread);
  // What each thread of the epoch opened last: (thread, index).
  std::vector<std::pair<uint64_t, uint32_t>> LastOpened() const;

  // Looks at a few candidates (some ms), if opens came that make it worth
  // while; false if there is nothing to look at now.
  bool Work();

  // Whether the opens may be those of a shuffle: not if files mostly follow
  // others that are near. A shuffle is taken for none once in 10^7 epochs.
  bool may_be_shuffled() const;

  // What a search of seeds should look for, once the candidates are used up and
  // each thread has opened enough. A search that finds nothing will find
  // nothing later in the epoch either.
  std::optional<SeedQuery> Query() const;

  // An order that a search or the owner found; true if the opens prove it.
  bool Propose(const CandidateOrder& order);

  // Orders that may be the epoch's: looked at as usual ones are. True if the
  // opens prove one of them.
  bool Suggest(const std::vector<CandidateOrder>& orders);

  State state() const { return state_; }
  const OrderClaim* claim() const { return claim_.get(); }
  uint64_t opens() const { return opens_; }  // in this epoch
  // Whether something may yet be found out in this epoch.
  bool is_looking() const { return state_ == State::kUndecided; }

 private:
  struct Stream {
    std::vector<uint32_t> indices;  // the first that it opened
    uint32_t last = 0;              // opened
    size_t early = 0;               // so many of them were told of before
  };
  // What of a claim changes with each open.
  struct Tracking {
    std::vector<uint32_t> places;  // index -> place
    uint64_t recent = 0;           // a bit an open: expected
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
  // Those of usual_ from first_drawn_ on are what generators draw; of so many
  // the form of a StatefulDataLoader is looked at as well.
  const size_t first_drawn_;
  const size_t stateful_;

  // This epoch.
  State state_ = State::kUndecided;
  std::vector<CandidateOrder> likely_;
  absl::flat_hash_map<uint64_t, Stream> streams_;  // by thread
  uint64_t opens_ = 0;
  uint64_t steps_ = 0;  // opens that follow one of the same thread
  uint64_t near_ = 0;   // of these, to an index near by
  size_t attempts_ = 0;
  size_t next_ = 0;  // of CandidateCount(), in this attempt
  bool at_work_ = false;
  std::unique_ptr<OrderClaim> claim_;
  Tracking tracking_;

  // An epoch as it was opened, to know it again.
  struct Memory {
    std::vector<uint32_t> followers;  // of each index in its thread; n: nothing
    std::vector<uint32_t> opened;     // the indices in their order
  };
  Memory memory_;
  Memory last_memory_;
  std::optional<CandidateOrder> last_order_;
  // Claimed last, and how many epochs began since that one did.
  std::optional<CandidateOrder> claimed_;
  uint64_t epochs_since_ = 0;

  // The attempt's opens, looked up by index: in whose stream, as which.
  struct Opening {
    uint32_t stream;
    uint32_t nth;
  };
  absl::flat_hash_map<uint32_t, Opening> openings_;
  std::vector<uint64_t> opened_bits_;  // hashed; most indices are not in it
  std::vector<std::vector<uint32_t>> evidence_;
  std::vector<uint32_t> first_places_;  // by stream, of the candidate
  RandpermHead head_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_SAMPLER_SEARCH_RECOGNISER_H_
