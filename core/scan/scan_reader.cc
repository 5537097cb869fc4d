// SPDX-License-Identifier: Apache-2.0
#include "core/scan/scan_reader.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <numeric>

#include "absl/strings/string_view.h"
#include "core/catalogue/file_identity.h"
#include "core/source/posix_acl.h"

namespace shufflefs {
namespace {

constexpr size_t kListBytes = 256 * 1024;  // per getdents call

// Of each kPeriod files, in the order of their inodes, the first kAsked are
// asked. They are next to each other, so few blocks of inodes are read.
constexpr uint32_t kAsked = 16;
constexpr uint32_t kPeriod = 256;

bool SameClass(const struct stat& a, const struct stat& b) {
  return a.st_mode == b.st_mode && a.st_uid == b.st_uid &&
         a.st_gid == b.st_gid && a.st_nlink == b.st_nlink &&
         a.st_rdev == b.st_rdev && a.st_dev == b.st_dev;
}

void AddName(ScannedDir& dir, const dirent64& read, absl::string_view name) {
  if (dir.batches.empty() ||
      dir.batches.back()->entries.size() == ScannedBatch::kEntries) {
    auto batch = std::make_unique<ScannedBatch>();
    batch->first_ordinal = dir.entry_count();
    batch->entries.reserve(ScannedBatch::kEntries);
    dir.batches.push_back(std::move(batch));
  }
  ScannedBatch& batch = *dir.batches.back();
  ScannedEntry entry;
  entry.ino = read.d_ino;
  entry.name = static_cast<uint32_t>(batch.names.size());
  batch.entries.push_back(entry);
  batch.is_file.push_back(read.d_type == DT_REG);
  batch.names += static_cast<char>(name.size());
  batch.names.append(name.data(), name.size());
  batch.names += '\0';
}

// The name of the entry at `at`. It may be longer than dirent64::d_name, so
// only the entry's own length bounds it.
absl::string_view NameAt(const char* at, size_t entry_bytes) {
  constexpr size_t kHead = offsetof(dirent64, d_name);
  return {at + kHead, strnlen(at + kHead, entry_bytes - kHead)};
}

}  // namespace

bool ClassTable::KnowsDevice(dev_t device) {
  MutexLock lock(mu_);
  return devices_.contains(device);
}

uint32_t ClassTable::Intern(const struct stat& st, mode_t mode, int dir,
                            const char* path) {
  FileAttributes file;
  file.mode = st.st_mode;
  file.uid = st.st_uid;
  file.gid = st.st_gid;
  Class wanted;
  wanted.mode = mode;
  wanted.uid = st.st_uid;
  wanted.gid = st.st_gid;
  wanted.nlink = static_cast<uint32_t>(st.st_nlink);
  wanted.rdev = static_cast<uint32_t>(st.st_rdev);
  wanted.source_mode = st.st_mode;
  wanted.readable = reader_.MayRead(file) ? 1 : 0;
  const bool last = KnowsDevice(st.st_dev) || InodesLast(dir, path);
  MutexLock lock(mu_);
  const auto [device, first] = devices_.emplace(st.st_dev, devices_.size());
  if (first) device_rows_.push_back({st.st_dev, last ? 1u : 0u});
  wanted.device = device->second;
  auto [at, fresh] = numbers_.emplace(wanted, classes_.size());
  if (fresh) classes_.push_back(wanted);
  return at->second;
}

std::vector<ClassTable::Class> ClassTable::Take() {
  MutexLock lock(mu_);
  return std::move(classes_);
}

std::vector<CatalogueTables::Device> ClassTable::TakeDevices() {
  MutexLock lock(mu_);
  return std::move(device_rows_);
}

void AddListed(absl::string_view listed, const std::string& skip,
               ScannedDir& dir, std::vector<std::string>& too_long) {
  for (size_t at = 0; at < listed.size();) {
    const auto* entry = reinterpret_cast<const dirent64*>(listed.data() + at);
    const absl::string_view name = NameAt(listed.data() + at, entry->d_reclen);
    at += entry->d_reclen;
    const bool left_out = !skip.empty() && name == skip;
    if (name == "." || name == ".." || left_out) continue;
    if (name.size() > ScannedBatch::kLongestName) {
      too_long.emplace_back(name);
    } else {
      AddName(dir, *entry, name);
    }
  }
}

bool ListNames(OpenDir& open, const std::string& skip,
               const std::function<void(ScannedBatch* batch)>& full,
               const std::function<bool()>& stopping) {
  ScannedDir& dir = *open.dir;
  std::vector<char> buffer(kListBytes);
  size_t handed_out = 0;
  while (!stopping()) {
    ssize_t got = getdents64(open.fd.get(), buffer.data(), buffer.size());
    if (got <= 0) return got == 0;
    AddListed({buffer.data(), static_cast<size_t>(got)}, skip, dir,
              open.too_long);
    for (; handed_out + 1 < dir.batches.size(); ++handed_out) {
      full(dir.batches[handed_out].get());
    }
  }
  return true;
}

BatchStat::Findings BatchStat::Run() {
  const std::vector<ScannedEntry>& entries = batch_.entries;
  // In inode order. On a disk this visits the inodes in one direction, while
  // readdir's order is that of a hash.
  std::vector<uint32_t> order(entries.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return entries[a].ino < entries[b].ino;
  });
  for (const uint32_t index : order) {
    if (!rules_.estimates || !Estimate(index)) StatEntry(index);
  }
  return std::move(findings_);
}

