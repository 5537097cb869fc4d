// SPDX-License-Identifier: Apache-2.0
#include "core/whole_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "core/io/unique_fd.h"
#include "core/status.h"

namespace shufflefs {
namespace {

constexpr size_t kMaxWrite = size_t{1} << 30;

absl::Status WriteFile(const std::string& path,
                       absl::Span<const absl::string_view> pieces) {
  if (unlink(path.c_str()) != 0 && errno != ENOENT) {
    return ErrnoStatus(errno, path);
  }
  UniqueFd fd(open(path.c_str(),
                   O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd.valid()) return ErrnoStatus(errno, path);
  for (absl::string_view piece : pieces) {
    RETURN_IF_ERROR(WriteAll(fd.get(), piece, path));
  }
  if (fsync(fd.get()) != 0) return ErrnoStatus(errno, path);
  return absl::OkStatus();
}

absl::Status SyncParent(const std::string& path) {
  size_t slash = path.rfind('/');
  std::string dir =
      slash == std::string::npos ? "." : path.substr(0, slash + 1);
  UniqueFd fd(open(dir.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid() || fsync(fd.get()) != 0) return ErrnoStatus(errno, dir);
  return absl::OkStatus();
}

}  // namespace

absl::Status WriteAll(int fd, absl::string_view bytes,
                      const std::string& path) {
  while (!bytes.empty()) {
    ssize_t done = write(fd, bytes.data(), std::min(bytes.size(), kMaxWrite));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return ErrnoStatus(errno, path);
    bytes.remove_prefix(static_cast<size_t>(done));
  }
  return absl::OkStatus();
}

absl::Status ReplaceFile(const std::string& path,
                         absl::Span<const absl::string_view> pieces) {
  const std::string fresh = absl::StrCat(path, ".new");
  absl::Status written = WriteFile(fresh, pieces);
  if (written.ok() && rename(fresh.c_str(), path.c_str()) != 0) {
    written = ErrnoStatus(errno, path);
  }
  if (!written.ok()) {
    unlink(fresh.c_str());
    return written;
  }
  return SyncParent(path);
}

absl::StatusOr<std::string> ReadWholeFile(const std::string& path) {
  UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!fd.valid()) return ErrnoStatus(errno, path);
  struct stat st;
  if (fstat(fd.get(), &st) != 0) return ErrnoStatus(errno, path);
  if (!S_ISREG(st.st_mode)) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": not a file"));
  }
  std::string bytes(static_cast<size_t>(st.st_size), '\0');
  size_t got = 0;
  while (got < bytes.size()) {
    const ssize_t now = read(fd.get(), bytes.data() + got, bytes.size() - got);
    if (now < 0 && errno == EINTR) continue;
    if (now < 0) return ErrnoStatus(errno, path);
    if (now == 0) break;
    got += static_cast<size_t>(now);
  }
  bytes.resize(got);
  return bytes;
}

}  // namespace shufflefs
