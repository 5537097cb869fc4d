// SPDX-License-Identifier: Apache-2.0
// Catalogue is what the scan found below the source. It is immutable and
// compact (at most 64 bytes per file besides the name bytes). The entries of a
// directory are adjacent and sorted by name bytes. So ids depend only on the
// tree, and a name is found by binary search. Directories are in path order,
// and every parent comes before its children.
//
// Thread-safe: nothing changes after it was built. No method does I/O.
#ifndef SHUFFLEFS_CORE_CATALOGUE_CATALOGUE_H_
#define SHUFFLEFS_CORE_CATALOGUE_CATALOGUE_H_

#include <sys/stat.h>
#include <sys/types.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "core/base/types.h"
#include "core/catalogue/access.h"
#include "core/catalogue/catalogue_tables.h"
#include "core/catalogue/file_identity.h"

namespace shufflefs {

enum class EntryKind : uint8_t { kFile, kDirectory, kLink, kSpecial };

inline EntryKind KindOfMode(uint32_t mode) {
  if (S_ISREG(mode)) return EntryKind::kFile;
  if (S_ISDIR(mode)) return EntryKind::kDirectory;
  if (S_ISLNK(mode)) return EntryKind::kLink;
  return EntryKind::kSpecial;
}

// The result of stat, as the scan saw it. `ino` is unique within the
// catalogue's source even if that spans several devices.
struct FileAttributes {
  EntryKind kind = EntryKind::kFile;
  mode_t mode = 0;  // type and permission bits; as in the source, or fewer
  mode_t source_mode = 0;  // as in the source
  uid_t uid = 0;
  gid_t gid = 0;
  uint32_t nlink = 1;
  uint32_t rdev = 0;
  uint64_t ino = 0;
  uint64_t size = 0;    // bytes
  uint64_t blocks = 0;  // 512-byte units
  int64_t mtime_ns = 0;
  int64_t ctime_ns = 0;
  uint64_t device = 0;
  uint64_t inode = 0;  // as the device reports it, and as in FileIdentity

  // For a file.
  FileIdentity identity() const {
    return {device, inode, size, mtime_ns, ctime_ns};
  }
  // Other users are served: its access control list counts.
  bool serves_others = false;
};

// The attributes that a catalogue would have for a file with this `st`.
FileAttributes AttributesOf(const struct stat& st);

class Catalogue {
 public:
  // REQUIRES: `tables` are valid (catalogue_file.h checks untrusted ones).
  // Other callers get a catalogue from Scan() or LoadCatalogue().
  static Catalogue FromTables(CatalogueTables tables);
  Catalogue(Catalogue&&) = default;
  Catalogue& operator=(Catalogue&&) = default;

  uint32_t entry_count() const;
  uint32_t dir_count() const;  // at least 1: the root

  // Entries of a directory are [first_entry(d), first_entry(d) + size(d)).
  EntryId first_entry(DirId dir) const;
  uint32_t dir_size(DirId dir) const;
  // Whether a file lies directly in it. O(dir_size).
  bool has_files(DirId dir) const;
  // The k-th entry in the order in which the source's readdir returned them.
  EntryId in_source_order(DirId dir, uint32_t k) const;

