// SPDX-License-Identifier: Apache-2.0
#include "core/catalogue/catalogue_file.h"

#include <errno.h>
#include <sys/stat.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <random>

#include "core/base/status.h"
#include "core/catalogue/catalogue_check.h"
#include "core/scan/staleness_check.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/base/file_bytes.h"
#include "tests/core/base/temp_tree.h"
#include "tests/testing/checked_bytes.h"

namespace shufflefs {
namespace {

using ::testing::HasSubstr;
using testing_support::Slurp;
using testing_support::TempTree;

class CatalogueFileTest : public ::testing::Test {
 protected:
  CatalogueFileTest() {
    tree_.Files({"b/z", "b/a.jpg", "a/deep/er/f", "c", "weird\n\xff"});
    tree_.Link("link", "c");
    tree_.Dir("empty");
  }
  std::string FilePath() const { return state_.At("catalogue"); }
  std::string Saved() {
    EXPECT_TRUE(SaveCatalogue(tree_.Scanned(), FilePath()).ok());
    return Slurp(FilePath());
  }

  absl::StatusOr<Catalogue> Parsed(const std::string& bytes) {
    std::ofstream(FilePath(), std::ios::binary) << bytes;
    return LoadCatalogue(FilePath());
  }

  TempTree tree_;
  TempTree state_;
};

void ExpectEqual(const Catalogue& a, const Catalogue& b) {
  ASSERT_EQ(a.entry_count(), b.entry_count());
  ASSERT_EQ(a.dir_count(), b.dir_count());
  EXPECT_EQ(a.fingerprint(), b.fingerprint());
  EXPECT_EQ(a.total_bytes(), b.total_bytes());
  EXPECT_EQ(a.file_count(), b.file_count());
  EXPECT_EQ(a.unreadable(), b.unreadable());
  EXPECT_EQ(a.tables().scanned_ns, b.tables().scanned_ns);
  EXPECT_EQ(a.serves_others(), b.serves_others());
  EXPECT_EQ(a.tables().classes, b.tables().classes);
  EXPECT_EQ(a.samples_fingerprint(), b.samples_fingerprint());
  for (uint32_t i = 0; i < a.entry_count(); ++i) {
    EntryId entry(i);
    EXPECT_EQ(a.path(entry), b.path(entry));
    FileAttributes x = a.attributes(entry);
    FileAttributes y = b.attributes(entry);
    EXPECT_EQ(std::tie(x.mode, x.uid, x.gid, x.nlink, x.rdev, x.ino, x.size,
                       x.blocks, x.mtime_ns),
              std::tie(y.mode, y.uid, y.gid, y.nlink, y.rdev, y.ino, y.size,
                       y.blocks, y.mtime_ns));
    EXPECT_EQ(x.identity(), y.identity());
  }
  for (uint32_t i = 0; i < a.dir_count(); ++i) {
    DirId dir(i);
    EXPECT_EQ(a.path(dir), b.path(dir));
    EXPECT_EQ(a.subtree_end(dir), b.subtree_end(dir));
    EXPECT_EQ(a.dir_attributes(dir).size, b.dir_attributes(dir).size);
    EXPECT_EQ(a.dir_attributes(dir).mtime_ns, b.dir_attributes(dir).mtime_ns);
    for (uint32_t k = 0; k < a.dir_size(dir); ++k) {
      EXPECT_EQ(a.in_source_order(dir, k), b.in_source_order(dir, k));
    }
  }
}

TEST_F(CatalogueFileTest, WhatIsSavedIsLoaded) {
  Catalogue catalogue = tree_.Scanned();
  ASSERT_TRUE(SaveCatalogue(catalogue, FilePath()).ok());
  absl::StatusOr<Catalogue> loaded = LoadCatalogue(FilePath());
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  ExpectEqual(catalogue, *loaded);
  EXPECT_FALSE(std::filesystem::exists(FilePath() + ".new"));
}

TEST_F(CatalogueFileTest, UnreadablePathsAndHugeFilesSurvive) {
  CatalogueTables tables = tree_.Scanned().tables();
  tables.unreadable = {"b/closed", "weird\npath"};
  uint32_t at = 1;
  tables.blocks[at] = CatalogueTables::kLargeBlocks;
  tables.large_blocks = {{at, uint64_t{1} << 40}};
  Catalogue catalogue = Catalogue::FromTables(std::move(tables));
  EXPECT_EQ(catalogue.attributes(EntryId(at)).blocks, uint64_t{1} << 40);
  ASSERT_TRUE(SaveCatalogue(catalogue, FilePath()).ok());
  ExpectEqual(catalogue, *LoadCatalogue(FilePath()));
}

TEST_F(CatalogueFileTest, WhomItServesIsSaved) {
  ASSERT_EQ(chmod(tree_.At("b").c_str(), 0700), 0);
  ScanOptions options;
  options.serves_others = true;
  const Catalogue catalogue = tree_.Scanned(options);
  ASSERT_TRUE(SaveCatalogue(catalogue, FilePath()).ok());
  const Catalogue loaded = *LoadCatalogue(FilePath());
  ExpectEqual(catalogue, loaded);
  EXPECT_TRUE(loaded.serves_others());
  EXPECT_NE(loaded.samples_fingerprint(), loaded.fingerprint());
}

TEST_F(CatalogueFileTest, SavingReplacesTheOldFileAndALeftover) {
  std::ofstream(FilePath()) << "old";
  std::ofstream(FilePath() + ".new") << "left by a crash";
  Saved();
  EXPECT_TRUE(LoadCatalogue(FilePath()).ok());
}

TEST_F(CatalogueFileTest, SayWhyAFileCannotBeSavedOrRead) {
  absl::Status saved = SaveCatalogue(tree_.Scanned(), state_.At("no/dir"));
  EXPECT_EQ(ErrnoOf(saved), ENOENT);
  EXPECT_EQ(ErrnoOf(LoadCatalogue(FilePath()).status()), ENOENT);
  EXPECT_EQ(LoadCatalogue(state_.root()).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_F(CatalogueFileTest, RefusesWhatIsNoCatalogue) {
  for (const std::string& bytes :
       {std::string(), std::string("SHUF"), std::string(500, 'x')}) {
    std::ofstream(FilePath(), std::ios::binary) << bytes;
    absl::Status status = LoadCatalogue(FilePath()).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(FilePath()));
  }
}

TEST_F(CatalogueFileTest, RefusesAnotherVersion) {
  std::string bytes = Saved();
  bytes[8] = 99;
  absl::Status status = Parsed(bytes).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("version 99"));
}

TEST_F(CatalogueFileTest, RefusesEveryTruncationAndEveryFlippedBit) {
  std::string bytes = Saved();
  for (size_t length = 0; length < bytes.size(); length += 7) {
    EXPECT_FALSE(Parsed(bytes.substr(0, length)).ok()) << length;
  }
  EXPECT_EQ(Parsed(bytes + "x").status().code(), absl::StatusCode::kDataLoss);
  for (size_t at = 0; at < bytes.size(); ++at) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << at % 8));
    EXPECT_FALSE(Parsed(damaged).ok()) << at;
  }
}

