// SPDX-License-Identifier: Apache-2.0
// What the scan's threads hand to the catalogue's builder: the tree as it was
// read, in readdir order, before it is sorted and packed. Internal to the
// scan. Owned by one thread at a time; the scan says when.
#ifndef SHUFFLEFS_CORE_SCAN_SCAN_TREE_H_
#define SHUFFLEFS_CORE_SCAN_SCAN_TREE_H_

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
  // Index in the interned classes; kDropped: vanished before its stat.
  uint32_t attr_class = kDropped;
};

// Consecutive entries of one directory. All but a directory's last are full.
struct ScannedBatch {
  static constexpr uint32_t kEntries = 1024;
  uint32_t first_ordinal = 0;
  std::string names;  // of each: length byte, bytes, NUL
  std::vector<ScannedEntry> entries;
};

struct ScannedDir {
  ScannedDir* parent = nullptr;
  std::string name;  // "" for the root
  uint64_t size = 0;
  uint64_t ino = 0;
  uint64_t device = 0;
  std::vector<std::unique_ptr<ScannedBatch>> batches;
  // By ordinal: the entry's number in readdir order.
  std::vector<std::pair<uint32_t, std::unique_ptr<ScannedDir>>> children;
  // Ordinals of the kept entries, by name bytes.
  std::vector<uint32_t> sorted;

  const ScannedEntry& entry(uint32_t ordinal) const {
    return batches[ordinal / ScannedBatch::kEntries]
        ->entries[ordinal % ScannedBatch::kEntries];
  }
  // The length byte of the entry's name.
  const char* name_of(uint32_t ordinal) const {
    return batches[ordinal / ScannedBatch::kEntries]->names.data() +
           entry(ordinal).name;
  }
  uint32_t entry_count() const;  // the dropped ones included
  std::string path() const;      // relative to the root
};

// Fills `sorted`; of a name that readdir gave twice (the directory was being
// changed) the first stays. Cheap also for a million names: compares eight
// bytes behind what all names have in common, and whole names only where these
// are equal.
void SortByName(ScannedDir& dir);

struct ScannedTree {
  std::unique_ptr<ScannedDir> root;
  CatalogueTables::RootAttributes root_attributes;
  std::vector<CatalogueTables::AttributeClass> classes;
  std::vector<CatalogueTables::Device> devices;  // by their classes' device
  std::vector<std::string> unreadable;
  int64_t scanned_ns = 0;
  bool serves_others = false;
};

// Packs a tree whose directories are all sorted, taking it apart on the way.
// What comes out depends on the tree alone, not on how threads took turns.
CatalogueTables PackScannedTree(ScannedTree tree);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_SCAN_SCAN_TREE_H_
