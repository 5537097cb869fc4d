// SPDX-License-Identifier: Apache-2.0
// A file that is written from start to end, and has its name only when it is
// whole and on the device.
#ifndef SHUFFLEFS_CORE_RECORDS_ALIGNED_FRESH_FILE_H_
#define SHUFFLEFS_CORE_RECORDS_ALIGNED_FRESH_FILE_H_

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/base/files/unique_fd.h"

namespace shufflefs {

// One thread at a time. Every method may block for the device. Errors name the
// file and carry the errno. What was not published is removed.
class FreshFile {
 public:
  // Creates `path`.tmp anew, of this mode as far as the umask lets it.
  [[nodiscard]] static absl::StatusOr<FreshFile> Create(const std::string& path,
                                                        mode_t mode = 0666);
  ~FreshFile();
  FreshFile(FreshFile&& other) = default;
  FreshFile& operator=(FreshFile&&) = delete;

  // Bytes appended so far.
  uint64_t bytes() const { return bytes_; }
  // Some of it is kept back in memory, at most a few MiB more than a call has.
  absl::Status Append(absl::string_view bytes);
  absl::Status AppendZeros(uint64_t count);
  // Everything is on the device then, still as `path`.tmp.
  absl::Status Finish();
  // Gives it its name, which replaces a file that has it. REQUIRES: Finish.
  absl::Status Publish();
  // Leaves `path`.tmp to who finds it. REQUIRES: Finish.
  void Leave() { fd_.reset(); }

 private:
  FreshFile(std::string path, UniqueFd fd)
      : path_(std::move(path)), fd_(std::move(fd)) {}
  absl::Status Flush();

  std::string path_;
  UniqueFd fd_;  // none: published, left or moved away
  std::string held_;
  uint64_t bytes_ = 0;
};

// The names of the directory that `path` lies in, on the device.
absl::Status SyncNamesAround(const std::string& path);

inline constexpr char kFreshSuffix[] = ".tmp";

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_RECORDS_ALIGNED_FRESH_FILE_H_