// A checksum that fits proves nothing about who wrote it: whatever still
// loads must be safe to walk.
TEST_F(CatalogueFileTest, DamageUnderAFittingChecksumIsFoundOrHarmless) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  std::string bytes = Saved();
  for (int round = 0; round < 20000; ++round) {
    std::string damaged = bytes;
    for (unsigned n = 1 + random() % 3; n > 0; --n) {
      size_t at = 24 + random() % (damaged.size() - 24);
      damaged[at] = static_cast<char>(random());
    }
    testing_support::Seal(damaged);
    absl::StatusOr<Catalogue> loaded = Parsed(damaged);
    if (!loaded.ok()) {
      EXPECT_EQ(loaded.status().code(), absl::StatusCode::kDataLoss);
      continue;
    }
    for (uint32_t i = 0; i < loaded->entry_count(); ++i) {
      std::string path = loaded->path(EntryId(i));
      EXPECT_EQ(loaded->FindPath(path), EntryId(i));
      loaded->attributes(EntryId(i));
    }
  }
}

// What each check is there for, one wrong table at a time.
class CatalogueCheckTest : public CatalogueFileTest {
 protected:
  void Expect(absl::string_view message,
              const std::function<void(CatalogueTables&)>& damage) {
    CatalogueTables tables = tree_.Scanned().tables();
    damage(tables);
    absl::Status status = CheckCatalogueTables(tables);
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << message;
    EXPECT_THAT(std::string(status.message()), HasSubstr(std::string(message)));
  }
  // Entry 0 is "a", a directory; 2 is "c", a file. Directory 1 is a.
  static void Rename(CatalogueTables& t, size_t at, absl::string_view name) {
    ASSERT_EQ(static_cast<size_t>(t.names[at]), name.size());
    std::memcpy(&t.names[at + 1], name.data(), name.size());
  }
};

TEST_F(CatalogueCheckTest, Names) {
  for (absl::string_view bad : {absl::string_view("."), absl::string_view("/"),
                                absl::string_view("\0", 1)}) {
    Expect("its name is none", [&](CatalogueTables& t) { Rename(t, 0, bad); });
  }
  Expect("its name comes out of order",
         [](CatalogueTables& t) { Rename(t, 2, "a"); });
  Expect("names are left over",
         [](CatalogueTables& t) { t.names.push_back(1); });
  Expect("its name is cut off", [](CatalogueTables& t) { t.names.pop_back(); });
}

TEST_F(CatalogueCheckTest, Directories) {
  Expect("its parent is not above",
         [](CatalogueTables& t) { t.dirs[5].parent = 3; });
  Expect("it is not the directory of its entry",
         [](CatalogueTables& t) { t.dirs[1].entry = 1; });
  Expect("it is not the directory of its entry",
         [](CatalogueTables& t) { t.dirs[1].entry = 2; });
  Expect("it is not the directory of its entry",
         [](CatalogueTables& t) { t.size[0] = 2; });
  Expect("its entries do not exist",
         [](CatalogueTables& t) { ++t.dirs[2].entry_count; });
  Expect("it is not a root", [](CatalogueTables& t) { t.dirs[0].entry = 0; });
}

