// SPDX-License-Identifier: Apache-2.0
#include "core/records/containers/sidecars.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/catalogue/catalogue.h"
#include "core/formats/table/formats.h"

namespace shufflefs {
namespace {

// A file of this name lists the containers beside it, of whatever format.
constexpr absl::string_view kIndexOfDirectory = "index.json";

// The name of an index of offsets without its extension. "" if it is no such
// index.
absl::string_view IndexedName(absl::string_view name,
                              const std::vector<absl::string_view>& suffixes) {
  for (const absl::string_view suffix : suffixes) {
    if (absl::EndsWith(name, suffix)) {
      return name.substr(0, name.size() - suffix.size());
    }
  }
  return "";
}

}  // namespace

Sidecars::Sidecars(const Dataset& dataset)
    : dataset_(dataset), index_suffixes_(IndexSuffixes()) {
  const std::vector<absl::string_view> indexed_suffixes = IndexedSuffixes();
  const Catalogue& catalogue = dataset_.catalogue();
  const DirId root = dataset_.root();
  for (uint32_t e = catalogue.first_entry(root).value();
       e < catalogue.entries_end(root).value(); ++e) {
    const EntryId file(e);
    const absl::string_view indexed =
        IndexedName(catalogue.name(file), index_suffixes_);
    if (indexed.empty() || catalogue.kind(file) != EntryKind::kFile) continue;
    const DirId dir = catalogue.parent(file);
    bool is_beside = false;
    for (const absl::string_view suffix : indexed_suffixes) {
      is_beside |=
          catalogue.Find(dir, absl::StrCat(indexed, suffix)).has_value();
    }
    if (is_beside) continue;
    lone_indexes_.try_emplace(std::string(indexed), catalogue.path(file));
  }
}

absl::optional<EntryId> Sidecars::IndexOf(EntryId file,
                                          absl::string_view suffix) const {
  const Catalogue& catalogue = dataset_.catalogue();
  const DirId dir = catalogue.parent(file);
  const std::string name(catalogue.name(file));
  absl::optional<EntryId> index;
  for (const std::string& indexed : {name, name.substr(0, name.rfind('.'))}) {
    const absl::optional<EntryId> found =
        catalogue.Find(dir, absl::StrCat(indexed, suffix));
    if (!found || found == index) continue;
    if (index || catalogue.kind(*found) != EntryKind::kFile) {
      return absl::nullopt;
    }
    index = found;
  }
  return index;
}

std::string Sidecars::Objection(EntryId file, bool asked,
                                const absl::optional<EntryId>& index) const {
  const Grouping& grouping = dataset_.grouping();
  const absl::optional<Grouping::Place> place = grouping.place(file);
  if (!place) return "it is in a split, hidden, empty, or cannot be read";
  const Grouping::Group& group = grouping.group(place->group);
  if (grouping.moves() && group.samples > 1) {
    return "names show other files, and it moves with them";
  }
  if (asked) return "";
  // The index may be the one file of the same stem.
  const absl::optional<Grouping::Place> beside =
      index ? grouping.place(*index) : absl::nullopt;
  const bool is_pair = group.columns == 2 && beside &&
                       beside->group == place->group &&
                       beside->index == place->index;
  if (group.columns > 1 && !is_pair) {
    return "it has a sidecar file, which has the same stem";
  }
  return SidecarOf(file, index);
}

std::string Sidecars::SidecarOf(EntryId file,
                                const absl::optional<EntryId>& index) const {
  const Catalogue& catalogue = dataset_.catalogue();
  const DirId dir = catalogue.parent(file);
  const std::string name(catalogue.name(file));
  // Files of another stem are found even if pairs are not searched for.
  const std::string stem = name.substr(0, name.rfind('.'));
  for (const std::string& indexed : {name, stem}) {
    for (const absl::string_view suffix : index_suffixes_) {
      const std::string beside = absl::StrCat(indexed, suffix);
      const absl::optional<EntryId> found = catalogue.Find(dir, beside);
      if (found && found != index) {
        return absl::StrCat("it has a sidecar file, ", beside);
      }
    }
    const auto lone = lone_indexes_.find(indexed);
    if (lone != lone_indexes_.end()) {
      return absl::StrCat("it has a sidecar file, ", lone->second);
    }
  }
  if (catalogue.Find(dir, kIndexOfDirectory)) {
    return absl::StrCat("it has a sidecar file, ", kIndexOfDirectory);
  }
  return "";
}

}  // namespace shufflefs
