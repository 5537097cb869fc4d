// SPDX-License-Identifier: Apache-2.0
#include "core/pool/plain_reads.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <thread>

#include "core/base/status.h"
#include "gtest/gtest.h"
#include "tests/core/base/temp_tree.h"
#include "tests/core/base/thread_names.h"
#include "tests/core/pool/test_memory.h"

namespace shufflefs {
namespace {

using testing_support::TempTree;
using testing_support::ThreadsNamed;

constexpr size_t kFileBytes = 300'000;

class PlainReadsTest : public ::testing::Test {
 protected:
  PlainReadsTest() : content_(kFileBytes, 'a') {
    for (size_t i = 0; i < kFileBytes; ++i) content_[i] = 'a' + i * 7 % 26;
    tree_.File("f", content_);
    source_ = std::make_unique<SourceDir>(tree_.Source());
    catalogue_ = std::make_shared<const Catalogue>(tree_.Scanned());
    file_ = *catalogue_->FindPath("f");
    plain_ = std::make_unique<PlainReads>(
        PlainReads::Parts{source_.get(), catalogue_, /*open_limit=*/4,
                          testing_support::TestMemory(64 << 20).bypass});
  }

  // The time of change is set: two writes within a tick of the kernel's clock
  // have the same one.
  void Change() {
    tree_.File("f", std::string(kFileBytes, 'b'));
    tree_.SetTime("f", 1'000'000'000);
  }

  absl::StatusOr<std::string> Read(uint64_t offset, uint64_t length) {
    std::promise<absl::StatusOr<std::string>> result;
    plain_->Read(file_, offset, length,
                 [&](absl::StatusOr<absl::Span<const iovec>> bytes) {
                   if (!bytes.ok()) return result.set_value(bytes.status());
                   std::string all;
                   for (const iovec& piece : *bytes) {
                     all.append(static_cast<const char*>(piece.iov_base),
                                piece.iov_len);
                   }
                   result.set_value(std::move(all));
                 });
    return result.get_future().get();
  }

  TempTree tree_;
  std::string content_;
  std::unique_ptr<SourceDir> source_;
  std::shared_ptr<const Catalogue> catalogue_;
  EntryId file_;
  std::unique_ptr<PlainReads> plain_;
};

TEST_F(PlainReadsTest, ReadsAnyPlaceAndEndsWhereTheFileDoes) {
  for (const uint64_t offset : {0, 1, 4095, 4097, 299'999, 300'000, 400'000}) {
    const std::string expected =
        offset < kFileBytes ? content_.substr(offset, 5000) : "";
    EXPECT_EQ(*Read(offset, 5000), expected) << offset;
  }
  EXPECT_EQ(plain_->reads(), 5u);
}

int ReaderThreads() {
  return ThreadsNamed("sfs-uring", 0) + ThreadsNamed("sfs-read", 0);
}

TEST_F(PlainReadsTest, TheFirstReadStartsTheReader) {
  // What an earlier case has joined is seen for a moment.
  for (int tries = 0; ReaderThreads() != 0 && tries < 1000; ++tries) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_EQ(ReaderThreads(), 0);
  EXPECT_EQ(*Read(kFileBytes, 1), "");
  EXPECT_EQ(ReaderThreads(), 0);
  EXPECT_EQ(Read(0, 1)->size(), 1u);
  EXPECT_EQ(ReaderThreads(), 1);
}

// A sanitizer ends the program where there is no memory.
#ifndef SHUFFLEFS_SANITIZED
// [S-9.2e] With too few threads or too little address space, a mount that needs
// more ends with a line that says so and status 1.
TEST_F(PlainReadsTest, WhoAsksReadsWhereThereIsNoMemoryForAReader) {
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_AS, &before), 0);
  const rlimit little = {uint64_t{1} << 24, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_AS, &little), 0);
  const absl::StatusOr<std::string> got = Read(4096, 10);
  const absl::StatusOr<std::string> end = Read(kFileBytes, 10);
  ASSERT_EQ(setrlimit(RLIMIT_AS, &before), 0);
  EXPECT_EQ(*got, content_.substr(4096, 10));
  EXPECT_EQ(*end, "");
  EXPECT_EQ(plain_->reads(), 1u);
  EXPECT_EQ(*Read(4096, 10), content_.substr(4096, 10));
  EXPECT_EQ(plain_->reads(), 2u);
  Change();
  EXPECT_EQ(ErrnoOf(Read(0, 10).status()), ESTALE);
}
#endif

TEST_F(PlainReadsTest, WhatIsCachedIsThereAtOnceOrByTheOtherWay) {
  std::string out(kFileBytes + 10, '\0');
  // Which way it is read depends on the file system of the test.
  const absl::optional<size_t> got =
      plain_->ReadAtOnce(file_, 0, absl::MakeSpan(out));
  if (got) {
    EXPECT_EQ(*got, kFileBytes);
    EXPECT_EQ(out.substr(0, kFileBytes), content_);
    EXPECT_EQ(plain_->bytes(), kFileBytes);
  } else {
    EXPECT_EQ(*Read(0, kFileBytes), content_);
  }
  EXPECT_EQ(plain_->ReadAtOnce(file_, kFileBytes, absl::MakeSpan(out)), 0u);
}

TEST_F(PlainReadsTest, AChangedFileIsAnErrorByEitherWay) {
  EXPECT_EQ(Read(0, 10)->size(), 10u);
  Change();
  std::string out(10, '\0');
  EXPECT_EQ(plain_->ReadAtOnce(file_, 0, absl::MakeSpan(out)), absl::nullopt);
  const absl::Status status = Read(0, 10).status();
  EXPECT_EQ(ErrnoOf(status), ESTALE) << status;
}

TEST_F(PlainReadsTest, WhatIsCountedStaysAfterTheEnd) {
  ASSERT_TRUE(Read(0, 4096).ok());
  const uint64_t reads = plain_->reads();
  plain_->Stop();
  EXPECT_EQ(plain_->reads(), reads);
}

}  // namespace
}  // namespace shufflefs
