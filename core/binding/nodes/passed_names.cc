// SPDX-License-Identifier: Apache-2.0
#include "core/binding/nodes/passed_names.h"

#include <cmath>
#include <utility>

#include "core/random/random.h"

namespace shufflefs {
namespace {

// How many names more than it passed a node is passed at most, by the number
// of its samples in the group. A sampler gives each node about its share of
// the names, give or take such a number.
uint32_t Credit(uint32_t own) {
  return 1 + static_cast<uint32_t>(std::sqrt(own));
}

}  // namespace

PassedNames::PassedNames(Parts parts) : parts_(std::move(parts)) {
  if (!active()) return;
  counts_.resize(parts_.grouping->group_count());
  for (uint32_t g = 0; g < counts_.size(); ++g) {
    counts_[g].free = (*parts_.own_counts)[g];
    counts_[g].left =
        static_cast<uint32_t>(parts_.grouping->group(GroupId(g)).samples);
  }
}

uint32_t PassedNames::BinderOf(const SharedName& name) const {
  const auto found = binder_of_.find(name.name.value());
  return found == binder_of_.end() ? name.owner : found->second;
}

absl::optional<SampleId> PassedNames::PlaceOf(const SharedName& name) const {
  if (!active()) {
    return name.owner == parts_.self ? absl::make_optional(name.partner)
                                     : absl::nullopt;
  }
  const auto found = place_of_.find(name.name.value());
  if (found != place_of_.end()) return SampleId(found->second);
  if (KeepsPartner(name) && parts_.is_bound(name.partner)) return name.partner;
  return absl::nullopt;
}

bool PassedNames::KeepsPartner(const SharedName& name) const {
  return name.owner == parts_.self && BinderOf(name) == parts_.self &&
         !name_at_.contains(name.partner.value());
}

absl::optional<SampleId> PassedNames::TakePlace(const SharedName& name) {
  adopts_ = false;
  const absl::optional<SampleId> place = PlaceOf(name);
  if (place || !active()) return place;
  Counts& counts = CountsOf(name.name);
  if (counts.free <= counts.wanted) return absl::nullopt;
  --counts.free;
  if (KeepsPartner(name)) return name.partner;
  return Give(name.name, FindFree(name.name));
}

absl::optional<SampleId> PassedNames::LikelyPlace(const SharedName& name) {
  const absl::optional<SampleId> place = PlaceOf(name);
  if (!place && KeepsPartner(name)) return name.partner;
  return place ? place : TakePlace(name);
}

absl::optional<SampleId> PassedNames::NameAt(SampleId place) const {
  const auto found = name_at_.find(place.value());
  if (found == name_at_.end()) return absl::nullopt;
  return SampleId(found->second);
}

absl::optional<SampleId> PassedNames::Adopt(const SharedName& name) {
  if (!active()) return PlaceOf(name);
  Counts& counts = CountsOf(name.name);
  if (counts.free == 0) return absl::nullopt;
  --counts.free;
  if (name.owner != parts_.self) {
    binder_of_[name.name.value()] = parts_.self;
    ++counts.taken;
  }
  return Give(name.name,
              KeepsPartner(name) ? name.partner : FindFree(name.name));
}

bool PassedNames::Want(const SharedName& name) {
  if (!active()) return false;
  const double draw = static_cast<double>(
      Mix64(parts_.binding ^ Mix64(name.name.value())) >> 11);
  if (std::ldexp(draw, -53) >= parts_.locality) return false;
  Counts& counts = CountsOf(name.name);
  const uint32_t group = parts_.grouping->group_of(name.name).value();
  if (counts.free <= counts.wanted ||
      counts.taken + counts.wanted >=
          counts.given + Credit((*parts_.own_counts)[group])) {
    return false;
  }
  ++counts.wanted;
  return true;
}

void PassedNames::EndWant(const SharedName& name) {
  --CountsOf(name.name).wanted;
}

bool PassedNames::Pass(const SharedName& name, uint32_t to) {
  if (!active() || BinderOf(name) != parts_.self || PlaceOf(name)) return false;
  binder_of_[name.name.value()] = to;
  ++CountsOf(name.name).given;
  return true;
}

void PassedNames::Took(const SharedName& name) {
  if (!binder_of_.try_emplace(name.name.value(), parts_.self).second) return;
  Counts& counts = CountsOf(name.name);
  ++counts.taken;
  if (counts.free <= counts.wanted) return;
  --counts.free;
  Give(name.name, FindFree(name.name));
}

void PassedNames::Learn(const SharedName& name, uint32_t binder) {
  binder_of_.try_emplace(name.name.value(), binder);
}

void PassedNames::ForEachPlace(
    const std::function<void(SampleId name, SampleId place)>& each) const {
  for (const auto& [name, place] : place_of_) {
    each(SampleId(name), SampleId(place));
  }
}

absl::optional<SampleId> PassedNames::FindFree(SampleId name) {
  const uint64_t first =
      parts_.grouping->group(parts_.grouping->group_of(name)).first_sample;
  Counts& counts = CountsOf(name);
  // What was passed over has a name for the rest of the epoch.
  while (counts.left > 0) {
    const SampleId place(first + --counts.left);
    if (parts_.nodes->OwnerOf(place) == parts_.self &&
        !name_at_.contains(place.value()) &&
        (adopts_ || !parts_.is_bound(place))) {
      return place;
    }
  }
  return absl::nullopt;
}

absl::optional<SampleId> PassedNames::Give(SampleId name,
                                           absl::optional<SampleId> place) {
  if (place) {
    place_of_[name.value()] = place->value();
    name_at_[place->value()] = name.value();
  }
  return place;
}

}  // namespace shufflefs
