// SPDX-License-Identifier: Apache-2.0
// The directory that a pack is written to. Every file appears under its name
// only when it is whole and on the device; what is being written has `.tmp`
// behind its name. Nothing that is no part of a pack is ever touched.
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

// One thread at a time. Every method may block for the device. Errors name the
// file and carry the errno.
class PackDir {
 public:
  struct Contents {
    bool manifest = false;
    bool journal = false;
    std::vector<uint32_t> chunks;        // finished ones, in no order
    std::vector<std::string> leftovers;  // of a run that was ended

    bool empty() const {
      return !manifest && !journal && chunks.empty() && leftovers.empty();
    }
  };

  // Opens the directory, and makes it if there is none (its parent must be
  // there). While the object lives no other process gets one for it. Errors:
  // InvalidArgument where it is the source or lies within; FailedPrecondition
  // where another process packs; what mkdir and open give.
  static absl::StatusOr<PackDir> Open(const std::string& path,
                                      const SourceDir& source);

  const std::string& path() const { return files_.path(); }
  // Of a file in it, for messages.
  std::string PathOf(absl::string_view name) const {
    return files_.PathOf(name);
  }

  // What is in it now. Errors: FailedPrecondition that names a file that is no
  // part of a pack.
  absl::StatusOr<Contents> List() const;
  // Removes what List gave; the manifest first, so that what is left when this
  // is interrupted is no finished pack, and the journal last.
  absl::Status Clear(const Contents& contents);
  absl::Status Remove(absl::string_view name) { return files_.Remove(name); }

  absl::StatusOr<std::string> Read(absl::string_view name) const;
  // NotFound where there is none; InvalidArgument where it is no file.
  absl::StatusOr<uint64_t> SizeOf(absl::string_view name) const;

  // Creates `name`.tmp anew, with `bytes` bytes of space, for writing.
  absl::StatusOr<UniqueFd> Create(absl::string_view name, uint64_t bytes,
                                  mode_t mode);
  // Gives the file that Create made its name. It should be on the device.
  absl::Status Publish(absl::string_view name);
  // All of it: a whole file under its name, on the device, or none.
  absl::Status Write(absl::string_view name, absl::string_view bytes,
                     mode_t mode);
  // For appending.
  absl::StatusOr<UniqueFd> OpenForWriting(absl::string_view name);
  // The names on the device.
  absl::Status SyncNames() { return files_.SyncNames(); }
  // All of the file system that the directory lies in.
  absl::Status SyncAll();

  absl::StatusOr<uint64_t> FreeBytes() const { return files_.FreeBytes(); }
  // What the files of a pack in it take.
  absl::StatusOr<uint64_t> UsedBytes() const;

 private:
  explicit PackDir(DirFiles files) : files_(std::move(files)) {}

  DirFiles files_;  // locked
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_STAGING_PACK_PACK_DIR_H_
