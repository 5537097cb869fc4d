// SPDX-License-Identifier: Apache-2.0
// The containers of a view that are padded, and the indexes beside containers.
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/catalogue/catalogue.h"
#include "core/records/containers/container_set.h"

namespace shufflefs {

void ContainerSet::AddPadded(EntryId file, const PaddedDirs::Padded& padded,
                             const std::string& path, Wishes& wishes) {
  if (dataset_->grouping().moves()) {
    objections_.push_back(
        {dataset_->catalogue().path(file), "names move, and it with them"});
    return;
  }
  Add(file, RecordFormat::kTfrecord, path);
  SetIndex(padded.index);
  Container& container = containers_.back();
  container.padded = padded.file;
  const absl::optional<AlignRules::Place> aligned = rules_.align().Match(path);
  std::string objection =
      Objection(file, rules_.Asked(path).has_value(), padded.index);
  container.keeps_order = only_padded_ ||
                          rules_.options().scope != RecordScope::kFile ||
                          aligned || !objection.empty();
  if (container.keeps_order) ++kept_;
  if (!only_padded_ && !objection.empty()) {
    objections_.push_back(
        {dataset_->catalogue().path(file), std::move(objection)});
  }
  if (!aligned) return;
  Wished& wished = wishes[{aligned->rule, aligned->paths.front()}];
  wished.files.resize(aligned->paths.size());
  wished.why_not = absl::StrCat("record.align: ", path,
                                ": it is padded, and keeps its order");
  wished.paths = aligned->paths;
}

void ContainerSet::SetIndex(EntryId index) {
  containers_.back().index = index;
  indexes_[index] = containers_.back().file;
}

absl::optional<EntryId> ContainerSet::IndexedBy(EntryId file) const {
  const auto found = indexes_.find(file);
  if (found == indexes_.end()) return absl::nullopt;
  return found->second;
}

bool ContainerSet::IsShuffled(EntryId file) const {
  MutexLock lock(mu_);
  return !containers_[places_.at(file)].keeps_order;
}

ContainerSet::Shown ContainerSet::ShownBytes(EntryId file) const {
  const absl::optional<EntryId> container = IndexedBy(file);
  MutexLock lock(mu_);
  const Container& known = containers_[places_.at(container.value_or(file))];
  if (container) {
    // Until it is known whether the container is one, and how large the lines
    // are: they need no less.
    if (!known.shape || !known.shape->index) {
      return {bytes(file), known.shape.has_value()};
    }
    return {known.shape->index->bytes, true};
  }
  if (known.shape && known.padded != nullptr) {
    return {known.shape->file_bytes, true};
  }
  if (known.padded != nullptr) return {known.padded->stripped_bytes, false};
  return {bytes(file), true};
}

}  // namespace shufflefs
