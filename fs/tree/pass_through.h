// SPDX-License-Identifier: Apache-2.0
// PassThrough shows the unshuffled source, by path, while the catalogue of a
// large tree is still being made. Names and bytes are the source's.
#ifndef SHUFFLEFS_FS_TREE_PASS_THROUGH_H_
#define SHUFFLEFS_FS_TREE_PASS_THROUGH_H_

#include <sys/stat.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/base/mutex.h"
#include "core/catalogue/catalogue.h"
#include "core/source/posix_acl.h"
#include "core/source/source_dir.h"
#include "fs/model/dir_handle.h"
#include "fs/model/fresh_ids.h"
#include "fs/tree/passed_reads.h"

namespace shufflefs {

// Thread-safe. Nodes are counted: each Lookup adds one reference, Forget
// removes them. Node 0 is the root and stays. All calls may block on the
// device; none holds the lock meanwhile. Errors carry the source's errno.
class PassThrough {
 public:
  struct Found {
    uint32_t id = 0;
    struct stat attributes = {};
  };
  // `source` outlives the object. If other users are served, modes are limited
  // by the access control lists.
  PassThrough(const SourceDir& source, bool serves_others);

  // A node, and where it was found.
  struct Place {
    std::string path;  // relative to the source; "" for the root
    FileAttributes known;
  };

  // All calls below return ESTALE if the node's path, which its owner may
  // change, leads to another file by now. The kernel has checked the rights of
  // this one.
  absl::StatusOr<Found> Lookup(uint32_t parent, absl::string_view name);
  void Forget(uint32_t id, uint64_t count);

  absl::StatusOr<struct stat> Stat(uint32_t id) const;
  // Does not ask the source: DirHandle::Load does. This object outlives the
  // handle.
  std::unique_ptr<DirHandle> List(uint32_t id) const;
  absl::StatusOr<std::string> ReadLink(uint32_t id) const;
  // ESTALE also if the file changed. So a descriptor never mixes bytes of two
  // states of it.
  absl::StatusOr<size_t> Read(uint32_t id, uint64_t offset,
                              absl::Span<char> out) const;
  absl::StatusOr<Place> PlaceOf(uint32_t id) const;
  // Knows what was read, and is told of opens.
  PassedReads& reads() { return reads_; }
  void NoteUse(uint32_t id) { reads_.NoteUse(Path(id)); }
  void NoteOpen(uint32_t id) { reads_.NoteOpen(id, Path(id)); }

 private:
  struct Entry {
    uint32_t parent = 0;
    std::string name;
    uint64_t references = 0;
    FileAttributes known;
  };
  std::string Path(uint32_t id) const;
  std::string PathLocked(uint32_t id) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  class Listing;
  absl::StatusOr<std::vector<DirEntry>> Names(uint32_t id) const;
  // Opens what the path of a node leads to.
  absl::StatusOr<UniqueFd> Reach(const Place& place, int flags) const;
  // The directory itself.
  absl::StatusOr<UniqueFd> OpenDir(uint32_t id, int flags) const;
  absl::Status CheckSame(const Place& place, const struct stat& now) const;
  FileAttributes KnownOf(const struct stat& st) const;
  // Limited by the access control list.
  static struct stat Shown(RightsNow now);

  // Constant after construction.
  const SourceDir& source_;
  const bool inodes_last_;
  const bool serves_others_;

  mutable Mutex mu_;
  absl::flat_hash_map<uint32_t, Entry> entries_ ABSL_GUARDED_BY(mu_);
  absl::flat_hash_map<std::pair<uint32_t, std::string>, uint32_t> ids_
      ABSL_GUARDED_BY(mu_);
  FreshIds fresh_ids_ ABSL_GUARDED_BY(mu_);

  mutable PassedReads reads_;  // self-synchronised
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_FS_TREE_PASS_THROUGH_H_
