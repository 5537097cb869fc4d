// SPDX-License-Identifier: Apache-2.0
#include "fs/pass_through.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/status.h"
#include "fs/reply_types.h"

namespace shufflefs {

PassThrough::PassThrough(const SourceDir& source) : source_(source) {
  MutexLock lock(mu_);
  entries_[0].references = 1;
}

std::string PassThrough::PathLocked(uint32_t id) const {
  std::string path;
  while (id != 0) {
    auto found = entries_.find(id);
    if (found == entries_.end()) return path;
    path = path.empty() ? found->second.name
                        : absl::StrCat(found->second.name, "/", path);
    id = found->second.parent;
  }
  return path;
}

std::string PassThrough::Path(uint32_t id) const {
  MutexLock lock(mu_);
  return PathLocked(id);
}

absl::StatusOr<PassThrough::Found> PassThrough::Lookup(uint32_t parent,
                                                       absl::string_view name) {
  const std::string dir = Path(parent);
  const std::string path =
      dir.empty() ? std::string(name) : absl::StrCat(dir, "/", name);
  ASSIGN_OR_RETURN(struct stat st, source_.Stat(path));
  MutexLock lock(mu_);
  auto [slot, fresh] =
      ids_.try_emplace(std::make_pair(parent, std::string(name)), next_);
  if (!fresh) {
    Entry& known = entries_[slot->second];
    if (known.dev == st.st_dev && known.ino == st.st_ino) {
      ++known.references;
      return Found{slot->second, st};
    }
    slot->second = next_;  // another file has the name now
  }
  Entry& entry = entries_[next_];
  entry = Entry{parent, std::string(name), 1, st.st_dev, st.st_ino};
  ++entries_[parent].references;  // a child needs its parent's name
  return Found{next_++, st};
}

void PassThrough::Forget(uint32_t id, uint64_t count) {
  MutexLock lock(mu_);
  while (id != 0) {
    auto found = entries_.find(id);
    if (found == entries_.end()) return;
    if (found->second.references > count) {
      found->second.references -= count;
      return;
    }
    auto name = ids_.find({found->second.parent, found->second.name});
    if (name != ids_.end() && name->second == id) ids_.erase(name);
    id = found->second.parent;
    entries_.erase(found);
    count = 1;  // the child's own reference on its parent
  }
}

absl::StatusOr<struct stat> PassThrough::Stat(uint32_t id) const {
  return source_.Stat(Path(id));
}

absl::StatusOr<std::unique_ptr<DirHandle>> PassThrough::List(
    uint32_t id) const {
  const std::string path = Path(id);
  ASSIGN_OR_RETURN(UniqueFd fd, source_.Open(path, O_RDONLY | O_DIRECTORY));
  DIR* dir = fdopendir(fd.get());
  if (dir == nullptr) return ErrnoStatus(errno, path);
  static_cast<void>(fd.release());  // closedir closes it
  std::vector<DirEntry> entries;
  errno = 0;
  while (const dirent* entry = readdir(dir)) {
    if (id == 0 && absl::string_view(entry->d_name) == kControlName) continue;
    entries.push_back(DirEntry{entry->d_name, entry->d_ino,
                               static_cast<mode_t>(DTTOIF(entry->d_type)), 0});
  }
  const int error = errno;
  closedir(dir);
  if (error != 0) return ErrnoStatus(error, path);
  return std::make_unique<ListedDir>(std::move(entries));
}

absl::StatusOr<std::string> PassThrough::ReadLink(uint32_t id) const {
  return source_.ReadLink(Path(id));
}

absl::StatusOr<size_t> PassThrough::Read(uint32_t id, uint64_t offset,
                                         absl::Span<char> out) const {
  Entry entry;
  std::string path;
  {
    MutexLock lock(mu_);
    auto found = entries_.find(id);
    if (found == entries_.end()) return ErrnoStatus(ESTALE, "forgotten node");
    entry = found->second;
    path = PathLocked(id);
    read_ = true;
  }
  ASSIGN_OR_RETURN(UniqueFd fd, source_.Open(path, O_RDONLY));
  struct stat st;
  if (fstat(fd.get(), &st) != 0) return ErrnoStatus(errno, path);
  if (st.st_dev != entry.dev || st.st_ino != entry.ino) {
    return ErrnoStatus(ESTALE, path);
  }
  const ssize_t n = pread(fd.get(), out.data(), out.size(), offset);
  if (n < 0) return ErrnoStatus(errno, path);
  return static_cast<size_t>(n);
}

void PassThrough::NoteOpen() {
  MutexLock lock(mu_);
  read_ = true;
}

bool PassThrough::anything_was_read() const {
  MutexLock lock(mu_);
  return read_;
}

}  // namespace shufflefs
