// SPDX-License-Identifier: Apache-2.0
#include "fs/tree/pass_through.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/files/read_at.h"
#include "core/base/status.h"
#include "core/source/file_check.h"
#include "core/source/posix_acl.h"
#include "fs/model/reply_types.h"

namespace shufflefs {
namespace {

bool IsSameInode(const FileAttributes& known, const FileAttributes& now) {
  return now.kind == known.kind && now.device == known.device &&
         now.inode == known.inode;
}

// Returns whether a file found now may have the node of a known one.
// Directories change with each name in them, but remain the same directory.
bool IsSame(const FileAttributes& known, const FileAttributes& now) {
  return known.kind == EntryKind::kDirectory
             ? IsSameInode(known, now)
             : now.identity() == known.identity();
}

absl::Status Gone(absl::string_view path) {
  return ErrnoStatus(ESTALE, absl::StrCat(path, ": moved or replaced"));
}

}  // namespace

PassThrough::PassThrough(const SourceDir& source, bool serves_others)
    : source_(source),
      inodes_last_(InodesLast(source.fd(), "")),
      serves_others_(serves_others) {
  MutexLock lock(mu_);
  entries_[0].references = 1;
}

FileAttributes PassThrough::KnownOf(const struct stat& st) const {
  FileAttributes known = AttributesOf(st);
  if (!inodes_last_ && known.kind != EntryKind::kDirectory) known.inode = 0;
  return known;
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
  ASSIGN_OR_RETURN(const UniqueFd dir, OpenDir(parent, O_PATH));
  ASSIGN_OR_RETURN(const UniqueFd held, source_.HoldIn(dir, name));
  ASSIGN_OR_RETURN(const RightsNow now,
                   ReadRights(source_, held, {.list = serves_others_}));
  const FileAttributes looked = KnownOf(now.source);
  MutexLock lock(mu_);
  auto [slot, fresh] =
      ids_.try_emplace(std::make_pair(parent, std::string(name)), 0);
  if (!fresh) {
    Entry& known = entries_[slot->second];
    if (IsSame(known.known, looked)) {
      ++known.references;
      return Found{slot->second, Shown(now)};
    }
    // Another file has the name now.
  }
  const uint32_t id = slot->second = fresh_ids_.Next(entries_);
  entries_[id] = Entry{parent, std::string(name), 1, looked};
  ++entries_[parent].references;  // a child needs its parent's name
  return Found{id, Shown(now)};
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

absl::StatusOr<PassThrough::Place> PassThrough::PlaceOf(uint32_t id) const {
  MutexLock lock(mu_);
  auto found = entries_.find(id);
  if (found == entries_.end()) return ErrnoStatus(ESTALE, "forgotten node");
  return Place{PathLocked(id), found->second.known};
}

absl::StatusOr<UniqueFd> PassThrough::Reach(const Place& place,
                                            int flags) const {
  absl::StatusOr<UniqueFd> fd = source_.Open(place.path, flags);
  if (fd.ok()) return fd;
  switch (ErrnoOf(fd.status()).value_or(0)) {
    case ENOENT:
    case ENOTDIR:
    case ELOOP:
      return Gone(place.path);
    default:
      return fd;
  }
}

absl::Status PassThrough::CheckSame(const Place& place,
                                    const struct stat& now) const {
  // The root is no path.
  if (place.path.empty() || IsSameInode(place.known, KnownOf(now))) {
    return absl::OkStatus();
  }
  return Gone(place.path);
}

absl::StatusOr<UniqueFd> PassThrough::OpenDir(uint32_t id, int flags) const {
  ASSIGN_OR_RETURN(const Place place, PlaceOf(id));
  ASSIGN_OR_RETURN(UniqueFd dir, Reach(place, flags | O_DIRECTORY));
  struct stat now;
  if (fstat(dir.get(), &now) != 0) return ErrnoStatus(errno, place.path);
  RETURN_IF_ERROR(CheckSame(place, now));
  return dir;
}

absl::StatusOr<struct stat> PassThrough::Stat(uint32_t id) const {
  ASSIGN_OR_RETURN(const Place place, PlaceOf(id));
  ASSIGN_OR_RETURN(const UniqueFd held, Reach(place, O_PATH | O_NOFOLLOW));
  ASSIGN_OR_RETURN(const RightsNow now,
                   ReadRights(source_, held, {.list = serves_others_}));
  RETURN_IF_ERROR(CheckSame(place, now.source));
  return Shown(now);
}

struct stat PassThrough::Shown(RightsNow now) {
  now.source.st_mode = now.mode;
  return now.source;
}

// Lists the names as they are when the first of them is requested.
class PassThrough::Listing : public DirHandle {
 public:
  Listing(const PassThrough& pass, uint32_t id) : pass_(pass), id_(id) {}

  bool asks_source() const override {
    return !loaded_.load(std::memory_order_acquire);
  }
  absl::Status Load() const override {
    if (!asks_source()) return absl::OkStatus();
    absl::StatusOr<std::vector<DirEntry>> names = pass_.Names(id_);
    if (!names.ok()) return names.status();
    MutexLock lock(mu_);
    if (!asks_source()) return absl::OkStatus();  // another thread was faster
    names_ = *std::move(names);
    loaded_.store(true, std::memory_order_release);
    return absl::OkStatus();
  }
  bool Get(uint64_t offset, DirEntry& out) const override {
    MutexLock lock(mu_);
    if (offset >= names_.size()) return false;
    out = names_[offset];
    return true;
  }

 private:
  const PassThrough& pass_;
  const uint32_t id_;

  mutable Mutex mu_;
  mutable std::vector<DirEntry> names_ ABSL_GUARDED_BY(mu_);
  mutable std::atomic<bool> loaded_{false};
};

std::unique_ptr<DirHandle> PassThrough::List(uint32_t id) const {
  return std::make_unique<Listing>(*this, id);
}

absl::StatusOr<std::vector<DirEntry>> PassThrough::Names(uint32_t id) const {
  ASSIGN_OR_RETURN(UniqueFd fd, OpenDir(id, O_RDONLY));
  DIR* dir = fdopendir(fd.get());
  if (dir == nullptr) return ErrnoStatus(errno, Path(id));
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
  if (error != 0) return ErrnoStatus(error, Path(id));
  return entries;
}

absl::StatusOr<std::string> PassThrough::ReadLink(uint32_t id) const {
  ASSIGN_OR_RETURN(const Place place, PlaceOf(id));
  ASSIGN_OR_RETURN(SourceDir::Link link, source_.ReadLink(place.path));
  RETURN_IF_ERROR(CheckSame(place, link.attributes));
  return std::move(link.target);
}

absl::StatusOr<size_t> PassThrough::Read(uint32_t id, uint64_t offset,
                                         absl::Span<char> out) const {
  ASSIGN_OR_RETURN(const Place place, PlaceOf(id));
  reads_.NoteUse(place.path);
  ASSIGN_OR_RETURN(UniqueFd fd, Reach(place, O_RDONLY));
  // Checked before the read, because the file may not be readable, and after
  // it, because the file may have been written meanwhile.
  absl::Status same = CheckUnchanged(fd.get(), place.known);
  if (!same.ok()) return Annotate(same, place.path);
  const absl::StatusOr<size_t> got =
      ReadAt(fd.get(), offset, out.data(), out.size());
  same = CheckUnchanged(fd.get(), place.known);
  if (!got.ok() || !same.ok()) {
    return Annotate(same.ok() ? got.status() : same, place.path);
  }
  reads_.NoteRead(place.path, offset, offset + *got);
  return got;
}

}  // namespace shufflefs
