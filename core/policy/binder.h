// SPDX-License-Identifier: Apache-2.0
// The run-time half of a reactive policy: a reader asks for a name, and the
// binder answers with a sample of the name's group that is in memory and was
// not shown yet. A small state machine without I/O, threads or clocks; the
// supply (core/pool/supply.h) tells it what came and went.
//
// Samples are numbered as in Grouping: those of a group follow each other,
// and a name is numbered by its own sample. Within an epoch names and samples
// of a group are bound one to one, whatever the interleaving.
#ifndef SHUFFLEFS_CORE_POLICY_BINDER_H_
#define SHUFFLEFS_CORE_POLICY_BINDER_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "core/base/types.h"
#include "core/dataset/grouping.h"
#include "core/policy/carried.h"
#include "core/policy/mini_epochs.h"
#include "core/policy/policy.h"

namespace shufflefs {

// What a binder is made from. Constant; outlives the binder.
struct BinderInput {
  const Grouping* grouping = nullptr;
  // By SampleId: bytes of memory that its files take in the pool.
  std::vector<uint64_t> bytes;
  // The samples of each chunk, in the order in which they lie on the device.
  // Every sample is in exactly one chunk.
  std::vector<std::vector<uint32_t>> chunks;
  uint64_t dataset_key = 0;
  uint64_t memory_bytes = 0;  // what the pool holds
  // For policies that stage samples: bytes of the performance tier, by SampleId
  // what an earlier run left there (empty: nothing), and the repeating factors
  // that it learnt.
  uint64_t tier_bytes = 0;
  std::vector<bool> staged;
  std::vector<uint32_t> learnt;
};

struct BinderCounts {
  uint64_t hits = 0;    // bound to a sample that was in memory or on its way
  uint64_t misses = 0;  // bound to one that was not
  uint64_t chunk_loads = 0;
  // The fill rate: of the samples of the chunks that were loaded, those that
  // were wanted and fitted.
  uint64_t loaded = 0;
  uint64_t chunk_samples = 0;
};

// Not thread-safe: the view's lock guards it.
class Binder {
 public:
  virtual ~Binder() = default;

  // A new epoch. `bound` holds from its beginning: what clients had opened of
  // it before the boundary was certain, or, after a restart, what the ledger
  // gave back; their samples are taken as consumed and are not fetched for
  // this epoch. What is in memory and was not bound stays, for this epoch.
  virtual void BeginEpoch(Seed seed, Epoch epoch,
                          absl::Span<const CarriedPair> bound) = 0;

  // The sample that `name` shows in this epoch. The first call binds it; all
  // later ones answer the same.
  virtual SampleId Bind(SampleId name) = 0;
  // What a name shows, or under which name a sample is shown, if bound.
  virtual absl::optional<SampleId> Bound(SampleId name) const = 0;
  virtual absl::optional<SampleId> NameOf(SampleId sample) const = 0;

  // The samples to fetch next, in device order, at most `room` bytes of them;
  // empty when nothing (more) fits or is to be fetched. They are on their way
  // from now on. When all of this epoch was fetched, those of the next.
  virtual std::vector<SampleId> NextFetch(uint64_t room) = 0;
  // A reader waits for a sample that Bind gave and that is not on its way:
  // what of its chunk is to be fetched, itself with it, if that fits into
  // `room` bytes; on its way from now on. Else empty.
  virtual std::vector<SampleId> FetchChunkOf(SampleId sample,
                                             uint64_t room) = 0;
  // Else it is read alone: NextFetch will not give it any more. Not counted
  // as in memory: no Arrived or Left follows.
  virtual void FetchedAlone(SampleId sample) = 0;
  // A sample on its way is in memory.
  virtual void Arrived(SampleId sample) = 0;
  // A sample that Arrived, or that was on its way, is in memory no more: it
  // was consumed, its read failed (its reader gets the error when it asks for
  // it, so it may still be bound), or it was bound and not read by the end of
  // its epoch: then this comes just before BeginEpoch.
  virtual void Left(SampleId sample) = 0;

  // This epoch has done with a bound sample that is in memory or on its way:
  // true if it stays for the next one, and is fetched_ahead from now on. Else
  // it leaves.
  virtual bool Keeps(SampleId /*sample*/) { return false; }

  // Whether NextFetch has come to the next epoch.
  virtual bool fetched_all() const = 0;
  // Whether a sample is in memory, or on its way, for the next epoch: this one
  // has done with it, so it is bound, but must not leave before BeginEpoch,
  // which makes it one of the new epoch's.
  virtual bool fetched_ahead(SampleId sample) const = 0;

  virtual BinderCounts counts() const = 0;

  // Not null where an epoch may show a sample under several names or none: then
  // names and samples are not one to one, and NameOf is the last name.
  virtual MiniEpochs* mini_epochs() { return nullptr; }
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_POLICY_BINDER_H_
