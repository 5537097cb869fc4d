// SPDX-License-Identifier: Apache-2.0
// The scan reads the tree below the source into a catalogue. It uses several
// threads, follows no link and opens no file.
#ifndef SHUFFLEFS_CORE_SCAN_SCAN_H_
#define SHUFFLEFS_CORE_SCAN_SCAN_H_

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "core/catalogue/catalogue.h"
#include "core/catalogue/credentials.h"
#include "core/source/source_dir.h"

namespace shufflefs {

struct ScanOptions {
  struct Inode {
    dev_t device = 0;
    ino_t ino = 0;
  };
  // 0: two per core, at least 8. If every stat is a round trip to a server,
  // threads hide the latency.
  int threads = 0;
  // A directory to leave out, as if it did not exist: a mount point inside the
  // source. The scan does not even touch its path relative to the source,
  // because a stat of our own mount could wait for us. The inode identifies it
  // under any other path.
  std::string skip_path;
  absl::optional<Inode> skip_inode;
  // The user who scans. The samples are the files that this user may read.
  Credentials reader = Credentials::OfProcess();
  // Other users are served too: access control lists count, and shown modes are
  // limited by them.
  bool serves_others = false;
  // When so many entries are known, attributes of further files are estimated.
  // Of those in a directory that share an extension and have near inodes, 16 in
  // 256 are asked, and the others are taken to be like them. Such a catalogue
  // serves a report only: never save or mount it. 0 = all files are asked.
  uint64_t exact_entries = 0;
  // Called with the number of entries so far, ten times per second and at the
  // end, by the thread that called Scan.
  std::function<void(uint64_t entries)> progress;
  std::stop_token stop;
};

// Scans the whole source and blocks until done. An entry that cannot be read (a
// directory without permission, a failed stat, a name over 255 bytes) is listed
// in the catalogue's unreadable() and is no error. An entry that vanishes
// meanwhile is left out. Errors: Cancelled if `stop` was requested; the errno
// of reading the source directory itself; ResourceExhausted beyond 2^32 - 2
// entries, or 4 GiB of names in one directory.
absl::StatusOr<Catalogue> Scan(const SourceDir& source,
                               const ScanOptions& options);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_SCAN_SCAN_H_
