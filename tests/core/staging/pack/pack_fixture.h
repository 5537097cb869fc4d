// SPDX-License-Identifier: Apache-2.0
// Random trees and their packs.
#ifndef SHUFFLEFS_TESTS_CORE_STAGING_PACK_PACK_FIXTURE_H_
#define SHUFFLEFS_TESTS_CORE_STAGING_PACK_PACK_FIXTURE_H_

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/catalogue/catalogue.h"
#include "core/random/random.h"
#include "core/staging/pack/pack_format.h"
#include "core/staging/pack/pack_writer.h"
#include "gtest/gtest.h"
#include "tests/core/base/file_bytes.h"
#include "tests/core/base/temp_tree.h"

namespace shufflefs::testing_support {

// Mostly small. Some are close to the sizes at which the behaviour changes, and
// some are 0.
inline uint64_t RandomLength(Rng& rng) {
  constexpr uint64_t kEdges[] = {0,
                                 1,
                                 4095,
                                 4096,
                                 4097,
                                 kPackCheckBytes - 1,
                                 kPackCheckBytes,
                                 kPackCheckBytes + 1,
                                 3 * kPackCheckBytes};
  const uint64_t kind = rng.Bounded(10);
  if (kind == 0) return kEdges[rng.Bounded(std::size(kEdges))];
  if (kind == 1) return rng.Bounded(1200000);
  return 1 + rng.Bounded(20000);
}

// Makes a tree of `files` files in some directories.
inline void MakeRandomTree(Rng& rng, int files, TempTree& tree) {
  for (int i = 0; i < files; ++i) {
    tree.File(
        absl::StrCat("c", rng.Bounded(5), "/",
                     rng.Bounded(2) == 0 ? "" : "deeper/", "f", i, ".bin"),
        RandomBytes(rng, RandomLength(rng)));
  }
}

inline std::vector<EntryId> FilesOf(const Catalogue& catalogue) {
  std::vector<EntryId> files;
  for (uint32_t e = 0; e < catalogue.entry_count(); ++e) {
    if (catalogue.kind(EntryId(e)) == EntryKind::kFile) {
      files.push_back(EntryId(e));
    }
  }
  return files;
}

// All files, shuffled, in chunks of `chunk_size`.
inline PackComposition RandomComposition(Rng& rng, const Catalogue& catalogue,
                                         uint64_t chunk_size) {
  std::vector<EntryId> files = FilesOf(catalogue);
  for (size_t i = files.size(); i > 1; --i) {
    std::swap(files[i - 1], files[rng.Bounded(i)]);
  }
  PackComposition composition;
  composition.seed = 7;
  composition.chunk_size = chunk_size;
  for (size_t at = 0; at < files.size(); at += chunk_size) {
    composition.chunks.emplace_back(
        files.begin() + at,
        files.begin() + std::min<size_t>(files.size(), at + chunk_size));
  }
  return composition;
}

// The contents of the files of a directory, by name.
inline std::map<std::string, std::string> Contents(const std::string& path) {
  std::map<std::string, std::string> contents;
  for (const auto& entry : std::filesystem::directory_iterator(path)) {
    contents[entry.path().filename()] = Slurp(entry.path());
  }
  return contents;
}

// A source of random files, and a directory for its pack.
class PackedTree {
 public:
  PackedTree(Rng& rng, int files, uint64_t chunk_size) {
    MakeRandomTree(rng, files, tree);
    catalogue = std::make_shared<const Catalogue>(tree.Scanned());
    composition = RandomComposition(rng, *catalogue, chunk_size);
  }

  std::string dest() const { return place.At("pack"); }
  absl::StatusOr<PackResult> Pack(const PackOptions& options = {}) const {
    return WritePack(tree.Source(), *catalogue, composition, dest(), options);
  }

  TempTree tree;
  TempTree place;
  std::shared_ptr<const Catalogue> catalogue;
  PackComposition composition;
};

}  // namespace shufflefs::testing_support

#endif  // SHUFFLEFS_TESTS_CORE_STAGING_PACK_PACK_FIXTURE_H_
