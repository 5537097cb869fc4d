// SPDX-License-Identifier: Apache-2.0
// ControlDir is the control directory `.shufflefs`: its directories, and its
// files as snapshots. Each LOOKUP of a control file renders it anew under a new
// nodeid. So size and content agree, and a reader never sees two states. All
// snapshots of a file have the same inode number.
#ifndef SHUFFLEFS_FS_CONTROL_CONTROL_DIR_H_
#define SHUFFLEFS_FS_CONTROL_CONTROL_DIR_H_

#include <sys/stat.h>

#include <cstdint>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "core/base/mutex.h"
#include "core/engine/served_dataset.h"
#include "fs/control/control_files.h"
#include "fs/model/dir_handle.h"
#include "fs/model/fresh_ids.h"
#include "fs/model/held_memory.h"
#include "fs/model/node_id.h"
#include "fs/model/reply_types.h"
#include "fs/tree/tree.h"

namespace shufflefs {

// Thread-safe. While no dataset is served yet (the catalogue is being made),
// only status, control, error and metrics exist.
class ControlDir {
 public:
  struct Owner {
    uid_t uid = 0;
    gid_t gid = 0;  // of the daemon
    // This group may read and write control.
    absl::optional<uint32_t> control_gid;
  };
  // `files` outlives the object.
  ControlDir(ControlFiles& files, Owner owner);

  // REQUIRES: called once, with objects that outlive this one.
  void SetServed(const ServedDataset* served, Tree* tree);

  // The nodeid of the directory of the view's epochs by number.
  static uint64_t EpochsOf(const View& view);

  NodeReply Root() const;
  // `user` takes memory for a text. ENFILE: `user` has too much open.
  absl::StatusOr<NodeReply> Lookup(Node parent, absl::string_view name,
                                   uid_t user);
  absl::StatusOr<struct stat> Attributes(Node node) const;
  absl::StatusOr<std::unique_ptr<DirHandle>> OpenDir(Node node) const;
  // For a directory below an epoch by number, which keeps that epoch.
  absl::StatusOr<std::shared_ptr<const HeldMemory::Part>> HoldEpoch(uid_t user);

  absl::StatusOr<size_t> Read(Node node, uint64_t offset,
                              absl::Span<char> out) const;
  // One write is one set of lines, whatever its offset. EINVAL: a bad line, or
  // it may be a piece of a write; nothing changed. EROFS: the file takes no
  // writes.
  absl::Status Write(Node node, const WrittenText& text);
  // EROFS unless `node` is a file that takes writes.
  absl::Status CheckWritable(Node node) const;
  void Forget(Node node, uint64_t count);

 private:
  // A text, shared by the snapshots that show it. Who looked it up first holds
  // its memory.
  struct Text {
    std::shared_ptr<const std::string> text;
    std::shared_ptr<const HeldMemory::Part> part;
  };
  struct Snapshot {
    ControlFile file = ControlFile::kStatus;
    int view = -1;  // -1: the whole mount
    std::shared_ptr<const Text> held;
    std::shared_ptr<const HeldMemory::Part> part;  // the snapshot's own
    const std::string& text() const { return *held->text; }
    int64_t made_ns = 0;
    ShownRights::Listing names;  // for `order`: who may learn its names
    uint64_t references = 0;
  };
  const ServedDataset* served() const;
  Tree* tree() const;
  absl::optional<int> ViewOf(Node dir) const;
  absl::StatusOr<NodeReply> MakeSnapshot(ControlFile file, int view,
                                         uid_t user);
  absl::StatusOr<std::shared_ptr<const Text>> HoldText(ControlFile file,
                                                       int view, uid_t user);
  absl::StatusOr<NodeReply> LookupEpochs(Node parent, absl::string_view name);
  struct stat DirStat(Node node) const;
  struct stat FileStat(Node node, const Snapshot& snapshot) const;

  // Constant after construction.
  ControlFiles& files_;
  const Owner owner_;
  const int64_t born_ns_;

  HeldMemory memory_;  // self-synchronised

  mutable Mutex mu_;
  const ServedDataset* served_ ABSL_GUARDED_BY(mu_) = nullptr;
  Tree* tree_ ABSL_GUARDED_BY(mu_) = nullptr;
  absl::flat_hash_map<uint32_t, std::shared_ptr<Snapshot>> snapshots_
      ABSL_GUARDED_BY(mu_);
  FreshIds fresh_ids_ ABSL_GUARDED_BY(mu_);
  // The last text of each file of each view.
  absl::flat_hash_map<uint64_t, std::weak_ptr<const Text>> last_
      ABSL_GUARDED_BY(mu_);
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_FS_CONTROL_CONTROL_DIR_H_
