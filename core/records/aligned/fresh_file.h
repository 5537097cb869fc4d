// SPDX-License-Identifier: Apache-2.0
// FreshFile is a file that is written from start to end. It gets its name only
// when it is complete and on the device.
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

// One thread at a time. Every method may block on the device. Errors name the
// file and carry the errno. An unpublished file is removed.
class FreshFile {
 public:
  // Creates a new `path`.tmp with this mode, as far as the umask allows.
  [[nodiscard]] static absl::StatusOr<FreshFile> Create(const std::string& path,
                                                        mode_t mode = 0666);
  ~FreshFile();
  FreshFile(FreshFile&& other) = default;
  FreshFile& operator=(FreshFile&&) = delete;

  // Bytes appended so far.
  uint64_t bytes() const { return bytes_; }
  // Some bytes are buffered in memory, at most a few MiB more than one call
  // has.
  absl::Status Append(absl::string_view bytes);
  absl::Status AppendZeros(uint64_t count);
  // Afterwards everything is on the device, still as `path`.tmp.
  absl::Status Finish();
  // Renames it to `path`, and replaces a file of that name. REQUIRES: Finish.
  absl::Status Publish();
  // Keeps `path`.tmp for a later run. REQUIRES: Finish.
  void Leave() { fd_.reset(); }

 private:
  FreshFile(std::string path, UniqueFd fd)
      : path_(std::move(path)), fd_(std::move(fd)) {}
  absl::Status Flush();

  std::string path_;
  UniqueFd fd_;  // none: published, left or moved from
  std::string held_;
  uint64_t bytes_ = 0;
};

inline constexpr char kFreshSuffix[] = ".tmp";

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_RECORDS_ALIGNED_FRESH_FILE_H_
