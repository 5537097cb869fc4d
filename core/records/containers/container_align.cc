// SPDX-License-Identifier: Apache-2.0
// The containers of a view that get one order of their records.
#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/catalogue/catalogue.h"
#include "core/records/containers/container_set.h"

namespace shufflefs {

absl::optional<RecordFormat> ContainerSet::AlignedFormat(
    absl::string_view path) const {
  const absl::optional<RecordFormat> asked = rules_.Asked(path);
  return asked ? asked : LikelyFormat(path);
}

std::string ContainerSet::AlignObjection(const Wished& wished) const {
  if (!wished.why_not.empty()) return wished.why_not;
  for (size_t slot = 0; slot < wished.paths.size(); ++slot) {
    const std::string& path = wished.paths[slot];
    std::string why;
    if (!wished.files[slot]) {
      why = "there is no such file";
    } else if (!AlignedFormat(path)) {
      why = "name its format in record.as";
    } else {
      why = Objection(*wished.files[slot], /*asked=*/true, absl::nullopt);
    }
    if (!why.empty()) return absl::StrCat("record.align: ", path, ": ", why);
  }
  return "";
}

void ContainerSet::Align(const Wished& wished) {
  const std::string objection = AlignObjection(wished);
  Alignment alignment;
  for (size_t slot = 0; slot < wished.paths.size(); ++slot) {
    const absl::optional<EntryId>& file = wished.files[slot];
    if (!objection.empty()) {
      if (!file) continue;
      objections_.push_back({dataset_->catalogue().path(*file), objection});
      continue;
    }
    alignment.members.push_back(containers_.size());
    Add(*file, *AlignedFormat(wished.paths[slot]), wished.paths.front());
    containers_.back().alignment = alignments_.size();
  }
  if (objection.empty()) alignments_.push_back(std::move(alignment));
}

void ContainerSet::NoteUnmatched(const Wishes& wishes) {
  std::set<size_t> matched;
  for (const auto& [place, wished] : wishes) matched.insert(place.first);
  for (size_t rule = 0; rule < rules_.align().count(); ++rule) {
    if (matched.contains(rule)) continue;
    objections_.push_back(
        {rules_.align().text(rule), "record.align: there is no such file"});
  }
}

void ContainerSet::MatchUp(Alignment& alignment) const {
  const Catalogue& catalogue = dataset_->catalogue();
  const size_t first = alignment.members.front();
  std::string why;
  for (const size_t member : alignment.members) {
    const absl::StatusOr<ContainerShape>& found = alignment.found.at(member);
    const std::string path = catalogue.path(containers_[member].file);
    if (!found.ok()) {
      why = absl::StrCat(path, ": ", found.status().message());
    } else if (found->records == nullptr) {
      why = absl::StrCat(path, ": its records cannot be aligned");
    } else if (const uint64_t count =
                   alignment.found.at(first)->records->count();
               found->records->count() != count) {
      why =
          absl::StrCat(catalogue.path(containers_[first].file), " has ", count,
                       " records, ", path, " has ", found->records->count());
    }
    if (!why.empty()) break;
  }
  if (!why.empty()) {
    for (auto& [member, found] : alignment.found) {
      found =
          absl::FailedPreconditionError(absl::StrCat("record.align: ", why));
    }
    return;
  }
  // By the blocks of the largest the parts of none are larger than these.
  const size_t by =
      *std::max_element(alignment.members.begin(), alignment.members.end(),
                        [&](size_t a, size_t b) {
                          return alignment.found.at(a)->file_bytes <
                                 alignment.found.at(b)->file_bytes;
                        });
  for (auto& [member, found] : alignment.found) {
    found->aligned = true;
    if (member != by) found->order_by = alignment.found.at(by)->records;
  }
}

void ContainerSet::SettleAligned(Container& container,
                                 absl::StatusOr<ContainerShape> shape) {
  std::vector<std::pair<Container*, absl::StatusOr<ContainerShape>>> settled;
  {
    MutexLock lock(mu_);
    Alignment& alignment = alignments_[container.alignment];
    alignment.found.emplace(places_.at(container.file), std::move(shape));
    if (alignment.found.size() < alignment.members.size()) return;
    if (!alignment.is_family) {
      MatchUp(alignment);
    } else if (rules_.options().scope == RecordScope::kSet) {
      JoinSet(alignment);
    } else {
      JoinView(alignment);
    }
    for (auto& [member, found] : alignment.found) {
      settled.emplace_back(&containers_[member], std::move(found));
    }
  }
  for (auto& [member, found] : settled) Publish(*member, std::move(found));
}

}  // namespace shufflefs
