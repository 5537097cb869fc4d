// SPDX-License-Identifier: Apache-2.0
// PassedReads notes which files are read while names are passed through. So a
// pass over containers that begins there is counted as a whole.
#ifndef SHUFFLEFS_FS_TREE_PASSED_READS_H_
#define SHUFFLEFS_FS_TREE_PASSED_READS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/types/optional.h"
#include "core/base/mutex.h"
#include "core/base/types.h"
#include "core/engine/served_dataset.h"
#include "core/policy/read_before.h"
#include "core/records/content/pass_tracker.h"
#include "core/records/epoch/record_epoch.h"

namespace shufflefs {

// Thread-safe. Paths are relative to the source. Nothing blocks, except that a
// note of a container may append to the ledger.
class PassedReads {
 public:
  // More files or pieces than this are not noted.
  static constexpr uint64_t kMost = uint64_t{1} << 17;

  // A file is about to be opened or read.
  void NoteUse(const std::string& path);
  // A descriptor of node `id` was opened, of which the kernel tells when it is
  // closed.
  void NoteOpen(uint32_t id, const std::string& path);
  void NoteClosed(uint32_t id);
  // Bytes [begin, end) were read.
  void NoteRead(const std::string& path, uint64_t begin, uint64_t end);
  // Says what was opened or read until now.
  FilesRead Summary() const;

  // Tells the live epochs of `served` what was noted, and from now on what is.
  // They may end; what is read then counts for none. `served` outlives the
  // object's use.
  void Begin(const ServedDataset& served);

 private:
  struct File {
    bool was_opened = false;
    SeenBytes seen;
  };
  struct Node {
    std::string path;
    uint64_t open = 0;
  };
  // A container, or the index of one, in the epoch that was live at Begin.
  struct Target {
    std::shared_ptr<RecordEpoch> records;
    EntryId file;
  };

  // Null if there is no room.
  File* FileOf(const std::string& path) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::optional<Target> TargetOf(const std::string& path) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  mutable Mutex mu_;
  bool used_ ABSL_GUARDED_BY(mu_) = false;
  bool lost_ ABSL_GUARDED_BY(mu_) = false;  // something was not noted
  uint64_t pieces_ ABSL_GUARDED_BY(mu_) = 0;
  absl::flat_hash_map<std::string, File> files_ ABSL_GUARDED_BY(mu_);
  absl::flat_hash_map<uint32_t, Node> open_ ABSL_GUARDED_BY(mu_);
  // From Begin on. By view.
  const ServedDataset* served_ ABSL_GUARDED_BY(mu_) = nullptr;
  std::vector<std::weak_ptr<RecordEpoch>> epochs_ ABSL_GUARDED_BY(mu_);
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_FS_TREE_PASSED_READS_H_