BatchStat::Alike& BatchStat::AlikeOf(uint32_t index) {
  const absl::string_view name(batch_.names.data() +
                               batch_.entries[index].name + 1);
  const size_t dot = std::min(name.rfind('.'), name.size());
  const absl::string_view extension = name.substr(dot);
  for (Alike& alike : alike_) {
    if (alike.extension == extension) return alike;
  }
  alike_.push_back({extension, 0, {}});
  return alike_.back();
}

bool BatchStat::Estimate(uint32_t index) {
  if (!batch_.is_file[index]) return false;
  Alike& alike = AlikeOf(index);
  const uint32_t at = alike.seen++ % kPeriod;
  if (at == 0) alike.asked.clear();
  if (at < kAsked) {
    alike.asked.push_back(index);
    return false;
  }
  ScannedEntry like = batch_.entries[alike.asked[at % kAsked]];
  if (like.attr_class == ScannedEntry::kDropped) return false;
  ScannedEntry& entry = batch_.entries[index];
  like.ino = entry.ino;
  like.name = entry.name;
  entry = like;
  return true;
}

void BatchStat::StatEntry(uint32_t index) {
  ScannedEntry& entry = batch_.entries[index];
  const char* name = batch_.names.data() + entry.name + 1;
  struct stat st;
  if (fstatat(open_.fd.get(), name, &st,
              AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) != 0) {
    if (errno == EACCES) {
      open_.refused.store(true, std::memory_order_relaxed);
    } else if (errno != ENOENT) {
      findings_.failed.emplace_back(name);
    }
    return;
  }
  if (S_ISDIR(st.st_mode) && rules_.skip(st)) return;
  mode_t mode = st.st_mode;
  if (rules_.shown_to_others != nullptr) {
    mode = ShownModeAt(open_.fd.get(), name, st, *rules_.shown_to_others);
  }
  entry.attr_class = ClassOf(st, mode, name);
  entry.ino = st.st_ino;
  entry.size = static_cast<uint64_t>(st.st_size);
  entry.blocks = static_cast<uint64_t>(st.st_blocks);
  entry.mtime_ns = Nanoseconds(st.st_mtim);
  entry.ctime_ns = Nanoseconds(st.st_ctim);
  if (S_ISDIR(st.st_mode)) AddChild(index, st);
}

uint32_t BatchStat::ClassOf(const struct stat& st, mode_t mode,
                            const char* name) {
  if (last_class_ == ScannedEntry::kDropped || mode != last_mode_ ||
      !SameClass(st, last_)) {
    last_class_ = rules_.classes.Intern(st, mode, open_.fd.get(), name);
    last_ = st;
    last_mode_ = mode;
  }
  return last_class_;
}

void BatchStat::AddChild(uint32_t index, const struct stat& st) {
  auto child = std::make_unique<ScannedDir>();
  child->parent = open_.dir;
  child->name = batch_.names.c_str() + batch_.entries[index].name + 1;
  child->size = static_cast<uint64_t>(st.st_size);
  child->ino = st.st_ino;
  child->device = st.st_dev;
  child->mode = st.st_mode;
  child->uid = st.st_uid;
  child->gid = st.st_gid;
  ScannedDir* added = child.get();
  {
    MutexLock lock(open_.mu);
    open_.dir->children.emplace_back(batch_.first_ordinal + index,
                                     std::move(child));
  }
  for (const ScannedDir* up = open_.dir; up != nullptr; up = up->parent) {
    if (up->ino == added->ino && up->device == added->device) {
      // A bind mount of a directory into itself has no end.
      findings_.loops.push_back(added);
      return;
    }
  }
  findings_.dirs.push_back(added);
}

}  // namespace shufflefs
