// SPDX-License-Identifier: Apache-2.0
#include "core/records/containers/container_group.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "core/records/containers/name_repeats.h"
#include "core/records/containers/row_companions.h"
#include "core/records/index/container_index.h"

namespace shufflefs {
namespace {

// The arguments of JoinGroup.
struct Joining {
  const ContainerGroup& group;
  const Catalogue& catalogue;
  const std::function<EntryId(size_t)>& file_at;
  MemberShapes& found;
  // By member, for those with names. Freed when the group is joined.
  std::map<size_t, std::shared_ptr<const NameHashes>> names;

  std::string PathOf(size_t member) const {
    return catalogue.path(file_at(member));
  }
};

// Why two files cannot have one order. "" if they can.
std::string CannotShareOrder(const ContainerShape& a, const std::string& a_path,
                             const ContainerShape& b,
                             const std::string& b_path) {
  if (a.records->count() != b.records->count()) {
    return absl::StrCat(a_path, " has ", a.records->count(), " records, ",
                        b_path, " has ", b.records->count());
  }
  // Blocks and pages are of bytes. The groups of a footer count, whatever their
  // bytes are.
  if ((a.columnar == nullptr) != (b.columnar == nullptr)) {
    const bool is_a = a.columnar != nullptr;
    return absl::StrCat("in ", is_a ? a_path : b_path,
                        " only the footer moves, in ", is_a ? b_path : a_path,
                        " the records");
  }
  return "";
}

void Align(const Joining& joining) {
  const Catalogue& catalogue = joining.catalogue;
  const size_t first = joining.group.members.front();
  std::string why;
  for (const size_t member : joining.group.members) {
    const absl::StatusOr<ContainerShape>& found = joining.found.at(member);
    const std::string path = catalogue.path(joining.file_at(member));
    if (!found.ok()) {
      why = absl::StrCat(path, ": ", found.status().message());
    } else if (found->records == nullptr) {
      why = absl::StrCat(path, ": its records cannot be aligned");
    } else {
      why = CannotShareOrder(*joining.found.at(first),
                             catalogue.path(joining.file_at(first)), *found,
                             path);
    }
    if (!why.empty()) break;
  }
  if (!why.empty()) {
    for (auto& [member, found] : joining.found) {
      found =
          absl::FailedPreconditionError(absl::StrCat("record.align: ", why));
    }
    return;
  }
  // Uses the blocks of the largest member, so that no member has larger parts
  // than those.
  const size_t by =
      *std::max_element(joining.group.members.begin(),
                        joining.group.members.end(), [&](size_t a, size_t b) {
                          return joining.found.at(a)->file_bytes <
                                 joining.found.at(b)->file_bytes;
                        });
  for (auto& [member, found] : joining.found) {
    found->aligned = true;
    if (member != by) found->order_by = joining.found.at(by)->records;
  }
}

// A file of one line shows no line end. It gets the one that the first of the
// others has.
void AgreeOnLineEnd(const Joining& joining,
                    const std::vector<size_t>& members) {
  LineEnd end = LineEnd::kUnknown;
  for (const size_t member : members) {
    if (end == LineEnd::kUnknown) end = joining.found.at(member)->line_end;
  }
  for (const size_t member : members) {
    ContainerShape& shape = *joining.found.at(member);
    if (!shape.lacks_newline || shape.line_end != LineEnd::kUnknown) continue;
    shape.line_end = end;
    if (end != LineEnd::kCrLf) continue;
    // Until now it counted as a byte longer.
    shape.records =
        std::make_shared<ExtendedTable>(std::move(shape.records), 1);
  }
}

// Mixes the records of these members.
void Mix(const Joining& joining, const std::vector<size_t>& members) {
  AgreeOnLineEnd(joining, members);
  std::vector<ContainerShape> shapes;
  auto files = std::make_shared<std::vector<EntryId>>();
  for (const size_t member : members) {
    shapes.push_back(*joining.found.at(member));
    files->push_back(joining.file_at(member));
  }
  auto family = std::make_shared<ContainerFamily>();
  family->table = std::make_shared<FamilyTable>(std::move(shapes));
  family->files = std::move(files);
  for (size_t m = 0; m < members.size(); ++m) {
    absl::StatusOr<ContainerShape>& found = joining.found.at(members[m]);
    found->family = family;
    found->member = m;
  }
}

// By their place among these members: one before each that has one of its
// names.
std::vector<absl::optional<size_t>> RepeatsAmong(
    const Joining& joining, const std::vector<size_t>& members) {
  std::vector<absl::Span<const uint64_t>> names;
  for (const size_t member : members) {
    const auto own = joining.names.find(member);
    names.emplace_back();
    if (own != joining.names.end()) names.back() = *own->second;
  }
  return FindNameRepeats(names);
}

// Two samples of one key that follow each other would be read as one, and of
// two files of one name only one is unpacked.
std::string WhyNamesRepeat(const Joining& joining) {
  const std::vector<size_t>& members = joining.group.members;
  const auto repeats = RepeatsAmong(joining, members);
  for (size_t m = 0; m < members.size(); ++m) {
    if (!repeats[m]) continue;
    return absl::StrCat("record.scope: a key of ",
                        joining.PathOf(members[*repeats[m]]),
                        ", or a name of a file without one, comes again in ",
                        joining.PathOf(members[m]));
  }
  return "";
}

// Mixes a whole set, or refuses the whole set.
void MixSet(const Joining& joining) {
  const Catalogue& catalogue = joining.catalogue;
  const size_t first = joining.group.members.front();
  std::string why = joining.group.why_not;
  for (const size_t member : joining.group.members) {
    if (!why.empty()) break;
    const absl::StatusOr<ContainerShape>& found = joining.found.at(member);
    const std::string path = catalogue.path(joining.file_at(member));
    if (!found.ok()) {
      why =
          absl::StrCat("record.scope: ", path, ": ", found.status().message());
    } else if (found->records == nullptr) {
      why = absl::StrCat("record.scope: ", path,
                         ": its records cannot be mixed with others");
    } else if (found->head_hash != joining.found.at(first)->head_hash) {
      why = absl::StrCat("record.scope: ", path, " begins with another header",
                         " than ", catalogue.path(joining.file_at(first)));
    }
  }
  if (why.empty()) why = WhyNamesRepeat(joining);
  if (why.empty()) return Mix(joining, joining.group.members);
  for (auto& [member, found] : joining.found) {
    found = absl::FailedPreconditionError(why);
  }
}

// Files of a view that have a name in common with another.
struct KeptApart {
  uint64_t files = 0;
  std::string first;
  std::string like;  // one that has a name of the first

