// SPDX-License-Identifier: Apache-2.0
// Who owns the names of an epoch that several nodes share.
#include "core/binding/nodes/epoch_share.h"

#include <set>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace shufflefs {
namespace {

using ::testing::ElementsAre;

class EpochShareTest : public testing::Test {
 protected:
  static constexpr uint32_t kSamples = 60;

  EpochShareTest() : grouping_(Grouping::WithoutFiles({kSamples / 2, 30})) {
    for (uint32_t s = 0; s < kSamples; s += 2) chunks_.push_back({s, s + 1});
  }

  std::shared_ptr<const EpochShare> Share(const NameSharing& sharing,
                                          const EpochShare* before = nullptr) {
    return EpochShare::Make({.grouping = &grouping_,
                             .chunks = &chunks_,
                             .dataset_key = 5,
                             .passes = true},
                            sharing, before);
  }
  static NameSharing Of(const std::string& self,
                        std::vector<NameBinding> known = {}) {
    NameSharing sharing;
    sharing.members = {"a", "b", "c"};
    sharing.self = self;
    sharing.known = std::move(known);
    return sharing;
  }

  const Grouping grouping_;
  NodeShares::Chunks chunks_;
};

TEST_F(EpochShareTest, NothingIsSharedByNobodyOrOfWhatContradictsItself) {
  EXPECT_EQ(Share(NameSharing()), nullptr);
  EXPECT_EQ(Share(Of("a", {{1, 2}, {1, 3}})), nullptr);
  NameSharing many = Of("a");
  many.members.resize(NodeShares::kMostNodes + 1);
  EXPECT_EQ(Share(many), nullptr);
}

TEST_F(EpochShareTest, AllFindTheSameOwnersAndOneNodeIsEach) {
  const auto a = Share(Of("a", {{3, 7}, {40, 40}}));
  const auto b = Share(Of("b", {{3, 7}, {40, 40}}));
  const auto other = Share(Of("elsewhere", {{3, 7}, {40, 40}}));
  EXPECT_EQ(a->self, 0u);
  EXPECT_EQ(b->self, 1u);
  EXPECT_EQ(other->self, 3u) << "it is no member";
  std::set<uint64_t> partners;
  for (uint64_t n = 0; n < kSamples; ++n) {
    const SharedName name = a->Named(SampleId(n));
    EXPECT_EQ(name.owner, b->Named(SampleId(n)).owner);
    EXPECT_EQ(name.owner, other->Named(SampleId(n)).owner);
    EXPECT_EQ(name.owner, a->nodes->OwnerOf(name.partner));
    EXPECT_EQ(a->NameOfPartner(name.partner), SampleId(n));
    partners.insert(name.partner.value());
  }
  EXPECT_EQ(partners.size(), kSamples);
}

// So no node has more names than samples, whatever is known of them.
TEST_F(EpochShareTest, WhatAllKnowIsItsNamesPartner) {
  const auto plain = Share(Of("a"));
  const auto share = Share(Of("a", {{3, 7}, {8, 3}}));
  EXPECT_EQ(share->Named(SampleId(3)).partner, SampleId(7));
  EXPECT_EQ(share->Named(SampleId(8)).partner, SampleId(3));
  std::vector<uint32_t> names(3);
  for (uint64_t n = 0; n < kSamples; ++n) {
    ++names[share->Named(SampleId(n)).owner];
  }
  for (uint32_t node = 0; node < 3; ++node) {
    EXPECT_EQ(names[node], plain->nodes->CountOf(node));
  }
}

TEST_F(EpochShareTest, EachChunkIsOfOneNode) {
  std::vector<uint32_t> all;
  for (const char* const self : {"a", "b", "c"}) {
    for (const uint32_t chunk : Share(Of(self))->OwnChunks(chunks_)) {
      all.push_back(chunk);
    }
  }
  EXPECT_EQ(all.size(), chunks_.size());
  EXPECT_EQ(std::set<uint32_t>(all.begin(), all.end()).size(), all.size());
  EXPECT_TRUE(Share(Of("elsewhere"))->OwnChunks(chunks_).empty());
}

TEST_F(EpochShareTest, AnEpochOfAsManyNodesTakesTheTablesOver) {
  const auto first = Share(Of("a"));
  const auto next = Share(Of("a", {{3, 7}}), first.get());
  EXPECT_EQ(next->nodes, first->nodes);
  EXPECT_EQ(next->own_counts, first->own_counts);
  const auto moved = Share(Of("b"), first.get());
  EXPECT_EQ(moved->nodes, first->nodes);
  EXPECT_NE(moved->own_counts, first->own_counts);
  NameSharing fewer = Of("a");
  fewer.members.pop_back();
  EXPECT_NE(Share(fewer, first.get())->nodes, first->nodes);
  EXPECT_THAT(Share(fewer, first.get())->members, ElementsAre("a", "b"));
}

}  // namespace
}  // namespace shufflefs
