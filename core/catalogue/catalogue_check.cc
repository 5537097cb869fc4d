// SPDX-License-Identifier: Apache-2.0
#include "core/catalogue/catalogue_check.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "core/base/status.h"

namespace shufflefs {
namespace {

using Tables = CatalogueTables;

// The most that inode numbers can encode.
constexpr size_t kMaxDevices = 1 << 16;

absl::Status Wrong(absl::string_view table, uint64_t row,
                   absl::string_view what) {
  return absl::DataLossError(absl::StrCat(table, " ", row, ": ", what));
}

bool IsDirectory(const Tables& t, uint64_t entry) {
  return S_ISDIR(t.classes[t.attr_class[entry]].mode);
}

absl::Status CheckClasses(const Tables& t) {
  for (size_t c = 0; c < t.classes.size(); ++c) {
    if (t.classes[c].device >= std::min(t.devices.size(), kMaxDevices)) {
      return Wrong("class", c, "its device is out of range");
    }
    // The shown mode is that of the source, or has fewer bits.
    const mode_t mode = t.classes[c].mode;
    const mode_t source = t.classes[c].source_mode;
    if ((mode & S_IFMT) != (source & S_IFMT) || (mode & ~source) != 0) {
      return Wrong("class", c, "its mode is not that of the source");
    }
    if (t.classes[c].readable > 1) {
      return Wrong("class", c, "its access rights are invalid");
    }
  }
  if (t.root.attr_class >= t.classes.size() ||
      !S_ISDIR(t.classes[t.root.attr_class].mode)) {
    return Wrong("class", t.root.attr_class, "not that of a directory");
  }
  return absl::OkStatus();
}

absl::Status CheckEntries(const Tables& t) {
  size_t dirs = 0;
  size_t large = 0;
  for (size_t e = 0; e < t.size.size(); ++e) {
    if (t.attr_class[e] >= t.classes.size()) {
      return Wrong("entry", e, "its class does not exist");
    }
    if (t.size[e] > INT64_MAX) return Wrong("entry", e, "its size is negative");
    if (IsDirectory(t, e)) ++dirs;
    if (t.blocks[e] == Tables::kLargeBlocks) {
      if (large == t.large_blocks.size() || t.large_blocks[large].first != e) {
        return Wrong("entry", e, "its number of blocks is missing");
      }
      ++large;
    }
  }
  if (large != t.large_blocks.size()) {
    return Wrong("large file", large, "no such entry");
  }
  // With CheckDirectories, this proves that every entry of that kind is one
  // directory.
  if (dirs + 1 != t.dirs.size()) {
    return Wrong("directory", t.dirs.size(), "entries and directories differ");
  }
  return absl::OkStatus();
}

// Parents come before children, subtrees are adjacent, children are sorted by
// name.
absl::Status CheckDirectories(const Tables& t) {
  std::vector<uint32_t> open;  // the previous directory and those above it
  std::vector<uint32_t> last_child(t.dirs.size(), 0);  // its entry + 1
  std::vector<uint64_t> first(t.dirs.size() + 1, 0);
  for (size_t d = 0; d < t.dirs.size(); ++d) {
    first[d + 1] = first[d] + t.dirs[d].entry_count;
  }
  if (first.back() != t.size.size()) {
    return Wrong("directory", t.dirs.size() - 1, "its entries do not exist");
  }
  if (t.dirs[0].parent != 0 || t.dirs[0].entry != Tables::kNoEntry) {
    return Wrong("directory", 0, "it is not a root");
  }
  open.push_back(0);
  for (uint32_t d = 1; d < t.dirs.size(); ++d) {
    const Tables::Directory& dir = t.dirs[d];
    while (!open.empty() && open.back() != dir.parent) open.pop_back();
    if (open.empty()) return Wrong("directory", d, "its parent is not above");
    open.push_back(d);
    if (dir.entry >= t.size.size() || !IsDirectory(t, dir.entry) ||
        t.size[dir.entry] != d || dir.entry < first[dir.parent] ||
        dir.entry >= first[dir.parent + 1]) {
      return Wrong("directory", d, "it is not the directory of its entry");
    }
    if (dir.entry < last_child[dir.parent]) {
      return Wrong("directory", d, "it comes out of order");
    }
    last_child[dir.parent] = dir.entry + 1;
  }
  return absl::OkStatus();
}

bool IsName(absl::string_view name) {
  return !name.empty() && name != "." && name != ".." &&
         std::memchr(name.data(), '/', name.size()) == nullptr &&
         std::memchr(name.data(), '\0', name.size()) == nullptr;
}

absl::Status CheckNames(const Tables& t) {
  size_t at = 0;
  uint32_t entry = 0;
  for (const Tables::Directory& dir : t.dirs) {
    size_t base = at;
    absl::string_view before;
    for (uint32_t k = 0; k < dir.entry_count; ++k, ++entry) {
      if (at == t.names.size()) return Wrong("entry", entry, "it has no name");
      size_t length = static_cast<uint8_t>(t.names[at]);
      if (length > t.names.size() - at - 1) {
        return Wrong("entry", entry, "its name is cut off");
      }
      absl::string_view name(&t.names[at] + 1, length);
      if (!IsName(name)) return Wrong("entry", entry, "its name is none");
      if (k > 0 && !(before < name)) {
        return Wrong("entry", entry, "its name comes out of order");
      }
      if (at - base > UINT32_MAX) {
        return Wrong("entry", entry, "too many name bytes in its directory");
      }
      before = name;
      at += 1 + length;
    }
  }
  if (at != t.names.size()) return Wrong("entry", entry, "names are left over");
  return absl::OkStatus();
}

absl::Status CheckSourceOrder(const Tables& t) {
  std::vector<bool> seen(t.size.size(), false);
  uint64_t first = 0;
  for (const Tables::Directory& dir : t.dirs) {
    for (uint64_t e = first; e < first + dir.entry_count; ++e) {
      if (t.source_order[e] >= dir.entry_count ||
          seen[first + t.source_order[e]]) {
        return Wrong("entry", e, "the source's order names an entry twice");
      }
      seen[first + t.source_order[e]] = true;
    }
    first += dir.entry_count;
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckCatalogueTables(const Tables& tables) {
  if (tables.dirs.empty()) return Wrong("directory", 0, "there is no root");
  RETURN_IF_ERROR(CheckClasses(tables));
  RETURN_IF_ERROR(CheckEntries(tables));
  RETURN_IF_ERROR(CheckDirectories(tables));
  RETURN_IF_ERROR(CheckNames(tables));
  return CheckSourceOrder(tables);
}

}  // namespace shufflefs
