// SPDX-License-Identifier: Apache-2.0
// SampleTable is what a binder knows of each sample: the name that shows it,
// whether it is in memory, and whether this epoch is done with it. By group, it
// knows the open samples: those that the binder may give to a new name, drawn
// in O(1).
//
// Memory: 9 bytes per sample, of which 8 are touched when first needed. Every
// call is O(1), except the constructor and BeginEpoch. BeginEpoch is linear in
// the groups and in the samples in memory, but not in all samples. These are
// renewed block by block, when the epoch first changes something of a block.
// Not thread-safe.
#ifndef SHUFFLEFS_POLICIES_SAMPLE_TABLE_H_
#define SHUFFLEFS_POLICIES_SAMPLE_TABLE_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "core/base/bitmap.h"
#include "core/dataset/grouping.h"
#include "core/policy/retained_bindings.h"
#include "core/random/random.h"

namespace shufflefs {

// Samples and names have the numbers of SampleId, in 32 bits.
class SampleTable {
 public:
  static constexpr uint32_t kNone = 0xFFFFFFFF;
  static uint32_t IdOf(SampleId sample) {
    return static_cast<uint32_t>(sample.value());
  }
  // Empty for kNone.
  static absl::optional<SampleId> SampleOf(uint32_t id) {
    if (id == kNone) return absl::nullopt;
    return SampleId(id);
  }

  // REQUIRES: fewer than 2^32 - 1 samples.
  explicit SampleTable(const Grouping& grouping);

  // Only `bound` is bound, only its samples are done, and nothing is open.
  // Samples in memory or on their way stay so.
  void BeginEpoch(absl::Span<const NameBinding> bound);

  uint32_t size() const { return size_; }
  uint32_t group_count() const { return static_cast<uint32_t>(groups_.size()); }
  // A search among the few groups that are near.
  uint32_t group_of(uint32_t sample) const;
  uint32_t first(uint32_t group) const { return firsts_[group]; }
  uint32_t count(uint32_t group) const { return groups_[group].count; }

  // --- names ---------------------------------------------------------------
  uint32_t sample_of(uint32_t name) const {
    return renewed(name) ? sample_of_[name] : kNone;
  }
  uint32_t name_of(uint32_t sample) const {
    return renewed(sample) && !open(sample) ? name_of_[sample] : kNone;
  }
  bool bound(uint32_t sample) const { return name_of(sample) != kNone; }
  // Number of samples of a group that no name shows yet.
  uint32_t unbound(uint32_t group) const { return groups_[group].unbound; }
  // REQUIRES: neither is bound; both are of one group.
  void Bind(uint32_t name, uint32_t sample);

  // --- memory --------------------------------------------------------------
  // Number of unbound samples of a group that are in memory or on their way.
  uint32_t ready(uint32_t group) const { return groups_[group].ready; }
  // Number of those that are open.
  uint32_t open_count(uint32_t group) const {
    return static_cast<uint32_t>(groups_[group].open.size());
  }
  // A random open sample. REQUIRES: open_count(group) > 0.
  uint32_t Draw(uint32_t group, Rng* rng) const;
  bool open(uint32_t sample) const { return (state(sample) & kOpen) != 0; }
  // The sample may be drawn from now on, until it is bound or leaves. Does
  // nothing if it is bound, open, or not held.
  void Open(uint32_t sample);

  bool in_memory(uint32_t sample) const { return place(sample) == kHere; }
  // In memory or on its way.
  bool held(uint32_t sample) const { return place(sample) != kOut; }
  // Calls visit(sample) for each of those, in rising order.
  template <typename Visit>
  void ForEachHeld(Visit&& visit) const {
    held_.ForEach([&](uint64_t s) { visit(static_cast<uint32_t>(s)); });
  }
  // This epoch no longer needs the sample: it is bound, and was consumed, is
  // read alone, or failed.
  bool done(uint32_t sample) const { return (state(sample) & kDone) != 0; }
  // Returns whether to fetch it for this epoch, or (if done) for the next.
  bool fetchable(uint32_t sample) const {
    return state(sample) == 0;  // kOut, without a flag
  }
  bool fetchable_ahead(uint32_t sample) const { return state(sample) == kDone; }

  // REQUIRES: !held(sample).
  void SetComing(uint32_t sample);
  // Does nothing if the sample is not on its way.
  void SetHere(uint32_t sample);
  // Its memory was released. It is not fetched again in this epoch.
  void SetOut(uint32_t sample);
  void SetDone(uint32_t sample) { Renewed(sample) |= kDone; }

 private:
  // The state of a sample: one place, and flags.
  static constexpr uint8_t kOut = 0;
  static constexpr uint8_t kComing = 1;
  static constexpr uint8_t kHere = 2;
  static constexpr uint8_t kPlaces = 3;
  static constexpr uint8_t kDone = 4;
  static constexpr uint8_t kLost = 8;  // was in memory, and left unread
  static constexpr uint8_t kOpen = 16;

  struct Group {
    uint32_t count = 0;
    uint32_t unbound = 0;
    uint32_t ready = 0;
    std::vector<uint32_t> open;  // samples
  };

  uint8_t place(uint32_t sample) const { return state_[sample] & kPlaces; }
  uint8_t state(uint32_t sample) const {
    return renewed(sample) ? state_[sample] : place(sample);
  }
  // Its state, to change it.
  uint8_t& Renewed(uint32_t sample) {
    Renew(sample);
    return state_[sample];
  }
  void SetPlace(uint32_t sample, uint8_t place) {
    uint8_t& state = Renewed(sample);
    state = static_cast<uint8_t>((state & ~kPlaces) | place);
  }
  // Returns whether the tables have this epoch's values of a sample or name.
  // If not, it has none, except for the place of the sample.
  bool renewed(uint32_t id) const { return renewed_[id / kBlock] == epoch_; }
  // Makes it so, for all of its block.
  void Renew(uint32_t id) {
    if (!renewed(id)) RenewBlock(id / kBlock);
  }
  void RenewBlock(uint32_t block);
  // The sample was bound, or leaves, so it is not ready any more.
  void RemoveReady(uint32_t sample);

  // So many samples are renewed at a time.
  static constexpr uint32_t kBlock = 1024;
  static constexpr uint32_t kStride = 256;

  // 9 bytes a sample.
  const uint32_t size_;
  std::vector<Group> groups_;
  std::vector<uint32_t> firsts_;  // by group
  // The group of each kStride-th sample, and the last one.
  std::vector<uint32_t> group_at_;
  // By name, or by sample: kNone if not bound. Blocks that were never renewed
  // have no values. An open sample has its index among those of its group in
  // place of a name.
  const std::unique_ptr<uint32_t[]> sample_of_;
  const std::unique_ptr<uint32_t[]> name_of_;
  std::vector<uint8_t> state_;     // by sample
  Bitmap held_;                    // by sample
  std::vector<uint64_t> renewed_;  // by block: for this epoch_, or 0
  uint64_t epoch_ = 1;             // BeginEpoch counts them
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_POLICIES_SAMPLE_TABLE_H_
