// SPDX-License-Identifier: Apache-2.0
#include "core/catalogue/catalogue_file.h"

#include <utility>
#include <vector>

#include "core/base/files/atomic_file.h"
#include "core/base/files/checked_file.h"
#include "core/base/status.h"
#include "core/catalogue/catalogue_check.h"

namespace shufflefs {
namespace {

constexpr CheckedFormat kCatalogueFormat = {.magic = "SHUFCAT\n",
                                            .version = 3,
                                            .name = "a catalogue",
                                            .other = "not a catalogue",
                                            .align = 8};

// The file: this header, then the columns in the order of ForEachColumn.
struct CatalogueHeader {
  CheckedHead head;
  uint64_t entries;
  uint64_t dirs;
  uint64_t classes;
  uint64_t devices;
  uint64_t large_blocks;
  uint64_t name_bytes;
  uint64_t unreadable_bytes;
  int64_t scanned_ns;
  uint64_t root_ino;
  uint64_t root_blocks;
  int64_t root_mtime_ns;
  int64_t root_ctime_ns;
  uint32_t root_class;
  uint32_t serves_others;
};

struct FiledDirectory {
  uint64_t size;
  uint32_t entry;
  uint32_t entry_count;
  uint32_t parent;
  uint32_t zero;
};

struct FiledBlocks {
  uint64_t blocks;
  uint32_t entry;
  uint32_t zero;
};

struct Packed {
  std::vector<FiledDirectory> dirs;
  std::vector<FiledBlocks> large_blocks;
  std::string unreadable;  // each with a terminating NUL
};

Packed Pack(const CatalogueTables& t) {
  Packed packed;
  for (const auto& dir : t.dirs) {
    packed.dirs.push_back(
        {dir.size, dir.entry, dir.entry_count, dir.parent, 0});
  }
  for (const auto& [entry, blocks] : t.large_blocks) {
    packed.large_blocks.push_back({blocks, entry, 0});
  }
  for (const std::string& path : t.unreadable) {
    packed.unreadable.append(path).push_back('\0');
  }
  return packed;
}

// Everything except the counts, which the columns determine.
CatalogueHeader MakeHeader(const CatalogueTables& t) {
  CatalogueHeader header = {};
  header.scanned_ns = t.scanned_ns;
  header.root_ino = t.root.ino;
  header.root_blocks = t.root.blocks;
  header.root_mtime_ns = t.root.mtime_ns;
  header.root_ctime_ns = t.root.ctime_ns;
  header.root_class = t.root.attr_class;
  header.serves_others = t.serves_others ? 1 : 0;
  return header;
}

// Calls `column` with each container of the tables and its count in the header,
// in the order of the file.
template <typename Tables, typename PackedT, typename Header, typename Column>
void ForEachColumn(Tables& t, PackedT& packed, Header& h, Column&& column) {
  column(packed.dirs, h.dirs);
  column(t.classes, h.classes);
  column(t.devices, h.devices);
  column(t.size, h.entries);
  column(t.ino, h.entries);
  column(t.mtime_ns, h.entries);
  column(t.ctime_ns, h.entries);
  column(t.attr_class, h.entries);
  column(t.blocks, h.entries);
  column(t.source_order, h.entries);
  column(packed.large_blocks, h.large_blocks);
  column(t.names, h.name_bytes);
  column(packed.unreadable, h.unreadable_bytes);
}

// Checks what the lengths of columns and the checksum do not cover.
absl::Status CheckHeader(const CatalogueHeader& header) {
  if (header.serves_others > 1) {
    return absl::DataLossError("the users it serves are invalid");
  }
  if (header.entries > UINT32_MAX) {
    return absl::DataLossError("has more entries than a catalogue may have");
  }
  return absl::OkStatus();
}

void Unpack(const CatalogueHeader& header, const Packed& packed,
            CatalogueTables& t) {
  for (const FiledDirectory& filed : packed.dirs) {
    CatalogueTables::Directory dir;
    dir.size = filed.size;
    dir.entry = filed.entry;
    dir.entry_count = filed.entry_count;
    dir.parent = filed.parent;
    t.dirs.push_back(dir);
  }
  for (const FiledBlocks& filed : packed.large_blocks) {
    t.large_blocks.emplace_back(filed.entry, filed.blocks);
  }
  for (size_t at = 0; at < packed.unreadable.size();) {
    t.unreadable.emplace_back(packed.unreadable.c_str() + at);
    at += t.unreadable.back().size() + 1;
  }
  t.scanned_ns = header.scanned_ns;
  t.root = {header.root_ino, header.root_blocks, header.root_mtime_ns,
            header.root_ctime_ns, header.root_class};
  t.serves_others = header.serves_others != 0;
}

absl::StatusOr<Catalogue> ParseFrom(CheckedFileReader& reader) {
  CatalogueHeader header;
  CatalogueTables t;
  Packed packed;
  RETURN_IF_ERROR(reader.ReadHeader(header));
  ForEachColumn(t, packed, header, [&](auto& column, uint64_t count) {
    reader.Take(count, column);
  });
  RETURN_IF_ERROR(reader.Finish());
  RETURN_IF_ERROR(CheckHeader(header));
  if (!packed.unreadable.empty() && packed.unreadable.back() != '\0') {
    return absl::DataLossError("the list of unreadable paths is cut off");
  }
  Unpack(header, packed, t);
  RETURN_IF_ERROR(CheckCatalogueTables(t));
  DeriveCatalogueTables(t);
  return Catalogue::FromTables(std::move(t));
}

}  // namespace

absl::Status SaveCatalogue(const Catalogue& catalogue, const FilePlace& place) {
  const CatalogueTables& t = catalogue.tables();
  const Packed packed = Pack(t);
  CatalogueHeader header = MakeHeader(t);
  std::vector<absl::string_view> columns;
  ForEachColumn(t, packed, header, [&](const auto& column, uint64_t& count) {
    count = column.size();
    columns.push_back(ColumnBytes(column));
  });
  return ReplaceFile(place, SealedPieces(kCatalogueFormat, header, columns));
}

absl::StatusOr<Catalogue> LoadCatalogue(const FilePlace& place) {
  ASSIGN_OR_RETURN(
      CheckedFileReader reader,
      CheckedFileReader::Open(kCatalogueFormat, place, kMostWholeFile));
  absl::StatusOr<Catalogue> parsed = ParseFrom(reader);
  if (!parsed.ok()) return Annotate(parsed.status(), place.path());
  return parsed;
}

}  // namespace shufflefs
