// SPDX-License-Identifier: Apache-2.0
// What other nodes read and take of a producer, and what stays for the next
// epoch.
#include <cstdint>
#include <vector>

#include "gtest/gtest.h"
#include "tests/core/pool/sample_producer_fixture.h"

namespace shufflefs {
namespace {

using testing_support::ByteAt;
using SampleProducerShared = testing_support::SampleProducerTest;

// Another node does not say that it closes a file. What it leaves unread must
// not fill the memory.
TEST_F(SampleProducerShared, FilesThatOthersReadInPartLeave) {
  Make(2, 400, 12000, 4 << 20);
  for (uint64_t name = 0; name < grouping().sample_count(); ++name) {
    const EntryId file = FileOf(producer_->Bind(SampleId(name * 7 % 800)));
    bool there = false;
    producer_->ReadForOthers(file, 0, 4096,
                             [&](const auto& got) { there = got.ok(); });
    while (!there && source_->Come()) {
    }
    ASSERT_TRUE(there);
  }
  EXPECT_LT(producer_->status().bypass, grouping().sample_count() / 10);
}

// The memory is the pool's until the other node has it, and counts so long.
TEST_F(SampleProducerShared, WhatOthersReadIsNotCopied) {
  Make(1, 40, 12000, 16 << 20);
  std::vector<SampleProducer::HeldBytes> held;
  for (uint64_t name = 0; name < grouping().sample_count(); ++name) {
    const EntryId file = FileOf(producer_->Bind(SampleId(name)));
    const SampleId sample = grouping().sample(file);
    producer_->ReadForOthers(
        file, 0, SizeOf(sample),
        [&](absl::StatusOr<SampleProducer::HeldBytes> got) {
          ASSERT_TRUE(got.ok()) << got.status();
          held.push_back(*std::move(got));
        });
    source_->ComeAll();
    ASSERT_EQ(held.size(), name + 1);
    ASSERT_NE(held.back().owner, nullptr);
    producer_->Close(file);
    EXPECT_EQ(*static_cast<const char*>(held.back().pieces[0].iov_base),
              ByteAt(file, 0));
  }
}

// What is not in memory makes no answer wait.
TEST_F(SampleProducerShared, OthersTakeWhatIsInMemory) {
  Make(2, 100, 12000, 16 << 20);
  const SampleId first = producer_->Bind(SampleId(3));
  EXPECT_FALSE(producer_->TakeForOthers(first, 1 << 20));
  ReadName(SampleId(4));
  source_->ComeAll();
  uint64_t taken = 0;
  for (uint64_t name = 0; name < grouping().sample_count(); ++name) {
    if (name == 4) continue;
    const SampleId sample = producer_->Bind(SampleId(name));
    const EntryId file = FileOf(sample);
    EXPECT_FALSE(producer_->TakeForOthers(sample, SizeOf(sample) - 1));
    const auto bytes = producer_->TakeForOthers(sample, SizeOf(sample));
    ASSERT_TRUE(bytes) << name;
    uint64_t at = 0;
    for (const iovec& piece : bytes->pieces) {
      const auto* run = static_cast<const char*>(piece.iov_base);
      for (uint64_t i = 0; i < piece.iov_len; ++i) {
        ASSERT_EQ(run[i], ByteAt(file, at++));
      }
    }
    EXPECT_EQ(at, SizeOf(sample));
    ++taken;
  }
  EXPECT_EQ(taken, grouping().sample_count() - 1);
  source_->ComeAll();
  EXPECT_EQ(source_->bytes_read(), dataset_->catalogue().total_bytes());
}

// It was read by the node that took it, and makes room for others.
TEST_F(SampleProducerShared, WhatOthersTakeLeaves) {
  Make(2, 400, 12000, 4 << 20);
  ReadName(SampleId(0));
  uint64_t taken = 0;
  for (uint64_t name = 1; name < grouping().sample_count(); ++name) {
    source_->ComeAll();
    const SampleId sample = producer_->Bind(SampleId(name * 7 % 800));
    if (producer_->TakeForOthers(sample, 1 << 20)) {
      ++taken;
    } else {
      producer_->ReadForOthers(FileOf(sample), 0, SizeOf(sample),
                               [](const auto&) {});
    }
  }
  EXPECT_GT(taken, grouping().sample_count() * 9 / 10);
  EXPECT_LT(producer_->status().bypass, grouping().sample_count() / 20);
}

// A sample of the next epoch, or of none, is nobody's yet.
TEST_F(SampleProducerShared, NobodyTakesWhatNoNameShows) {
  Make(2, 100, 12000, 16 << 20);
  ReadName(SampleId(0));
  source_->ComeAll();
  for (uint64_t s = 0; s < grouping().sample_count(); ++s) {
    if (producer_->NameOf(SampleId(s))) continue;
    EXPECT_FALSE(producer_->TakeForOthers(SampleId(s), 1 << 20));
  }
}

// Of more than is asked for at a time, too: what is shown before all is there.
TEST_F(SampleProducerShared, WhatFitsIsReadOnceThoughTheSourceIsSlow) {
  Make(4, 100, 120000, 64 << 20);
  for (uint64_t epoch = 0; epoch < 2; ++epoch) {
    if (epoch > 0) producer_->BeginEpoch(Seed(1), Epoch(epoch), {});
    for (uint64_t name = 0; name < grouping().sample_count(); ++name) {
      const SampleId shown =
          producer_->Bind(SampleId((name * 7 + epoch) % 400));
      const auto answer = Ask(FileOf(shown), 0, SizeOf(shown));
      while (!answer->there && source_->Come()) {
      }
      ASSERT_TRUE(answer->status.ok());
      producer_->Close(FileOf(shown));
    }
  }
  source_->ComeAll();
  EXPECT_EQ(source_->bytes_read(), dataset_->catalogue().total_bytes());
  EXPECT_EQ(producer_->status().bypass, 0u);
}

}  // namespace
}  // namespace shufflefs
