// SPDX-License-Identifier: Apache-2.0
#include "core/io/read_queue.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace shufflefs {
namespace {

FileRead Read(const std::string& path, uint64_t length) {
  FileRead read;
  read.path = path;
  read.length = length;
  return read;
}

void Push(ReadQueue& queue, const std::string& path, uint64_t length) {
  std::vector<FileRead> reads;
  reads.push_back(Read(path, length));
  queue.Push(std::move(reads));
}

// The paths that may begin now.
std::string TakeAll(ReadQueue& queue) {
  std::string paths;
  while (absl::optional<ReadQueue::Next> next = queue.Take()) {
    paths += next->cancelled ? "!" + next->read.path : next->read.path;
  }
  EXPECT_FALSE(queue.Ready());
  return paths;
}

TEST(ReadQueueTest, BeginsInOrderUpToItsDepth) {
  ReadQueue queue(2, 1000);
  for (const char* path : {"a", "b", "c", "d"}) Push(queue, path, 1);
  EXPECT_EQ(TakeAll(queue), "ab");
  queue.PushUrgent(Read("u", 1));
  queue.PushUrgent(Read("v", 1));
  EXPECT_EQ(TakeAll(queue), "");
  queue.End(0, 1, 1);
  EXPECT_EQ(TakeAll(queue), "u");
  queue.End(0, 1, 0);
  queue.End(0, 1, 1);
  EXPECT_EQ(TakeAll(queue), "vc");
  EXPECT_EQ(queue.stats().reads, 3u);
  EXPECT_EQ(queue.stats().bytes, 2u);
  EXPECT_EQ(queue.stats().in_flight, 2u);
  EXPECT_EQ(queue.stats().queued, 1u);
}

TEST(ReadQueueTest, PiecesOfFilesAreOneBatchThatGoesOn) {
  ReadQueue queue(10, 1000);
  std::vector<uint64_t> batches;
  for (const char* path : {"a", "b", "P", "Q", "c", "R"}) {
    std::vector<FileRead> reads;
    for (int i = 0; i < 2; ++i) {
      reads.push_back(Read(path, 1));
      reads.back().one_of_many = *path < 'a';
    }
    queue.Push(std::move(reads));
    queue.Push({});
    while (absl::optional<ReadQueue::Next> next = queue.Take()) {
      batches.push_back(next->batch);
      queue.End(0, 1, 1);
    }
  }
  EXPECT_THAT(batches,
              testing::ElementsAre(1, 1, 2, 2, 3, 3, 3, 3, 4, 4, 5, 5));
}

TEST(ReadQueueTest, KeepsTheBoundOfBytesToTheByte) {
  ReadQueue queue(100, 10);
  for (const char* path : {"a", "b", "c"}) Push(queue, path, 5);
  EXPECT_EQ(TakeAll(queue), "ab");
  queue.End(0, 5, 5);
  EXPECT_EQ(TakeAll(queue), "c");
  queue.End(0, 5, 5);
  Push(queue, "d", 6);
  Push(queue, "e", 1);  // would fit, but "d" is not overtaken
  EXPECT_EQ(TakeAll(queue), "");
  queue.End(0, 5, 5);
  EXPECT_EQ(TakeAll(queue), "de");
}

TEST(ReadQueueTest, OneReadAlwaysGoesAlone) {
  ReadQueue queue(100, 10);
  Push(queue, "a", 1);
  Push(queue, "b", UINT64_MAX);
  Push(queue, "c", 1);
  EXPECT_EQ(TakeAll(queue), "a");
  queue.End(0, 1, 1);
  EXPECT_EQ(TakeAll(queue), "b");
  EXPECT_FALSE(queue.idle());
  queue.End(0, UINT64_MAX, 0);
  EXPECT_EQ(TakeAll(queue), "c");
  ReadQueue none(0, 0);
  Push(none, "a", 1);
  Push(none, "b", 1);
  EXPECT_EQ(TakeAll(none), "a");
  none.End(0, 1, 1);
  EXPECT_EQ(TakeAll(none), "b");
  none.End(0, 1, 1);
  EXPECT_TRUE(none.idle());
}

FileRead ReadAt(const std::string& path, uint64_t place) {
  FileRead read = Read(path, 1);
  read.place = place;
  return read;
}

void PushAt(ReadQueue& queue, const std::string& path, uint64_t place) {
  std::vector<FileRead> reads;
  reads.push_back(ReadAt(path, place));
  queue.Push(std::move(reads));
}

// A disk's arm goes up, again and again.
TEST(ReadQueueTest, BatchesOfKnownPlaceComeInTheirOrder) {
  ReadQueue queue(1, 1000);
  const auto take = [&] {
    const std::string path = queue.Take()->read.path;
    queue.End(0, 1, 1);
    return path;
  };
  PushAt(queue, "c", 30);  // next, because nothing else waits
  PushAt(queue, "d", 40);
  PushAt(queue, "a", 10);
  PushAt(queue, "e", 50);
  EXPECT_EQ(take(), "c");
  EXPECT_EQ(take(), "d");
  PushAt(queue, "b", 20);
  PushAt(queue, "f", 60);
  for (const char* const path : {"e", "f", "a", "b"}) EXPECT_EQ(take(), path);
  EXPECT_TRUE(queue.idle());
}

TEST(ReadQueueTest, APlaceBeginsABatchThatStaysTogether) {
  ReadQueue queue(100, 1000);
  std::vector<FileRead> reads;
  reads.push_back(ReadAt("c", 3));
  reads.push_back(ReadAt("C", 0));
  reads.push_back(ReadAt("b", 2));
  reads.push_back(ReadAt("B", 0));
  reads.push_back(ReadAt("d", 4));
  queue.Push(std::move(reads));
  std::string paths;
  std::vector<uint64_t> batches;
  while (absl::optional<ReadQueue::Next> next = queue.Take()) {
    paths += next->read.path;
    batches.push_back(next->batch);
  }
  EXPECT_EQ(paths, "bBcCd");
  EXPECT_THAT(batches, testing::ElementsAre(2, 2, 1, 1, 3));
  EXPECT_EQ(queue.stats().queued, 0u);
}

// A view whose places are known and one whose are not, on one disk.
TEST(ReadQueueTest, BatchesWithAPlaceAndWithoutTakeTurns) {
  ReadQueue queue(100, 1000);
  for (const uint64_t place : {7, 6, 5}) {
    PushAt(queue, std::to_string(place), place);
    PushAt(queue, "x", 0);
  }
  EXPECT_EQ(TakeAll(queue), "7x5x6x");
}

TEST(ReadQueueTest, CancelledReadsComeWhateverTheBounds) {
  ReadQueue queue(1, 10);
  for (const char* path : {"a", "b", "c"}) Push(queue, path, 100);
  EXPECT_EQ(TakeAll(queue), "a");
  queue.Cancel();
  queue.PushUrgent(Read("u", 1));
  EXPECT_EQ(TakeAll(queue), "!u!b!c");
  Push(queue, "d", 1);
  EXPECT_EQ(TakeAll(queue), "!d");
}

FileRead ReadOn(uint64_t device, const std::string& path) {
  FileRead read = Read(path, 1);
  read.expected = FileAttributes();
  read.expected->device = device;
  return read;
}

void PushOn(ReadQueue& queue, uint64_t device, const std::string& paths) {
  std::vector<FileRead> reads;
  for (const char path : paths) reads.push_back(ReadOn(device, {path}));
  queue.Push(std::move(reads));
}

// What has begun on one device never ends.
TEST(ReadQueueTest, ADeviceThatHangsLeavesOthersTheirDepth) {
  ReadQueue queue(2, 1000);
  PushOn(queue, 7, "abc");
  EXPECT_EQ(TakeAll(queue), "ab");
  queue.PushUrgent(ReadOn(7, "u"));
  PushOn(queue, 8, "xyz");
  EXPECT_EQ(TakeAll(queue), "xy");
  queue.PushUrgent(ReadOn(8, "v"));
  queue.End(1, 1, 1);
  EXPECT_EQ(TakeAll(queue), "v");
  queue.End(1, 1, 1);
  EXPECT_EQ(TakeAll(queue), "z");
  EXPECT_EQ(queue.stats().queued, 2u);
  EXPECT_EQ(queue.stats().in_flight, 4u);
  queue.End(0, 1, 1);
  EXPECT_EQ(TakeAll(queue), "u");
}

TEST(ReadQueueTest, ADeviceThatHangsLeavesOthersTheirBytes) {
  ReadQueue queue(10, 2);
  PushOn(queue, 7, "abc");
  PushOn(queue, 8, "xyz");
  EXPECT_EQ(TakeAll(queue), "axby");
  queue.End(1, 1, 1);
  EXPECT_EQ(TakeAll(queue), "z");
}

TEST(ReadQueueTest, ReadsOfOneRequestGoToTheirDevices) {
  ReadQueue queue(10, 1000);
  std::vector<FileRead> reads;
  for (const char* const path : {"a", "x", "b", "y"}) {
    reads.push_back(ReadOn(*path < 'c' ? 7 : 8, path));
    reads.back().place = *path == 'a' || *path == 'y' ? 5 : 0;
  }
  queue.Push(std::move(reads));
  std::vector<uint64_t> batches;
  std::string paths;
  while (absl::optional<ReadQueue::Next> next = queue.Take()) {
    paths += next->read.path;
    batches.push_back(next->batch);
  }
  EXPECT_EQ(paths, "aybx");
  EXPECT_EQ(batches[0], batches[2]);  // read together
}

TEST(ReadQueueTest, UrgentReadsOfAllDevicesComeFirst) {
  ReadQueue queue(10, 1000);
  PushOn(queue, 7, "ab");
  PushOn(queue, 8, "xy");
  queue.PushUrgent(ReadOn(8, "v"));
  queue.PushUrgent(ReadOn(7, "u"));
  EXPECT_EQ(TakeAll(queue), "uvaxby");
}

TEST(ReadQueueTest, TheSumOverDevicesIsBounded) {
  ReadQueue queue(1, 1000, /*devices=*/2);
  PushOn(queue, 1, "a");
  PushOn(queue, 2, "b");
  PushOn(queue, 3, "c");
  PushOn(queue, 4, "d");
  EXPECT_EQ(TakeAll(queue), "ab");
  queue.End(1, 1, 1);
  EXPECT_EQ(TakeAll(queue), "c");
  queue.End(1, 1, 1);
  EXPECT_EQ(TakeAll(queue), "d");
  // A device without reads leaves its place to another.
  queue.End(0, 1, 1);
  PushOn(queue, 5, "e");
  EXPECT_EQ(TakeAll(queue), "e");
}

TEST(ReadQueueTest, AReadOfAnUnknownDeviceHasNoBoundsOfItsOwn) {
  ReadQueue queue(1, 1000);
  PushOn(queue, 7, "a");
  Push(queue, "b", 1);
  EXPECT_EQ(TakeAll(queue), "a");
  EXPECT_EQ(queue.devices(), 1u);
}

}  // namespace
}  // namespace shufflefs
