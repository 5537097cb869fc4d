// SPDX-License-Identifier: Apache-2.0
// The directory handles of the tree. Each keeps the binding of the epoch in
// which it was opened, and computes its entries one by one.
#ifndef SHUFFLEFS_FS_TREE_TREE_DIRS_H_
#define SHUFFLEFS_FS_TREE_TREE_DIRS_H_

#include <memory>

#include "core/binding/binding.h"
#include "core/engine/served_dataset.h"
#include "fs/model/dir_handle.h"
#include "fs/model/node_id.h"

namespace shufflefs {

// A directory outside every view, in the source's order.
std::unique_ptr<DirHandle> MakeSourceDir(const ServedDataset& served,
                                         DirId dir);
// A directory of a live view, in the live epoch's order. `binds`: listing it
// with attributes binds its names (only for the dentry warmer's handles).
std::unique_ptr<DirHandle> MakeLiveDir(const ServedDataset& served,
                                       const View& view, DirId dir, bool binds);
// A directory below epoch/<n>/tree. `node` is its node.
std::unique_ptr<DirHandle> MakeFixedDir(const ServedDataset& served,
                                        std::shared_ptr<const Binding> binding,
                                        Node node);
// The flat directory of ranked names of one epoch.
std::unique_ptr<DirHandle> MakeRankedDir(
    const ServedDataset& served, const View& view,
    std::shared_ptr<const Binding> binding);

}  // namespace shufflefs

#endif  // SHUFFLEFS_FS_TREE_TREE_DIRS_H_
