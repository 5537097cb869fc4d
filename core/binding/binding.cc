// SPDX-License-Identifier: Apache-2.0
#include "core/binding/binding.h"

#include <utility>

#include "absl/types/optional.h"

namespace shufflefs {

Binding::Binding(std::shared_ptr<const Plan> plan, RetainedBindings retained,
                 bool identity)
    : plan_(std::move(plan)),
      retained_(std::move(retained)),
      identity_(identity || !plan_->dataset().moves() ||
                plan_->policy().consumption() == Consumption::kSource) {}

Binding::Binding(std::shared_ptr<const Plan> plan, RetainedBindings retained,
                 std::shared_ptr<BoundNames> names)
    : plan_(std::move(plan)),
      retained_(std::move(retained)),
      identity_(false),
      names_(std::move(names)) {}

SampleId Binding::ShownSample(SampleId name) const {
  if (names_ != nullptr) return names_->Bound(name).value_or(name);
  if (identity_) {
    return SampleId(
        retained_.Shown(name.value(), [](uint64_t n) { return n; }));
  }
  const Grouping& grouping = plan_->dataset().grouping();
  const GroupId group = grouping.group_of(name);
  const uint64_t first = grouping.group(group).first_sample;
  const Order& order = plan_->group_order(group);
  return SampleId(retained_.Shown(name.value(), [&](uint64_t n) {
    return first + order.SampleAt(n - first);
  }));
}

SampleId Binding::NameOfSample(SampleId sample) const {
  if (names_ != nullptr) return names_->NameOf(sample).value_or(sample);
  if (identity_) {
    return SampleId(
        retained_.NameOf(sample.value(), [](uint64_t s) { return s; }));
  }
  const Grouping& grouping = plan_->dataset().grouping();
  const GroupId group = grouping.group_of(sample);
  const uint64_t first = grouping.group(group).first_sample;
  const Order& order = plan_->group_order(group);
  return SampleId(retained_.NameOf(sample.value(), [&](uint64_t s) {
    return first + order.PositionOf(s - first);
  }));
}

uint32_t Binding::OrdinalOf(SampleId name) const {
  return repeats() ? names_->OrdinalOf(name) : 0;
}

absl::optional<SampleId> Binding::NameAt(SampleId sample,
                                         uint32_t ordinal) const {
  if (repeats()) return names_->NameAt(sample, ordinal);
  if (names_ != nullptr) return names_->NameOf(sample);
  return NameOfSample(sample);
}

bool Binding::repeats() const { return names_ != nullptr && names_->repeats(); }

EntryId Binding::Shown(EntryId name) const {
  if (identity_ && retained_.empty()) return name;
  const Grouping& grouping = plan_->dataset().grouping();
  const absl::optional<Grouping::Place> place = grouping.place(name);
  if (!place) return name;
  const uint64_t first = grouping.group(place->group).first_sample;
  const SampleId shown = ShownSample(SampleId(first + place->index));
  return grouping.member(place->group, shown.value() - first, place->column);
}

EntryId Binding::NameOf(EntryId file) const {
  if (identity_ && retained_.empty()) return file;
  const Grouping& grouping = plan_->dataset().grouping();
  const absl::optional<Grouping::Place> place = grouping.place(file);
  if (!place) return file;
  const uint64_t first = grouping.group(place->group).first_sample;
  const SampleId name = NameOfSample(SampleId(first + place->index));
  return grouping.member(place->group, name.value() - first, place->column);
}

}  // namespace shufflefs
