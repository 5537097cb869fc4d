// SPDX-License-Identifier: Apache-2.0
// What every FileReader must do with files that are as they should be.
#include "core/io/file_reader.h"

#include <unistd.h>

#include <atomic>
#include <memory>
#include <thread>

#include "core/io/make_reader.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/base/temp_tree.h"
#include "tests/core/io/reader_fixture.h"

namespace shufflefs {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing_support::AttributesOf;
using testing_support::FileReaderTest;
using testing_support::Gate;
using testing_support::RandomBytes;
using testing_support::Results;
using testing_support::ScatteredMemory;

INSTANTIATE_TEST_SUITE_P(Readers, FileReaderTest, testing_support::AllReaders(),
                         testing_support::NameOfKind);

TEST_P(FileReaderTest, ReadsEveryByteOfManyFilesIntoScatteredMemory) {
  const uint64_t seed = 20240611;
  SCOPED_TRACE(seed);
  Rng rng{RandomKey(seed)};
  std::vector<std::string> contents;
  std::vector<FileRead> reads;
  uint64_t bytes = 0;
  for (int i = 0; i < 120; ++i) {
    // Mostly small, from one byte to 2 MiB, also whole blocks.
    uint64_t size = 1 + rng.Bounded(uint64_t{1} << (1 + rng.Bounded(21)));
    if (i % 10 == 0) size = (1 + rng.Bounded(20)) * kReadAlignment;
    contents.push_back(RandomBytes(rng, size));
    const std::string path =
        "d" + std::to_string(i % 7) + "/" + std::to_string(i);
    tree_.File(path, contents.back());
    auto memory =
        std::make_unique<ScatteredMemory>(size, 1 + rng.Bounded(6), rng);
    FileRead read = results_.Into(i, path, std::move(memory));
    read.expected = AttributesOf(tree_.At(path));
    read.length = size;
    bytes += size;
    reads.push_back(std::move(read));
  }
  reader_ = Make();
  reader_->Submit(std::move(reads));
  results_.Wait(120);
  for (int i = 0; i < 120; ++i) {
    const std::string& content = contents[static_cast<size_t>(i)];
    ASSERT_TRUE(results_.status(i).ok()) << results_.status(i);
    ASSERT_EQ(results_.calls(i), 1);
    ASSERT_TRUE(results_.memory(i).Content(content.size()) == content) << i;
    ASSERT_TRUE(results_.memory(i).RestUntouched()) << i;
  }
  const FileReaderStats stats = reader_->stats();
  EXPECT_EQ(stats.reads, 120u);
  EXPECT_EQ(stats.bytes, bytes);
  EXPECT_EQ(stats.in_flight, 0u);
  EXPECT_EQ(stats.queued, 0u);
}

TEST_P(FileReaderTest, ReadsAPieceFromTheMiddle) {
  Rng rng{RandomKey(5)};
  const std::string content = RandomBytes(rng, 100000);
  tree_.File("f", content);
  FileRead read = results_.Read(0, "f", 5000);
  read.offset = 2 * kReadAlignment;
  EXPECT_TRUE(ReadNow(std::move(read)).ok());
  EXPECT_EQ(results_.memory(0).Content(5000),
            content.substr(2 * kReadAlignment, 5000));
}

// More pieces than one call of the kernel takes.
TEST_P(FileReaderTest, ReadsIntoMoreThanAThousandPieces) {
  Rng rng{RandomKey(6)};
  const std::string content = RandomBytes(rng, 2500 * kReadAlignment - 17);
  tree_.File("f", content);
  FileRead read = results_.Into(
      0, "f", std::make_unique<ScatteredMemory>(content.size(), 2500, rng));
  read.length = content.size();
  ASSERT_GT(read.into.size(), 1024u);
  EXPECT_TRUE(ReadNow(std::move(read)).ok());
  EXPECT_TRUE(results_.memory(0).Content(content.size()) == content);
}

TEST_P(FileReaderTest, BeginsInTheOrderOfSubmission) {
  std::vector<FileRead> first;
  std::vector<FileRead> second;
  std::vector<int> order;
  for (int i = 0; i < 40; ++i) {
    const std::string path = "f" + std::to_string(i * 7 % 40);
    tree_.File(path, "content");
    (i < 25 ? first : second).push_back(Whole(i, path));
    order.push_back(i);
  }
  reader_ = MakeSerial();
  reader_->Submit(std::move(first));
  reader_->Submit(std::move(second));
  results_.Wait(40);
  EXPECT_EQ(results_.order(), order);
}

TEST_P(FileReaderTest, AnUrgentReadOvertakesThoseThatWait) {
  Gate gate;
  std::vector<FileRead> reads;
  for (int i = 0; i < 4; ++i) {
    tree_.File(std::to_string(i), "content");
    reads.push_back(Whole(i, std::to_string(i)));
  }
  reads[0].done = [&](const absl::Status& status) {
    gate.Pass();
    results_.Done(0, status);
  };
  reader_ = MakeSerial();
  reader_->Submit(std::move(reads));
  gate.WaitForArrival();
  reader_->SubmitUrgent(Whole(4, "1"));
  reader_->SubmitUrgent(Whole(5, "2"));
  EXPECT_EQ(reader_->stats().queued, 5u);
  gate.Open();
  results_.Wait(6);
  EXPECT_THAT(results_.order(), ElementsAre(0, 4, 5, 1, 2, 3));
}

TEST_P(FileReaderTest, CancelEndsWhatWaitsAndWhatComesLater) {
  Gate gate;
  std::vector<FileRead> reads;
  tree_.File("f", "content");
  for (int i = 0; i < 20; ++i) reads.push_back(Whole(i, "f"));
  reads[0].done = [&](const absl::Status& status) {
    gate.Pass();
    results_.Done(0, status);
  };
  reader_ = MakeSerial();
  reader_->Submit(std::move(reads));
  gate.WaitForArrival();
  reader_->Cancel();
  gate.Open();
  reader_->Submit(List(Whole(20, "f")));
  reader_->SubmitUrgent(Whole(21, "f"));
  results_.Wait(22);
  EXPECT_TRUE(results_.status(0).ok()) << results_.status(0);
  for (int i = 1; i < 22; ++i) {
    EXPECT_EQ(results_.status(i).code(), absl::StatusCode::kCancelled) << i;
    EXPECT_THAT(std::string(results_.status(i).message()), HasSubstr("f: "));
    EXPECT_EQ(results_.calls(i), 1) << i;
  }
  EXPECT_EQ(reader_->stats().reads, 22u);
  EXPECT_EQ(reader_->stats().queued, 0u);
}

TEST_P(FileReaderTest, ItsEndCancelsWhatWaitsAndFinishesWhatWasBegun) {
  Rng rng{RandomKey(7)};
  tree_.File("f", RandomBytes(rng, 100000));
  for (int round = 0; round < 12; ++round) {
    Results results;
    const FileAttributes known = AttributesOf(tree_.At("f"));
    {
      std::vector<FileRead> reads;
      for (int i = 0; i < 100; ++i) {
        reads.push_back(results.Read(i, "f", known.size));
        reads.back().expected = known;
      }
      std::unique_ptr<FileReader> reader = Make();
      reader->Submit(std::move(reads));
      results.Wait(static_cast<size_t>(round));
    }
    int done = 0;
    for (int i = 0; i < 100; ++i) {
      ASSERT_EQ(results.calls(i), 1) << i;
      const absl::Status status = results.status(i);
      ASSERT_TRUE(status.ok() || absl::IsCancelled(status)) << status;
      done += status.ok() ? 1 : 0;
    }
    EXPECT_GE(done, round);
  }
}

TEST_P(FileReaderTest, DoneMaySubmit) {
  tree_.File("f", "content");
  reader_ = MakeSerial();
  FileRead first = Whole(0, "f");
  std::atomic<int> next{1};
  std::function<void(absl::Status)> done = [&](absl::Status status) {
    const int id = next++;
    if (id < 100) {
      FileRead read = Whole(id, "f");
      read.done = done;
      if (id % 2 == 0) {
        reader_->SubmitUrgent(std::move(read));
      } else {
        reader_->Submit(List(std::move(read)));
      }
    }
    results_.Done(id - 1, status);
  };
  first.done = done;
  reader_->Submit(List(std::move(first)));
  results_.Wait(100);
  for (int i = 0; i < 100; ++i) {
    EXPECT_TRUE(results_.status(i).ok());
    EXPECT_EQ(results_.calls(i), 1);
  }
}

TEST_P(FileReaderTest, ManyThreadsMaySubmit) {
  constexpr int kThreads = 6;
  constexpr int kEach = 60;
  Rng rng{RandomKey(8)};
  std::vector<std::string> contents;
  for (int i = 0; i < kThreads; ++i) {
    contents.push_back(RandomBytes(rng, 1000 + 9000 * static_cast<size_t>(i)));
    tree_.File(std::to_string(i), contents.back());
  }
  reader_ = Make();
  std::vector<std::jthread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kEach; ++i) {
        FileRead read = Whole(t * kEach + i, std::to_string(t));
        if (i % 5 == 0) {
          reader_->SubmitUrgent(std::move(read));
        } else {
          reader_->Submit(List(std::move(read)));
        }
        reader_->stats();
      }
    });
  }
  threads.clear();
  results_.Wait(kThreads * kEach);
  for (int id = 0; id < kThreads * kEach; ++id) {
    const std::string& content = contents[static_cast<size_t>(id / kEach)];
    ASSERT_TRUE(results_.status(id).ok()) << results_.status(id);
    ASSERT_EQ(results_.memory(id).Content(content.size()), content);
  }
}

