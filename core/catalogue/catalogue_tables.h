// SPDX-License-Identifier: Apache-2.0
// The tables behind a catalogue. Each attribute is one column, so that a row
// costs 48 bytes and a walk over one attribute reads nothing else. Plain data,
// filled by the scan's builder or read from a catalogue file.
#ifndef SHUFFLEFS_CORE_CATALOGUE_CATALOGUE_TABLES_H_
#define SHUFFLEFS_CORE_CATALOGUE_CATALOGUE_TABLES_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace shufflefs {

struct CatalogueTables {
  // Value of Directory::entry for the root, which no entry names.
  static constexpr uint32_t kNoEntry = 0xFFFFFFFF;
  // Value of `blocks` if the number is in `large_blocks`.
  static constexpr uint32_t kLargeBlocks = 0xFFFFFFFF;

  // Attributes that most files of a tree share.
  struct AttributeClass {
    uint32_t mode = 0;  // as shown: limited by the access control list
    uint32_t uid = 0;
    uint32_t gid = 0;
    uint32_t nlink = 0;
    uint32_t rdev = 0;
    uint32_t device = 0;       // 0 = the root's, then by first appearance
    uint32_t source_mode = 0;  // as stat reported it
    // 1: by the scanning user, as far as source_mode says.
    uint32_t readable = 0;
    friend bool operator==(const AttributeClass&,
                           const AttributeClass&) = default;
  };

  // By AttributeClass::device. The fields are words, so that the file holds
  // them as they are.
  struct Device {
    uint64_t number = 0;       // st_dev
    uint64_t inodes_last = 0;  // 1: see InodesLast in file_identity.h
    friend bool operator==(const Device&, const Device&) = default;
  };

  struct Directory {
    uint64_t names_base = 0;  // offset of its first name in `names`
    uint64_t size = 0;        // st_size, bytes
    uint32_t first_entry = 0;
    uint32_t entry_count = 0;
    uint32_t parent = 0;        // DirId; the root's is 0
    uint32_t entry = kNoEntry;  // EntryId that names it
    uint32_t subtree_end = 0;   // DirId after its last descendant
  };

  struct RootAttributes {
    uint64_t ino = 0;
    uint64_t blocks = 0;
    int64_t mtime_ns = 0;
    int64_t ctime_ns = 0;
    uint32_t attr_class = 0;
  };

  // In preorder, children sorted by name bytes. [0] is the root.
  std::vector<Directory> dirs;
  RootAttributes root;

  // One row per entry: first the entries of directory 0, then of 1, …
  std::vector<uint32_t> name_offset;  // from the directory's names_base
  std::vector<uint32_t> attr_class;
  std::vector<uint32_t> blocks;  // 512-byte units
  // [first_entry + k]: index in the directory of the k-th entry of readdir.
  std::vector<uint32_t> source_order;
  std::vector<uint64_t> size;  // bytes; of a directory: its DirId
  std::vector<uint64_t> ino;   // as the source's device reports it
  std::vector<int64_t> mtime_ns;
  std::vector<int64_t> ctime_ns;

  // Each name: one byte of length (1 to 255), then its bytes.
  std::vector<char> names;
  std::vector<AttributeClass> classes;
  std::vector<Device> devices;
  std::vector<std::pair<uint32_t, uint64_t>> large_blocks;  // by entry
  std::vector<std::string> unreadable;                      // paths, sorted
  int64_t scanned_ns = 0;  // wall clock at the start of the scan
  // Other users than the scanning one are served. They must not see what is
  // closed to them.
  bool serves_others = false;

  // [k]: the DirId that contains entry k * kEntriesAPlace. One more at the end,
  // for the last entry. A DirId of each entry would take 4 bytes a file.
  static constexpr uint32_t kEntriesAPlace = 64;
  std::vector<uint32_t> dir_at;

  // The DirId that contains an entry.
  uint32_t DirOf(uint32_t entry) const {
    const size_t place = entry / kEntriesAPlace;
    uint32_t dir = dir_at[place];
    // Directories that have no entries begin where the next one begins.
    for (uint32_t last = dir_at[place + 1]; dir < last;) {
      const uint32_t middle = dir + (last - dir + 1) / 2;
      if (dirs[middle].first_entry <= entry) {
        dir = middle;
      } else {
        last = middle - 1;
      }
    }
    return dir;
  }
};

// Fills the columns that follow from the rest: names_base, first_entry,
// subtree_end, name_offset, dir_at. REQUIRES: entry_count and parent of each
// directory, and `names`, are consistent (the catalogue file checks them
// first).
void DeriveCatalogueTables(CatalogueTables& tables);

// 64 bits over names, kinds, sizes and mtimes. Excludes the directories' own
// sizes and times, inode numbers and owners, because a faithful copy on another
// file system is the same dataset.
uint64_t FingerprintOf(const CatalogueTables& tables);

// 64 bits over the fingerprint and the other fields of each file's
// FileIdentity.
uint64_t StateOf(const CatalogueTables& tables, uint64_t fingerprint);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_CATALOGUE_CATALOGUE_TABLES_H_
