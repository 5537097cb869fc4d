// SPDX-License-Identifier: Apache-2.0
// What filesystem operations take and give, free of FUSE types.
#ifndef SHUFFLEFS_FS_REPLY_TYPES_H_
#define SHUFFLEFS_FS_REPLY_TYPES_H_

#include <sys/stat.h>

#include <chrono>
#include <cstdint>

#include "core/catalogue.h"

namespace shufflefs {

// An inode found by name, and how long the kernel may believe it.
struct NodeReply {
  uint64_t nodeid = 0;
  struct stat attributes = {};
  double entry_seconds = 0;
  double attribute_seconds = 0;
};

struct OpenReply {
  bool stale = false;       // answer ESTALE: look the name up again
  bool unseen = false;      // answer ENOSYS: never ask again on this mount
  bool keep_cache = true;   // what the kernel cached is still right
};

// The control directory: never listed in the root, never part of a view. An
// entry of that name at the source's root is hidden behind it.
constexpr char kControlName[] = ".shufflefs";

// A nodeid has one content for life, so the kernel may keep what it knows.
constexpr double kForLife = 86400;

// `attributes` as stat shows them: nothing but the control file is writable.
struct stat StatOf(const FileAttributes& attributes);

}  // namespace shufflefs

#endif  // SHUFFLEFS_FS_REPLY_TYPES_H_
