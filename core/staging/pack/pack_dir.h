// SPDX-License-Identifier: Apache-2.0
// PackDir is the directory that a pack is written to. A file gets its name only
// when it is complete and on the device. Until then its name ends in `.tmp`.
// PackDir never touches a file that is not part of a pack.
#ifndef SHUFFLEFS_CORE_STAGING_PACK_PACK_DIR_H_
#define SHUFFLEFS_CORE_STAGING_PACK_PACK_DIR_H_

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/base/files/dir_files.h"
#include "core/base/files/unique_fd.h"
#include "core/source/source_dir.h"

namespace shufflefs {

// Writes all of `bytes` at `offset`. Errors carry the errno and name `what`.
absl::Status WriteAt(int fd, absl::Span<const char> bytes, uint64_t offset,
                     absl::string_view what);

// One thread at a time. Every method may block on the device. Errors name the
// file and carry the errno.
class PackDir {
 public:
  struct Contents {
    bool manifest = false;
    bool journal = false;
    std::vector<uint32_t> chunks;        // finished ones, in no order
    std::vector<std::string> leftovers;  // of a run that was interrupted

    bool empty() const {
      return !manifest && !journal && chunks.empty() && leftovers.empty();
    }
  };

  // Opens the directory, or creates it if it is missing (its parent must
  // exist). No other process gets one for it while the object lives. Errors:
  // InvalidArgument if it is the source or inside it; FailedPrecondition if
  // another process packs there; errors of mkdir and open.
  static absl::StatusOr<PackDir> Open(const std::string& path,
                                      const SourceDir& source);

  const std::string& path() const { return files_.path(); }
  // The path of a file in it, for messages.
  std::string PathOf(absl::string_view name) const {
    return files_.PathOf(name);
  }

  // What the directory contains now. Errors: FailedPrecondition naming a file
  // that is not part of a pack.
  absl::StatusOr<Contents> List() const;
  // Removes the manifest and the chunks that List returned. The manifest goes
  // first. So, if this is interrupted, the rest is not a finished pack. Write
  // the journal of the next pack before: without one, chunks are refused.
  absl::Status Clear(const Contents& contents);
  absl::Status Remove(absl::string_view name) { return files_.Remove(name); }

  absl::StatusOr<std::string> Read(absl::string_view name) const;
  // Errors: NotFound if there is no such file; InvalidArgument if it is not a
  // regular file.
  absl::StatusOr<uint64_t> SizeOf(absl::string_view name) const;

  // Creates `name`.tmp anew for writing, and allocates `bytes` bytes for it.
  absl::StatusOr<UniqueFd> Create(absl::string_view name, uint64_t bytes,
                                  mode_t mode);
  // Gives the file that Create made its final name. Its bytes should already be
  // on the device.
  absl::Status Publish(absl::string_view name);
  // Creates, writes, syncs and publishes a file. Afterwards the whole file is
  // on the device under its name, or there is no such file.
  absl::Status Write(absl::string_view name, absl::string_view bytes,
                     mode_t mode);
  // Takes the permissions outside `mode` from a file.
  absl::Status Limit(absl::string_view name, mode_t mode);
  // Writes the names to the device.
  absl::Status SyncNames() { return files_.SyncNames(); }
  // Syncs the whole file system that holds the directory.
  absl::Status SyncAll();

  absl::StatusOr<uint64_t> FreeBytes() const { return files_.FreeBytes(); }
  // The disk space of all files of the pack.
  absl::StatusOr<uint64_t> UsedBytes() const;

 private:
  explicit PackDir(DirFiles files) : files_(std::move(files)) {}

  DirFiles files_;  // locked
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_STAGING_PACK_PACK_DIR_H_
