// SPDX-License-Identifier: Apache-2.0
#include "core/records/containers/container_group.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"

namespace shufflefs {
namespace {

// The arguments of JoinGroup.
struct Joining {
  const ContainerGroup& group;
  const Catalogue& catalogue;
  const std::function<EntryId(size_t)>& file_at;
  MemberShapes& found;
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

// Mixes the records of these members.
void Mix(const Joining& joining, const std::vector<size_t>& members) {
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
  if (why.empty()) return Mix(joining, joining.group.members);
  for (auto& [member, found] : joining.found) {
    found = absl::FailedPreconditionError(why);
  }
}

// Mixes the containers of a view that can be mixed, by their headers.
void MixView(const Joining& joining) {
  std::map<uint64_t, std::vector<size_t>> by_header;
  for (const size_t member : joining.group.members) {
    const absl::StatusOr<ContainerShape>& found = joining.found.at(member);
    // A file that is no container keeps to itself, and has its own reason.
    if (!found.ok() || found->records == nullptr) continue;
    by_header[found->head_hash].push_back(member);
  }
  for (const auto& [header, members] : by_header) {
    if (members.size() > 1) Mix(joining, members);
  }
}

}  // namespace

void JoinGroup(const ContainerGroup& group, RecordScope scope,
               const Catalogue& catalogue,
               const std::function<EntryId(size_t)>& file_at,
               MemberShapes& found) {
  const Joining joining{group, catalogue, file_at, found};
  if (!group.is_family) return Align(joining);
  return scope == RecordScope::kSet ? MixSet(joining) : MixView(joining);
}

}  // namespace shufflefs
