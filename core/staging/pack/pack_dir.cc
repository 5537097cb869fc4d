// SPDX-License-Identifier: Apache-2.0
#include "core/staging/pack/pack_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/types/optional.h"
#include "core/base/files/atomic_file.h"
#include "core/base/status.h"
#include "core/staging/pack/pack_format.h"
#include "core/staging/pack/pack_journal.h"

namespace shufflefs {
namespace {

constexpr char kUnfinished[] = ".tmp";
constexpr size_t kMaxTransfer = size_t{1} << 30;

bool IsPart(absl::string_view name) {
  return name == kPackManifest || name == kPackJournal ||
         ParsePackChunkName(name).has_value();
}

}  // namespace

absl::Status WriteAt(int fd, absl::Span<const char> bytes, uint64_t offset,
                     absl::string_view what) {
  while (!bytes.empty()) {
    const ssize_t done =
        pwrite(fd, bytes.data(), std::min(bytes.size(), kMaxTransfer),
               static_cast<off_t>(offset));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return ErrnoStatus(errno, what);
    bytes.remove_prefix(static_cast<size_t>(done));
    offset += static_cast<uint64_t>(done);
  }
  return absl::OkStatus();
}

absl::StatusOr<PackDir> PackDir::Open(const std::string& path,
                                      const SourceDir& source) {
  ASSIGN_OR_RETURN(DirFiles files, DirFiles::Open(path, source.fd()));
  RETURN_IF_ERROR(
      files.Lock("another process packs there; wait for it, or "
                 "give another DEST"));
  return PackDir(std::move(files));
}

absl::StatusOr<PackDir::Contents> PackDir::List() const {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, files_.Names());
  Contents contents;
  for (const std::string& name : names) {
    absl::string_view part = name;
    if (const auto chunk = ParsePackChunkName(name)) {
      contents.chunks.push_back(*chunk);
    } else if (name == kPackManifest) {
      contents.manifest = true;
    } else if (name == kPackJournal) {
      contents.journal = true;
    } else if (absl::ConsumeSuffix(&part, kUnfinished) && IsPart(part)) {
      contents.leftovers.push_back(name);
    } else {
      return absl::FailedPreconditionError(absl::StrCat(
          path(), ": holds ", name,
          ", which is not part of a pack; give an empty directory"));
    }
  }
  return contents;
}

absl::Status PackDir::Clear(const Contents& contents) {
  if (contents.manifest) {
    RETURN_IF_ERROR(Remove(kPackManifest));
    RETURN_IF_ERROR(SyncNames());
  }
  for (uint32_t chunk : contents.chunks) {
    RETURN_IF_ERROR(Remove(PackChunkName(chunk)));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> PackDir::Read(absl::string_view name) const {
  ASSIGN_OR_RETURN(const UniqueFd fd, files_.OpenFile(name, O_RDONLY));
  return ReadWhole(fd.get(), PathOf(name), kMostWholeFile);
}

absl::StatusOr<uint64_t> PackDir::SizeOf(absl::string_view name) const {
  ASSIGN_OR_RETURN(const auto st, files_.Stat(name));
  if (!st) return ErrnoStatus(ENOENT, PathOf(name));
  if (!S_ISREG(st->st_mode)) {
    return absl::InvalidArgumentError(
        absl::StrCat(PathOf(name), ": not a file"));
  }
  return static_cast<uint64_t>(st->st_size);
}

absl::StatusOr<UniqueFd> PackDir::Create(absl::string_view name, uint64_t bytes,
                                         mode_t mode) {
  const std::string fresh = absl::StrCat(name, kUnfinished);
  RETURN_IF_ERROR(Remove(fresh));
  return files_.Create(fresh, bytes, mode);
}

absl::Status PackDir::Publish(absl::string_view name) {
  return files_.Rename(absl::StrCat(name, kUnfinished), name);
}

absl::Status PackDir::Write(absl::string_view name, absl::string_view bytes,
                            mode_t mode) {
  {
    ASSIGN_OR_RETURN(const UniqueFd fd, Create(name, bytes.size(), mode));
    RETURN_IF_ERROR(WriteAt(fd.get(), bytes, 0, PathOf(name)));
    if (fsync(fd.get()) != 0) return ErrnoStatus(errno, PathOf(name));
  }
  RETURN_IF_ERROR(Publish(name));
  return SyncNames();
}

absl::Status PackDir::Limit(absl::string_view name, mode_t mode) {
  ASSIGN_OR_RETURN(const UniqueFd file, files_.OpenFile(name, O_RDONLY));
  struct stat st;
  if (fstat(file.get(), &st) != 0) return ErrnoStatus(errno, PathOf(name));
  const mode_t bits = st.st_mode & 07777;
  if ((bits & ~mode) == 0 || fchmod(file.get(), bits & mode) == 0) {
    return absl::OkStatus();
  }
  return ErrnoStatus(errno, PathOf(name));
}

absl::Status PackDir::SyncAll() {
  if (syncfs(files_.fd()) != 0) return ErrnoStatus(errno, path());
  return absl::OkStatus();
}

absl::StatusOr<uint64_t> PackDir::UsedBytes() const {
  ASSIGN_OR_RETURN(const Contents contents, List());
  std::vector<std::string> names = {kPackManifest};
  for (uint32_t chunk : contents.chunks) names.push_back(PackChunkName(chunk));
  uint64_t blocks = 0;
  for (const std::string& name : names) {
    const auto st = files_.Stat(name);
    if (st.ok() && *st) blocks += static_cast<uint64_t>((*st)->st_blocks);
  }
  return blocks * 512;
}

}  // namespace shufflefs
