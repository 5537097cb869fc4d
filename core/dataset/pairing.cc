// SPDX-License-Identifier: Apache-2.0
#include "core/dataset/pairing.h"

#include <xxhash.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/dataset/file_kinds.h"
#include "core/dataset/name_sequence.h"

namespace shufflefs {
namespace {

constexpr uint32_t kCutPercent = 90;     // after endings are cut off
constexpr uint64_t kLeastPairs = 2;      // in one directory
constexpr size_t kLeastEqual = 3;        // files in equal sets
constexpr uint32_t kLeastMirrored = 2;   // directories in mirrored trees
constexpr uint32_t kMirrorPercent = 90;  // of the smaller tree's directories

uint64_t HashOf(absl::string_view text) {
  return XXH3_64bits(text.data(), text.size());
}

// A stem in a directory.
struct Stem {
  uint64_t hash;
  uint32_t dir;
  friend auto operator<=>(const Stem&, const Stem&) = default;
};

// All stems of a directory: their number, and a hash that does not depend on
// their order.
struct StemSet {
  uint64_t hash;
  size_t count;
  uint32_t dir;
};

// "7_mask" becomes "7". Returns the whole stem if it does not end with a word.
absl::string_view WithoutLastWord(absl::string_view stem) {
  size_t end = stem.size();
  while (end > 0 && absl::ascii_isalpha(stem[end - 1])) --end;
  const size_t word = end;
  while (end > 0 && absl::StrContains("_-. ", stem[end - 1])) --end;
  const bool has_word = word < stem.size() && end < word && end > 0;
  return has_word ? stem.substr(0, end) : stem;
}

class PairFinder {
 public:
  PairFinder(const Catalogue& catalogue, const PairingOptions& options)
      : catalogue_(catalogue),
        options_(options),
        files_(catalogue.dir_count(), 0) {}

  absl::optional<std::string> Find();

 private:
  using Pair = std::pair<uint32_t, uint32_t>;
  using Tally = std::map<Pair, uint32_t>;

  std::vector<absl::string_view> StemsIn(DirId dir) const;
  void Collect(DirId dir, bool cut);
  absl::optional<std::string> FindShared(bool cut);
  absl::optional<std::string> FindEqual() const;
  absl::optional<std::string> FindMirrored() const;
  absl::optional<std::string> FindInside() const;
  bool Concerns(uint32_t a, uint32_t b) const;
  std::string Name(uint32_t dir) const;

