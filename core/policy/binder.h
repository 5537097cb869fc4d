// SPDX-License-Identifier: Apache-2.0
// Binder is the run-time half of a reactive policy. A reader asks for a name,
// and the binder answers with a sample of the name's group that is in memory
// and was not shown yet. It is a small state machine without I/O, threads or
// clocks. The producer (core/pool/sample_producer.h) tells it which samples
// came and went.
//
// Samples are numbered as in Grouping: those of a group have consecutive
// numbers, and a name has the number of its own sample. Within an epoch names
// and samples of a group are bound one to one, whatever the interleaving of
// requests.
#ifndef SHUFFLEFS_CORE_POLICY_BINDER_H_
#define SHUFFLEFS_CORE_POLICY_BINDER_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "core/base/types.h"
#include "core/dataset/grouping.h"
#include "core/policy/mini_epochs.h"
#include "core/policy/policy.h"
#include "core/policy/retained_bindings.h"

namespace shufflefs {

// BinderInput is the data from which a binder is made. Constant; outlives the
// binder.
struct BinderInput {
  const Grouping* grouping = nullptr;
  // By SampleId: bytes of pool memory that its files take. If they are more
  // than memory_bytes, the sample is never fetched.
  std::vector<uint64_t> bytes;
  // The samples of each chunk, in the order of their device addresses. Every
  // sample is in exactly one chunk.
  std::vector<std::vector<uint32_t>> chunks;
  uint64_t dataset_key = 0;
  uint64_t memory_bytes = 0;  // capacity of the pool
  // For policies that stage samples: bytes of the performance tier; by
  // SampleId, whether an earlier run left the sample there (empty: none); and
  // the repeating factors that the run learnt.
  uint64_t tier_bytes = 0;
  std::vector<bool> staged;
  std::vector<uint32_t> saved_factors;
};

struct BinderCounts {
  uint64_t hits = 0;    // bound to a sample in memory or on its way
  uint64_t misses = 0;  // bound to another sample
  uint64_t chunk_loads = 0;
  // The fill rate: of the samples in the loaded chunks (chunk_samples), those
  // that were wanted and fitted (loaded).
  uint64_t loaded = 0;
  uint64_t chunk_samples = 0;
};

// Not thread-safe: the view's lock guards it.
class Binder {
 public:
  virtual ~Binder() = default;

  // Begins a new epoch. `bound` is valid from its beginning: what clients had
  // opened of it before the boundary was certain or, after a restart, what the
  // ledger gave back. Its samples count as consumed and are not fetched for
  // this epoch. Samples that are in memory and were not bound stay, for this
  // epoch.
  virtual void BeginEpoch(Seed seed, Epoch epoch,
                          absl::Span<const NameBinding> bound) = 0;

  // The sample that `name` shows in this epoch. The first call binds it. All
  // later calls return the same.
  virtual SampleId Bind(SampleId name) = 0;
  // Returns whether Bind would not wait for the source: the name is bound, or a
  // sample in memory is free for it.
  virtual bool IsReady(SampleId name) const { return Bound(name).has_value(); }
  // The sample that a name shows, or the name that shows a sample, if bound.
  virtual absl::optional<SampleId> Bound(SampleId name) const = 0;
  virtual absl::optional<SampleId> NameOf(SampleId sample) const = 0;

  // The samples to fetch next, in device order, at most `room` bytes of them.
  // Empty if nothing fits or nothing is left to fetch. `room` is without
  // kept(). They are on their way from now on. After all samples of this epoch
  // come those of the next.
  virtual std::vector<SampleId> NextFetch(uint64_t room) = 0;
  // Bytes of memory that stay free for what FetchChunkOf returns.
  virtual uint64_t kept() const { return 0; }
  // A reader waits for a sample that Bind returned and that is not on its way.
  // Returns what to fetch of its chunk, including itself, if that fits into
  // `room` bytes. These are on their way from now on. Otherwise returns
  // nothing.
  virtual std::vector<SampleId> FetchChunkOf(SampleId sample,
                                             uint64_t room) = 0;
  // Call it if FetchChunkOf returned nothing: the sample is read alone, and
  // NextFetch no longer returns it. It does not count as in memory: no Arrived
  // or Left follows.
  virtual void Bypassed(SampleId sample) = 0;
  // A sample that was on its way is in memory.
  virtual void Arrived(SampleId sample) = 0;
  // A sample that Arrived or was on its way is no longer in memory. Either it
  // was consumed, or its read failed. (Its reader gets the error when it asks
  // for the sample, so it may still be bound.) Or it was bound but not read by
  // the end of its epoch; then this call comes just before BeginEpoch.
  virtual void Left(SampleId sample) = 0;

  // This epoch no longer needs a bound sample that is in memory or on its way.
  // Returns true if it stays for the next epoch, and is fetched_ahead from now
  // on. Otherwise it leaves.
  virtual bool Keeps(SampleId /*sample*/) { return false; }

  // Returns whether NextFetch has reached the next epoch.
  virtual bool fetched_all() const = 0;
  // Returns whether a sample is in memory, or on its way, for the next epoch.
  // This epoch is done with it, so it is bound, but it must not leave before
  // BeginEpoch. BeginEpoch makes it a sample of the new epoch.
  virtual bool fetched_ahead(SampleId sample) const = 0;

  virtual BinderCounts counts() const = 0;

  // The chunk of a sample: a number that grows with the places of chunks, in
  // the order of BinderInput::chunks. 0 for all if the binder reads no chunks.
  virtual uint32_t ChunkOf(SampleId /*sample*/) const { return 0; }

  // A binder of the same kind for `input`, which outlives it and has only some
  // of the chunks. Their samples are all that it fetches, and of each group it
  // binds at most as many names as it has samples. Null if the kind cannot.
  virtual std::unique_ptr<Binder> ForShare(const BinderInput& /*input*/) const {
    return nullptr;
  }

  // Not null if an epoch may show a sample under several names or none. Then
  // names and samples are not one to one, and NameOf returns the last name.
  virtual MiniEpochs* mini_epochs() { return nullptr; }
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_POLICY_BINDER_H_
