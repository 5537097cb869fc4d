// SPDX-License-Identifier: Apache-2.0
// An open directory. Its order is fixed when it is opened, and every offset can
// be read again. So telldir, several getdents and rewinddir agree.
#ifndef SHUFFLEFS_FS_MODEL_DIR_HANDLE_H_
#define SHUFFLEFS_FS_MODEL_DIR_HANDLE_H_

#include <sys/stat.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "fs/model/held_memory.h"

namespace shufflefs {

struct DirEntry {
  std::string name;
  uint64_t ino = 0;
  mode_t type = 0;      // S_IFREG, S_IFDIR, … as in st_mode
  uint64_t nodeid = 0;  // 0: listing the name does not bind it
};

// Immutable except for Load. Any thread may call.
class DirHandle {
 public:
  // Before others use it: keeps `part` for as long as it lives.
  void Hold(std::shared_ptr<const HeldMemory::Part> part) {
    part_ = std::move(part);
  }
  virtual ~DirHandle() = default;
  // Returns whether Load may wait for the source.
  virtual bool asks_source() const { return false; }
  // Called before the first of the calls below.
  virtual absl::Status Load() const { return absl::OkStatus(); }
  // The entry at `offset`; 0 and 1 are "." and "..". Returns false at the end.
  // An empty name is a gap: skip the offset.
  virtual bool Get(uint64_t offset, DirEntry& out) const = 0;
  // Several successive entries from `offset` on. Returns 0 only at the end.
  virtual size_t GetBatch(uint64_t offset, absl::Span<DirEntry> out) const {
    size_t got = 0;
    while (got < out.size() && Get(offset + got, out[got])) ++got;
    return got;
  }

 private:
  std::shared_ptr<const HeldMemory::Part> part_;
};

// A directory whose few entries were made when it was opened.
class ListedDir : public DirHandle {
 public:
  explicit ListedDir(std::vector<DirEntry> entries)
      : entries_(std::move(entries)) {}
  bool Get(uint64_t offset, DirEntry& out) const override {
    if (offset >= entries_.size()) return false;
    out = entries_[offset];
    return true;
  }

 private:
  const std::vector<DirEntry> entries_;
};

// "." and ".." of the directory with inode `ino`. The kernel shows users
// neither inode, because it knows them better.
inline bool DotEntry(uint64_t offset, uint64_t ino, DirEntry& out) {
  if (offset > 1) return false;
  out = DirEntry{offset == 0 ? "." : "..", ino, S_IFDIR, 0};
  return true;
}

}  // namespace shufflefs

#endif  // SHUFFLEFS_FS_MODEL_DIR_HANDLE_H_
