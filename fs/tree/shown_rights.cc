// SPDX-License-Identifier: Apache-2.0
#include "fs/tree/shown_rights.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "core/records/containers/container_set.h"
#include "fs/model/reply_types.h"

namespace shufflefs {
namespace {

constexpr double kRightsSeconds = 1;

// The bits of each class that lacks `needed` (1 to search, 5 to list as well)
// in `mode`, three bits per class.
mode_t Lacking(mode_t mode, mode_t needed) {
  mode_t lacking = 0;
  for (int shift = 0; shift <= 6; shift += 3) {
    if ((mode >> shift & needed) != needed) lacking |= 7u << shift;
  }
  return lacking;
}

// The bits that `self` loses because it is shown past a directory with `mode`.
mode_t LostBy(const FileAttributes& dir, mode_t mode, mode_t needed, uid_t uid,
              gid_t gid) {
  const mode_t lacking = Lacking(mode, needed);
  if (lacking == 0) return 0;
  // Classes of different owners do not correspond, so all bits are lost.
  return dir.uid == uid && dir.gid == gid ? lacking : 0777;
}

}  // namespace

double ShownRights::seconds() const {
  return dirs_.are_watched() ? kRightsSeconds : kForLife;
}

mode_t ShownRights::Searchable(const struct stat& self, DirId above,
                               DirId top) {
  const Catalogue& catalogue = served_.catalogue();
  std::vector<DirId> dirs;
  for (; above != top; above = catalogue.parent(above)) dirs.push_back(above);
  const std::vector<mode_t> modes = dirs_.ModesOf(dirs);
  mode_t mode = self.st_mode;
  for (size_t i = 0; i < dirs.size(); ++i) {
    mode &= ~LostBy(catalogue.dir_attributes(dirs[i]), modes[i], 1, self.st_uid,
                    self.st_gid);
  }
  return mode;
}

bool ShownRights::CrossesDirs(Node file) const {
  if (!dirs_.are_watched()) return false;
  if (file.kind == NodeKind::kContainer) {
    return served_.views()[file.view]->setup()->config.record.scope ==
           RecordScope::kView;
  }
  const DirId dir = served_.catalogue().parent(EntryId(file.id));
  const View* view = served_.view_of(dir);
  return view != nullptr &&
         view->setup()->config.substitute == Substitute::kTree;
}

std::vector<DirId> ShownRights::DirsOf(Node file) const {
  const Catalogue& catalogue = served_.catalogue();
  std::vector<DirId> dirs = {catalogue.parent(EntryId(file.id))};
  if (file.kind != NodeKind::kContainer) return dirs;
  const auto containers =
      served_.views()[file.view]->setup()->records.containers;
  if (containers == nullptr) return dirs;
  for (const EntryId other : containers->MixedWith(EntryId(file.id))) {
    dirs.push_back(catalogue.parent(other));
  }
  return dirs;
}

bool ShownRights::IsClosed(Node file) {
  return !dirs_.AreAsOpenAsKnown(DirsOf(file));
}

// The directories that contain samples, and those between them and the view.
std::vector<DirId> ShownRights::DirsOfSamples(const View& view) const {
  const Catalogue& catalogue = served_.catalogue();
  const std::shared_ptr<const ViewSetup> setup = view.setup();
  const DirId root = setup->dataset->root();
  absl::flat_hash_set<DirId> seen;
  std::vector<DirId> dirs;
  for (uint32_t d = root.value(); d < catalogue.subtree_end(root).value();
       ++d) {
    if (setup->dataset->grouping().groups_in(DirId(d)).empty()) continue;
    for (DirId at(d); at != root && seen.insert(at).second;
         at = catalogue.parent(at)) {
      dirs.push_back(at);
    }
  }
  return dirs;
}

ShownRights::Listing ShownRights::ListingOf(const View& view) {
  Listing listing;
  if (!dirs_.are_watched()) return listing;
  const Catalogue& catalogue = served_.catalogue();
  const DirId root = view.setup()->dataset->root();
  const FileAttributes self = catalogue.dir_attributes(root);
  listing.gid = self.gid;
  std::vector<DirId> dirs = DirsOfSamples(view);
  // The directories above the view are searched, but not listed.
  const size_t to_list = dirs.size() + 1;
  for (DirId at = root;; at = catalogue.parent(at)) {
    dirs.push_back(at);
    if (at == DirId(0)) break;
  }
  const std::vector<mode_t> modes = dirs_.ModesOf(dirs);
  mode_t lost = 0;
  for (size_t i = 0; i < dirs.size(); ++i) {
    lost |= LostBy(catalogue.dir_attributes(dirs[i]), modes[i],
                   i < to_list ? 5 : 1, self.uid, self.gid);
  }
  listing.bits = 0111 & ~lost;
  return listing;
}

bool ShownRights::NamesAreOpen(EntryId file) {
  if (!dirs_.are_watched()) return true;
  const Catalogue& catalogue = served_.catalogue();
  std::vector<DirId> dirs;
  for (DirId at = catalogue.parent(file);; at = catalogue.parent(at)) {
    dirs.push_back(at);
    if (at == DirId(0)) break;
  }
  for (const mode_t mode : dirs_.ModesOf(dirs)) {
    if ((Lacking(mode, 5) & ~Lacking(mode, 1) & 0777) != 0) return false;
  }
  return true;
}

}  // namespace shufflefs
