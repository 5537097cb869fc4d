// SPDX-License-Identifier: Apache-2.0
// A producer over files in class folders, which reads from a source that the
// test drives.
#ifndef SHUFFLEFS_TESTS_CORE_POOL_SAMPLE_PRODUCER_FIXTURE_H_
#define SHUFFLEFS_TESTS_CORE_POOL_SAMPLE_PRODUCER_FIXTURE_H_

#include <memory>
#include <string>
#include <utility>

#include "core/pool/chunk_map.h"
#include "core/pool/sample_producer.h"
#include "gtest/gtest.h"
#include "policies/brand/group_binder.h"
#include "tests/core/base/temp_tree.h"
#include "tests/core/pool/held_source.h"
#include "tests/core/pool/test_memory.h"

namespace shufflefs::testing_support {

// Files of about `file_bytes` bytes in class folders, and a producer over them.
class SampleProducerTest : public testing::Test {
 protected:
  // What is still asked for keeps the producer, and the producer the source.
  void TearDown() override {
    for (int i = 0; source_ != nullptr && i < 100000; ++i) {
      if (!source_->Come(absl::CancelledError("over"))) break;
    }
  }

  virtual std::unique_ptr<Binder> MakeBinder(const BinderInput& input) {
    return std::make_unique<GroupBinder>(input);
  }

  void Make(int classes, int files, uint64_t file_bytes, uint64_t memory,
            uint32_t chunk = 8, bool shared = false) {
    for (int c = 0; c < classes; ++c) {
      for (int f = 0; f < files; ++f) {
        tree_.File("c" + std::to_string(c) + "/" +
                       std::to_string((f * 7919 + c * 13) % 100003) + ".jpg",
                   std::string(file_bytes + (f * 37 + c) % 101, 'x'));
      }
    }
    auto catalogue = std::make_shared<const Catalogue>(tree_.Scanned());
    ViewConfig config;
    config.substitute = Substitute::kDirectory;
    auto dataset = Dataset::Make(catalogue, config, "");
    ASSERT_TRUE(dataset.ok()) << dataset.status();
    dataset_ = *std::move(dataset);
    SampleProducer::Parts parts;
    parts.dataset = dataset_;
    memory_ = shared ? testing_support::SharedMemory(PoolBytes(memory))
                     : testing_support::TestMemory(PoolBytes(memory));
    parts.memory = memory_;
    auto input = std::make_unique<BinderInput>();
    input->grouping = &grouping();
    for (uint64_t s = 0; s < grouping().sample_count(); ++s) {
      input->bytes.push_back(Arena::Footprint(SizeOf(SampleId(s))));
    }
    input->chunks = ComposeMixedChunks(grouping(), dataset_->key(), chunk);
    input->dataset_key = dataset_->key();
    input->memory_bytes = parts.memory.guarantee;
    parts.binder = MakeBinder(*input);
    parts.input = std::move(input);
    auto source = std::make_unique<HeldSource>();
    source_ = source.get();
    parts.source = std::move(source);
    auto producer = SampleProducer::Make(std::move(parts));
    ASSERT_TRUE(producer.ok()) << producer.status();
    producer_ = *std::move(producer);
    producer_->BeginEpoch(Seed(1), Epoch(0), {});
  }

  const Grouping& grouping() const { return dataset_->grouping(); }
  EntryId FileOf(SampleId sample) const {
    return grouping().first_member(sample);
  }
  uint64_t SizeOf(SampleId sample) const {
    return dataset_->catalogue().attributes(FileOf(sample)).size;
  }

  struct Answer {
    bool there = false;
    absl::Status status;
    std::string bytes;
  };
  // Asks for a piece; the answer may come later.
  std::shared_ptr<Answer> Ask(EntryId file, uint64_t offset, uint64_t length) {
    auto answer = std::make_shared<Answer>();
    producer_->Read(file, offset, length,
                    [answer](absl::StatusOr<absl::Span<const iovec>> got) {
                      EXPECT_FALSE(answer->there) << "answered twice";
                      answer->there = true;
                      answer->status = got.status();
                      if (!got.ok()) return;
                      for (const iovec& piece : *got) {
                        answer->bytes.append(
                            static_cast<const char*>(piece.iov_base),
                            piece.iov_len);
                      }
                    });
    return answer;
  }
  void ExpectBytes(const Answer& answer, EntryId file, uint64_t offset,
                   uint64_t length) {
    ASSERT_TRUE(answer.there);
    ASSERT_TRUE(answer.status.ok()) << answer.status;
    ASSERT_EQ(answer.bytes.size(), length);
    for (uint64_t i = 0; i < length; ++i) {
      ASSERT_EQ(answer.bytes[i], ByteAt(file, offset + i)) << "at " << i;
    }
  }
  // Looks a name up, reads it whole and closes it.
  SampleId ReadName(SampleId name) {
    const SampleId shown = producer_->Bind(name);
    const uint64_t size = SizeOf(shown);
    const auto answer = Ask(FileOf(shown), 0, size);
    while (!answer->there && source_->Come()) {
    }
    ExpectBytes(*answer, FileOf(shown), 0, size);
    producer_->Close(FileOf(shown));
    return shown;
  }

  TempTree tree_;
  std::shared_ptr<const Dataset> dataset_;
  HeldSource* source_ = nullptr;
  PoolMemory memory_;
  std::shared_ptr<SampleProducer> producer_;
};

}  // namespace shufflefs::testing_support

#endif  // SHUFFLEFS_TESTS_CORE_POOL_SAMPLE_PRODUCER_FIXTURE_H_
