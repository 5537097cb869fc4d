// SPDX-License-Identifier: Apache-2.0
// The owner, group and mode that nodes are shown with, so that the kernel lets
// nobody through whom the source keeps out: what a directory allows is asked of
// the source again and again where others are served, and what is shown away
// from its place is closed to whom a directory above that place is closed.
#ifndef SHUFFLEFS_FS_TREE_SHOWN_RIGHTS_H_
#define SHUFFLEFS_FS_TREE_SHOWN_RIGHTS_H_

#include <sys/stat.h>

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
  // Both outlive the object.
  ShownRights(const SourceDir& source, const ServedDataset& served)
      : served_(served), dirs_(source, served.catalogue()) {}

  // How long the kernel may believe what follows from a directory's rights.
  double seconds() const;
  mode_t OfDir(DirId dir) { return dirs_.ModeOf(dir); }
  // Of something shown away from its place: who may not search one of the
  // directories from `above` up to `top`, which is not looked at, loses the
  // bits of `self`, too.
  mode_t Searchable(const struct stat& self, DirId above, DirId top);
  // Whether a file's content may come under names of other directories than
  // its own; then its mode is to be Closed if that is closed by now.
  bool CrossesDirs(Node file) const;
  bool IsClosed(Node file);

  // Who may learn all names of a view's samples.
  struct Listing {
    gid_t gid = 0;       // of the view's directory
    mode_t bits = 0111;  // of its owner, that group, others: they may
  };
  Listing ListingOf(const View& view);

 private:
  std::vector<DirId> DirsOf(Node file) const;
  std::vector<DirId> DirsOfSamples(const View& view) const;

  const ServedDataset& served_;
  DirRights dirs_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_FS_TREE_SHOWN_RIGHTS_H_
