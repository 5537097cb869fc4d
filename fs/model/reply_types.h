// SPDX-License-Identifier: Apache-2.0
// Arguments and results of filesystem operations, free of FUSE types.
#ifndef SHUFFLEFS_FS_MODEL_REPLY_TYPES_H_
#define SHUFFLEFS_FS_MODEL_REPLY_TYPES_H_

#include <sys/stat.h>

#include <chrono>
#include <cstdint>
#include <memory>

#include "absl/strings/string_view.h"
#include "core/catalogue/catalogue.h"
#include "core/records/epoch/record_epoch.h"

namespace shufflefs {

// Who makes a request. The pid is 0 if the daemon cannot see the process.
struct Caller {
  pid_t pid = 0;
  uid_t uid = 0;
};

// An inode found by name, and how long the kernel may cache it.
struct NodeReply {
  uint64_t nodeid = 0;
  struct stat attributes = {};
  double entry_seconds = 0;
  double attribute_seconds = 0;
  // For all attributes except a size that is not known yet.
  double rights_seconds = 86400;
  // Not null: the size is not known yet, and this object provides it. A lookup
  // does not wait for it, because until a lookup is answered the kernel sends
  // no other one in that directory. The lookup returns the source's size, which
  // must not be cached, and the kernel asks for the attributes if it needs
  // them.
  std::shared_ptr<RecordEpoch> sized_by = nullptr;
};

// Who may answer the reads of an opened file.
enum class ReadBy {
  kDaemon,
  // The daemon, for now. Other descriptors of the inode may be the kernel's.
  kDaemonNow,
  kKernel,  // the kernel may read the file from the source by itself
};

struct OpenReply {
  bool stale = false;      // answer ESTALE: look the name up again
  bool unseen = false;     // answer ENOSYS: never ask again on this mount
  bool keep_cache = true;  // the kernel's cached pages are still valid
  // The file takes writes, and the kernel must pass each on as it was made.
  bool writes = false;
  ReadBy reads = ReadBy::kDaemon;
  uint64_t bytes = 0;  // size of the file, unless the daemon reads it
};

// A write of a program, or a piece of it.
struct WrittenText {
  // Returns whether the kernel may have cut it. What goes through its cached
  // pages and begins within one, it cuts at the end of that page, unless it has
  // read the page before.
  bool may_be_cut() const;

  absl::string_view text;
  uint64_t offset = 0;
  bool is_direct = false;  // not through cached pages
};

// The control directory. It is never listed in the root and never part of a
// view. It hides an entry of that name at the source's root.
constexpr char kControlName[] = ".shufflefs";

// A nodeid has one content for life, so the kernel may cache it for ever.
constexpr double kForLife = 86400;

// `attributes` as stat shows them: only the control file is writable.
struct stat StatOf(const FileAttributes& attributes);

// For a file that is shown larger or smaller than its source.
void SetSize(uint64_t bytes, struct stat& st);

}  // namespace shufflefs

#endif  // SHUFFLEFS_FS_MODEL_REPLY_TYPES_H_
