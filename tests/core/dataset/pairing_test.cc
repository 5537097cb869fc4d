// SPDX-License-Identifier: Apache-2.0
#include "core/dataset/pairing.h"

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/dataset/file_kinds.h"
#include "gtest/gtest.h"
#include "tests/core/base/temp_tree.h"

namespace shufflefs {
namespace {

using testing_support::TempTree;

// Most names are in one directory only, and some stems are in several ones.
void MakeTree(std::mt19937& random, TempTree& tree) {
  const unsigned dirs = 20 + random() % 50;
  const unsigned common = 1 + random() % 4;  // stems of 10 that are shared
  const unsigned pool = 20 + random() % 300;
  for (unsigned d = 0; d < dirs; ++d) {
    const std::string dir = absl::StrCat("d", d, "/");
    for (unsigned i = 2 + random() % 12; i > 0; --i) {
      const bool is_common = random() % 10 < common;
      tree.File(is_common ? absl::StrCat(dir, "s", random() % pool, "0.jpg")
                          : absl::StrCat(dir, random() % 100000, ".", d, "x", i,
                                         "1.jpg"));
    }
  }
}

struct PlainStems {
  std::map<std::string, std::vector<uint32_t>> dirs_of;  // by stem
  std::map<uint32_t, uint64_t> stems;
};

PlainStems PlainStemsOf(const Catalogue& catalogue) {
  PlainStems plain;
  for (uint32_t e = 0; e < catalogue.entry_count(); ++e) {
    const EntryId entry(e);
    if (catalogue.kind(entry) != EntryKind::kFile) continue;
    const uint32_t dir = catalogue.parent(entry).value();
    plain.dirs_of[std::string(StemOf(catalogue.name(entry)))].push_back(dir);
    ++plain.stems[dir];
  }
  return plain;
}

// The first two directories that share enough stems, "" if none do. As the
// rule says, each directory is compared with the first that has the stem and
// with the one before it.
std::string SharedByPlainCount(const Catalogue& catalogue, uint32_t percent) {
  PlainStems plain = PlainStemsOf(catalogue);
  std::map<std::pair<uint32_t, uint32_t>, uint64_t> shared;
  for (auto& [stem, dirs] : plain.dirs_of) {
    for (size_t k = 1; k < dirs.size(); ++k) {
      ++shared[{dirs[0], dirs[k]}];
      if (k > 1) ++shared[{dirs[k - 1], dirs[k]}];
    }
  }
  for (const auto& [pair, count] : shared) {
    const auto& [a, b] = pair;
    if (count * 100 < std::min(plain.stems[a], plain.stems[b]) * percent) {
      continue;
    }
    return absl::StrCat(catalogue.path(DirId(a)), "/ and ",
                        catalogue.path(DirId(b)), "/ share the names of ",
                        count, " files");
  }
  return "";
}

TEST(PairingTest, SharedNamesAreThoseOfAPlainCountOnRandomTrees) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  int shared = 0;
  constexpr int kTrees = 12;
  for (int round = 0; round < kTrees; ++round) {
    TempTree tree;
    MakeTree(random, tree);
    const Catalogue catalogue = tree.Scanned();
    const std::vector<bool> excluded(catalogue.dir_count());
    PairingOptions options;
    options.excluded = &excluded;
    options.percent = 1 + random() % 60;
    const std::string found =
        FindPairedDirectories(catalogue, options).value_or("");
    const std::string expected = SharedByPlainCount(catalogue, options.percent);
    if (!expected.empty()) {
      EXPECT_EQ(found, expected);
      ++shared;
    } else {
      EXPECT_FALSE(absl::EndsWith(found, " files")) << found;
    }
  }
  EXPECT_GT(shared, 0);
}

// The first directory by path is named, whichever thread looks at it.
TEST(PairingTest, TheFirstDirectoryWithPairsInsideIsNamed) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 5; ++round) {
    TempTree tree;
    const unsigned first = random() % 60;
    for (unsigned d = 0; d < 70; ++d) {
      const std::string dir = absl::StrCat("d", 100 + d, "/");
      const bool pairs = d == first || (d > first && random() % 3 == 0);
      for (unsigned i = 0; i < 4; ++i) {
        const std::string stem = absl::StrCat(dir, d, "_", i * 7);
        tree.Files({stem + ".png", stem + (pairs ? "_mask.png" : "5.png")});
      }
    }
    const Catalogue catalogue = tree.Scanned();
    const std::vector<bool> excluded(catalogue.dir_count());
    PairingOptions options;
    options.excluded = &excluded;
    EXPECT_EQ(FindPairedDirectories(catalogue, options),
              absl::StrCat("d", 100 + first,
                           "/ has 8 files that differ from others only in an "
                           "ending"));
  }
}

}  // namespace
}  // namespace shufflefs
