// SPDX-License-Identifier: Apache-2.0
// What a binder knows of each sample: the name that shows it, whether it is in
// memory, and whether this epoch has done with it. And by group, the open
// samples: those that the binder lets a new name be given, drawn in O(1).
//
// 25 bytes a sample. Every call is O(1) but for the constructor and
// BeginEpoch, which are linear. Not thread-safe.
#ifndef SHUFFLEFS_POLICIES_SAMPLE_TABLE_H_
#define SHUFFLEFS_POLICIES_SAMPLE_TABLE_H_

#include <cstdint>
#include <vector>

#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "core/dataset/grouping.h"
#include "core/policy/carried.h"
#include "core/random/random.h"

namespace shufflefs {

// Samples and names are numbered as SampleId, in 32 bits.
class SampleTable {
 public:
  static constexpr uint32_t kNone = 0xFFFFFFFF;
  static uint32_t IdOf(SampleId sample) {
    return static_cast<uint32_t>(sample.value());
  }
  // Nothing for kNone.
  static absl::optional<SampleId> SampleOf(uint32_t id) {
    if (id == kNone) return absl::nullopt;
    return SampleId(id);
  }

  // REQUIRES: fewer than 2^32 - 1 samples.
  explicit SampleTable(const Grouping& grouping);

  // Nothing is bound but `bound`, nothing done but its samples, and nothing
  // open. What is in memory or on its way stays so.
  void BeginEpoch(absl::Span<const CarriedPair> bound);

  uint32_t size() const { return static_cast<uint32_t>(state_.size()); }
  uint32_t group_count() const { return static_cast<uint32_t>(groups_.size()); }
  uint32_t group_of(uint32_t sample) const { return group_of_[sample]; }
  uint32_t first(uint32_t group) const { return groups_[group].first; }
  uint32_t count(uint32_t group) const { return groups_[group].count; }

  // --- names ---------------------------------------------------------------
  uint32_t sample_of(uint32_t name) const { return sample_of_[name]; }
  uint32_t name_of(uint32_t sample) const { return name_of_[sample]; }
  bool bound(uint32_t sample) const { return name_of_[sample] != kNone; }
  // Samples of a group that no name shows yet.
  uint32_t unbound(uint32_t group) const { return groups_[group].unbound; }
  // REQUIRES: neither is bound; both are of one group.
  void Bind(uint32_t name, uint32_t sample);

  // --- memory --------------------------------------------------------------
  // Unbound samples of a group in memory or on their way.
  uint32_t ready(uint32_t group) const { return groups_[group].ready; }
  // Those of them that are open.
  uint32_t open_count(uint32_t group) const { return groups_[group].open; }
  // A random open one. REQUIRES: open_count(group) > 0.
  uint32_t Draw(uint32_t group, Rng* rng) const;
  bool open(uint32_t sample) const { return (state_[sample] & kOpen) != 0; }
  // It may be drawn from now on, until it is bound or leaves. Nothing happens
  // to one that is bound, open, or not held.
  void Open(uint32_t sample);

  bool in_memory(uint32_t sample) const { return place(sample) == kHere; }
  // In memory or on its way.
  bool held(uint32_t sample) const { return place(sample) != kOut; }
  // This epoch needs nothing more of it: it is bound, and was consumed, is
  // read alone, or failed.
  bool done(uint32_t sample) const { return (state_[sample] & kDone) != 0; }
  // Worth fetching for this epoch, or (done) for the next.
  bool fetchable(uint32_t sample) const {
    return state_[sample] == 0;  // kOut, without a flag
  }
  bool fetchable_ahead(uint32_t sample) const {
    return state_[sample] == kDone;
  }

  // REQUIRES: !held(sample).
  void SetComing(uint32_t sample);
  // Nothing happens to one that is not on its way.
  void SetHere(uint32_t sample);
  // Its memory was given back; it is not fetched again in this epoch.
  void SetOut(uint32_t sample);
  void SetDone(uint32_t sample) { state_[sample] |= kDone; }

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
    uint32_t first = 0;
    uint32_t count = 0;
    uint32_t unbound = 0;
    uint32_t ready = 0;
    uint32_t open = 0;
  };

  uint8_t place(uint32_t sample) const { return state_[sample] & kPlaces; }
  void SetPlace(uint32_t sample, uint8_t place) {
    state_[sample] = static_cast<uint8_t>((state_[sample] & ~kPlaces) | place);
  }
  // It is bound, or leaves: it is not ready any more.
  void RemoveReady(uint32_t sample);

  std::vector<Group> groups_;
  std::vector<uint32_t> group_of_;   // by sample
  std::vector<uint32_t> sample_of_;  // by name, or kNone
  std::vector<uint32_t> name_of_;    // by sample, or kNone
  std::vector<uint8_t> state_;       // by sample
  std::vector<uint32_t> open_;     // from a group's first on: its open samples
  std::vector<uint32_t> open_at_;  // by open sample: its index in the group's
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_POLICIES_SAMPLE_TABLE_H_
