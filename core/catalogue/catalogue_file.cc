// SPDX-License-Identifier: Apache-2.0
#include "core/catalogue/catalogue_file.h"

#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/files/whole_file.h"
#include "core/base/status.h"
#include "core/catalogue/catalogue_check.h"

namespace shufflefs {
namespace {

static_assert(std::endian::native == std::endian::little,
              "the file's columns are copied as they are");

constexpr char kMagic[8] = {'S', 'H', 'U', 'F', 'C', 'A', 'T', '\n'};
constexpr uint32_t kVersion = 3;
constexpr size_t kAlign = 8;

// The file: this, then the sections in the order of Sections(), each padded
// with zeros to eight bytes.
struct Header {
  char magic[8];
  uint32_t version;
  uint32_t header_bytes;
  uint64_t checksum;  // of all that follows
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
static_assert(offsetof(Header, checksum) == kCatalogueChecksumAt);
static_assert(std::has_unique_object_representations_v<Header>);
constexpr size_t kCoveredFrom = kCatalogueChecksumAt + sizeof(uint64_t);

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
  std::string unreadable;  // each with a NUL behind it
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

Header MakeHeader(const CatalogueTables& t, const Packed& packed) {
  Header header = {};
  std::copy(std::begin(kMagic), std::end(kMagic), header.magic);
  header.version = kVersion;
  header.header_bytes = sizeof header;
  header.entries = t.size.size();
  header.dirs = t.dirs.size();
  header.classes = t.classes.size();
  header.devices = t.devices.size();
  header.large_blocks = t.large_blocks.size();
  header.name_bytes = t.names.size();
  header.unreadable_bytes = packed.unreadable.size();
  header.scanned_ns = t.scanned_ns;
  header.root_ino = t.root.ino;
  header.root_blocks = t.root.blocks;
  header.root_mtime_ns = t.root.mtime_ns;
  header.root_ctime_ns = t.root.ctime_ns;
  header.root_class = t.root.attr_class;
  header.serves_others = t.serves_others ? 1 : 0;
  return header;
}

size_t Padding(size_t size) { return (kAlign - size % kAlign) % kAlign; }

// The sections in the order of the file. `section` is called with each
// container of the tables, and decides whether it is written or read.
template <typename Tables, typename PackedT, typename Section>
void ForEachSection(Tables& t, PackedT& packed, Section&& section) {
  section(packed.dirs);
  section(t.classes);
  section(t.devices);
  section(t.size);
  section(t.ino);
  section(t.mtime_ns);
  section(t.ctime_ns);
  section(t.attr_class);
  section(t.blocks);
  section(t.source_order);
  section(packed.large_blocks);
  section(t.names);
  section(packed.unreadable);
}

// Whether the sizes that the header claims are those of the file. Nothing is
// allocated before this is known.
bool SizesFit(const Header& h, size_t file_bytes) {
  constexpr uint64_t kMany = uint64_t{1} << 32;
  if (h.entries >= kMany || h.dirs > h.entries + 1 ||
      h.classes > h.entries + 1 || h.devices > h.entries + 1 ||
      h.large_blocks > h.entries || h.name_bytes > h.entries * 256 ||
      h.unreadable_bytes > file_bytes) {
    return false;
  }
  uint64_t total = sizeof(Header);
  for (uint64_t bytes :
       {h.dirs * sizeof(FiledDirectory),
        h.classes * sizeof(CatalogueTables::AttributeClass),
        h.devices * sizeof(CatalogueTables::Device), h.entries * 8,
        h.entries * 8, h.entries * 8, h.entries * 8, h.entries * 4,
        h.entries * 4, h.entries * 4, h.large_blocks * sizeof(FiledBlocks),
        h.name_bytes, h.unreadable_bytes}) {
    total += bytes + Padding(bytes);
  }
  return total == file_bytes;
}

absl::Status CheckHeader(const Header& header, absl::string_view bytes) {
  if (header.version != kVersion || header.header_bytes != sizeof header) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a catalogue of version ", header.version, ", not ", kVersion));
  }
  if (header.serves_others > 1) {
    return absl::DataLossError("whom it serves makes no sense");
  }
  if (!SizesFit(header, bytes.size())) {
    return absl::DataLossError("cut off, or not as long as its header says");
  }
  absl::string_view covered = bytes.substr(kCoveredFrom);
  if (XXH3_64bits(covered.data(), covered.size()) != header.checksum) {
    return absl::DataLossError("the checksum differs");
  }
  return absl::OkStatus();
}

void ResizeAll(const Header& header, CatalogueTables& t, Packed& packed) {
  packed.dirs.resize(header.dirs);
  t.classes.resize(header.classes);
  t.devices.resize(header.devices);
  t.size.resize(header.entries);
  t.ino.resize(header.entries);
  t.mtime_ns.resize(header.entries);
  t.ctime_ns.resize(header.entries);
  t.attr_class.resize(header.entries);
  t.blocks.resize(header.entries);
  t.source_order.resize(header.entries);
  packed.large_blocks.resize(header.large_blocks);
  t.names.resize(header.name_bytes);
  packed.unreadable.resize(header.unreadable_bytes);
}

void Unpack(const Header& header, const Packed& packed, CatalogueTables& t) {
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

}  // namespace

absl::Status SaveCatalogue(const Catalogue& catalogue, const FilePlace& place) {
  const CatalogueTables& t = catalogue.tables();
  const Packed packed = Pack(t);
  Header header = MakeHeader(t, packed);
  const std::string zeros(kAlign, '\0');
  std::vector<absl::string_view> pieces = {
      absl::string_view(reinterpret_cast<const char*>(&header), sizeof header)};
  ForEachSection(t, packed, [&](const auto& section) {
    size_t size = section.size() * sizeof(section[0]);
    pieces.emplace_back(reinterpret_cast<const char*>(section.data()), size);
    pieces.emplace_back(zeros.data(), Padding(size));
  });
  XXH3_state_t* state = XXH3_createState();
  XXH3_64bits_reset(state);
  for (size_t i = 0; i < pieces.size(); ++i) {
    absl::string_view covered = pieces[i].substr(i == 0 ? kCoveredFrom : 0);
    XXH3_64bits_update(state, covered.data(), covered.size());
  }
  header.checksum = XXH3_64bits_digest(state);
  XXH3_freeState(state);
  return ReplaceFile(place, pieces);
}

absl::StatusOr<Catalogue> ParseCatalogue(absl::string_view bytes) {
  Header header;
  if (bytes.size() < sizeof header ||
      std::memcmp(bytes.data(), kMagic, sizeof kMagic) != 0) {
    return absl::InvalidArgumentError("not a catalogue");
  }
  std::memcpy(&header, bytes.data(), sizeof header);
  RETURN_IF_ERROR(CheckHeader(header, bytes));
  CatalogueTables t;
  Packed packed;
  ResizeAll(header, t, packed);
  size_t at = sizeof header;
  ForEachSection(t, packed, [&](auto& section) {
    size_t size = section.size() * sizeof(section[0]);
    if (size > 0) std::memcpy(section.data(), bytes.data() + at, size);
    at += size + Padding(size);
  });
  if (!packed.unreadable.empty() && packed.unreadable.back() != '\0') {
    return absl::DataLossError("the list of unreadable paths is cut off");
  }
  Unpack(header, packed, t);
  RETURN_IF_ERROR(CheckCatalogueTables(t));
  DeriveCatalogueTables(t);
  return Catalogue::FromTables(std::move(t));
}

absl::StatusOr<Catalogue> LoadCatalogue(const FilePlace& place) {
  ASSIGN_OR_RETURN(const std::string bytes,
                   ReadWholeFile(place, kMostWholeFile));
  absl::StatusOr<Catalogue> parsed = ParseCatalogue(bytes);
  if (!parsed.ok()) return Annotate(parsed.status(), place.path());
  return parsed;
}

}  // namespace shufflefs
