// SPDX-License-Identifier: Apache-2.0
// ShownRights decides the owner, group and mode with which nodes are shown, so
// that the kernel denies access to everybody whom the source denies it. If
// other users are served, it asks the source repeatedly what a directory
// allows. Something that is shown outside its own directory is closed to users
// to whom a directory above its own is closed.
#ifndef SHUFFLEFS_FS_TREE_SHOWN_RIGHTS_H_
#define SHUFFLEFS_FS_TREE_SHOWN_RIGHTS_H_

#include <sys/stat.h>

#include <functional>
#include <utility>
#include <vector>

#include "absl/types/optional.h"
#include "core/engine/served_dataset.h"
#include "core/source/dir_rights.h"
#include "core/source/source_dir.h"
#include "core/view/view.h"
#include "fs/model/node_id.h"

namespace shufflefs {

// Thread-safe. A call may wait for the source as DirRights does.
class ShownRights {
 public:
  // `source` and `served` outlive the object. `waits`: as DirRights::Options.
  ShownRights(const SourceDir& source, const ServedDataset& served,
              std::function<void()> waits = nullptr)
      : served_(served),
        dirs_(source, served.catalogue(),
              DirRights::Options{.waits = std::move(waits)}) {}

  // How long the kernel may cache what depends on a directory's rights.
  double seconds() const;
  mode_t OfDir(DirId dir) { return dirs_.ModeOf(dir); }
  // For something shown outside its own directory. Users who may not search one
  // of the directories from `above` up to, but not including, `top` lose the
  // bits of `self`, too.
  mode_t Searchable(const struct stat& self, DirId above, DirId top);
  // CrossesDirs: the file's content may be shown under names of other
  // directories than its own. If so, and if IsClosed, its mode must deny all
  // access.
  bool CrossesDirs(Node file) const;
  bool IsClosed(Node file);

  // The users who may learn all names of a view's samples.
  struct Listing {
    gid_t gid = 0;       // of the view's directory
    mode_t bits = 0111;  // classes that may: its owner, that group, others
  };
  Listing ListingOf(const View& view);
  // Returns whether everybody who may search a file's directory, or one above,
  // may list it. If not, names of such files are told to nobody.
  bool NamesAreOpen(EntryId file);

 private:
  std::vector<DirId> DirsOf(Node file) const;
  std::vector<DirId> DirsOfSamples(const View& view) const;

  const ServedDataset& served_;
  DirRights dirs_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_FS_TREE_SHOWN_RIGHTS_H_
