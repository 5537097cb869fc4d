// SPDX-License-Identifier: Apache-2.0
#include "core/records/containers/container_finder.h"

#include <xxhash.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/catalogue/catalogue.h"
#include "core/formats/table/formats.h"
#include "core/records/containers/container_families.h"
#include "core/records/containers/row_companions.h"
#include "core/records/containers/sidecars.h"
#include "core/records/index/table_files.h"

namespace shufflefs {
std::string PathInView(const Catalogue& catalogue, DirId root, EntryId file) {
  const std::string path = catalogue.path(file);
  const std::string above = catalogue.path(root);
  return above.empty() ? path : path.substr(above.size() + 1);
}

namespace {

// Files to be aligned, by rule and path of the first.
struct Wished {
  std::vector<std::string> paths;
  std::vector<absl::optional<EntryId>> files;
  std::string why_not;  // "" if they may be, as far as is known yet
};
using Requests = std::map<std::pair<size_t, std::string>, Wished>;

// Files of the source that another view shows, [begin, end).
using Ranges = std::vector<std::pair<uint32_t, uint32_t>>;

class Finder {
 public:
  Finder(const Dataset& dataset, const RecordRules& rules,
         const ContainerSetOptions& options)
      : dataset_(dataset),
        rules_(rules),
        options_(options),
        sidecars_(dataset),
        tables_(dataset.catalogue()) {}

  FoundContainers Run();

 private:
  Ranges RangesInside() const;
  void Consider(EntryId file);
  void LeaveSharedIndexes();
  void Add(EntryId file, const RecordFormat& format,
           absl::string_view keyed_by);
  void AddPadded(EntryId file, const PaddedDirs::Padded& padded,
                 const std::string& path);
  void Leave(EntryId file, std::string why) {
    found_.untouched.push_back(
        {dataset_.catalogue().path(file), std::move(why)});
  }
  // The format that the user gives a file. Null: none.
  const RecordFormat* Asked(absl::string_view path);
  // Null: it has none.
  const RecordFormat* AlignedFormat(absl::string_view path) const;
  // Why files cannot be aligned. "" if they can.
  std::string AlignObjection(const Wished& wished);
  void Align(const Wished& wished);
  void NoteUnmatched();