TEST_F(CatalogueCheckTest, Entries) {
  Expect("its class does not exist", [](CatalogueTables& t) {
    t.attr_class[2] = static_cast<uint32_t>(t.classes.size());
  });
  Expect("entries and directories differ",
         [](CatalogueTables& t) { t.attr_class[2] = t.attr_class[0]; });
  Expect("its size is negative",
         [](CatalogueTables& t) { t.size[2] = uint64_t{1} << 63; });
  Expect("its number of blocks is missing", [](CatalogueTables& t) {
    t.blocks[2] = CatalogueTables::kLargeBlocks;
  });
  Expect("no such entry", [](CatalogueTables& t) {
    t.large_blocks.push_back({2, 7});
  });
  Expect("names an entry twice",
         [](CatalogueTables& t) { t.source_order[1] = t.source_order[0]; });
  Expect("its device is out of range",
         [](CatalogueTables& t) { t.classes[0].device = 1 << 16; });
  Expect("not that of a directory",
         [](CatalogueTables& t) { t.root.attr_class = t.attr_class[2]; });
}

TEST_F(CatalogueCheckTest, Rights) {
  Expect("its mode is not that of the source",
         [](CatalogueTables& t) { t.classes[0].source_mode &= ~0400u; });
  Expect("its mode is not that of the source",
         [](CatalogueTables& t) { t.classes[0].source_mode ^= S_IFMT; });
  Expect("its access rights are invalid",
         [](CatalogueTables& t) { t.classes[0].readable = 2; });
}

// Times long past, so that no change of this test hides behind the clock.
class StalenessTest : public CatalogueFileTest {
 protected:
  StalenessTest() { Age(); }
  void Age() {
    for (const char* dir : {"a/deep/er", "a/deep", "a", "b", "empty", ""}) {
      tree_.SetTime(dir, 1000000000);
    }
  }
  absl::optional<std::string> Staleness(const Catalogue& catalogue) {
    return FindStaleness(tree_.Source(), catalogue, StalenessOptions());
  }
};

TEST_F(StalenessTest, AnUntouchedSourceHasNone) {
  EXPECT_EQ(Staleness(tree_.Scanned()), absl::nullopt);
}

TEST_F(StalenessTest, NamesTheDirectoryThatChanged) {
  Catalogue catalogue = tree_.Scanned();
  tree_.File("a/deep/new");
  EXPECT_THAT(Staleness(catalogue).value_or(""),
              HasSubstr("/a/deep was modified since the last mount"));
}

TEST_F(StalenessTest, SeesRemovalReplacementAndPermission) {
  Catalogue catalogue = tree_.Scanned();
  chmod(tree_.At("b").c_str(), 0700);
  EXPECT_THAT(Staleness(catalogue).value_or(""),
              HasSubstr("/b was modified since"));
  // What was changed back, or has its time set back, shows by its ctime.
  chmod(tree_.At("b").c_str(), 0755);
  EXPECT_THAT(Staleness(catalogue).value_or(""),
              HasSubstr("/b was modified since"));
  catalogue = tree_.Scanned();
  EXPECT_EQ(Staleness(catalogue), absl::nullopt);
  std::filesystem::remove(tree_.At("empty"));
  tree_.SetTime("", 1000000000);
  EXPECT_THAT(Staleness(catalogue).value_or(""), HasSubstr("was modified"));
  catalogue = tree_.Scanned();
  tree_.Link("empty", "b");
  tree_.SetTime("", 1000000000);
  EXPECT_THAT(Staleness(catalogue).value_or(""), HasSubstr("was modified"));
}

TEST_F(StalenessTest, SeesAFileThatWasRewrittenInPlaceAmongFew) {
  tree_.File("b/rows", "one\n");
  Age();
  const Catalogue catalogue = tree_.Scanned();
  EXPECT_EQ(Staleness(catalogue), absl::nullopt);
  std::ofstream(tree_.At("b/rows"), std::ios::app) << "two\n";
  EXPECT_THAT(Staleness(catalogue).value_or(""),
              HasSubstr("/b/rows was modified since the last mount"));
}

TEST_F(StalenessTest, SeesAnotherDirectoryInTheSamePlace) {
  const Catalogue catalogue = tree_.Scanned();
  const std::string other = tree_.root() + ".other";
  std::filesystem::rename(tree_.root(), other);
  std::filesystem::create_directory(tree_.root());
  EXPECT_THAT(Staleness(catalogue).value_or(""),
              HasSubstr("another one is in its place"));
  std::filesystem::remove(tree_.root());
  std::filesystem::rename(other, tree_.root());
}

// A change in the tick of the clock in which the scan began would not show.
TEST_F(StalenessTest, DoesNotTrustTimesOfTheScansOwnMoment) {
  tree_.File("b/fresh");
  EXPECT_THAT(Staleness(tree_.Scanned()).value_or(""),
              HasSubstr("while or just before it was scanned"));
}

}  // namespace
}  // namespace shufflefs
