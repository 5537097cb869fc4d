// SPDX-License-Identifier: Apache-2.0
// AppendLog is a file of 64-bit words that grows at its end. To append is a
// system call, and what was appended survives the process. If the disk fails,
// the caller gets an errno. A store into a mapping would be faster, but a disk
// that fails, or a file that was cut off, would end the process with SIGBUS.
// Not thread-safe.
//
// Its records end in a seal: XXH3 (64 bits) of the words before it, seeded with
// the record's place in the file. So a record that is cut off, damaged or moved
// is none. The first record is the file's header: a magic, a version, fields
// and a seal.
#ifndef SHUFFLEFS_CORE_BASE_FILES_APPEND_LOG_H_
#define SHUFFLEFS_CORE_BASE_FILES_APPEND_LOG_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/base/files/owned_dir.h"
#include "core/base/files/unique_fd.h"

namespace shufflefs {

// Pure functions. `place` is in words or bytes, as the file's format says.
uint64_t SealOf(absl::Span<const uint64_t> words, uint64_t place);
// The record of these words.
std::vector<uint64_t> Sealed(std::vector<uint64_t> words, uint64_t place);
// Returns whether the last word is the seal of the others. REQUIRES: there is a
// word.
bool IsSealed(absl::Span<const uint64_t> record, uint64_t place);

// One such file, open for appending.
class AppendLog {
 public:
  // Opens the file, or makes it (mode 0600). Cuts off everything behind the
  // first `words` words. Errors: those of FilePlace::Open; the errno.
  static absl::StatusOr<std::unique_ptr<AppendLog>> Open(FilePlace place,
                                                         uint64_t words);
  AppendLog(const AppendLog&) = delete;
  AppendLog& operator=(const AppendLog&) = delete;

  // Words appended so far.
  uint64_t size() const { return size_; }
  // Appends the word or the record as a whole or not at all, even if the
  // process is killed meanwhile. Errors: the errno, such as ENOSPC or EIO.
  absl::Status Append(uint64_t word) {
    return Append(absl::MakeConstSpan(&word, 1));
  }
  absl::Status Append(absl::Span<const uint64_t> record);

  // DataLoss if somebody has emptied the file, or has removed or renamed it.
  // Then everything appended since stands behind a gap or in no file of that
  // name. FailedPrecondition if another file that is not empty has taken its
  // place. Errors: also the errno.
  absl::Status CheckStart() const;
  // Writes the appended words to the device. Blocks.
  absl::Status Sync() const;
  // Renames the file, and replaces a file of that name.
  absl::Status Rename(const FilePlace& place);
  std::string path() const { return place_.path(); }

 private:
  absl::Status CheckName() const;
  AppendLog(FilePlace place, UniqueFd fd, uint64_t words)
      : place_(std::move(place)), fd_(std::move(fd)), size_(words) {}
  absl::Status Write(absl::Span<const uint64_t> words, uint64_t at);
  absl::Status CutOff();

  FilePlace place_;
  const UniqueFd fd_;
  uint64_t size_;
  bool torn_ = false;  // a part of a record may stand behind the last word
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_BASE_FILES_APPEND_LOG_H_