TEST_P(FileReaderTest, KeepsTheBoundOfBytesInFlight) {
  Rng rng{RandomKey(9)};
  FileReaderOptions options;
  options.max_in_flight_bytes = 100000;
  tree_.File("small", RandomBytes(rng, 40000));
  tree_.File("large", RandomBytes(rng, 300000));
  std::atomic<uint64_t> most{0};
  std::vector<FileRead> reads;
  for (int i = 0; i < 120; ++i) {
    reads.push_back(Whole(i, "small"));
    reads.back().done = [&, i](const absl::Status& status) {
      const uint64_t now = reader_->stats().in_flight;
      uint64_t before = most.load();
      while (before < now && !most.compare_exchange_weak(before, now)) {
      }
      results_.Done(i, status);
    };
  }
  reads.push_back(Whole(120, "large"));  // alone, but it goes
  reader_ = Make(options);
  reader_->Submit(std::move(reads));
  results_.Wait(121);
  EXPECT_LE(most.load(), 300000u);
  for (int i = 0; i < 121; ++i) EXPECT_TRUE(results_.status(i).ok());
}

TEST_P(FileReaderTest, ReachesPathsLongerThanPathMax) {
  std::string deep;
  UniqueFd at(open(tree_.root().c_str(), O_RDONLY | O_DIRECTORY));
  for (int level = 0; level < 40; ++level) {
    const std::string name(200, static_cast<char>('a' + level % 26));
    ASSERT_EQ(mkdirat(at.get(), name.c_str(), 0755), 0);
    at = UniqueFd(openat(at.get(), name.c_str(), O_RDONLY | O_DIRECTORY));
    deep += name + "/";
  }
  UniqueFd file(openat(at.get(), "f", O_CREAT | O_WRONLY, 0644));
  ASSERT_EQ(write(file.get(), "deep", 4), 4);
  EXPECT_TRUE(ReadNow(results_.Read(0, deep + "f", 4)).ok());
  EXPECT_EQ(results_.memory(0).Content(4), "deep");
  const absl::Status gone = ReadNow(results_.Read(1, deep + "gone", 4), 1);
  EXPECT_EQ(testing_support::ErrorOf(gone), ESTALE);
}

// procfs refuses O_DIRECT, and its files say that they are empty.
TEST_P(FileReaderTest, AFileSystemWithoutDirectReadsIsReadAllTheSame) {
  std::ifstream in("/proc/version");
  const std::string content(std::istreambuf_iterator<char>(in), {});
  ASSERT_FALSE(content.empty());
  absl::StatusOr<SourceDir> proc = SourceDir::At("/proc");
  ASSERT_TRUE(proc.ok()) << proc.status();
  source_ = *std::move(proc);
  for (int id : {0, 1}) {
    EXPECT_TRUE(ReadNow(results_.Read(id, "version", content.size()), id).ok())
        << results_.status(id);
    EXPECT_EQ(results_.memory(id).Content(content.size()), content);
  }
}

}  // namespace
}  // namespace shufflefs
