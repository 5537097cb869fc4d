// SPDX-License-Identifier: Apache-2.0
// CheckedFiles knows which files were seen to be those of the catalogue since
// the last member joined. Bytes of these may be given to members from memory.
//
// A member may know a later state of a file than this daemon has in memory,
// although size and mtime are the same. It has looked at the source before it
// joined. So one look after that finds out, and need not be repeated: if the
// file changes later, the member's own look says so.
#ifndef SHUFFLEFS_CORE_PEERS_CHECKED_FILES_H_
#define SHUFFLEFS_CORE_PEERS_CHECKED_FILES_H_

#include <cstdint>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "core/base/bitmap.h"
#include "core/base/mutex.h"
#include "core/catalogue/catalogue.h"
#include "core/io/file_reader.h"

namespace shufflefs {

// Thread-safe. Nothing blocks. Takes one bit per entry of the catalogue.
class CheckedFiles : public std::enable_shared_from_this<CheckedFiles> {
 public:
  static std::shared_ptr<CheckedFiles> Make(const Catalogue& catalogue);

  // A member joins: all files are to be looked at once more.
  void BeginRound();
  // Changes when a member joins. Get it before the file is looked at.
  uint64_t round() const;
  // The file was looked at in `round`, and is the one of the catalogue.
  void Note(EntryId file, uint64_t round);
  bool Has(EntryId file) const;
  // Notes the file if the read of it succeeds. REQUIRES: read.expected is what
  // the catalogue knows, so that the reader looks at the file.
  void NoteWhenRead(EntryId file, FileRead& read);

 private:
  explicit CheckedFiles(const Catalogue& catalogue);

  mutable Mutex mu_;
  Bitmap checked_ ABSL_GUARDED_BY(mu_);  // in this round, by entry
  uint64_t round_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_PEERS_CHECKED_FILES_H_
