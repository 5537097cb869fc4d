// SPDX-License-Identifier: Apache-2.0
// A producer that planned a chunk, and then finds no memory for all of it.
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "policies/brand/group_binder.h"
#include "tests/core/pool/sample_producer_fixture.h"

namespace shufflefs {
namespace {

using testing_support::SampleProducerTest;

// Tells when it has said what to fetch, before there is memory for it.
class TellingBinder : public GroupBinder {
 public:
  using Told = std::function<void(uint64_t bytes)>;
  TellingBinder(const BinderInput& input, Told told)
      : GroupBinder(input), bytes_(input.bytes), told_(std::move(told)) {}

  std::vector<SampleId> NextFetch(uint64_t room) override {
    std::vector<SampleId> samples = GroupBinder::NextFetch(room);
    uint64_t bytes = 0;
    for (const SampleId sample : samples) bytes += bytes_[sample.value()];
    if (bytes > 0) told_(bytes);
    return samples;
  }

 private:
  const std::vector<uint64_t> bytes_;
  const Told told_;
};

class SampleProducerShortTest : public SampleProducerTest {
 protected:
  std::unique_ptr<Binder> MakeBinder(const BinderInput& input) override {
    return std::make_unique<TellingBinder>(
        input, [this](uint64_t bytes) { Planned(bytes); });
  }
  // A neighbour comes just when the producer is about to borrow.
  void Planned(uint64_t bytes) {
    if (came_ || memory_.pool->used() + bytes <= memory_.guarantee) return;
    came_ = true;
    neighbour_ = *memory_.pool->Open({.name = "neighbour",
                                      .guarantee = memory_.guarantee,
                                      .most = memory_.guarantee});
    neighbour_->Room();
  }

  bool came_ = false;
  std::unique_ptr<PoolShare> neighbour_;
};

// It never was on its way. If the binder went on to count it as such, every
// later epoch would show it as if it were in memory.
TEST_F(SampleProducerShortTest, WhatFoundNoMemoryIsNotOnItsWay) {
  Make(4, 300, 12000, 6 << 20, 8, /*shared=*/true);
  ReadName(SampleId(0));
  ASSERT_TRUE(came_);
  neighbour_.reset();
  for (uint64_t name = 1; name < grouping().sample_count(); ++name) {
    ReadName(SampleId(name));
  }
  for (uint64_t epoch = 1; epoch < 3; ++epoch) {
    producer_->BeginEpoch(Seed(1), Epoch(epoch), {});
    for (uint64_t name = 0; name < grouping().sample_count(); ++name) {
      source_->ComeAll();
      const bool ready = producer_->IsReady(SampleId(name));
      const SampleId shown = producer_->Bind(SampleId(name));
      const auto answer = Ask(FileOf(shown), 0, SizeOf(shown));
      EXPECT_TRUE(answer->there || !ready) << "epoch " << epoch;
      source_->ComeAll();
      ExpectBytes(*answer, FileOf(shown), 0, SizeOf(shown));
      producer_->Close(FileOf(shown));
    }
  }
}

}  // namespace
}  // namespace shufflefs
