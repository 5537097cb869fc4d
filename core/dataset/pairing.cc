// SPDX-License-Identifier: Apache-2.0
#include "core/dataset/pairing.h"

#include <xxhash.h>

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/base/mutex.h"
#include "core/base/parallel.h"
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

// Stems of equal hashes are in one part.
constexpr size_t kParts = 256;
size_t PartOf(const Stem& stem) { return stem.hash >> 56; }

// The stems of some directories, by parts. All begin as one vector, because a
// vector of each part would be moved whenever it grows.
class StemParts {
 public:
  explicit StemParts(const std::vector<Stem>& stems) : stems_(stems.size()) {
    for (const Stem& stem : stems) ++end_[PartOf(stem)];
    for (size_t p = 1; p < kParts; ++p) end_[p] += end_[p - 1];
    std::array<size_t, kParts> next = {};
    for (size_t p = 1; p < kParts; ++p) next[p] = end_[p - 1];
    for (const Stem& stem : stems) stems_[next[PartOf(stem)]++] = stem;
  }
  void AppendTo(size_t part, std::vector<Stem>& all) const {
    const size_t begin = part == 0 ? 0 : end_[part - 1];
    all.insert(all.end(), stems_.begin() + begin, stems_.begin() + end_[part]);
  }

 private:
  std::vector<Stem> stems_;
  std::array<size_t, kParts> end_ = {};
};

// Removes nearly all stems whose hash no other one has, without sorting them:
// most names are in one directory only.
void RemoveLoneStems(std::vector<Stem>& stems) {
  size_t bits = 64;
  while (bits < stems.size() * 8) bits *= 2;
  std::vector<bool> seen(bits);
  std::vector<bool> again(bits);
  const auto bit = [bits](const Stem& stem) { return stem.hash & (bits - 1); };
  for (const Stem& stem : stems) {
    if (seen[bit(stem)]) again[bit(stem)] = true;
    seen[bit(stem)] = true;
  }
  std::erase_if(stems, [&](const Stem& stem) { return !again[bit(stem)]; });
}

// All stems of a directory: their number, and a hash that does not depend on
// their order.
struct StemSet {
  uint64_t hash;
  size_t count;
  uint32_t dir;
};

// What was collected of consecutive directories.
struct Collected {
  std::vector<Stem> stems;
  std::vector<StemSet> sets;
  bool have_endings = false;
};

// "7_mask" becomes "7". Returns the whole stem if it does not end with a word.
absl::string_view WithoutLastWord(absl::string_view stem) {
  size_t end = stem.size();
  while (end > 0 && absl::ascii_isalpha(stem[end - 1])) --end;
  const size_t word = end;
  if (word == stem.size()) return stem;
  while (end > 0 && absl::StrContains("_-. ", stem[end - 1])) --end;
  const bool has_word = end < word && end > 0;
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
  void Collect(DirId dir, bool cut, Collected& into);
  std::vector<StemParts> CollectAll(bool cut);
  void CountShared(std::vector<Stem> stems, Tally& shared) const;
  absl::optional<std::string> FindShared(bool cut);
  absl::optional<std::string> FindEqual() const;
  absl::optional<std::string> FindMirrored() const;
  absl::optional<std::string> FindInside() const;
  uint64_t PairedInside(DirId dir) const;
  bool Concerns(uint32_t a, uint32_t b) const;
  std::string Name(uint32_t dir) const;

  const Catalogue& catalogue_;
  const PairingOptions& options_;
  std::vector<uint32_t> files_;  // by directory
  std::vector<StemSet> sets_;    // by directory
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
  stems.reserve(catalogue_.dir_size(dir));
  KindMemo kinds;
  uint32_t first = catalogue_.first_entry(dir).value();
  for (uint32_t e = first; e < first + catalogue_.dir_size(dir); ++e) {
    EntryId entry(e);
    if (catalogue_.kind(entry) != EntryKind::kFile) continue;
    absl::string_view name = catalogue_.name(entry);
    FileKind kind = kinds.KindOf(name);
    if (kind == FileKind::kHidden || kind == FileKind::kDocument) continue;
    absl::string_view stem = kinds.StemOf(name);
    // a.jpg and a.json of one directory are one stem.
    if (stems.empty() || stems.back() != stem) stems.push_back(stem);
  }
  return stems;
}

// `cut`: without the ending that the directory's stems share.
void PairFinder::Collect(DirId dir, bool cut, Collected& into) {
  std::vector<absl::string_view> stems = StemsIn(dir);
  if (stems.empty()) return;
  uint32_t d = dir.value();
  CommonParts parts = FindCommonParts(stems);
  into.have_endings |= parts.suffix > 0;
  files_[d] = static_cast<uint32_t>(stems.size());
  StemSet set = {0, stems.size(), d};
  for (absl::string_view stem : stems) {
    absl::string_view core = stem.substr(0, stem.size() - parts.suffix);
    into.stems.push_back({HashOf(cut ? core : stem), d});
    core.remove_prefix(parts.prefix);
    set.hash += HashOf(core);
  }
  if (!cut && stems.size() >= kLeastEqual) into.sets.push_back(set);
}

