// SPDX-License-Identifier: Apache-2.0
// MmapLog is a file of 64-bit words that grows at its end through a shared
// mapping. To append is to store into memory, and a stored word survives the
// process. Not thread-safe.
#ifndef SHUFFLEFS_CORE_BASE_FILES_MMAP_LOG_H_
#define SHUFFLEFS_CORE_BASE_FILES_MMAP_LOG_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/base/files/owned_dir.h"
#include "core/base/files/unique_fd.h"

namespace shufflefs {

class MmapLog {
 public:
  // Opens the file, or makes it (mode 0600). Cuts off everything behind the
  // first `words` words. Errors: those of FilePlace::Open; the errno.
  static absl::StatusOr<std::unique_ptr<MmapLog>> Open(FilePlace place,
                                                       uint64_t words);
  // Releases the space that was reserved but not used.
  ~MmapLog();
  MmapLog(const MmapLog&) = delete;
  MmapLog& operator=(const MmapLog&) = delete;

  // Words appended so far.
  uint64_t size() const { return size_; }
  // Appends the word or the record as a whole or not at all. Fails with the
  // errno if the disk is full, because space is reserved before it is mapped.
  // The first word of a record is stored last.
  absl::Status Append(uint64_t word) {
    if (size_ == capacity_) {
      if (absl::Status grown = Grow(1); !grown.ok()) return grown;
    }
    Store(size_++, word);
    return absl::OkStatus();
  }
  absl::Status Append(absl::Span<const uint64_t> record);

  // Writes the appended words to the device. Blocks.
  absl::Status Sync() const;
  // Renames the file, and replaces a file of that name.
  absl::Status Rename(const FilePlace& place);
  std::string path() const { return place_.path(); }

 private:
  MmapLog(FilePlace place, UniqueFd fd, uint64_t words);
  absl::Status Grow(uint64_t words);
  void Store(uint64_t at, uint64_t word) {
    __atomic_store_n(&words_[at], word, __ATOMIC_RELEASE);
  }

  FilePlace place_;
  const UniqueFd fd_;
  uint64_t* words_ = nullptr;  // mapping of capacity_ words
  uint64_t size_;
  uint64_t capacity_ = 0;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_BASE_FILES_MMAP_LOG_H_
