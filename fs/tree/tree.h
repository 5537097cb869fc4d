// SPDX-License-Identifier: Apache-2.0
// Tree has the nodes of the catalogue: the live tree, and the trees and ranked
// directories of fixed epochs. It answers LOOKUP, GETATTR and READDIR without
// the source, except for what directories allow (shown_rights.h).
#ifndef SHUFFLEFS_FS_TREE_TREE_H_
#define SHUFFLEFS_FS_TREE_TREE_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/base/types.h"
#include "core/engine/served_dataset.h"
#include "core/records/epoch/record_epoch.h"
#include "fs/kernel_cache/dentry_warmer.h"
#include "fs/model/dir_handle.h"
#include "fs/model/node_id.h"
#include "fs/model/reply_types.h"
#include "fs/tree/epoch_slots.h"
#include "fs/tree/record_slots.h"
#include "fs/tree/shown_rights.h"

namespace shufflefs {

// Thread-safe. `rebind_seconds` is how long the kernel may cache a name that
// shows another sample in the next epoch: for ever if it knows epochs
// (FUSE_NOTIFY_INC_EPOCH), else 0. `warmer` is told of lookups of such names,
// unless it is null.
class Tree {
 public:
  // All outlive the tree. `warmer` may be null.
  struct Parts {
    const ServedDataset* served = nullptr;
    ShownRights* rights = nullptr;
    double rebind_seconds = 0;
    DentryWarmer* warmer = nullptr;
    EpochSlots* epochs = nullptr;
  };
  explicit Tree(const Parts& parts);

  // By thread `pid` (0 = hidden). Errors: NotFound (ENOENT), ENOTDIR.
  absl::StatusOr<NodeReply> Lookup(Node parent, absl::string_view name,
                                   pid_t pid);
  // Does not say how long the kernel may cache a name.
  absl::StatusOr<NodeReply> Attributes(Node node) const;

  // `binds`: listing the directory binds its names (only for the dentry
  // warmer).
  absl::StatusOr<std::unique_ptr<DirHandle>> OpenDir(Node node,
                                                     bool binds) const;

  // The root of a fixed epoch's tree or ranked directory.
  absl::StatusOr<NodeReply> FixedRoot(const View& view, Epoch epoch,
                                      bool ranked);
  NodeReply LiveDir(DirId dir) const;
  // The epoch of records that a container's node shows. REQUIRES: kContainer.
  std::shared_ptr<RecordEpoch> RecordsOf(Node node) const {
    return records_.At(node.slot);
  }
  EpochSlots& epochs() { return *epochs_; }
  // The kernel returned `count` references to a node of a fixed epoch, or of a
  // container.
  void Forget(Node node, uint64_t count);
  ShownRights& rights() const { return rights_; }

 private:
  absl::StatusOr<NodeReply> LookupLive(DirId dir, absl::string_view name,
                                       pid_t pid);
  absl::StatusOr<NodeReply> LookupFixed(Node parent, absl::string_view name);
  absl::StatusOr<NodeReply> LookupRanked(const View& view,
                                         absl::string_view name);
  // Looks up a container in an epoch of its records.
  absl::StatusOr<NodeReply> LookupContainer(
      const View& view, std::shared_ptr<RecordEpoch> records, EntryId entry);
  absl::StatusOr<NodeReply> Reply(Node node, double entry_seconds) const;
  absl::StatusOr<struct stat> StatOfNode(Node node) const;
  struct stat FixedDirStat(Node node) const;
  bool DependsOnDirs(Node node) const;
  void HideNames(const View& view, struct stat& st) const;

  // Constant after construction.
  const ServedDataset& served_;
  ShownRights& rights_;
  const double rebind_seconds_;
  DentryWarmer* const warmer_;
  EpochSlots* const epochs_;

  RecordSlots records_;  // self-synchronised
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_FS_TREE_TREE_H_
