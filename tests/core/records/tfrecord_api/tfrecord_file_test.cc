// SPDX-License-Identifier: Apache-2.0
// The writer, reading by number, and the orders of an epoch.
#include "core/records/tfrecord_api/tfrecord_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/files/atomic_file.h"
#include "core/base/status.h"
#include "core/formats/tfrecord/tfrecord_frame.h"
#include "core/policy/policy.h"
#include "core/records/order/record_order.h"
#include "core/records/tfrecord_api/tfrecord_cursor.h"
#include "core/records/tfrecord_api/tfrecord_writer.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "policies/lirs.h"
#include "tests/core/base/temp_tree.h"
#include "tests/core/formats/tfrecord/tfrecord_fixture.h"

namespace shufflefs {
namespace {

using ::testing::HasSubstr;
using testing_support::TempTree;
using testing_support::Tfrecord;
using testing_support::Tfrecords;
using Unit = TfrecordOrder::Unit;

std::string Message(const absl::Status& status) {
  return std::string(status.message());
}

class TfrecordFileTest : public ::testing::Test {
 protected:
  std::string Path(const std::string& name = "a.tfrecord") const {
    return tree_.At(name);
  }
  std::shared_ptr<const TfrecordFile> Open(
      const TfrecordFile::Options& options = {}) const {
    auto file = TfrecordFile::Open(Path(), options);
    EXPECT_TRUE(file.ok()) << file.status();
    return *file;
  }
  void Write(const std::vector<std::string>& data) {
    auto writer = TfrecordWriter::Create(Path());
    ASSERT_TRUE(writer.ok()) << writer.status();
    for (const std::string& one : data) ASSERT_TRUE(writer->Add(one).ok());
    EXPECT_EQ(writer->count(), data.size());
    ASSERT_TRUE(writer->Finish().ok());
  }
  std::string Bytes() const {
    auto bytes = ReadWholeFile(Path(), 1 << 30);
    EXPECT_TRUE(bytes.ok()) << bytes.status();
    return *bytes;
  }
  // The instances of an epoch by their numbers; each has its own data.
  std::vector<uint64_t> Epochs(TfrecordCursor& cursor,
                               const std::vector<std::string>& data) {
    std::vector<uint64_t> ids;
    for (;;) {
      const auto next = cursor.Next();
      if (!next.ok()) {
        EXPECT_EQ(next.status().code(), absl::StatusCode::kOutOfRange);
        return ids;
      }
      EXPECT_EQ(next->data, data[next->id]);
      ids.push_back(next->id);
    }
  }

