// SPDX-License-Identifier: Apache-2.0
#include "core/scan/places_file.h"

#include <errno.h>
#include <xxhash.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/base/file_bytes.h"
#include "tests/core/base/temp_tree.h"

namespace shufflefs {
namespace {

using ::testing::HasSubstr;
using testing_support::Slurp;
using testing_support::TempTree;

// Any of the values that a place may have.
uint64_t AnyPlace(std::mt19937_64& rng) {
  const uint64_t kinds = rng() % 8;
  if (kinds == 0) return KnownAddresses::kNoAddress;
  if (kinds == 1) return KnownAddresses::kNotAsked;
  return rng() % KnownAddresses::kAddresses;
}

class PlacesFileTest : public ::testing::Test {
 protected:
  PlacesFileTest() {
    for (int i = 0; i < 40; ++i) {
      tree_.File(absl::StrCat("d", i % 3, "/", i), std::string(1 + i, 'x'));
    }
  }
  std::string FilePath() const { return state_.At("places"); }
  KnownAddresses Made(const Catalogue& catalogue, uint64_t seed = 1) const {
    std::mt19937_64 rng(seed);
    KnownAddresses places;
    for (uint32_t e = 0; e < catalogue.entry_count(); ++e) {
      places.by_entry.push_back(AnyPlace(rng));
    }
    return places;
  }

  TempTree tree_;
  TempTree state_;
};

TEST_F(PlacesFileTest, WhatIsSavedIsLoaded) {
  const Catalogue catalogue = tree_.Scanned();
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE(absl::StrCat("seed ", seed));
  for (uint64_t round = 0; round < 20; ++round) {
    const KnownAddresses places = Made(catalogue, seed + round);
    ASSERT_TRUE(SavePlaces(places, catalogue, FilePath()).ok());
    const absl::StatusOr<KnownAddresses> loaded =
        LoadPlaces(catalogue, FilePath());
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    EXPECT_EQ(loaded->by_entry, places.by_entry);
  }
  EXPECT_FALSE(std::filesystem::exists(FilePath() + ".new"));
}

TEST_F(PlacesFileTest, RefusesThoseOfAnotherCatalogue) {
  const Catalogue catalogue = tree_.Scanned();
  ASSERT_TRUE(SavePlaces(Made(catalogue), catalogue, FilePath()).ok());
  // The same names and contents in other files.
  std::filesystem::copy(tree_.At("d1/4"), tree_.At("d1/4.copy"));
  std::filesystem::last_write_time(
      tree_.At("d1/4.copy"),
      std::filesystem::last_write_time(tree_.At("d1/4")));
  std::filesystem::rename(tree_.At("d1/4.copy"), tree_.At("d1/4"));
  EXPECT_EQ(tree_.Scanned().fingerprint(), catalogue.fingerprint());
  const absl::Status inode = LoadPlaces(tree_.Scanned(), FilePath()).status();
  EXPECT_EQ(inode.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(inode.message()),
              HasSubstr(FilePath() + ": of another catalogue"));
  tree_.File("d1/more");
  EXPECT_EQ(LoadPlaces(tree_.Scanned(), FilePath()).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

TEST_F(PlacesFileTest, AnotherDeviceIsAnotherIdentity) {
  CatalogueTables tables = tree_.Scanned().tables();
  const uint64_t before = PlacesIdentity(tree_.Scanned());
  EXPECT_EQ(PlacesIdentity(Catalogue::FromTables(CatalogueTables(tables))),
            before);
  tables.classes.back().device = 1;
  tables.devices.push_back({tables.devices[0].number, 1});
  EXPECT_NE(PlacesIdentity(Catalogue::FromTables(std::move(tables))), before);
}

TEST_F(PlacesFileTest, RefusesEveryTruncationAndEveryFlippedBit) {
  const Catalogue catalogue = tree_.Scanned();
  ASSERT_TRUE(SavePlaces(Made(catalogue), catalogue, FilePath()).ok());
  const std::string bytes = Slurp(FilePath());
  const auto parse = [&](const std::string& text) {
    return ParsePlaces(text, PlacesIdentity(catalogue),
                       catalogue.entry_count());
  };
  ASSERT_TRUE(parse(bytes).ok());
  for (size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_FALSE(parse(bytes.substr(0, length)).ok()) << length;
  }
  EXPECT_EQ(parse(bytes + "x").status().code(), absl::StatusCode::kDataLoss);
  for (size_t at = 0; at < bytes.size(); ++at) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << at % 8));
    EXPECT_FALSE(parse(damaged).ok()) << at;
  }
}

// A checksum that fits proves nothing about who wrote it.
TEST_F(PlacesFileTest, RefusesWhatIsNoAddress) {
  const Catalogue catalogue = tree_.Scanned();
  for (uint64_t wrong : {KnownAddresses::kAddresses, ~uint64_t{0} - 2}) {
    KnownAddresses places = Made(catalogue);
    places.by_entry[3] = wrong;
    ASSERT_TRUE(SavePlaces(places, catalogue, FilePath()).ok());
    const absl::Status status = LoadPlaces(catalogue, FilePath()).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
    EXPECT_THAT(std::string(status.message()), HasSubstr("no address"));
  }
  KnownAddresses few = Made(catalogue);
  few.by_entry.pop_back();
  ASSERT_TRUE(SavePlaces(few, catalogue, FilePath()).ok());
  EXPECT_EQ(LoadPlaces(catalogue, FilePath()).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

TEST_F(PlacesFileTest, SaysWhatTheFileIs) {
  const Catalogue catalogue = tree_.Scanned();
  EXPECT_EQ(ErrnoOf(LoadPlaces(catalogue, FilePath()).status()), ENOENT);
  std::ofstream(FilePath()) << std::string(500, 'x');
  EXPECT_EQ(LoadPlaces(catalogue, FilePath()).status().code(),
            absl::StatusCode::kInvalidArgument);
  ASSERT_TRUE(SavePlaces(Made(catalogue), catalogue, FilePath()).ok());
  std::string bytes = Slurp(FilePath());
  bytes[8] = 99;
  EXPECT_THAT(std::string(ParsePlaces(bytes, 0, 0).status().message()),
              HasSubstr("version 99"));
  EXPECT_EQ(
      ErrnoOf(SavePlaces(Made(catalogue), catalogue, state_.At("no/dir"))),
      ENOENT);
}

}  // namespace
}  // namespace shufflefs
