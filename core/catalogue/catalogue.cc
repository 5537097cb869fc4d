// SPDX-License-Identifier: Apache-2.0
#include "core/catalogue/catalogue.h"

#include <sys/stat.h>
#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace shufflefs {
namespace {

// Inode numbers of the root's device are shown as they are. Those of another
// device get its index above this bit. A number that does not fit below it is
// hashed. Such a pair of numbers collides with odds of one in 2^48.
constexpr int kDeviceShift = 48;

uint64_t ShownInode(uint64_t ino, uint32_t device) {
  if (device == 0) return ino;
  uint64_t high = static_cast<uint64_t>(device) << kDeviceShift;
  if (ino >> kDeviceShift != 0) ino = XXH3_64bits(&ino, sizeof ino);
  return high | (ino & ((uint64_t{1} << kDeviceShift) - 1));
}

// As far as few facts tell, without a look at each file.
bool AllMayReadAll(const Catalogue& catalogue) {
  const AccessTable& table = catalogue.access_table();
  return table.count() == 1 && table.value(AccessId(0)).is_open() &&
         std::ranges::all_of(catalogue.tables().classes, [](const auto& c) {
           return !S_ISREG(c.mode) || c.readable != 0;
         });
}

// 0 if the same users may read every file, and all files are readable.
uint64_t HashOfAccess(const Catalogue& catalogue) {
  if (AllMayReadAll(catalogue)) return 0;
  bool differs = false;
  std::vector<uint32_t> rows;
  for (uint32_t e = 0; e < catalogue.entry_count(); ++e) {
    const EntryId entry(e);
    if (catalogue.kind(entry) != EntryKind::kFile) continue;
    const AccessId access = catalogue.access(entry);
    const bool readable = catalogue.readable(entry);
    differs |= !readable || !catalogue.access_table().value(access).is_open();
    rows.push_back(access.value() << 1 | (readable ? 1 : 0));
  }
  if (!differs) return 0;
  uint64_t hash = XXH3_64bits(rows.data(), rows.size() * sizeof(rows[0]));
  for (uint32_t id = 0; id < catalogue.access_table().count(); ++id) {
    const std::string text =
        catalogue.access_table().value(AccessId(id)).Text();
    hash = XXH3_64bits_withSeed(text.data(), text.size(), hash);
  }
  return hash;
}

template <typename T>
uint64_t BytesOf(const std::vector<T>& column) {
  return column.capacity() * sizeof(T);
}

}  // namespace

FileAttributes AttributesOf(const struct stat& st) {
  FileAttributes result;
  result.kind = KindOfMode(st.st_mode);
  result.mode = st.st_mode;
  result.source_mode = st.st_mode;
  result.uid = st.st_uid;
  result.gid = st.st_gid;
  result.nlink = static_cast<uint32_t>(st.st_nlink);
  result.rdev = static_cast<uint32_t>(st.st_rdev);
  result.ino = st.st_ino;
  result.size = static_cast<uint64_t>(st.st_size);
  result.blocks = static_cast<uint64_t>(st.st_blocks);
  result.mtime_ns = Nanoseconds(st.st_mtim);
  result.ctime_ns = Nanoseconds(st.st_ctim);
  result.device = st.st_dev;
  result.inode = st.st_ino;
  return result;
}

Catalogue Catalogue::FromTables(CatalogueTables tables) {
  Catalogue catalogue(std::move(tables));
  const CatalogueTables& t = catalogue.tables_;
  for (size_t i = 0; i < t.size.size(); ++i) {
    if (!S_ISREG(t.classes[t.attr_class[i]].mode)) continue;
    ++catalogue.file_count_;
    catalogue.total_bytes_ += t.size[i];
  }
  catalogue.fingerprint_ = FingerprintOf(t);
  catalogue.state_ = StateOf(t, catalogue.fingerprint_);
  if (t.serves_others) catalogue.access_ = AccessTable(t);
  catalogue.samples_fingerprint_ =
      catalogue.fingerprint_ ^ HashOfAccess(catalogue);
  return catalogue;
}

