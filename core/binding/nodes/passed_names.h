// SPDX-License-Identifier: Apache-2.0
// PassedNames knows which names the nodes of a job passed to each other in this
// epoch, and by which sample the pool of this node knows each name that it
// binds. For SharedNames, if `locality` is above 0.
//
// The owner of a name may pass it to the node that looks it up. That node then
// binds it, to a sample of its own, and no file travels. So a node may bind
// more names of a group than it owns, or fewer. Its pool has a place for each
// sample that the node owns: the partners of the names that it owns
// (NodeShares). A name that was passed takes a place that is free. The name
// that would have had it takes another one when it is looked up.
//
// If no place is free, other nodes have one too many, and lend one. That
// happens late in an epoch only: a node asks for names as long as it was passed
// about as many as it passed to others (kCredit).
#ifndef SHUFFLEFS_CORE_BINDING_NODES_PASSED_NAMES_H_
#define SHUFFLEFS_CORE_BINDING_NODES_PASSED_NAMES_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/optional.h"
#include "core/base/types.h"
#include "core/binding/nodes/node_shares.h"
#include "core/dataset/grouping.h"

namespace shufflefs {

// A name, and what the shares say of it.
struct SharedName {
  SampleId name;
  SampleId partner;
  uint32_t owner = 0;
};

// Not thread-safe. Memory: about 60 bytes for a name that was passed or has
// another name's place, and 20 bytes a group.
class PassedNames {
 public:
  struct Parts {
    const Grouping* grouping = nullptr;  // outlives this
    std::shared_ptr<const NodeShares> nodes;
    // How many samples of each group this node owns.
    std::shared_ptr<const std::vector<uint32_t>> own_counts;
    uint32_t self = 0;
    uint64_t binding = 0;
    double locality = 0;  // 0: nothing is ever passed
    // Whether the pool has bound the name of this place.
    std::function<bool(SampleId place)> is_bound;
  };
  PassedNames() = default;  // of an epoch that is not shared
  explicit PassedNames(Parts parts);

  bool active() const { return parts_.locality > 0; }
  // The node that binds the name, as far as this one knows.
  uint32_t BinderOf(const SharedName& name) const;

  // The place of a name that this node binds: its partner, if nothing was
  // passed. Absent: it has none yet.
  absl::optional<SampleId> PlaceOf(const SharedName& name) const;
  // The same; if it has none, a free one. Absent: none is free. If the place is
  // the name's partner, the name must be bound next.
  absl::optional<SampleId> TakePlace(const SharedName& name);
  // The place that TakePlace gives. It is kept for the name if it is not the
  // name's partner.
  absl::optional<SampleId> LikelyPlace(const SharedName& name);
  // The name that has a place, if it is not the one whose partner it is.
  absl::optional<SampleId> NameAt(SampleId place) const;
  // The name was bound before this epoch's pool began. Absent: no place is
  // free.
  absl::optional<SampleId> Adopt(const SharedName& name);

  // Whether the owner of the name should be asked to pass it. If so, a place is
  // kept for it until EndWant.
  bool Want(const SharedName& name);
  void EndWant(const SharedName& name);
  // This node owns the name. Returns whether it may be passed, and passes it.
  bool Pass(const SharedName& name, uint32_t to);
  // The owner says that it passed the name to this node.
  void Took(const SharedName& name);
  // The owner says that it passed the name to another node.
  void Learn(const SharedName& name, uint32_t binder);
  // A sample of another node is shown by a name of this one, or the reverse.
  void NoteBorrowed(SampleId name) { ++CountsOf(name).given; }
  void NoteLent(SampleId name) { ++CountsOf(name).taken; }

  // Names with places of their own here, in no order.
  void ForEachPlace(
      const std::function<void(SampleId name, SampleId place)>& each) const;

 private:
  struct Counts {
    uint32_t free = 0;    // Places.
    uint32_t wanted = 0;  // Of these, kept for names that were asked for.
    uint32_t taken = 0;   // Names that were passed to this node.
    uint32_t given = 0;   // Names that this node passed.
    uint32_t left = 0;    // Places of the group that were not searched yet.
  };
  Counts& CountsOf(SampleId id) {
    return counts_[parts_.grouping->group_of(id).value()];
  }
  // Returns whether the name's place is its partner, unless it has another one.
  bool KeepsPartner(const SharedName& name) const;
  // A place of the name's group that nothing has. Absent: there is none.
  absl::optional<SampleId> FindFree(SampleId name);
  absl::optional<SampleId> Give(SampleId name, absl::optional<SampleId> place);

  Parts parts_;
  bool adopts_ = true;  // the pool has not begun; is_bound is of another epoch
  std::vector<Counts> counts_;  // by group
  // Names that another node binds than their owner.
  absl::flat_hash_map<uint64_t, uint32_t> binder_of_;
  // Names that do not have their partners' places, or had one from the
  // beginning, and the reverse.
  absl::flat_hash_map<uint64_t, uint64_t> place_of_;
  absl::flat_hash_map<uint64_t, uint64_t> name_at_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_BINDING_NODES_PASSED_NAMES_H_
