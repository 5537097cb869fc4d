// SPDX-License-Identifier: Apache-2.0
// The ledger's file of words: what was appended stays, whatever the disk does.
#include "core/base/files/append_log.h"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/base/full_disk.h"
#include "tests/core/base/temp_tree.h"
#include "tests/testing/effort.h"

namespace shufflefs {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kRecord = 3;       // words
constexpr uint64_t kRecords = 20000;  // some lie in two pages

class AppendLogTest : public ::testing::Test {
 protected:
  std::unique_ptr<AppendLog> Open(const std::string& name, uint64_t words = 0) {
    auto file = AppendLog::Open(tree_.At(name), words);
    EXPECT_TRUE(file.ok()) << file.status();
    return file.ok() ? *std::move(file) : nullptr;
  }
  // Appends 0, 1, 2 and so on.
  static void Fill(AppendLog& file) {
    for (uint64_t i = 0; i < kRecords; ++i) {
      const uint64_t at = i * kRecord;
      ASSERT_TRUE(file.Append({{at, at + 1, at + 2}}).ok());
    }
  }
  std::vector<uint64_t> Words(const std::string& name) const {
    std::ifstream file(tree_.At(name), std::ios::binary);
    const uint64_t bytes = std::filesystem::file_size(tree_.At(name));
    EXPECT_EQ(bytes % 8, 0u);
    std::vector<uint64_t> words(bytes / 8);
    file.read(reinterpret_cast<char*>(words.data()),
              static_cast<std::streamsize>(words.size() * 8));
    EXPECT_TRUE(file.good());
    return words;
  }
  static std::vector<uint64_t> Filled() {
    std::vector<uint64_t> words(kRecords * kRecord);
    std::iota(words.begin(), words.end(), 0);
    return words;
  }

  testing_support::TempTree tree_;
};

TEST_F(AppendLogTest, WhatWasAppendedStaysWhileItGrows) {
  Fill(*Open("words"));
  EXPECT_EQ(Words("words"), Filled());
  ASSERT_TRUE(Open("words", kRecords * kRecord)->Append(7).ok());
  std::vector<uint64_t> more = Filled();
  more.push_back(7);
  EXPECT_EQ(Words("words"), more);
  EXPECT_EQ(Open("words", 2)->size(), 2);
  EXPECT_EQ(Words("words"), (std::vector<uint64_t>{0, 1}));
}

// A record that cannot be written whole leaves nothing, not even behind the
// last word, where the next record would be read on with it.
TEST_F(AppendLogTest, ARecordThatCannotBeWrittenLeavesNothing) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  void* const pages = mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(pages, MAP_FAILED);
  char* const closed = static_cast<char*>(pages) + page;
  ASSERT_EQ(mprotect(closed, page, PROT_NONE), 0);
  const std::unique_ptr<AppendLog> log = Open("words");
  ASSERT_TRUE(log->Append(6).ok());
  // Only the first words can be read, of a short record and of a long one.
  for (const auto& [readable, size] :
       {std::pair<size_t, size_t>{1, 3}, {page / 8, page / 8 + 1}}) {
    uint64_t* const record = reinterpret_cast<uint64_t*>(closed) - readable;
    std::fill(record, record + readable, 7);
    EXPECT_EQ(ErrnoOf(log->Append({record, size})), EFAULT);
    EXPECT_EQ(Words("words"), std::vector<uint64_t>{6});
  }
  ASSERT_TRUE(log->Append(8).ok());
  EXPECT_EQ(Words("words"), (std::vector<uint64_t>{6, 8}));
  EXPECT_EQ(munmap(pages, 2 * page), 0);
}

TEST_F(AppendLogTest, WhereverTheDiskIsFullARecordLeavesNothing) {
  for (const size_t size : {1, 3, 1000}) {
    SCOPED_TRACE(size);
    const std::unique_ptr<AppendLog> log = Open("words");
    const std::vector<uint64_t> record(size, 7);
    std::vector<uint64_t> expected;
    // Most limits lie within a word, and some between two pages.
    for (size_t fits = 0; fits < size * 8; fits += size < 10 ? 1 : 101) {
      {
        const testing_support::FullDisk full(expected.size() * 8 + fits);
        const absl::Status status = log->Append(record);
        EXPECT_EQ(ErrnoOf(status), EFBIG);
        EXPECT_THAT(std::string(status.message()), HasSubstr(log->path()));
      }
      ASSERT_EQ(Words("words"), expected) << fits;
      EXPECT_EQ(log->size(), expected.size());
      ASSERT_TRUE(log->Append(record).ok());
      expected.insert(expected.end(), record.begin(), record.end());
    }
    EXPECT_EQ(Words("words"), expected);
  }
}

