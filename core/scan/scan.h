// SPDX-License-Identifier: Apache-2.0
// The scan: reads the tree below the source into a catalogue, with several
// threads, without following a link and without opening a file.
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
  // 0: two a core, at least 8: where every stat is a round trip to a server,
  // threads are what hides it.
  int threads = 0;
  // A directory to leave out, as if it were not there: a mountpoint inside
  // the source. By its path relative to the source it is not even touched (a
  // stat of our own mount could wait for us); by inode it is recognised
  // whatever its path is.
  std::string skip_path;
  absl::optional<Inode> skip_inode;
  // Who scans, and may read what is then a sample.
  Credentials reader = Credentials::OfProcess();
  // Others are served, too: access control lists count, and modes are shown
  // within them.
  bool serves_others = false;
  // Called with the number of entries so far, ten times a second and at the
  // end, by the thread that called Scan.
  std::function<void(uint64_t entries)> progress;
  std::stop_token stop;
};

// Scans the whole source; blocks until done. What cannot be read (a directory
// without permission, an entry whose stat fails) is listed in the catalogue's
// unreadable() and is no error; an entry that vanishes meanwhile is left out.
// Errors: Cancelled when `stop` was requested; what reading the source
// directory itself gave, with its errno; ResourceExhausted beyond 2^32 - 2
// entries, or 4 GiB of names in one directory.
absl::StatusOr<Catalogue> Scan(const SourceDir& source,
                               const ScanOptions& options);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_SCAN_SCAN_H_
