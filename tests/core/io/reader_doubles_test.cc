// SPDX-License-Identifier: Apache-2.0
// The readers that other tests rely on do what their headers say.
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/io/faulty_reader.h"
#include "tests/core/io/memory_reader.h"
#include "tests/core/io/reader_fixture.h"

namespace shufflefs {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing_support::ErrorOf;
using testing_support::FaultyReader;
using testing_support::MemoryReader;
using testing_support::Results;

std::vector<FileRead> Reads(Results& results,
                            const std::vector<std::string>& paths, int id = 0) {
  std::vector<FileRead> reads;
  for (const std::string& path : paths) {
    reads.push_back(results.Read(id++, path, 3));
  }
  return reads;
}

TEST(MemoryReaderTest, CompletesInTheOrderThatTheTestSays) {
  Results results;
  MemoryReader reader(2);
  for (const char* path : {"a", "b", "c", "d"}) {
    reader.Put(path, std::string(3, path[0]));
  }
  reader.Submit(Reads(results, {"a", "b", "c", "gone"}));
  reader.SubmitUrgent(results.Read(4, "d", 3));
  EXPECT_THAT(reader.InFlight(), ElementsAre("a", "b"));
  EXPECT_EQ(reader.stats().queued, 3u);
  EXPECT_EQ(reader.stats().in_flight, 6u);
  EXPECT_FALSE(reader.Complete("c"));
  EXPECT_TRUE(reader.Complete("b"));
  EXPECT_THAT(reader.InFlight(), ElementsAre("a", "d"));
  EXPECT_TRUE(reader.Fail("a", ErrnoStatus(EIO, "broken")));
  EXPECT_EQ(reader.CompleteAll(), 3u);
  EXPECT_THAT(results.order(), ElementsAre(1, 0, 4, 2, 3));
  EXPECT_EQ(results.memory(1).Content(3), "bbb");
  EXPECT_EQ(ErrorOf(results.status(0)), EIO);
  EXPECT_THAT(std::string(results.status(0).message()), HasSubstr("a: "));
  EXPECT_EQ(ErrorOf(results.status(3)), ESTALE);
  EXPECT_EQ(reader.stats().reads, 5u);
  EXPECT_EQ(reader.stats().bytes, 9u);
}

TEST(MemoryReaderTest, ItsEndCompletesWhatWasBegunAndCancelsTheRest) {
  Results results;
  {
    MemoryReader reader(1);
    reader.Put("a", "abc");
    reader.Submit(Reads(results, {"a", "a"}));
  }
  EXPECT_TRUE(results.status(0).ok()) << results.status(0);
  EXPECT_TRUE(absl::IsCancelled(results.status(1))) << results.status(1);
}

TEST(FaultyReaderTest, FailsAndHoldsChosenPaths) {
  Results results;
  auto memory = std::make_unique<MemoryReader>();
  MemoryReader& inner = *memory;
  for (const char* path : {"a", "b", "c"}) inner.Put(path, "abc");
  FaultyReader reader(std::move(memory));
  reader.Fail("a", EIO, 1);
  reader.Hold("b");
  reader.Submit(Reads(results, {"a", "b", "c", "a"}));
  inner.CompleteAll();
  EXPECT_THAT(results.order(), ElementsAre(0, 2, 3));
  EXPECT_EQ(ErrorOf(results.status(0)), EIO);
  EXPECT_TRUE(results.status(3).ok());
  EXPECT_EQ(reader.waiting("b"), 1u);
  reader.Release("b");
  EXPECT_THAT(results.order(), ElementsAre(0, 2, 3, 1));
  EXPECT_TRUE(results.status(1).ok());
}

TEST(FaultyReaderTest, ItsEndReleasesWhatIsHeld) {
  Results results;
  {
    auto memory = std::make_unique<MemoryReader>();
    memory->Put("a", "abc");
    MemoryReader& inner = *memory;
    FaultyReader reader(std::move(memory));
    reader.Hold("a");
    reader.Submit(Reads(results, {"a", "a"}));
    inner.CompleteOne();
    EXPECT_THAT(results.order(), IsEmpty());
  }
  EXPECT_EQ(results.calls(0), 1);
  EXPECT_EQ(results.calls(1), 1);
}

}  // namespace
}  // namespace shufflefs
