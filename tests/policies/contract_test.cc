// SPDX-License-Identifier: Apache-2.0
// What core/policy/policy.h promises of every policy, held against all of them
// with several options and sizes.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "core/dataset/block_map.h"
#include "core/random/permutation.h"
#include "core/random/random.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "policies/lirs.h"
#include "policies/registry.h"
#include "tests/examples/reverse_policy.h"

namespace shufflefs {
namespace {

using ::testing::ElementsAre;

constexpr uint64_t kSizes[] = {0, 1, 2, 3, 10, 1000, 10007};

struct Case {
  std::string label;
  std::string policy;
  PolicyOptions options;
};

// The policies of the product, and an example of one that is added.
absl::StatusOr<std::unique_ptr<const Policy>> Make(
    const std::string& name, const PolicyOptions& options) {
  std::vector<const PolicyEntry*> all(OwnPolicies().begin(),
                                      OwnPolicies().end());
  all.push_back(&kReverseEntry);
  return MakePolicy(all, name, options);
}

PolicyOptions Page(uint64_t page, uint64_t batch) {
  PolicyOptions options;
  options.Set("lirs.unit", "page");
  options.Set("lirs.page", page);
  options.Set("lirs.batch", batch);
  return options;
}

PolicyOptions Window(uint64_t samples) {
  PolicyOptions options;
  options.Set("window.samples", samples);
  return options;
}

// Every registered policy with its defaults, and the options that change what
// it does.
std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (absl::string_view name : PolicyNames()) {
    cases.push_back({std::string(name), std::string(name), {}});
  }
  for (uint64_t batch : {0, 1, 4, 100, 1 << 30}) {
    for (uint64_t page : {4096, 65536, 1 << 24}) {
      cases.push_back({"lirs_page_" + std::to_string(page) + "_batch_" +
                           std::to_string(batch),
                       "lirs", Page(page, batch)});
    }
  }
  for (uint64_t samples : {1, 2, 100, 1 << 30}) {
    cases.push_back(
        {"window_" + std::to_string(samples), "window", Window(samples)});
  }
  cases.push_back({"reverse", "reverse", {}});
  PolicyOptions skip;
  skip.Set("reverse.skip", 7);
  cases.push_back({"reverse_skip", "reverse", skip});
  return cases;
}

// Files of 0 to 9000 bytes, laid out in an order of their own.
BlockMap MakeBlocks(uint64_t size, uint64_t block_bytes) {
  Rng rng((RandomKey(size)));
  const Permutation layout(size, RandomKey(size));
  std::vector<uint64_t> addresses(size);
  uint64_t at = 0;
  for (uint64_t i = 0; i < size; ++i) {
    addresses[layout(i)] = at;
    at += rng.Bounded(9001);
  }
  return *BlockMap::Build(addresses, block_bytes);
}

// A stratum with the blocks that a policy asks for.
class Data {
 public:
  Data(const Policy& policy, uint64_t size)
      : blocks_(MakeBlocks(
            size, policy.wants_blocks() ? policy.block_bytes() : 4096)) {
    stratum_.key = 77;
    stratum_.size = size;
    stratum_.blocks = policy.wants_blocks() ? &blocks_ : nullptr;
  }
  const Stratum& stratum() const { return stratum_; }
  const BlockMap& blocks() const { return blocks_; }

 private:
  const BlockMap blocks_;
  Stratum stratum_;
};

std::vector<uint64_t> Walk(const Order& order) {
  std::vector<uint64_t> out(order.size());
  for (uint64_t i = 0; i < order.size(); ++i) out[i] = order.SampleAt(i);
  return out;
}

// Empty if `order` is a bijection of [0, size) with its inverse.
std::string Defect(const Order& order, uint64_t size) {
  if (order.size() != size) return "wrong size";
  std::vector<bool> seen(size);
  for (uint64_t i = 0; i < size; ++i) {
    const uint64_t sample = order.SampleAt(i);
    if (sample >= size) return "out of range at " + std::to_string(i);
    if (seen[sample]) return "twice: " + std::to_string(sample);
    if (order.PositionOf(sample) != i) {
      return "wrong inverse of " + std::to_string(sample);
    }
    seen[sample] = true;
  }
  return "";
}

class PolicyContractTest : public ::testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    auto made = Make(GetParam().policy, GetParam().options);
    ASSERT_TRUE(made.ok()) << made.status();
    policy_ = *std::move(made);
  }
  std::vector<uint64_t> OrderOf(const Data& data, uint64_t seed,
                                uint64_t epoch) const {
    return Walk(*policy_->MakeOrder(data.stratum(), Seed(seed), Epoch(epoch)));
  }
  std::vector<uint64_t> ListingOf(const Data& data, uint64_t seed,
                                  uint64_t epoch) const {
    return Walk(
        *policy_->MakeListing(data.stratum(), Seed(seed), Epoch(epoch)));
  }
  // Whether a policy that shuffles has anything to shuffle with.
  bool Shuffles() const {
    return policy_->consumption() != Consumption::kSource &&
           !(GetParam().policy == "window" && GetParam().label == "window_1");
  }

  // Whether all epochs have one order.
  bool IsFixed() const { return GetParam().policy == "reverse"; }

  std::unique_ptr<const Policy> policy_;
};

