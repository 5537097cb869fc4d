// SPDX-License-Identifier: Apache-2.0
// What filesystem operations take and give, free of FUSE types.
#ifndef SHUFFLEFS_FS_MODEL_REPLY_TYPES_H_
#define SHUFFLEFS_FS_MODEL_REPLY_TYPES_H_

#include <sys/stat.h>

#include <chrono>
#include <cstdint>
#include <memory>

#include "core/catalogue/catalogue.h"
#include "core/records/epoch/record_epoch.h"

namespace shufflefs {

// An inode found by name, and how long the kernel may believe it.
struct NodeReply {
  uint64_t nodeid = 0;
  struct stat attributes = {};
  double entry_seconds = 0;
  double attribute_seconds = 0;
  // And all but a size that is not known yet.
  double rights_seconds = 86400;
  // Not null: the size is not known yet, and this is to be asked for it. A
  // lookup does not: until it is answered the kernel sends no other one in its
  // directory. It gives the source's, not to be believed, and who wants it
  // asks for the attributes.
  std::shared_ptr<RecordEpoch> sized_by = nullptr;
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

// Of a file that is shown larger or smaller than its source.
void SetSize(uint64_t bytes, struct stat& st);

}  // namespace shufflefs

#endif  // SHUFFLEFS_FS_MODEL_REPLY_TYPES_H_
