// SPDX-License-Identifier: Apache-2.0
#include "core/formats/table/formats.h"

#include <algorithm>
#include <bitset>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/formats/columnar/columnar_formats.h"
#include "core/formats/fixed_formats.h"
#include "core/formats/lines_format.h"
#include "core/formats/tar/tar_format.h"
#include "core/formats/tfrecord/tfrecord_format.h"

namespace shufflefs {
namespace {

// Called for each file of a dataset.
const std::vector<const RecordFormat*>& Known() {
  static const auto& known = *new std::vector(RecordFormats());
  return known;
}

bool EndsWithOneOf(absl::string_view name,
                   absl::Span<const absl::string_view> suffixes) {
  return std::any_of(suffixes.begin(), suffixes.end(), [&](auto suffix) {
    return absl::EndsWithIgnoreCase(name, suffix);
  });
}

// By byte: whether a suffix of a format ends in it. Few names of files do, so
// their suffixes need not be compared.
std::bitset<256> FindLastBytes() {
  std::bitset<256> last;
  for (const RecordFormat* format : Known()) {
    for (const absl::string_view suffix : format->suffixes()) {
      const auto byte = static_cast<unsigned char>(suffix.back());
      last.set(static_cast<unsigned char>(absl::ascii_tolower(byte)));
      last.set(static_cast<unsigned char>(absl::ascii_toupper(byte)));
    }
  }
  return last;
}

bool MayEndAsFormat(absl::string_view name) {
  static const std::bitset<256> last = FindLastBytes();
  return !name.empty() && last[static_cast<unsigned char>(name.back())];
}

bool AreDigits(absl::string_view text) {
  for (const char c : text) {
    if (!absl::ascii_isdigit(static_cast<unsigned char>(c))) return false;
  }
  return !text.empty();
}

// Matches "train-00000-of-01024", as writers of shards name them.
bool IsShardName(absl::string_view name) {
  const size_t of = name.rfind("-of-");
  if (of == absl::string_view::npos || !AreDigits(name.substr(of + 4))) {
    return false;
  }
  const size_t dash = name.substr(0, of).rfind('-');
  return dash != absl::string_view::npos &&
         AreDigits(name.substr(dash + 1, of - dash - 1));
}

}  // namespace

// Add new formats here.
std::vector<const RecordFormat*> OwnFormats() {
  return {&TfrecordFormat(), &TarFormat(),   &ParquetFormat(), &ArrowFormat(),
          &LinesFormat(),    &FixedFormat(), &NpyFormat(),     &IdxFormat()};
}

const RecordFormat* FormatNamed(absl::string_view name) {
  for (const RecordFormat* format : Known()) {
    if (format->name() == name) return format;
  }
  return nullptr;
}

std::string FormatNames() {
  std::string names;
  for (const RecordFormat* format : Known()) {
    absl::StrAppend(&names, names.empty() ? "" : ", ", format->name());
  }
  return names;
}

const RecordFormat* FormatByName(absl::string_view name) {
  if (MayEndAsFormat(name)) {
    for (const RecordFormat* format : Known()) {
      if (EndsWithOneOf(name, format->suffixes())) return format;
    }
  }
  // Called for each file of a dataset, and few names end in a digit.
  if (name.empty() || !AreDigits(name.substr(name.size() - 1)) ||
      !IsShardName(absl::AsciiStrToLower(name))) {
    return nullptr;
  }
  // The first bytes show what a shard contains.
  for (const RecordFormat* format : Known()) {
    if (format->names_shards()) return format;
  }
  return nullptr;
}

const RecordFormat* FormatOfDirectory(absl::string_view name) {
  for (const RecordFormat* format : Known()) {
    if (EndsWithOneOf(name, format->directory_suffixes())) return format;
  }
  return nullptr;
}

const RecordFormat* PaddedFormat() {
  for (const RecordFormat* format : Known()) {
    if (format->may_be_padded()) return format;
  }
  return nullptr;
}

std::vector<absl::string_view> IndexSuffixes() {
  std::vector<absl::string_view> all;
  for (const RecordFormat* format : Known()) {
    for (const absl::string_view suffix : format->index_suffixes()) {
      if (std::find(all.begin(), all.end(), suffix) == all.end()) {
        all.push_back(suffix);
      }
    }
  }
  return all;
}

std::vector<absl::string_view> IndexedSuffixes() {
  std::vector<absl::string_view> all = {""};
  for (const RecordFormat* format : Known()) {
    if (format->index_suffixes().empty()) continue;
    all.insert(all.end(), format->suffixes().begin(), format->suffixes().end());
  }
  return all;
}

const RecordFormat* LikelyFormat(absl::string_view name) {
  for (const RecordFormat* format : Known()) {
    if (EndsWithOneOf(name, format->likely_suffixes())) return format;
  }
  return FormatByName(name);
}

}  // namespace shufflefs
