// SPDX-License-Identifier: Apache-2.0
// The tables behind a catalogue: one column an attribute, so that a row costs
// 52 bytes and a walk over one attribute touches nothing else. Plain data,
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
  // Value of `blocks` where the number stands in `large_blocks`.
  static constexpr uint32_t kLargeBlocks = 0xFFFFFFFF;

  // What most files of a tree have in common.
  struct AttributeClass {
    uint32_t mode = 0;  // as it is shown: within the access control list
    uint32_t uid = 0;
    uint32_t gid = 0;
    uint32_t nlink = 0;
    uint32_t rdev = 0;
    uint32_t device = 0;  // 0 = that of the root, then by first appearance
    uint32_t source_mode = 0;  // as stat said
    uint32_t readable = 0;     // 1: by who scanned, as far as source_mode says
    friend bool operator==(const AttributeClass&,
                           const AttributeClass&) = default;
  };

  // By AttributeClass::device. Words, so that they are filed as they are.
  struct Device {
    uint64_t number = 0;       // st_dev
    uint64_t inodes_last = 0;  // 1: core/catalogue/file_identity.h
    friend bool operator==(const Device&, const Device&) = default;
  };

  struct Directory {
    uint64_t names_base = 0;  // of its first name in `names`
    uint64_t size = 0;        // st_size, bytes
    uint32_t first_entry = 0;
    uint32_t entry_count = 0;
    uint32_t parent = 0;        // DirId; the root's is 0
    uint32_t entry = kNoEntry;  // EntryId that names it
    uint32_t subtree_end = 0;   // DirId behind its last descendant
  };

  struct RootAttributes {
    uint64_t ino = 0;
    uint64_t blocks = 0;
    int64_t mtime_ns = 0;
    int64_t ctime_ns = 0;
    uint32_t attr_class = 0;
  };

  // In preorder, children by name bytes. [0] is the root.
  std::vector<Directory> dirs;
  RootAttributes root;

  // One row an entry; those of directory 0 first, then of 1, …
  std::vector<uint32_t> name_offset;  // from the directory's names_base
  std::vector<uint32_t> parent;       // DirId
  std::vector<uint32_t> attr_class;
  std::vector<uint32_t> blocks;  // 512-byte units
  // [first_entry + k]: index in the directory of the k-th entry of readdir.
  std::vector<uint32_t> source_order;
  std::vector<uint64_t> size;  // bytes; of a directory: its DirId
  std::vector<uint64_t> ino;   // as the source's device gives it
  std::vector<int64_t> mtime_ns;
  std::vector<int64_t> ctime_ns;

  // Each name: one byte of length (1 to 255), then its bytes.
  std::vector<char> names;
  std::vector<AttributeClass> classes;
  std::vector<Device> devices;
  std::vector<std::pair<uint32_t, uint64_t>> large_blocks;  // by entry
  std::vector<std::string> unreadable;                      // paths, sorted
  int64_t scanned_ns = 0;  // wall clock when the scan began
  // Others than who scanned are served, and so kept from what is not theirs.
  bool serves_others = false;
};

// Fills what follows from the rest: names_base, first_entry, subtree_end,
// name_offset, parent. REQUIRES: entry_count and parent of each directory,
// and `names`, are consistent (the catalogue file checks them first).
void DeriveCatalogueTables(CatalogueTables& tables);

// 64 bits over names, kinds, sizes and mtimes. Not over the directories' own
// sizes and times, inode numbers and owners: a faithful copy on another file
// system is the same data set.
uint64_t FingerprintOf(const CatalogueTables& tables);

// 64 bits over the fingerprint and what else FileIdentity has of each file.
uint64_t StateOf(const CatalogueTables& tables, uint64_t fingerprint);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_CATALOGUE_CATALOGUE_TABLES_H_
