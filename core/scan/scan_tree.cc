// SPDX-License-Identifier: Apache-2.0
#include "core/scan/scan_tree.h"

#include <endian.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/string_view.h"

namespace shufflefs {
namespace {

absl::string_view NameAt(const char* at) {
  return absl::string_view(at + 1, static_cast<uint8_t>(*at));
}

size_t CommonPrefix(absl::string_view a, absl::string_view b) {
  size_t n = std::min(a.size(), b.size());
  size_t i = 0;
  while (i < n && a[i] == b[i]) ++i;
  return i;
}

// The eight bytes from `skip` as a big-endian number, which compares as the
// bytes do.
uint64_t SortKey(absl::string_view name, size_t skip) {
  name.remove_prefix(skip);
  uint64_t bytes = 0;
  std::memcpy(&bytes, name.data(), std::min(name.size(), sizeof bytes));
  return be64toh(bytes);
}

struct Keyed {
  uint64_t key;
  const char* name;
  uint32_t ordinal;
};

// Numbers classes and devices by first appearance in the packed order.
class Renumbering {
 public:
  Renumbering(const ScannedTree& raw, CatalogueTables& packed)
      : raw_(raw), packed_(packed), packed_of_(raw.classes.size(), kUnseen) {}

  uint32_t Class(uint32_t raw) {
    uint32_t& packed = packed_of_[raw];
    if (packed == kUnseen) {
      packed = static_cast<uint32_t>(packed_.classes.size());
      packed_.classes.push_back(raw_.classes[raw]);
      packed_.classes.back().device = Device(raw_.classes[raw].device);
    }
    return packed;
  }

 private:
  static constexpr uint32_t kUnseen = 0xFFFFFFFF;
  uint32_t Device(uint32_t raw) {
    auto at = std::find(devices_.begin(), devices_.end(), raw);
    if (at == devices_.end()) {
      at = devices_.insert(at, raw);
      packed_.devices.push_back(raw_.devices[raw]);
    }
    return static_cast<uint32_t>(at - devices_.begin());
  }

