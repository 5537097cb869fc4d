// SPDX-License-Identifier: Apache-2.0
#include "core/dataset/file_kinds.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "core/formats/table/formats.h"

namespace shufflefs {
namespace {

constexpr size_t kLongestExtension = 10;
constexpr size_t kShortestHash = 8;

struct Row {
  absl::string_view extension;  // lower case
  FileKind kind;
};

// Sorted by extension. Its containers are those that shufflefs has no reader
// for; core/formats/table knows the others.
constexpr Row kRows[] = {
    {"7z", FileKind::kContainer},
    {"aac", FileKind::kAudio},
    {"aif", FileKind::kAudio},
    {"aiff", FileKind::kAudio},
    {"arff", FileKind::kManifest},
    {"au", FileKind::kAudio},
    {"avif", FileKind::kImage},
    {"avro", FileKind::kContainer},
    {"beton", FileKind::kContainer},
    {"bmp", FileKind::kImage},
    {"bz2", FileKind::kContainer},
    {"csv", FileKind::kManifest},
    {"ctm", FileKind::kManifest},
    {"db", FileKind::kManifest},
    {"dcm", FileKind::kImage},
    {"dds", FileKind::kImage},
    {"eml", FileKind::kText},
    {"exr", FileKind::kImage},
    {"flac", FileKind::kAudio},
    {"gif", FileKind::kImage},
    {"gz", FileKind::kContainer},
    {"h5", FileKind::kContainer},
    {"hdf5", FileKind::kContainer},
    {"hdr", FileKind::kImage},
    {"heic", FileKind::kImage},
    {"heif", FileKind::kImage},
    {"index", FileKind::kManifest},
    {"jfif", FileKind::kImage},
    {"jp2", FileKind::kImage},
    {"jpe", FileKind::kImage},
    {"jpeg", FileKind::kImage},
    {"jpg", FileKind::kImage},
    {"json", FileKind::kManifest},
    {"jsonl", FileKind::kManifest},
    {"lab", FileKind::kManifest},
    {"list", FileKind::kManifest},
    {"lmdb", FileKind::kContainer},
    {"lst", FileKind::kManifest},
    {"m4a", FileKind::kAudio},
    {"mat", FileKind::kManifest},
    {"md5", FileKind::kManifest},
    {"mdb", FileKind::kContainer},
    {"mds", FileKind::kContainer},
    {"mp3", FileKind::kAudio},
    {"names", FileKind::kManifest},
    {"ndjson", FileKind::kManifest},
    {"npy", FileKind::kArray},
    {"npz", FileKind::kContainer},
    {"oga", FileKind::kAudio},
    {"ogg", FileKind::kAudio},
    {"opus", FileKind::kAudio},
    {"pbm", FileKind::kImage},
    {"pgm", FileKind::kImage},
    {"pickle", FileKind::kManifest},
    {"pkl", FileKind::kManifest},
    {"png", FileKind::kImage},
    {"pnm", FileKind::kImage},
    {"ppm", FileKind::kImage},
    {"pt", FileKind::kArray},
    {"rar", FileKind::kContainer},
    {"rec", FileKind::kContainer},
    {"sha256", FileKind::kManifest},
    {"sph", FileKind::kAudio},
    {"sqlite", FileKind::kManifest},
    {"srt", FileKind::kManifest},
    {"stm", FileKind::kManifest},
    {"tar_gz", FileKind::kContainer},
    {"text", FileKind::kText},
    {"textgrid", FileKind::kManifest},
    {"tga", FileKind::kImage},
    {"tgz", FileKind::kContainer},
    {"tif", FileKind::kImage},
    {"tiff", FileKind::kImage},
    {"toml", FileKind::kManifest},
    {"tsv", FileKind::kManifest},
    {"txt", FileKind::kText},
    {"vtt", FileKind::kManifest},
    {"wav", FileKind::kAudio},
    {"webp", FileKind::kImage},
    {"wma", FileKind::kAudio},
    {"xls", FileKind::kManifest},
    {"xlsx", FileKind::kManifest},
    {"xml", FileKind::kManifest},
    {"xz", FileKind::kContainer},
    {"yaml", FileKind::kManifest},
    {"yml", FileKind::kManifest},
    {"zarr", FileKind::kContainer},
    {"zip", FileKind::kContainer},
    {"zst", FileKind::kContainer},
};

// An extension as a number that orders as the lower case does, because numbers
// are compared faster. REQUIRES: at most 8 letters, digits and underscores.
constexpr uint64_t KeyOf(absl::string_view extension) {
  uint64_t key = 0;
  for (size_t i = 0; i < sizeof key; ++i) {
    const uint8_t byte =
        i < extension.size() ? static_cast<uint8_t>(extension[i]) | 0x20 : 0;
    key = key << 8 | byte;
  }
  return key;
}

constexpr auto kKeys = [] {
  std::array<uint64_t, std::size(kRows)> keys = {};
  for (size_t i = 0; i < keys.size(); ++i) keys[i] = KeyOf(kRows[i].extension);
  return keys;
}();
static_assert(std::adjacent_find(kKeys.begin(), kKeys.end(),
                                 std::greater_equal<>()) == kKeys.end());
static_assert(std::all_of(std::begin(kRows), std::end(kRows),
                          [](const Row& row) {
                            return row.extension.size() <= sizeof(uint64_t);
                          }));

FileKind KindOfExtension(absl::string_view extension) {
  if (extension.empty()) return FileKind::kText;
  if (extension.size() > sizeof(uint64_t)) return FileKind::kUnknown;
  const uint64_t key = KeyOf(extension);
  const auto at = std::lower_bound(kKeys.begin(), kKeys.end(), key);
  if (at == kKeys.end() || *at != key) return FileKind::kUnknown;
  return kRows[at - kKeys.begin()].kind;
}

bool EqualsAny(absl::string_view name,
               std::initializer_list<absl::string_view> others) {
  return std::any_of(others.begin(), others.end(), [&](absl::string_view o) {
    return absl::EqualsIgnoreCase(name, o);
  });
}

bool IsDocument(absl::string_view stem, absl::string_view extension) {
  static constexpr const char* kStems[] = {
      "authors", "changelog", "changes", "citation",   "contributors",
      "copying", "copyright", "credits", "disclaimer", "licence",
      "license", "notice",    "readme",  "terms",      "version"};
  if (!extension.empty() &&
      !EqualsAny(extension, {"txt", "md", "rst", "html", "pdf", "cff"})) {
    return false;
  }
  // Matches README.md, and README_images.txt.
  return std::any_of(std::begin(kStems), std::end(kStems), [&](auto* known) {
    size_t n = absl::string_view(known).size();
    return absl::StartsWithIgnoreCase(stem, known) &&
           (stem.size() == n ||
            !absl::ascii_isalnum(static_cast<uint8_t>(stem[n])));
  });
}

// Returns whether the stem is that of a shard: train-00000-of-01024, with or
// without an extension.
bool IsShardStem(absl::string_view stem) {
  auto digits = [&stem] {
    size_t n = 0;
    while (!stem.empty() &&
           absl::ascii_isdigit(static_cast<uint8_t>(stem.back()))) {
      stem.remove_suffix(1);
      ++n;
    }
    return n;
  };
  if (digits() < 2 || !absl::ConsumeSuffix(&stem, "-of-")) return false;
  return digits() >= 2 && absl::EndsWith(stem, "-");
}

bool IsSum(absl::string_view stem) {
  return EqualsAny(stem, {"md5sums", "md5sum", "sha1sums", "sha256sums",
                          "sha512sums", "checksums", "manifest"});
}

}  // namespace

absl::string_view ExtensionOf(absl::string_view name) {
  // One walk back from the end, because this is called for each file.
  bool letter = false;
  bool hex = true;
  for (size_t size = 0; size < name.size() && size <= kLongestExtension;
       ++size) {
    const char c = name[name.size() - 1 - size];
    const auto byte = static_cast<uint8_t>(c);
    if (c == '.') {
      const bool first = size + 1 == name.size();
      const bool hash = hex && size >= kShortestHash;
      return letter && !first && !hash ? name.substr(name.size() - size) : "";
    }
    if (!absl::ascii_isalnum(byte) && c != '_') return "";
    letter |= absl::ascii_isalpha(byte);
    hex &= absl::ascii_isxdigit(byte);
  }
  return "";
}

absl::string_view StemOf(absl::string_view name) {
  size_t extension = ExtensionOf(name).size();
  if (extension > 0) name.remove_suffix(extension + 1);
  return name;
}

FileKind KindOfFile(absl::string_view name) {
  if (name.empty() || name[0] == '.') return FileKind::kHidden;
  absl::string_view extension = ExtensionOf(name);
  FileKind kind = KindOfExtension(extension);
  // Most names are images or audio, which are nothing else.
  if (kind == FileKind::kImage || kind == FileKind::kAudio) return kind;
  if (EqualsAny(name, {"thumbs.db", "desktop.ini"})) return FileKind::kHidden;
  absl::string_view stem = StemOf(name);
  if (IsDocument(stem, extension)) return FileKind::kDocument;
  if (kind == FileKind::kText && IsSum(stem)) return FileKind::kManifest;
  if (IsShardStem(stem)) return FileKind::kContainer;
  if (kind == FileKind::kUnknown && FormatByName(name) != nullptr) {
    return FileKind::kContainer;
  }
  return kind;
}

FileKind KindOfDirectoryName(absl::string_view name) {
  if (!name.empty() && name[0] == '.') return FileKind::kHidden;
  if (EqualsAny(name, {"__macosx", "@eadir", "$recycle.bin", "lost+found"})) {
    return FileKind::kHidden;
  }
  if (FormatOfDirectory(name) != nullptr ||
      EqualsAny(ExtensionOf(name), {"zarr", "n5", "lance", "lmdb"})) {
    return FileKind::kContainer;
  }
  return FileKind::kUnknown;
}

absl::string_view NameOfKind(FileKind kind) {
  switch (kind) {
    case FileKind::kHidden:
      return "hidden";
    case FileKind::kDocument:
      return "document";
    case FileKind::kContainer:
      return "container";
    case FileKind::kManifest:
      return "manifest";
    case FileKind::kText:
      return "text";
    case FileKind::kImage:
      return "image";
    case FileKind::kAudio:
      return "audio";
    case FileKind::kArray:
      return "array";
    case FileKind::kUnknown:
      break;
  }
  return "unknown";
}

}  // namespace shufflefs