TEST_P(PolicyContractTest, OrderAndListingAreBijections) {
  for (uint64_t size : kSizes) {
    const Data data(*policy_, size);
    for (uint64_t seed : {0, 1, 12345}) {
      for (uint64_t epoch : {0, 1, 1000000}) {
        const auto order =
            policy_->MakeOrder(data.stratum(), Seed(seed), Epoch(epoch));
        ASSERT_EQ(Defect(*order, size), "") << size;
        const auto listing =
            policy_->MakeListing(data.stratum(), Seed(seed), Epoch(epoch));
        ASSERT_EQ(Defect(*listing, size), "") << "listing of " << size;
      }
    }
  }
}

TEST_P(PolicyContractTest, InverseMayBeAskedFirst) {
  const Data data(*policy_, 1000);
  const auto by_position =
      policy_->MakeOrder(data.stratum(), Seed(1), Epoch(1));
  const auto by_sample = policy_->MakeOrder(data.stratum(), Seed(1), Epoch(1));
  for (uint64_t s = 0; s < 1000; ++s) {
    ASSERT_EQ(by_position->SampleAt(by_sample->PositionOf(s)), s);
  }
}

TEST_P(PolicyContractTest, TheSameSeedAndEpochGiveTheSameOrder) {
  for (uint64_t size : kSizes) {
    const Data data(*policy_, size);
    const Data again(*policy_, size);
    const auto other = *Make(GetParam().policy, GetParam().options);
    EXPECT_EQ(Walk(*other->MakeOrder(again.stratum(), Seed(3), Epoch(9))),
              OrderOf(data, 3, 9));
    EXPECT_EQ(Walk(*other->MakeListing(again.stratum(), Seed(3), Epoch(9))),
              ListingOf(data, 3, 9));
  }
}

TEST_P(PolicyContractTest, SeedEpochAndStratumEachChangeTheOrder) {
  for (uint64_t size : {1000, 10007}) {
    const Data data(*policy_, size);
    Stratum other_key = data.stratum();
    other_key.key = 78;
    const auto order = OrderOf(data, 3, 9);
    std::vector<uint64_t> source(size);
    std::iota(source.begin(), source.end(), 0);
    if (!Shuffles()) {
      EXPECT_EQ(order, source);
      EXPECT_EQ(OrderOf(data, 3, 10), source);
      continue;
    }
    EXPECT_NE(order, source);
    if (IsFixed()) {
      EXPECT_EQ(order, OrderOf(data, 4, 10));
      continue;
    }
    EXPECT_NE(order, OrderOf(data, 3, 10));
    EXPECT_NE(order, OrderOf(data, 4, 9));
    EXPECT_NE(order, OrderOf(data, 9, 3));
    EXPECT_NE(order, Walk(*policy_->MakeOrder(other_key, Seed(3), Epoch(9))));
  }
}

TEST_P(PolicyContractTest, ListingsDifferBetweenEpochs) {
  const Data data(*policy_, 10007);
  int changes = 0;
  for (uint64_t epoch = 0; epoch < 10; ++epoch) {
    changes += ListingOf(data, 3, epoch) != ListingOf(data, 3, epoch + 1);
  }
  if (policy_->consumption() == Consumption::kSource) {
    EXPECT_EQ(changes, 0);
  } else {
    // A rotation of few batches may repeat now and then.
    EXPECT_GE(changes, 4);
  }
}

TEST_P(PolicyContractTest, TheStreamsOfOrderAndListingAreNotTheSame) {
  if (policy_->consumption() == Consumption::kSource) return;
  const Data data(*policy_, 10007);
  EXPECT_NE(OrderOf(data, 3, 9), ListingOf(data, 3, 9));
}

