// SPDX-License-Identifier: Apache-2.0
// The tree as the scan's threads read it, in readdir order, before it is sorted
// and packed into a catalogue. Internal to the scan. One thread owns it at a
// time; the scan decides which.
#ifndef SHUFFLEFS_CORE_SCAN_SCAN_TREE_H_
#define SHUFFLEFS_CORE_SCAN_SCAN_TREE_H_

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/catalogue/catalogue_tables.h"

namespace shufflefs {

struct ScannedEntry {
  static constexpr uint32_t kDropped = 0xFFFFFFFF;
  uint64_t ino = 0;
  uint64_t size = 0;
  uint64_t blocks = 0;
  int64_t mtime_ns = 0;
  int64_t ctime_ns = 0;
  uint32_t name = 0;  // offset of its length byte in the batch's names
  // Index in the interned classes. kDropped: it vanished before its stat.
  uint32_t attr_class = kDropped;
};

// Consecutive entries of one directory. All batches except a directory's last
// are full.
struct ScannedBatch {
  static constexpr uint32_t kEntries = 1024;
  static constexpr size_t kLongestName = 255;  // its length is one byte
  uint32_t first_ordinal = 0;
  std::string names;  // per name: length byte, bytes, NUL
  std::vector<ScannedEntry> entries;
  std::vector<bool> is_file;  // by entry: readdir says so
};

struct ScannedDir {
  ScannedDir* parent = nullptr;
  std::string name;  // "" for the root
  uint64_t size = 0;
  uint64_t ino = 0;
  uint64_t device = 0;
  mode_t mode = 0;  // as stat reports, like its owner and group
  uid_t uid = 0;
  gid_t gid = 0;
  std::vector<std::unique_ptr<ScannedBatch>> batches;
  // By ordinal, which is the entry's number in readdir order.
  std::vector<std::pair<uint32_t, std::unique_ptr<ScannedDir>>> children;
  // Ordinals of the kept entries, sorted by name bytes.
  std::vector<uint32_t> sorted;

  const ScannedEntry& entry(uint32_t ordinal) const {
    return batches[ordinal / ScannedBatch::kEntries]
        ->entries[ordinal % ScannedBatch::kEntries];
  }
  // Points to the length byte of the entry's name.
  const char* name_of(uint32_t ordinal) const {
    return batches[ordinal / ScannedBatch::kEntries]->names.data() +
           entry(ordinal).name;
  }
  uint32_t entry_count() const;  // includes dropped entries
  std::string path() const;      // relative to the root
};

// Fills `sorted`. If readdir returned a name twice (the directory was being
// changed), the first one stays. Fast even for a million names: it compares the
// eight bytes after the common beginning of all names, and whole names only if
// these are equal.
void SortByName(ScannedDir& dir);

struct ScannedTree {
  std::unique_ptr<ScannedDir> root;
  CatalogueTables::RootAttributes root_attributes;
  std::vector<CatalogueTables::AttributeClass> classes;
  std::vector<CatalogueTables::Device> devices;  // by AttributeClass::device
  std::vector<std::string> unreadable;
  int64_t scanned_ns = 0;
  bool serves_others = false;
};

// Packs a tree whose directories are all sorted. Frees the tree on the way. The
// result depends only on the tree, not on the scheduling of threads.
CatalogueTables PackScannedTree(ScannedTree tree);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_SCAN_SCAN_TREE_H_
