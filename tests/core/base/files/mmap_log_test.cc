// SPDX-License-Identifier: Apache-2.0
// The ledger's file of words: what was appended stays while the file grows and
// its mapping moves.
#include "core/base/files/mmap_log.h"

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "tests/core/base/temp_tree.h"

namespace shufflefs {
namespace {

constexpr uint64_t kRecord = 3;       // words
constexpr uint64_t kRecords = 20000;  // the mapping moves several times

class MmapLogTest : public ::testing::Test {
 protected:
  std::unique_ptr<MmapLog> Open(const std::string& name, uint64_t words = 0) {
    auto file = MmapLog::Open(tree_.At(name), words);
    EXPECT_TRUE(file.ok()) << file.status();
    return file.ok() ? *std::move(file) : nullptr;
  }
  // Appends 0, 1, 2 and so on.
  static void Fill(MmapLog& file) {
    for (uint64_t i = 0; i < kRecords; ++i) {
      const uint64_t at = i * kRecord;
      ASSERT_TRUE(file.Append({{at, at + 1, at + 2}}).ok());
    }
  }
  std::vector<uint64_t> Words(const std::string& name) const {
    std::ifstream file(tree_.At(name), std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    std::vector<uint64_t> words(bytes.size() / 8);
    std::memcpy(words.data(), bytes.data(), words.size() * 8);
    return words;
  }
  static std::vector<uint64_t> Filled() {
    std::vector<uint64_t> words(kRecords * kRecord);
    std::iota(words.begin(), words.end(), 0);
    return words;
  }

  testing_support::TempTree tree_;
};

TEST_F(MmapLogTest, WhatWasAppendedStaysWhileItGrows) {
  Fill(*Open("words"));
  EXPECT_EQ(Words("words"), Filled());
  ASSERT_TRUE(Open("words", kRecords * kRecord)->Append(7).ok());
  std::vector<uint64_t> more = Filled();
  more.push_back(7);
  EXPECT_EQ(Words("words"), more);
  EXPECT_EQ(Open("words", 2)->size(), 2);
  EXPECT_EQ(Words("words"), (std::vector<uint64_t>{0, 1}));
}

// The child is killed by the second word, which it may not read. If the first
// one stood in the file by then, half a record would.
TEST_F(MmapLogTest, AKillInTheMiddleOfARecordLeavesNone) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  void* const pages = mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(pages, MAP_FAILED);
  char* const closed = static_cast<char*>(pages) + page;
  uint64_t* const record = reinterpret_cast<uint64_t*>(closed) - 1;
  *record = 7;
  ASSERT_EQ(mprotect(closed, page, PROT_NONE), 0);
  const std::unique_ptr<MmapLog> log = Open("words");
  EXPECT_DEATH(log->Append({record, kRecord}).IgnoreError(), "");
  EXPECT_EQ(Words("words").at(0), 0u);
  EXPECT_EQ(munmap(pages, 2 * page), 0);
}

// A mapping that grows leaves addresses behind, which another file's mapping
// takes, in another thread that knows nothing of it: a compaction beside
// appends. ThreadSanitizer holds that for a race unless it sees both calls.
TEST_F(MmapLogTest, AnotherThreadsFileTakesThePlaceThatWasLeft) {
  for (int round = 0; round < 8; ++round) {
    std::unique_ptr<MmapLog> first, second;
    std::atomic<bool> filled = false;  // relaxed: orders nothing
    {
      const std::jthread before([&] {
        first = Open("first");
        Fill(*first);
        filled.store(true, std::memory_order_relaxed);
      });
      const std::jthread after([&] {
        while (!filled.load(std::memory_order_relaxed)) {
          std::this_thread::yield();
        }
        second = Open("second");
        Fill(*second);
      });
    }
    EXPECT_EQ(first->size(), second->size());
  }
  EXPECT_EQ(Words("first"), Filled());
  EXPECT_EQ(Words("second"), Filled());
}

}  // namespace
}  // namespace shufflefs