uint32_t Catalogue::entry_count() const {
  return static_cast<uint32_t>(tables_.size.size());
}
uint32_t Catalogue::dir_count() const {
  return static_cast<uint32_t>(tables_.dirs.size());
}
EntryId Catalogue::first_entry(DirId dir) const {
  return EntryId(tables_.dirs[dir.value()].first_entry);
}
bool Catalogue::has_files(DirId dir) const {
  for (uint32_t k = 0; k < dir_size(dir); ++k) {
    if (kind(in_source_order(dir, k)) == EntryKind::kFile) return true;
  }
  return false;
}

uint32_t Catalogue::dir_size(DirId dir) const {
  return tables_.dirs[dir.value()].entry_count;
}
EntryId Catalogue::in_source_order(DirId dir, uint32_t k) const {
  uint32_t first = tables_.dirs[dir.value()].first_entry;
  return EntryId(first + tables_.source_order[first + k]);
}

FileAttributes Catalogue::FromClass(uint32_t attr_class, uint64_t ino) const {
  const auto& shared = tables_.classes[attr_class];
  FileAttributes result;
  result.kind = KindOfMode(shared.mode);
  result.mode = shared.mode;
  result.source_mode = shared.source_mode;
  result.uid = shared.uid;
  result.gid = shared.gid;
  result.nlink = shared.nlink;
  result.rdev = shared.rdev;
  result.ino = ShownInode(ino, shared.device);
  const auto& device = tables_.devices[shared.device];
  result.device = device.number;
  result.inode = device.inodes_last != 0 ? ino : 0;
  result.serves_others = tables_.serves_others;
  return result;
}

Catalogue::Identity Catalogue::identity(EntryId entry) const {
  const auto& shared = tables_.classes[tables_.attr_class[entry.value()]];
  return Identity{ShownInode(tables_.ino[entry.value()], shared.device),
                  static_cast<mode_t>(shared.mode & S_IFMT)};
}

FileAttributes Catalogue::attributes(EntryId entry) const {
  uint32_t i = entry.value();
  FileAttributes result = FromClass(tables_.attr_class[i], tables_.ino[i]);
  result.size = result.kind == EntryKind::kDirectory
                    ? tables_.dirs[tables_.size[i]].size
                    : tables_.size[i];
  result.mtime_ns = tables_.mtime_ns[i];
  result.ctime_ns = tables_.ctime_ns[i];
  result.blocks = tables_.blocks[i];
  if (tables_.blocks[i] == CatalogueTables::kLargeBlocks) {
    auto at = std::lower_bound(tables_.large_blocks.begin(),
                               tables_.large_blocks.end(),
                               std::make_pair(i, uint64_t{0}));
    result.blocks = at->second;
  }
  return result;
}

FileAttributes Catalogue::dir_attributes(DirId dir) const {
  uint32_t entry = tables_.dirs[dir.value()].entry;
  if (entry != CatalogueTables::kNoEntry) return attributes(EntryId(entry));
  const auto& root = tables_.root;
  FileAttributes result = FromClass(root.attr_class, root.ino);
  result.size = tables_.dirs[0].size;
  result.blocks = root.blocks;
  result.mtime_ns = root.mtime_ns;
  result.ctime_ns = root.ctime_ns;
  return result;
}

DirId Catalogue::parent(DirId dir) const {
  return DirId(tables_.dirs[dir.value()].parent);
}
DirId Catalogue::as_dir(EntryId entry) const {
  return DirId(static_cast<uint32_t>(tables_.size[entry.value()]));
}
absl::optional<EntryId> Catalogue::entry_of(DirId dir) const {
  uint32_t entry = tables_.dirs[dir.value()].entry;
  if (entry == CatalogueTables::kNoEntry) return absl::nullopt;
  return EntryId(entry);
}
DirId Catalogue::subtree_end(DirId dir) const {
  return DirId(tables_.dirs[dir.value()].subtree_end);
}
EntryId Catalogue::entries_end(DirId dir) const {
  const auto& last = tables_.dirs[subtree_end(dir).value() - 1];
  return EntryId(last.first_entry + last.entry_count);
}