// A reader that holds W blocks loads every block once. Also with
// the listing's rotation in front.
TEST_P(PolicyContractTest, BlocksStayTogether) {
  if (!policy_->wants_blocks()) return;
  const uint64_t batch =
      std::max<uint64_t>(1, LirsOptions::Of(GetParam().options).batch);
  for (uint64_t size : {10, 1000, 10007}) {
    const Data data(*policy_, size);
    const BlockMap& blocks = data.blocks();
    const auto order = OrderOf(data, 3, 9);
    const auto listing = ListingOf(data, 3, 9);
    std::vector<uint64_t> left(blocks.block_count());
    std::vector<uint64_t> open;  // blocks of the batch being supplied
    for (uint64_t b = 0; b < left.size(); ++b) left[b] = blocks.size(b);
    for (uint64_t i = 0; i < size; ++i) {
      const uint64_t block =
          blocks.BlockOfPlace(blocks.PlaceOf(order[listing[i]]));
      ASSERT_GT(left[block], 0u);
      if (left[block]-- == blocks.size(block)) open.push_back(block);
      // Blocks are forgotten together, when the batch has been supplied.
      ASSERT_LE(open.size(), batch) << "position " << i << " of " << size;
      bool all_done = true;
      for (uint64_t b : open) all_done = all_done && left[b] == 0;
      if (all_done) open.clear();
    }
    ASSERT_TRUE(open.empty());
  }
}

INSTANTIATE_TEST_SUITE_P(All, PolicyContractTest, ::testing::ValuesIn(Cases()),
                         [](const auto& info) { return info.param.label; });

std::vector<uint64_t> Golden(const std::string& name,
                             const PolicyOptions& options, bool listing) {
  const auto policy = *MakePolicy(name, options);
  // Three samples to a page of 4 KiB, the last page has one.
  const auto blocks = *BlockMap::Build(
      {0, 1000, 2000, 5000, 6000, 7000, 9000, 10000, 11000, 13000}, 4096);
  const Stratum stratum = {
      .key = 5,
      .size = 10,
      .blocks = policy->wants_blocks() ? &blocks : nullptr};
  const auto order = listing ? policy->MakeListing(stratum, Seed(1), Epoch(3))
                             : policy->MakeOrder(stratum, Seed(1), Epoch(2));
  return Walk(*order);
}

// Computed by a separate program written from the text of the headers.
TEST(PolicyGoldenTest, Orders) {
  const PolicyOptions defaults;
  EXPECT_THAT(Walk(*(*Make("reverse", defaults))
                        ->MakeOrder({.key = 5, .size = 4}, Seed(1), Epoch(2))),
              ElementsAre(3, 2, 1, 0));
  EXPECT_THAT(Golden("native", {}, false),
              ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9));
  EXPECT_THAT(Golden("lirs", {}, false),
              ElementsAre(1, 0, 2, 3, 7, 5, 6, 8, 4, 9));
  EXPECT_THAT(Golden("lirs", Page(4096, 0), false),
              ElementsAre(0, 2, 1, 5, 4, 3, 9, 6, 7, 8));
  EXPECT_THAT(Golden("lirs", Page(4096, 2), false),
              ElementsAre(1, 0, 3, 5, 4, 2, 7, 8, 6, 9));
  EXPECT_THAT(Golden("window", Window(4), false),
              ElementsAre(0, 2, 4, 3, 1, 8, 7, 9, 6, 5));
}

TEST(PolicyGoldenTest, AWindowOfRecordsHasABlockAtLeast) {
  EXPECT_EQ((*Make("lirs", {}))->record_blocks().window, 1u);
  EXPECT_EQ((*Make("lirs", Page(4096, 0)))->record_blocks().window, 1u);
  EXPECT_EQ((*Make("lirs", Page(4096, 3)))->record_blocks().window, 3u);
}

TEST(PolicyGoldenTest, Listings) {
  EXPECT_THAT(Golden("native", {}, true),
              ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9));
  EXPECT_THAT(Golden("lirs", {}, true),
              ElementsAre(5, 0, 2, 4, 6, 1, 8, 7, 3, 9));
  EXPECT_THAT(Golden("lirs", Page(4096, 0), true),
              ElementsAre(6, 7, 8, 9, 0, 1, 2, 3, 4, 5));
  EXPECT_THAT(Golden("lirs", Page(4096, 2), true),
              ElementsAre(6, 7, 8, 9, 0, 1, 2, 3, 4, 5));
  EXPECT_THAT(Golden("window", Window(4), true),
              ElementsAre(5, 6, 7, 8, 9, 0, 1, 2, 3, 4));
}

}  // namespace
}  // namespace shufflefs