std::vector<StemParts> PairFinder::CollectAll(bool cut) {
  const ParallelOptions options = ParallelOptions::ToCompute("pairs");
  const uint32_t dirs = catalogue_.dir_count();
  std::vector<absl::optional<StemParts>> parts(dirs / options.chunk + 1);
  std::vector<std::vector<StemSet>> sets(parts.size());
  Mutex mu;
  ParallelFor(dirs, options, [&](uint64_t begin, uint64_t end) {
    Collected found;
    for (auto d = static_cast<uint32_t>(begin); d < end; ++d) {
      if (!(*options_.excluded)[d]) Collect(DirId(d), cut, found);
    }
    parts[begin / options.chunk].emplace(found.stems);
    sets[begin / options.chunk] = std::move(found.sets);
    MutexLock lock(mu);
    have_endings_ |= found.have_endings;
    return true;
  });
  std::vector<StemParts> all;
  for (size_t c = 0; c < parts.size(); ++c) {
    sets_.insert(sets_.end(), sets[c].begin(), sets[c].end());
    if (parts[c]) all.push_back(*std::move(parts[c]));
  }
  return all;
}

void PairFinder::CountShared(std::vector<Stem> stems, Tally& shared) const {
  RemoveLoneStems(stems);
  std::sort(stems.begin(), stems.end());
  stems.erase(std::unique(stems.begin(), stems.end()), stems.end());
  for (size_t i = 0; i < stems.size();) {
    // If many directories have a stem, each is compared with the first and with
    // the one before it. This is enough to find a pair.
    size_t k = i + 1;
    for (; k < stems.size() && stems[k].hash == stems[i].hash; ++k) {
      if (Concerns(stems[i].dir, stems[k].dir)) {
        ++shared[{stems[i].dir, stems[k].dir}];
      }
      if (k > i + 1 && Concerns(stems[k - 1].dir, stems[k].dir)) {
        ++shared[{stems[k - 1].dir, stems[k].dir}];
      }
    }
    i = k;
  }
}

absl::optional<std::string> PairFinder::FindShared(bool cut) {
  const std::vector<StemParts> collected = CollectAll(cut);
  ParallelOptions options = ParallelOptions::ToCompute("pairs");
  options.chunk = 1;
  Mutex mu;
  Tally shared;
  ParallelFor(kParts, options, [&](uint64_t part, uint64_t) {
    std::vector<Stem> stems;
    for (const StemParts& parts : collected) parts.AppendTo(part, stems);
    Tally found;
    CountShared(std::move(stems), found);
    MutexLock lock(mu);
    for (const auto& [pair, count] : found) shared[pair] += count;
    return true;
  });
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
  const uint32_t first = options_.root.value();
  const uint32_t count = catalogue_.subtree_end(options_.root).value() - first;
  const uint64_t found = ParallelFirst(
      count, ParallelOptions::ToCompute("pairs"), [&](uint64_t i) {
        const DirId dir(first + static_cast<uint32_t>(i));
        return !(*options_.excluded)[dir.value()] && PairedInside(dir) > 0;
      });
  if (found == count) return absl::nullopt;
  const uint32_t d = first + static_cast<uint32_t>(found);
  return absl::StrCat(Name(d), " has ", PairedInside(DirId(d)),
                      " files that differ from others only in an ending");
}

// The number of stems that pair, or 0 if they are too few.
uint64_t PairFinder::PairedInside(DirId dir) const {
  const std::vector<absl::string_view> stems = StemsIn(dir);
  std::vector<absl::string_view> cores;
  cores.reserve(stems.size());
  for (const absl::string_view stem : stems) {
    cores.push_back(WithoutLastWord(stem));
  }
  // Names are sorted, so most directories need not be looked at again.
  const auto not_above = [](absl::string_view a, absl::string_view b) {
    return a >= b;
  };
  if (std::adjacent_find(cores.begin(), cores.end(), not_above) ==
      cores.end()) {
    return 0;
  }
  absl::flat_hash_map<absl::string_view, uint32_t> count;
  for (const absl::string_view core : cores) ++count[core];
  uint64_t paired = 0;
  uint64_t pairs = 0;
  for (const auto& [core, times] : count) {
    if (times < 2) continue;
    paired += times;
    ++pairs;
  }
  const bool enough =
      pairs >= kLeastPairs && paired * 100 >= stems.size() * options_.percent;
  return enough ? paired : 0;
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