  std::string Warning() const {
    if (files == 0) return "";
    const bool one = files == 1;
    const std::string who =
        one ? absl::StrCat(first, " keeps its own records: it shares")
            : absl::StrCat(files, " files, the first ", first,
                           ", keep their own records: they share");
    return absl::StrCat("record.scope: ", who,
                        " a key, or a name of a file without one, with ",
                        one ? "" : "others, such as ", like);
  }
};

// Removes the members that have a name in common with one before them.
void LeaveOutRepeats(const Joining& joining, std::vector<size_t>& members,
                     KeptApart& apart) {
  const auto repeats = RepeatsAmong(joining, members);
  std::vector<size_t> kept;
  for (size_t m = 0; m < members.size(); ++m) {
    if (!repeats[m]) {
      kept.push_back(members[m]);
    } else if (apart.files++ == 0) {
      apart.first = joining.PathOf(members[m]);
      apart.like = joining.PathOf(members[*repeats[m]]);
    }
  }
  members = std::move(kept);
}

// Mixes the containers of a view that can be mixed, by their headers.
std::string MixView(const Joining& joining) {
  std::map<uint64_t, std::vector<size_t>> by_header;
  for (const size_t member : joining.group.members) {
    const absl::StatusOr<ContainerShape>& found = joining.found.at(member);
    // A file that is no container keeps to itself, and has its own reason.
    if (!found.ok() || found->records == nullptr) continue;
    by_header[found->head_hash].push_back(member);
  }
  KeptApart apart;
  for (auto& [header, members] : by_header) {
    LeaveOutRepeats(joining, members, apart);
    if (members.size() > 1) Mix(joining, members);
  }
  for (auto& [member, found] : joining.found) {
    if (found.ok() && found->family == nullptr && MayLoseHalfAnEnd(*found)) {
      found = absl::FailedPreconditionError(kOpenCrLf);
    }
  }
  return apart.Warning();
}

}  // namespace

std::string JoinGroup(const ContainerGroup& group, RecordScope scope,
                      const Catalogue& catalogue,
                      const std::function<EntryId(size_t)>& file_at,
                      MemberShapes& found) {
  Joining joining{group, catalogue, file_at, found, {}};
  for (auto& [member, shape] : found) {
    if (!shape.ok() || shape->names == nullptr) continue;
    joining.names[member] = std::exchange(shape->names, nullptr);
  }
  switch (group.kind) {
    case ContainerGroup::Kind::kFamily:
      if (scope != RecordScope::kSet) return MixView(joining);
      MixSet(joining);
      break;
    case ContainerGroup::Kind::kAligned:
      Align(joining);
      break;
    case ContainerGroup::Kind::kAlike:
      LeaveCompanions(
          group, [&](size_t member) { return joining.PathOf(member); }, found);
      break;
  }
  return "";
}

}  // namespace shufflefs