  const Dataset& dataset_;
  const RecordRules& rules_;
  const ContainerSetOptions& options_;
  const Sidecars sidecars_;
  const RecordFormat* const padded_format_ = PaddedFormat();
  TableFiles tables_;
  Requests requests_;
  std::set<size_t> rules_used_;
  FoundContainers found_;
};

FoundContainers Finder::Run() {
  const Catalogue& catalogue = dataset_.catalogue();
  const DirId root = dataset_.root();
  uint32_t next = catalogue.first_entry(root).value();
  for (const auto& [begin, end] : RangesInside()) {
    for (; next < begin; ++next) Consider(EntryId(next));
    next = std::max(next, end);
  }
  for (; next < catalogue.entries_end(root).value(); ++next) {
    Consider(EntryId(next));
  }
  LeaveSharedIndexes();
  if (rules_.options().scope != RecordScope::kFile) {
    MakeFamilies(dataset_, rules_, found_);
  }
  for (const auto& [place, wished] : requests_) Align(wished);
  FindRowCompanions(dataset_, rules_, found_);
  NoteUnmatched();
  return std::move(found_);
}

Ranges Finder::RangesInside() const {
  const Catalogue& catalogue = dataset_.catalogue();
  Ranges ranges;
  for (const std::string& path : options_.inside) {
    const absl::optional<EntryId> entry = catalogue.FindPath(path);
    if (!entry || catalogue.kind(*entry) != EntryKind::kDirectory) continue;
    const DirId dir = catalogue.as_dir(*entry);
    ranges.emplace_back(catalogue.first_entry(dir).value(),
                        catalogue.entries_end(dir).value());
  }
  std::sort(ranges.begin(), ranges.end());
  return ranges;
}

void Finder::Consider(EntryId file) {
  const Catalogue& catalogue = dataset_.catalogue();
  const RecordFormat* const by_name = FormatByName(catalogue.name(file));
  absl::optional<PaddedDirs::Padded> padded;
  if (options_.padded != nullptr && padded_format_ != nullptr) {
    const auto found = options_.padded->Find(file);
    if (!found.ok()) {
      const absl::string_view why = found.status().message();
      return Leave(file, std::string(why));
    }
    padded = *found;
  }
  if (!padded &&
      ((by_name == nullptr && rules_.empty()) || options_.only_padded)) {
    return;
  }
  if (catalogue.kind(file) != EntryKind::kFile) return;
  const std::string path = PathInView(catalogue, dataset_.root(), file);
  const RecordFormat* const asked = Asked(path);
  if (padded) return AddPadded(file, *padded, path);
  if (absl::optional<AlignRules::Place> place = rules_.align().Match(path)) {
    Wished& wished = requests_[{place->rule, place->paths.front()}];
    wished.files.resize(place->paths.size());
    wished.files[place->slot] = file;
    wished.paths = std::move(place->paths);
    return;
  }
  if (by_name == nullptr && asked == nullptr) return;
  const RecordFormat& format = asked != nullptr ? *asked : *by_name;
  const RecordScope scope = rules_.options().scope;
  const absl::string_view suffix = format.rewritten_index();
  const bool may_have_index =
      !suffix.empty() && asked == nullptr && scope == RecordScope::kFile;
  const absl::optional<EntryId> index =
      may_have_index ? sidecars_.IndexOf(file, suffix) : absl::nullopt;
  std::string objection = sidecars_.Objection(file, asked != nullptr, index);
  // Applies also if the user names the file: rows would be mistaken for others.
  if (objection.empty() && format.is_columnar()) {
    objection = tables_.WhyOf(catalogue.parent(file));
  }
  if (objection.empty())
    objection = ScopeObjection(catalogue.name(file), format, scope);
  if (!objection.empty()) {
    return Leave(file, std::move(objection));
  }
  Add(file, format, path);
  found_.containers.back().index = index;
}

// An index that two files may have can be shown in the order of one only. A
// padded file needs its own: it says where the records are.
void Finder::LeaveSharedIndexes() {
  std::map<EntryId, size_t> users;
  for (const FoundContainer& container : found_.containers) {
    if (container.index) ++users[*container.index];
  }
  std::erase_if(found_.containers, [&](const FoundContainer& container) {
    if (!container.index || container.padded != nullptr ||
        users[*container.index] == 1) {
      return false;
    }
    Leave(container.file,
          absl::StrCat("it has a sidecar file, ",
                       dataset_.catalogue().name(*container.index),
                       ", which another file may have, too"));
    return true;
  });
}

void Finder::Add(EntryId file, const RecordFormat& format,
                 absl::string_view keyed_by) {
  FoundContainer container;
  container.file = file;
  container.format = &format;
  container.key = XXH3_64bits(keyed_by.data(), keyed_by.size());
  found_.containers.push_back(std::move(container));
}

void Finder::AddPadded(EntryId file, const PaddedDirs::Padded& padded,
                       const std::string& path) {
  const absl::optional<Grouping::Place> place = dataset_.grouping().place(file);
  if (dataset_.grouping().moves() &&
      !(place && dataset_.grouping().group(place->group).samples == 1)) {
    return Leave(file, "names show other files, and it moves with them");
  }
  Add(file, *padded_format_, path);
  FoundContainer& container = found_.containers.back();
  container.index = padded.index;
  container.padded = padded.file;
  const absl::optional<AlignRules::Place> aligned = rules_.align().Match(path);
  std::string objection =
      sidecars_.Objection(file, rules_.Asked(path) != nullptr, padded.index);
  container.keeps_order = options_.only_padded ||
                          rules_.options().scope != RecordScope::kFile ||
                          aligned || !objection.empty();
  if (!options_.only_padded && !objection.empty()) {
    Leave(file, std::move(objection));
  }
  if (!aligned) return;
  Wished& wished = requests_[{aligned->rule, aligned->paths.front()}];
  wished.files.resize(aligned->paths.size());
  wished.why_not = absl::StrCat("record.align: ", path,
                                ": it is padded, and keeps its order");
  wished.paths = aligned->paths;
}

const RecordFormat* Finder::Asked(absl::string_view path) {
  const absl::optional<size_t> rule = rules_.RuleOf(path);
  if (!rule) return nullptr;
  rules_used_.insert(*rule);
  return rules_.format(*rule);
}

const RecordFormat* Finder::AlignedFormat(absl::string_view path) const {
  const RecordFormat* const asked = rules_.Asked(path);
  return asked != nullptr ? asked : LikelyFormat(path);
}

std::string Finder::AlignObjection(const Wished& wished) {
  if (!wished.why_not.empty()) return wished.why_not;
  for (size_t slot = 0; slot < wished.paths.size(); ++slot) {
    const std::string& path = wished.paths[slot];
    const absl::optional<EntryId>& file = wished.files[slot];
    const RecordFormat* const format = AlignedFormat(path);
    std::string why;
    if (!file) {
      why = "there is no such file";
    } else if (format == nullptr) {
      why = "name its format in record.as";
    } else {
      why = sidecars_.Objection(*file, /*asked=*/true, absl::nullopt);
    }
    if (why.empty() && format->is_columnar()) {
      why = tables_.WhyOf(dataset_.catalogue().parent(*file));
    }
    if (!why.empty()) return absl::StrCat("record.align: ", path, ": ", why);
  }
  return "";
}

void Finder::Align(const Wished& wished) {
  const std::string objection = AlignObjection(wished);
  ContainerGroup group;
  for (size_t slot = 0; slot < wished.paths.size(); ++slot) {
    const absl::optional<EntryId>& file = wished.files[slot];
    if (!objection.empty()) {
      if (!file) continue;
      Leave(*file, objection);
      continue;
    }
    group.members.push_back(found_.containers.size());
    Add(*file, *AlignedFormat(wished.paths[slot]), wished.paths.front());
    found_.containers.back().group = found_.groups.size();
  }
  if (objection.empty()) found_.groups.push_back(std::move(group));
}

void Finder::NoteUnmatched() {
  std::set<size_t> matched;
  for (const auto& [place, wished] : requests_) matched.insert(place.first);
  for (size_t rule = 0; rule < rules_.align().count(); ++rule) {
    if (matched.contains(rule)) continue;
    found_.untouched.push_back(
        {rules_.align().text(rule), "record.align: there is no such file"});
  }
  if (options_.only_padded || options_.rules_are_shared) return;
  for (size_t rule = 0; rule < rules_.count(); ++rule) {
    if (rules_used_.contains(rule)) continue;
    found_.unmatched.push_back(rules_.text(rule));
  }
}

}  // namespace

FoundContainers FindContainers(const Dataset& dataset, const RecordRules& rules,
                               const ContainerSetOptions& options) {
  return Finder(dataset, rules, options).Run();
}

}  // namespace shufflefs