// Appends records until it is killed, and says so after each.
void AppendForEver(const std::string& path, int told) {
  auto log = AppendLog::Open(path, 0);
  for (uint64_t i = 0; log.ok(); ++i) {
    const std::vector<uint64_t> record(i % 2 == 0 ? 3 : 100000, i + 1);
    if (!(*log)->Append(record).ok() || ::write(told, "x", 1) != 1) break;
  }
  ::_exit(1);
}

TEST_F(AppendLogTest, AKillAtAnyMomentLeavesAWholeRecordOrNone) {
  for (int appended = 1; appended < testing_support::Rounds(24); ++appended) {
    SCOPED_TRACE(appended);
    int told[2];
    ASSERT_EQ(::pipe(told), 0);
    const pid_t child = ::fork();
    if (child == 0) AppendForEver(tree_.At("words"), told[1]);
    char byte;
    for (int i = 0; i < appended; ++i) ASSERT_EQ(::read(told[0], &byte, 1), 1);
    ASSERT_EQ(::kill(child, SIGKILL), 0);
    ASSERT_EQ(::waitpid(child, nullptr, 0), child);
    ::close(told[0]);
    ::close(told[1]);
    const std::vector<uint64_t> words = Words("words");
    uint64_t records = 0;
    for (size_t at = 0; at < words.size() && words[at] != 0; ++records) {
      const size_t size = records % 2 == 0 ? 3 : 100000;
      ASSERT_LE(at + size, words.size());
      const auto record = words.begin() + static_cast<std::ptrdiff_t>(at);
      ASSERT_EQ(std::count(record, record + static_cast<std::ptrdiff_t>(size),
                           records + 1),
                static_cast<std::ptrdiff_t>(size));
      at += size;
    }
    EXPECT_GE(records, static_cast<uint64_t>(appended));
  }
}

// Nobody should, but it ends no process.
TEST_F(AppendLogTest, AFileThatSomebodyEmptiedIsNoticed) {
  const std::unique_ptr<AppendLog> log = Open("words");
  EXPECT_TRUE(log->CheckStart().ok());
  for (uint64_t word = 1; word < 1000; ++word) {
    ASSERT_TRUE(log->Append(word).ok());
  }
  EXPECT_TRUE(log->CheckStart().ok());
  ASSERT_EQ(::truncate(log->path().c_str(), 0), 0);
  EXPECT_EQ(log->CheckStart().code(), absl::StatusCode::kDataLoss);
  EXPECT_TRUE(log->Append(7).ok());
  EXPECT_EQ(log->CheckStart().code(), absl::StatusCode::kDataLoss);
}

TEST_F(AppendLogTest, AFileThatSomebodyRemovedIsNoticed) {
  const std::unique_ptr<AppendLog> log = Open("words");
  ASSERT_TRUE(log->Append(1).ok());
  EXPECT_TRUE(log->CheckStart().ok());
  tree_.Link("other", "words");  // another name changes nothing
  EXPECT_TRUE(log->CheckStart().ok());
  ASSERT_EQ(::unlink(log->path().c_str()), 0);
  EXPECT_EQ(log->CheckStart().code(), absl::StatusCode::kDataLoss);
  tree_.File("words", "");
  EXPECT_EQ(log->CheckStart().code(), absl::StatusCode::kDataLoss);
  tree_.File("words", "of somebody else");
  EXPECT_EQ(log->CheckStart().code(), absl::StatusCode::kFailedPrecondition);
  ASSERT_EQ(::unlink(log->path().c_str()), 0);
  tree_.Link("words", "other");
  EXPECT_EQ(log->CheckStart().code(), absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace shufflefs