  const Catalogue& catalogue_;
  const PairingOptions& options_;
  std::vector<uint32_t> files_;  // by directory
  std::vector<Stem> stems_;
  std::vector<StemSet> sets_;
  bool have_endings_ = false;  // the stems of a directory share an ending
};

std::string PairFinder::Name(uint32_t dir) const {
  return absl::StrCat(absl::Utf8SafeCHexEscape(catalogue_.path(DirId(dir))),
                      "/");
}

// Returns whether one of the two is in the view. Other pairs are ignored.
bool PairFinder::Concerns(uint32_t a, uint32_t b) const {
  uint32_t begin = options_.root.value();
  uint32_t end = catalogue_.subtree_end(options_.root).value();
  return a != b && ((a >= begin && a < end) || (b >= begin && b < end));
}

std::vector<absl::string_view> PairFinder::StemsIn(DirId dir) const {
  std::vector<absl::string_view> stems;
  uint32_t first = catalogue_.first_entry(dir).value();
  for (uint32_t e = first; e < first + catalogue_.dir_size(dir); ++e) {
    EntryId entry(e);
    if (catalogue_.kind(entry) != EntryKind::kFile) continue;
    absl::string_view name = catalogue_.name(entry);
    FileKind kind = KindOfFile(name);
    if (kind == FileKind::kHidden || kind == FileKind::kDocument) continue;
    absl::string_view stem = StemOf(name);
    // a.jpg and a.json of one directory are one stem.
    if (stems.empty() || stems.back() != stem) stems.push_back(stem);
  }
  return stems;
}

// `cut`: without the ending that the directory's stems share.
void PairFinder::Collect(DirId dir, bool cut) {
  std::vector<absl::string_view> stems = StemsIn(dir);
  if (stems.empty()) return;
  uint32_t d = dir.value();
  CommonParts parts = FindCommonParts(stems);
  have_endings_ |= parts.suffix > 0;
  files_[d] = static_cast<uint32_t>(stems.size());
  StemSet set = {0, stems.size(), d};
  for (absl::string_view stem : stems) {
    absl::string_view core = stem.substr(0, stem.size() - parts.suffix);
    stems_.push_back({HashOf(cut ? core : stem), d});
    core.remove_prefix(parts.prefix);
    set.hash += HashOf(core);
  }
  if (!cut && stems.size() >= kLeastEqual) sets_.push_back(set);
}

absl::optional<std::string> PairFinder::FindShared(bool cut) {
  stems_.clear();
  for (uint32_t d = 0; d < catalogue_.dir_count(); ++d) {
    if (!(*options_.excluded)[d]) Collect(DirId(d), cut);
  }
  std::sort(stems_.begin(), stems_.end());
  stems_.erase(std::unique(stems_.begin(), stems_.end()), stems_.end());
  Tally shared;
  for (size_t i = 0; i < stems_.size();) {
    // If many directories have a stem, each is compared with the first and with
    // the one before it. This is enough to find a pair.
    size_t k = i + 1;
    for (; k < stems_.size() && stems_[k].hash == stems_[i].hash; ++k) {
      if (Concerns(stems_[i].dir, stems_[k].dir)) {
        ++shared[{stems_[i].dir, stems_[k].dir}];
      }
      if (k > i + 1 && Concerns(stems_[k - 1].dir, stems_[k].dir)) {
        ++shared[{stems_[k - 1].dir, stems_[k].dir}];
      }
    }
    i = k;
  }
  uint32_t percent = cut ? kCutPercent : options_.percent;
  for (const auto& [pair, count] : shared) {
    uint64_t smaller = std::min(files_[pair.first], files_[pair.second]);
    if (uint64_t{count} * 100 < smaller * percent) continue;
    return absl::StrCat(Name(pair.first), " and ", Name(pair.second),
                        " share the names of ", count, " files",
                        cut ? " but for a common ending" : "");
  }
  return absl::nullopt;
}

absl::optional<std::string> PairFinder::FindEqual() const {
  std::map<std::pair<uint64_t, size_t>, uint32_t> seen;
  for (const StemSet& set : sets_) {
    auto [at, fresh] =
        seen.emplace(std::make_pair(set.hash, set.count), set.dir);
    if (fresh || !Concerns(at->second, set.dir)) continue;
    return absl::StrCat(Name(at->second), " and ", Name(set.dir),
                        " share all names but for a common beginning");
  }
  return absl::nullopt;
}

absl::optional<std::string> PairFinder::FindMirrored() const {
  std::vector<uint32_t> leaves(files_.size(), 0);  // below each directory
  // The child of a directory that was the first with so many files at a path.
  using Spot = std::tuple<uint32_t, uint64_t, uint32_t>;
  absl::flat_hash_map<Spot, uint32_t> first;
  Tally equal;
  for (uint32_t leaf = 1; leaf < files_.size(); ++leaf) {
    if (files_[leaf] < 2) continue;
    uint64_t place = 0;
    DirId at(leaf);
    while (catalogue_.parent(at) != DirId(0)) {
      absl::string_view name = catalogue_.name(*catalogue_.entry_of(at));
      place = XXH3_64bits_withSeed(name.data(), name.size(), place);
      at = catalogue_.parent(at);
      ++leaves[at.value()];
      Spot spot(catalogue_.parent(at).value(), place, files_[leaf]);
      uint32_t other = first.emplace(spot, at.value()).first->second;
      if (Concerns(other, at.value())) ++equal[{other, at.value()}];
    }
  }
  for (const auto& [pair, count] : equal) {
    uint64_t smaller = std::min(leaves[pair.first], leaves[pair.second]);
    if (count < kLeastMirrored ||
        uint64_t{count} * 100 < smaller * kMirrorPercent) {
      continue;
    }
    return absl::StrCat(Name(pair.first), " and ", Name(pair.second),
                        " mirror each other file by file");
  }
  return absl::nullopt;
}

// Image and mask may lie in one directory: 7.png and 7_mask.png.
absl::optional<std::string> PairFinder::FindInside() const {
  const uint32_t end = catalogue_.subtree_end(options_.root).value();
  for (uint32_t d = options_.root.value(); d < end; ++d) {
    if ((*options_.excluded)[d]) continue;
    const std::vector<absl::string_view> stems = StemsIn(DirId(d));
    absl::flat_hash_map<absl::string_view, uint32_t> count;
    for (const absl::string_view stem : stems) ++count[WithoutLastWord(stem)];
    uint64_t paired = 0;
    uint64_t pairs = 0;
    for (const auto& [core, times] : count) {
      if (times < 2) continue;
      paired += times;
      ++pairs;
    }
    if (pairs < kLeastPairs || paired * 100 < stems.size() * options_.percent) {
      continue;
    }
    return absl::StrCat(Name(d), " has ", paired,
                        " files that differ from others only in an ending");
  }
  return absl::nullopt;
}

absl::optional<std::string> PairFinder::Find() {
  absl::optional<std::string> found = FindInside();
  if (!found) found = FindShared(/*cut=*/false);
  if (!found && have_endings_) found = FindShared(/*cut=*/true);
  if (!found) found = FindEqual();
  if (!found) found = FindMirrored();
  return found;
}

}  // namespace

absl::optional<std::string> FindPairedDirectories(
    const Catalogue& catalogue, const PairingOptions& options) {
  return PairFinder(catalogue, options).Find();
}

}  // namespace shufflefs