  // Any bytes except '/' and NUL.
  absl::string_view name(EntryId entry) const {
    const uint32_t i = entry.value();
    const char* const at = tables_.names.data() +
                           tables_.dirs[tables_.DirOf(i)].names_base +
                           tables_.name_offset[i];
    return absl::string_view(at + 1, static_cast<uint8_t>(*at));
  }
  EntryKind kind(EntryId entry) const {
    return KindOfMode(tables_.classes[tables_.attr_class[entry.value()]].mode);
  }
  FileAttributes attributes(EntryId entry) const;
  // Only the size of these attributes. REQUIRES: the entry is no directory.
  uint64_t file_size(EntryId entry) const {
    return tables_.size[entry.value()];
  }
  // The attributes that a listing needs of an entry. Much faster to look up
  // than attributes.
  struct Identity {
    uint64_t ino = 0;
    mode_t type = 0;  // S_IFREG, S_IFDIR, …
  };
  Identity identity(EntryId entry) const;
  // For callers that visit many entries in random order. These prefetch the
  // memory that name() and identity() will read. Prefetch the name first, and
  // its bytes a while later.
  void PrefetchName(EntryId entry) const {
    __builtin_prefetch(&tables_.name_offset[entry.value()]);
    __builtin_prefetch(
        &tables_.dir_at[entry.value() / CatalogueTables::kEntriesAPlace]);
  }
  void PrefetchNameBytes(EntryId entry) const {
    __builtin_prefetch(name(entry).data() - 1);
  }
  void PrefetchIdentity(EntryId entry) const {
    __builtin_prefetch(&tables_.attr_class[entry.value()]);
    __builtin_prefetch(&tables_.ino[entry.value()]);
  }
  FileAttributes dir_attributes(DirId dir) const;  // also for the root
  DirId parent(EntryId entry) const {              // directory that contains it
    return DirId(tables_.DirOf(entry.value()));
  }
  DirId parent(DirId dir) const;                   // the root's is the root
  // The directory of an entry of kind kDirectory, and the reverse. The root has
  // no entry.
  DirId as_dir(EntryId entry) const;
  absl::optional<EntryId> entry_of(DirId dir) const;
  // `dir` and all directories below it are [dir, subtree_end(dir)), and their
  // entries are adjacent too: [first_entry(dir), entries_end(dir)).
  DirId subtree_end(DirId dir) const;
  EntryId entries_end(DirId dir) const;

  absl::optional<EntryId> Find(DirId dir, absl::string_view name) const;
  // By path relative to the source ("" = root). No link is followed.
  absl::optional<DirId> FindDir(absl::string_view path) const;
  absl::optional<EntryId> FindPath(absl::string_view path) const;
  std::string path(EntryId entry) const;  // relative, no leading slash
  std::string path(DirId dir) const;      // "" for the root

  uint64_t file_count() const;   // regular files
  uint64_t total_bytes() const;  // sum of their sizes
  // 64 bits over names, kinds, sizes and mtimes: the identity of the dataset.
  uint64_t fingerprint() const;
  // 64 bits over the fingerprint and the lasting identity of every file. Copies
  // of file contents are keyed by it. A faithful copy of the dataset has
  // another state.
  uint64_t state() const { return state_; }
  uint64_t memory_bytes() const;  // of tables and name bytes
  uint64_t name_bytes() const;
  // The fingerprint, combined with who may read what if this differs among
  // files. It says which samples exist and which may stand in for each other.
  uint64_t samples_fingerprint() const;
  // Paths that the scan could not read (no permission, an I/O error). Such a
  // directory is shown empty or as far as it was read. A file whose stat failed
  // is not in the catalogue.
  const std::vector<std::string>& unreadable() const;

  // Files of equal type, permissions, owner, links and device share a class.
  // Classes are dense from 0: a cheap key for caches of what these determine.
  uint32_t attribute_class(EntryId entry) const;
  // The device of an entry: 0 is the root's, others count by first appearance.
  uint32_t device(EntryId entry) const {
    return tables_.classes[tables_.attr_class[entry.value()]].device;
  }
  // The devices that have files, without repeats.
  std::vector<uint32_t> file_devices() const;
  // Returns whether the scanning user may read a file, as far as its mode says.
  bool readable(EntryId entry) const {
    return tables_.classes[attribute_class(entry)].readable != 0;
  }
  // The users who may read an entry and search the directories above it. All
  // entries have one id unless other users than the scanning one are served.
  AccessId access(EntryId entry) const {
    return access_.Of(parent(entry).value(), attribute_class(entry));
  }
  const AccessTable& access_table() const { return access_; }
  bool serves_others() const { return tables_.serves_others; }
  const CatalogueTables& tables() const { return tables_; }

 private:
  explicit Catalogue(CatalogueTables tables) : tables_(std::move(tables)) {}
  // Everything except sizes and times.
  FileAttributes FromClass(uint32_t attr_class, uint64_t ino) const;

  // Constant after construction.
  CatalogueTables tables_;
  AccessTable access_;
  uint64_t file_count_ = 0;
  uint64_t total_bytes_ = 0;
  uint64_t fingerprint_ = 0;
  uint64_t state_ = 0;
  uint64_t samples_fingerprint_ = 0;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_CATALOGUE_CATALOGUE_H_