  TempTree tree_;
};

std::vector<std::string> RandomData(size_t count, std::mt19937_64& rng) {
  std::vector<std::string> data(count);
  for (std::string& one : data) {
    one.resize(rng() % (rng() % 50 == 0 ? 9000 : 300));
    for (char& byte : one) byte = static_cast<char>(rng());
  }
  return data;
}

TEST_F(TfrecordFileTest, WritesWhatTheFormatSays) {
  Write({"one", "", "three"});
  EXPECT_EQ(Bytes(), Tfrecords({"one", "", "three"}));
}

TEST_F(TfrecordFileTest, AFileHasItsNameWhenItIsWhole) {
  {
    auto writer = TfrecordWriter::Create(Path());
    ASSERT_TRUE(writer.ok());
    ASSERT_TRUE(writer->Add("one").ok());
    EXPECT_EQ(writer->bytes(), 19u);
    EXPECT_NE(access(Path().c_str(), F_OK), 0);
  }
  EXPECT_TRUE(std::filesystem::is_empty(tree_.root()));
  const auto nowhere = TfrecordWriter::Create(tree_.At("none/a"));
  EXPECT_EQ(ErrnoOf(nowhere.status()), ENOENT);
}

TEST_F(TfrecordFileTest, ReadsByNumber) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE(absl::StrCat("seed ", seed));
  std::mt19937_64 rng(seed);
  const std::vector<std::string> data = RandomData(5000, rng);
  Write(data);
  const auto file = Open();
  ASSERT_EQ(file->count(), data.size());
  for (int i = 0; i < 500; ++i) {
    const uint64_t id = rng() % data.size();
    const auto found = file->Read(id);
    ASSERT_TRUE(found.ok()) << found.status();
    EXPECT_EQ(*found, data[id]);
  }
  const absl::Status beyond = file->Read(data.size()).status();
  EXPECT_EQ(beyond.code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(Message(beyond),
            absl::StrCat(Path(), ": there is no instance 5000, it has 5000"));
}

TEST_F(TfrecordFileTest, AnEmptyFileHasNoInstances) {
  Write({});
  const auto file = Open();
  EXPECT_EQ(file->count(), 0u);
  EXPECT_EQ(file->Read(0).status().code(), absl::StatusCode::kOutOfRange);
  for (const Unit unit : {Unit::kNone, Unit::kInstance, Unit::kPage}) {
    auto cursor = TfrecordCursor::Make(file, {.unit = unit});
    ASSERT_TRUE(cursor.ok());
    EXPECT_EQ(cursor->Next().status().code(), absl::StatusCode::kOutOfRange);
  }
}

TEST_F(TfrecordFileTest, WhatIsNoTfrecordFileIsRefused) {
  tree_.File("a.tfrecord", Tfrecord("one") + "rest");
  const absl::Status cut = TfrecordFile::Open(Path()).status();
  EXPECT_EQ(cut.code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(Message(cut), absl::StrCat(Path(),
                                       ": the file ends at byte 23, inside the "
                                       "record at byte 19"));
  EXPECT_EQ(ErrnoOf(TfrecordFile::Open(Path("gone")).status()), ENOENT);
  EXPECT_EQ(TfrecordFile::Open(tree_.root()).status().code(),
            absl::StatusCode::kInvalidArgument);
}

// Damage that came after the table was made.
TEST_F(TfrecordFileTest, DamageIsToldWithItsPlace) {
  Write({"one", "two", "three"});
  const auto file = Open();
  auto cursor = TfrecordCursor::Make(file, {.unit = Unit::kNone});
  ASSERT_TRUE(cursor.ok());
  std::string bytes = Bytes();
  bytes[19 + 12] = 'T';
  tree_.File("a.tfrecord", bytes);
  const absl::Status damage = file->Read(1).status();
  EXPECT_EQ(damage.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(Message(damage),
              HasSubstr(absl::StrCat(Path(),
                                     ": the checksum of the data of the record "
                                     "at byte 19 is ")));
  EXPECT_EQ(*file->Read(0), "one");
  EXPECT_TRUE(cursor->Next().ok());
  EXPECT_EQ(cursor->Next().status(), damage);
  EXPECT_EQ(cursor->Next()->data, "three");
  tree_.File("a.tfrecord", Tfrecords({"one", "two2", "thre"}));
  EXPECT_THAT(Message(file->Read(1).status()),
              HasSubstr("the record at byte 19 has 4 bytes of data, where "
                        "there were 3"));
  tree_.File("a.tfrecord", Tfrecords({"one"}));
  EXPECT_THAT(Message(file->Read(1).status()),
              HasSubstr("the file ends at byte 19, it was longer"));
  EXPECT_THAT(Message(TfrecordData("short", 7).status()),
              HasSubstr("at byte 7 has 5 bytes"));
}

// A saved table only saves time.
TEST_F(TfrecordFileTest, ATableThatCannotBeSavedIsUsedAllTheSame) {
  Write({"one", "two"});
  const auto file =
      TfrecordFile::Open(Path(), {.saved = tree_.At("none/table")});
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(*(*file)->Read(1), "two");
}

TEST_F(TfrecordFileTest, AFileThatChangesMeanwhileIsRefused) {
  Write(std::vector<std::string>(20000, "data"));
  std::atomic<bool> refused{false};
  std::thread touches([&] {
    for (int64_t time = 1; !refused; ++time) {
      const timespec times[] = {{time, 0}, {time, 0}};
      utimensat(AT_FDCWD, Path().c_str(), times, 0);
    }
  });
  absl::Status status;
  for (int i = 0; i < 1000 && status.ok(); ++i) {
    status = TfrecordFile::Open(Path()).status();
  }
  refused = true;
  touches.join();
  EXPECT_EQ(ErrnoOf(status), ESTALE) << status;
}

TEST_F(TfrecordFileTest, ATableIsKept) {
  Write({"one", "two"});
  const std::string saved = tree_.At("table");
  const auto inode = [&] {
    struct stat st;
    EXPECT_EQ(stat(saved.c_str(), &st), 0);
    return st.st_ino;
  };
  EXPECT_EQ(Open({.saved = saved})->count(), 2u);
  // Of the same file it is taken, and so it is not written anew.
  const ino_t first = inode();
  EXPECT_EQ(Open({.saved = saved})->count(), 2u);
  EXPECT_EQ(inode(), first);
  // Of another it is not believed, though size and time are the same.
  struct stat st;
  ASSERT_EQ(stat(Path().c_str(), &st), 0);
  tree_.File("a.tfrecord", std::string(38, 'x'));
  const timespec times[2] = {st.st_atim, st.st_mtim};
  ASSERT_EQ(utimensat(AT_FDCWD, Path().c_str(), times, 0), 0);
  EXPECT_EQ(TfrecordFile::Open(Path(), {.saved = saved}).status().code(),
            absl::StatusCode::kDataLoss);
  // And it is replaced.
  Write({"one", "two", "three"});
  EXPECT_EQ(Open({.saved = saved})->count(), 3u);
  EXPECT_EQ(Open({.saved = saved})->count(), 3u);
}

TEST_F(TfrecordFileTest, EveryOrderHasEachInstanceOnce) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE(absl::StrCat("seed ", seed));
  std::mt19937_64 rng(seed);
  const std::vector<std::string> data = RandomData(20000, rng);
  Write(data);
  const auto file = Open();
  std::vector<uint64_t> sorted(data.size());
  std::iota(sorted.begin(), sorted.end(), 0);
  for (const Unit unit : {Unit::kNone, Unit::kInstance, Unit::kPage}) {
    for (const uint64_t page :
         {uint64_t{64}, uint64_t{4096}, uint64_t{70001}}) {
      auto cursor = TfrecordCursor::Make(
          file, {.unit = unit, .page_bytes = page, .seed = Seed(rng())});
      ASSERT_TRUE(cursor.ok());
      std::vector<uint64_t> first = Epochs(*cursor, data);
      cursor->Start(Epoch(1));
      const std::vector<uint64_t> second = Epochs(*cursor, data);
      cursor->Start(Epoch(0));
      EXPECT_EQ(Epochs(*cursor, data), first);
      EXPECT_EQ(first == second, unit == Unit::kNone);
      EXPECT_EQ(first == sorted, unit == Unit::kNone);
      std::sort(first.begin(), first.end());
      EXPECT_EQ(first, sorted);
    }
  }
  const auto none =
      TfrecordCursor::Make(file, {.unit = Unit::kPage, .page_bytes = 0});
  EXPECT_EQ(none.status().code(), absl::StatusCode::kInvalidArgument);
}

// The instances of a page come together, and the order is that of a mount
// with the policy lirs.
TEST_F(TfrecordFileTest, OrdersAreThoseOfLirs) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE(absl::StrCat("seed ", seed));
  std::mt19937_64 rng(seed);
  const std::vector<std::string> data = RandomData(3000, rng);
  Write(data);
  const auto file = Open();
  for (const Unit unit : {Unit::kInstance, Unit::kPage}) {
    const TfrecordOrder order = {
        .unit = unit, .page_bytes = 8192, .seed = Seed(rng()), .key = rng()};
    PolicyOptions options;
    options.Set("lirs.unit", unit == Unit::kPage ? "page" : "instance");
    options.Set("lirs.page", 8192);
    const LirsPolicy lirs(LirsOptions::Of(options));
    const auto expected = MakeRecordOrder(
        lirs, file->table(),
        {.key = order.key, .seed = order.seed, .epoch = Epoch(5)});
    std::vector<uint64_t> records;
    for (uint64_t part = 0; part < expected->part_count(); ++part) {
      for (const uint64_t r : expected->Records(part)) records.push_back(r);
    }
    auto cursor = TfrecordCursor::Make(file, order);
    ASSERT_TRUE(cursor.ok());
    cursor->Start(Epoch(5));
    const std::vector<uint64_t> found = Epochs(*cursor, data);
    EXPECT_EQ(found, records);
    if (unit != Unit::kPage) continue;
    std::set<uint64_t> left;
    uint64_t page = ~uint64_t{0};
    for (const uint64_t id : found) {
      const uint64_t now = file->table().begin(id) / 8192;
      // One that lies in two pages comes with either.
      if ((file->table().begin(id + 1) - 1) / 8192 != now) continue;
      if (now != page) {
        EXPECT_TRUE(left.insert(now).second);
      }
      page = now;
    }
  }
}

}  // namespace
}  // namespace shufflefs
