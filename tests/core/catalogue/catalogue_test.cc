// SPDX-License-Identifier: Apache-2.0
#include "core/catalogue/catalogue.h"

#include <random>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/dataset/grouping.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/base/temp_tree.h"

namespace shufflefs {
namespace {

using testing_support::TempTree;

void MakeSample(TempTree& tree) {
  tree.File("a/1", "one");
  tree.File("a/2", "two!");
  tree.File("b/3", "three");
  for (const char* path : {"a/1", "a/2", "b/3"}) tree.SetTime(path, 1234567);
}

TEST(FingerprintTest, AFaithfulCopyIsTheSameDataSet) {
  TempTree one;
  TempTree two;
  MakeSample(one);
  MakeSample(two);
  two.SetTime("a", 99);
  chmod(two.At("a/1").c_str(), 0600);
  EXPECT_EQ(one.Scanned().fingerprint(), two.Scanned().fingerprint());
}

TEST(FingerprintTest, EveryChangeOfTheDataShows) {
  TempTree tree;
  MakeSample(tree);
  std::vector<uint64_t> seen = {tree.Scanned().fingerprint()};
  auto expect_new = [&](const char* what) {
    uint64_t now = tree.Scanned().fingerprint();
    EXPECT_THAT(seen, ::testing::Not(::testing::Contains(now))) << what;
    seen.push_back(now);
  };
  tree.SetTime("a/1", 7654321);
  expect_new("mtime");
  tree.File("a/2", "longer");
  tree.SetTime("a/2", 1234567);
  expect_new("size");
  std::filesystem::rename(tree.At("a/1"), tree.At("a/0"));
  expect_new("name");
  std::filesystem::rename(tree.At("a/0"), tree.At("b/0"));
  expect_new("place");
  tree.Dir("c");
  expect_new("directory");
  std::filesystem::remove(tree.At("b/3"));
  tree.Link("b/3", "three");
  expect_new("kind");
}

// Names that run into each other must not give one fingerprint.
TEST(FingerprintTest, BordersOfNamesCount) {
  TempTree one;
  TempTree two;
  one.Files({"ab", "c"});
  two.Files({"a", "bc"});
  for (const char* path : {"ab", "c"}) one.SetTime(path, 5);
  for (const char* path : {"a", "bc"}) two.SetTime(path, 5);
  EXPECT_NE(one.Scanned().fingerprint(), two.Scanned().fingerprint());
}

TEST(CatalogueTest, CostsLessThan64BytesAFileWithItsGrouping) {
  TempTree tree;
  const uint64_t files = 20000;
  for (uint64_t i = 0; i < files; ++i) {
    tree.File(absl::StrCat("c", i % 20, "/", i, ".jpg"), "x");
  }
  Catalogue catalogue = tree.Scanned();
  GroupingOptions options;
  options.substitute = Substitute::kDirectory;
  Grouping grouping = *Grouping::Make(catalogue, options);
  EXPECT_EQ(grouping.sample_count(), files);
  EXPECT_EQ(grouping.group_count(), 20u);
  uint64_t bytes = catalogue.memory_bytes() - catalogue.name_bytes() +
                   grouping.memory_bytes();
  EXPECT_LE(bytes, 64 * files);
}

// Three files, the last two of them on another device.
CatalogueTables TwoDevices() {
  TempTree tree;
  tree.Files({"a", "b", "c"});
  CatalogueTables tables = tree.Scanned().tables();
  CatalogueTables::AttributeClass other = tables.classes[tables.attr_class[0]];
  other.device = 3;
  tables.devices.resize(4);
  tables.attr_class[1] = static_cast<uint32_t>(tables.classes.size());
  tables.attr_class[2] = tables.attr_class[1];
  tables.classes.push_back(other);
  return tables;
}

TEST(CatalogueTest, DevicesAreThoseOfFiles) {
  CatalogueTables tables = TwoDevices();
  const CatalogueTables::AttributeClass last = tables.classes.back();
  tables.classes.push_back(last);
  tables.classes.back().mode = S_IFDIR | 0755;
  tables.classes.back().device = 2;  // only a directory is there
  tables.classes.push_back(last);
  const Catalogue catalogue = Catalogue::FromTables(std::move(tables));
  EXPECT_EQ(catalogue.device(EntryId(0)), 0u);
  EXPECT_EQ(catalogue.device(EntryId(2)), 3u);
  EXPECT_THAT(catalogue.file_devices(), testing::UnorderedElementsAre(0u, 3u));
}

TEST(CatalogueTest, InodesOfOtherDevicesStayUnique) {
  CatalogueTables tables = TwoDevices();
  tables.ino = {42, 42, uint64_t{42} << 50};
  Catalogue catalogue = Catalogue::FromTables(std::move(tables));
  uint64_t here = catalogue.attributes(EntryId(0)).ino;
  uint64_t there = catalogue.attributes(EntryId(1)).ino;
  uint64_t large = catalogue.attributes(EntryId(2)).ino;
  EXPECT_EQ(here, 42u);
  EXPECT_EQ(there, (uint64_t{3} << 48) + 42);
  EXPECT_EQ(large >> 48, 3u);
  EXPECT_NE(large, there);
}

TEST(CatalogueTest, FilesOfManyGigabytesKeepTheirBlocks) {
  TempTree tree;
  tree.File("sparse", "");
  std::filesystem::resize_file(tree.At("sparse"), uint64_t{5} << 30);
  Catalogue catalogue = tree.Scanned();
  EXPECT_EQ(catalogue.attributes(EntryId(0)).size, uint64_t{5} << 30);
  EXPECT_EQ(catalogue.total_bytes(), uint64_t{5} << 30);
}

TEST(CatalogueTest, EachEntryOfARandomTreeIsInItsDirectory) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 5; ++round) {
    TempTree tree;
    // Some directories are empty, some take several places of dir_at.
    for (int d = 0; d < 40; ++d) {
      const std::string dir = absl::StrCat("a", random() % 5, "/b", d, "/");
      tree.Dir(dir);
      for (unsigned k = random() % 3 * (random() % 150); k > 0; --k) {
        tree.File(absl::StrCat(dir, k));
      }
    }
    const Catalogue catalogue = tree.Scanned();
    uint32_t entry = 0;
    for (uint32_t d = 0; d < catalogue.dir_count(); ++d) {
      for (uint32_t k = 0; k < catalogue.dir_size(DirId(d)); ++k, ++entry) {
        ASSERT_EQ(catalogue.parent(EntryId(entry)), DirId(d)) << entry;
      }
    }
    EXPECT_EQ(entry, catalogue.entry_count());
  }
}

}  // namespace
}  // namespace shufflefs