  const ScannedTree& raw_;
  CatalogueTables& packed_;
  std::vector<uint32_t> packed_of_;
  std::vector<uint32_t> devices_;
};

struct Totals {
  size_t dirs = 0;
  size_t entries = 0;
  size_t name_bytes = 0;
};

Totals Count(const ScannedDir& root) {
  Totals totals;
  std::vector<const ScannedDir*> todo = {&root};
  while (!todo.empty()) {
    const ScannedDir& dir = *todo.back();
    todo.pop_back();
    ++totals.dirs;
    totals.entries += dir.sorted.size();
    for (const auto& batch : dir.batches) {
      // The NUL of each entry is not kept.
      totals.name_bytes += batch->names.size() - batch->entries.size();
    }
    for (const auto& child : dir.children) todo.push_back(child.second.get());
  }
  return totals;
}

void Reserve(const Totals& totals, CatalogueTables& t) {
  t.dirs.reserve(totals.dirs);
  t.attr_class.reserve(totals.entries);
  t.blocks.reserve(totals.entries);
  t.source_order.reserve(totals.entries);
  t.size.reserve(totals.entries);
  t.ino.reserve(totals.entries);
  t.mtime_ns.reserve(totals.entries);
  t.ctime_ns.reserve(totals.entries);
  t.names.reserve(totals.name_bytes);
}

// A directory that waits to be packed.
struct Pending {
  std::unique_ptr<ScannedDir> dir;
  uint32_t parent;
  uint32_t entry;
};

void PackEntry(const ScannedDir& dir, uint32_t ordinal,
               Renumbering& renumbering, CatalogueTables& t) {
  const ScannedEntry& scanned = dir.entry(ordinal);
  auto entry = static_cast<uint32_t>(t.size.size());
  const char* name = dir.name_of(ordinal);
  t.names.insert(t.names.end(), name, name + 1 + static_cast<uint8_t>(*name));
  t.attr_class.push_back(renumbering.Class(scanned.attr_class));
  t.size.push_back(scanned.size);
  t.ino.push_back(scanned.ino);
  t.mtime_ns.push_back(scanned.mtime_ns);
  t.ctime_ns.push_back(scanned.ctime_ns);
  if (scanned.blocks < CatalogueTables::kLargeBlocks) {
    t.blocks.push_back(static_cast<uint32_t>(scanned.blocks));
  } else {
    t.blocks.push_back(CatalogueTables::kLargeBlocks);
    t.large_blocks.emplace_back(entry, scanned.blocks);
  }
}

// Ordinal -> index in the sorted directory, or kDropped.
std::vector<uint32_t> Positions(const ScannedDir& dir) {
  std::vector<uint32_t> position(dir.entry_count(), ScannedEntry::kDropped);
  for (uint32_t i = 0; i < dir.sorted.size(); ++i) position[dir.sorted[i]] = i;
  return position;
}

// Pushes the children of `dir` so that the first by name is packed next.
void PushChildren(ScannedDir& dir, const std::vector<uint32_t>& position,
                  uint32_t id, uint32_t first, std::vector<Pending>& todo) {
  std::sort(dir.children.begin(), dir.children.end(),
            [&](const auto& a, const auto& b) {
              return position[a.first] > position[b.first];
            });
  for (auto& [ordinal, child] : dir.children) {
    if (position[ordinal] == ScannedEntry::kDropped) continue;
    todo.push_back({std::move(child), id, first + position[ordinal]});
  }
}

void PackEntries(Pending pending, Renumbering& renumbering,
                 std::vector<Pending>& todo, CatalogueTables& t) {
  ScannedDir& dir = *pending.dir;
  auto id = static_cast<uint32_t>(t.dirs.size());
  auto first = static_cast<uint32_t>(t.size.size());
  CatalogueTables::Directory row;
  row.size = dir.size;
  row.entry_count = static_cast<uint32_t>(dir.sorted.size());
  row.parent = pending.parent;
  row.entry = pending.entry;
  t.dirs.push_back(row);
  if (pending.entry != CatalogueTables::kNoEntry) t.size[pending.entry] = id;
  for (uint32_t ordinal : dir.sorted) PackEntry(dir, ordinal, renumbering, t);
  std::vector<uint32_t> position = Positions(dir);
  for (uint32_t at : position) {
    if (at != ScannedEntry::kDropped) t.source_order.push_back(at);
  }
  PushChildren(dir, position, id, first, todo);
}

}  // namespace

uint32_t ScannedDir::entry_count() const {
  if (batches.empty()) return 0;
  size_t full = (batches.size() - 1) * ScannedBatch::kEntries;
  return static_cast<uint32_t>(full + batches.back()->entries.size());
}

std::string ScannedDir::path() const {
  std::vector<const std::string*> parts;
  for (const ScannedDir* dir = this; dir->parent != nullptr;
       dir = dir->parent) {
    parts.push_back(&dir->name);
  }
  std::string path;
  for (size_t i = parts.size(); i-- > 0;) {
    path += *parts[i];
    if (i > 0) path += '/';
  }
  return path;
}

void SortByName(ScannedDir& dir) {
  uint32_t count = dir.entry_count();
  if (count == 0) return;
  absl::string_view first = NameAt(dir.name_of(0));
  size_t common = first.size();
  for (uint32_t i = 1; i < count && common > 0; ++i) {
    common = CommonPrefix(first.substr(0, common), NameAt(dir.name_of(i)));
  }
  std::vector<Keyed> keyed;
  keyed.reserve(count);
  for (uint32_t i = 0; i < count; ++i) {
    if (dir.entry(i).attr_class == ScannedEntry::kDropped) continue;
    const char* name = dir.name_of(i);
    keyed.push_back({SortKey(NameAt(name), common), name, i});
  }
  std::sort(keyed.begin(), keyed.end(), [](const Keyed& a, const Keyed& b) {
    if (a.key != b.key) return a.key < b.key;
    int order = NameAt(a.name).compare(NameAt(b.name));
    return order != 0 ? order < 0 : a.ordinal < b.ordinal;
  });
  auto twice = [](const Keyed& a, const Keyed& b) {
    return NameAt(a.name) == NameAt(b.name);
  };
  keyed.erase(std::unique(keyed.begin(), keyed.end(), twice), keyed.end());
  dir.sorted.resize(keyed.size());
  for (size_t i = 0; i < keyed.size(); ++i) dir.sorted[i] = keyed[i].ordinal;
}

CatalogueTables PackScannedTree(ScannedTree tree) {
  CatalogueTables t;
  t.scanned_ns = tree.scanned_ns;
  t.serves_others = tree.serves_others;
  t.unreadable = std::move(tree.unreadable);
  std::sort(t.unreadable.begin(), t.unreadable.end());
  Reserve(Count(*tree.root), t);
  Renumbering renumbering(tree, t);
  t.root = tree.root_attributes;
  t.root.attr_class = renumbering.Class(tree.root_attributes.attr_class);
  std::vector<Pending> todo;
  todo.push_back({std::move(tree.root), 0, CatalogueTables::kNoEntry});
  while (!todo.empty()) {
    Pending next = std::move(todo.back());
    todo.pop_back();
    PackEntries(std::move(next), renumbering, todo, t);
  }
  DeriveCatalogueTables(t);
  return t;
}

}  // namespace shufflefs