absl::optional<EntryId> Catalogue::Find(DirId dir,
                                        absl::string_view wanted) const {
  uint32_t low = tables_.dirs[dir.value()].first_entry;
  uint32_t end = low + tables_.dirs[dir.value()].entry_count;
  uint32_t high = end;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (name(EntryId(middle)) < wanted) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  if (low == end || name(EntryId(low)) != wanted) return absl::nullopt;
  return EntryId(low);
}

absl::optional<DirId> Catalogue::FindDir(absl::string_view path) const {
  if (path.empty()) return DirId(0);
  absl::optional<EntryId> entry = FindPath(path);
  if (!entry || kind(*entry) != EntryKind::kDirectory) return absl::nullopt;
  return as_dir(*entry);
}

absl::optional<EntryId> Catalogue::FindPath(absl::string_view path) const {
  DirId dir(0);
  for (;;) {
    size_t slash = path.find('/');
    absl::optional<EntryId> entry = Find(dir, path.substr(0, slash));
    if (!entry || slash == absl::string_view::npos) return entry;
    if (kind(*entry) != EntryKind::kDirectory) return absl::nullopt;
    dir = as_dir(*entry);
    path.remove_prefix(slash + 1);
  }
}

std::string Catalogue::path(EntryId entry) const {
  std::string result = path(parent(entry));
  if (!result.empty()) result += '/';
  absl::string_view last = name(entry);
  result.append(last.data(), last.size());
  return result;
}

std::string Catalogue::path(DirId dir) const {
  // Computes the length first, then writes the names from the end.
  size_t length = 0;
  for (DirId d = dir; d != DirId(0); d = parent(d)) {
    length += name(*entry_of(d)).size() + 1;
  }
  if (length == 0) return "";
  std::string result(length - 1, '/');
  size_t end = result.size();
  for (DirId d = dir; d != DirId(0); d = parent(d)) {
    absl::string_view part = name(*entry_of(d));
    end -= part.size();
    std::memcpy(&result[end], part.data(), part.size());
    if (end > 0) --end;  // the slash
  }
  return result;
}

uint64_t Catalogue::file_count() const { return file_count_; }
uint64_t Catalogue::total_bytes() const { return total_bytes_; }
uint64_t Catalogue::fingerprint() const { return fingerprint_; }
uint64_t Catalogue::samples_fingerprint() const { return samples_fingerprint_; }
uint64_t Catalogue::name_bytes() const { return tables_.names.size(); }

uint64_t Catalogue::memory_bytes() const {
  const CatalogueTables& t = tables_;
  return BytesOf(t.dirs) + BytesOf(t.name_offset) + BytesOf(t.dir_at) +
         BytesOf(t.attr_class) + BytesOf(t.blocks) + BytesOf(t.source_order) +
         BytesOf(t.size) + BytesOf(t.ino) + BytesOf(t.mtime_ns) +
         BytesOf(t.ctime_ns) + BytesOf(t.names) + BytesOf(t.classes) +
         BytesOf(t.large_blocks) + access_.memory_bytes();
}

const std::vector<std::string>& Catalogue::unreadable() const {
  return tables_.unreadable;
}
uint32_t Catalogue::attribute_class(EntryId entry) const {
  return tables_.attr_class[entry.value()];
}

std::vector<uint32_t> Catalogue::file_devices() const {
  std::vector<uint32_t> devices;
  for (const auto& shared : tables_.classes) {
    if (KindOfMode(shared.mode) != EntryKind::kFile) continue;
    if (std::ranges::find(devices, shared.device) != devices.end()) continue;
    devices.push_back(shared.device);
  }
  return devices;
}

}  // namespace shufflefs
