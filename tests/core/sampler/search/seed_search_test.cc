// SPDX-License-Identifier: Apache-2.0
// A search of all 2^32 seeds takes minutes. So these tests search slices around
// the seed that they hid. seed_search_bench times the whole search.
#include "core/sampler/search/seed_search.h"

#include <algorithm>
#include <string>

#include "core/random/random.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/torch_loaders.h"

namespace shufflefs {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const std::atomic<bool> kGoOn = false;

// The query of an epoch whose workers have opened so many files each.
SeedQuery QueryOf(const std::vector<uint32_t>& order, const Dealing& dealing,
                  uint64_t opens) {
  SeedQuery query;
  query.n = static_cast<uint32_t>(order.size());
  query.streams = dealing.Deal(order);
  for (auto& stream : query.streams) {
    stream.resize(std::min<size_t>(stream.size(), opens));
  }
  // Workers come in no order.
  std::reverse(query.streams.begin(), query.streams.end());
  return query;
}

SeedQuery QueryOf(uint32_t n, uint32_t seed, const Dealing& dealing) {
  const uint64_t streams = std::max(1U, dealing.workers);
  return QueryOf(TorchRandperm(n, seed), dealing,
                 SeedSearch::OpensNeeded(n, streams));
}

TEST(RandpermHeadTest, IsTheHeadOfThePermutation) {
  for (const uint32_t n : {1, 2, 3, 50, 1000, 70000}) {
    RandpermHead head(std::min(n, 700U));
    for (const uint64_t seed : {0, 42, 4711}) {
      const std::vector<uint32_t> whole = TorchRandperm(n, seed);
      head.Restart(n, seed);
      for (uint32_t i = 0; i < std::min(n, 700U); ++i) {
        ASSERT_EQ(head.Next(), whole[i]) << n << " " << seed << " " << i;
      }
    }
  }
}

// Without the filter's arithmetic: every seed of a block by the full model.
TEST(SeedKernelTest, AllFormsGiveWhatTheGeneratorGives) {
  for (const uint32_t n : {2, 7, 96, 1000, 4096, 1281167}) {
    for (const uint32_t before : {0, 2, 200}) {
      SeedQuery query = {.n = n, .streams = {{n / 2}, {n - 1}}};
      query.outputs_before = before;
      const SeedSearch search(query);
      for (const uint32_t begin : {0U, 0x7FFFFF80U, 0xFFFFFF80U}) {
        std::vector<std::vector<SeedHit>> found;
        for (const SeedKernel kernel : SeedKernels()) {
          std::vector<SeedHit> hits(kSeedBlock);
          hits.resize(FunctionOf(kernel)(search.filter(), begin, hits.data()));
          found.push_back(hits);
        }
        std::vector<SeedHit> expected;
        for (uint32_t i = 0; i < kSeedBlock; ++i) {
          TorchGenerator generator(begin + i);
          generator.Discard(before);
          const uint32_t first = generator.Random();
          const uint32_t rest = first % n;
          if (rest != n / 2 && rest != n - 1) continue;
          expected.push_back({begin + i, first, generator.Random()});
        }
        for (const auto& hits : found) {
          ASSERT_THAT(hits, testing::Pointwise(testing::Eq(), expected));
        }
      }
    }
  }
}

TEST(SeedSearchTest, FindsTheSeedInEveryForm) {
  const SeedSearch search(QueryOf(50000, 123456789, {}));
  for (const SeedKernel kernel : SeedKernels()) {
    EXPECT_THAT(search.Slice(123400000, 123500000, kGoOn, kernel),
                ElementsAre(123456789));
  }
}

TEST(SeedSearchTest, FindsTheSeedThroughInterleavedWorkers) {
  for (const uint32_t n : {1000, 4096, 65536, 1281167}) {
    for (const uint32_t workers : {1, 2, 8}) {
      for (const uint32_t batch : {1, 2, 16}) {
        const uint32_t seed = n * 3203 + workers * 77 + batch;
        const Dealing dealing = {.batch = batch, .workers = workers};
        const SeedSearch search(QueryOf(n, seed, dealing));
        EXPECT_THAT(search.Slice(seed - 5000, seed + 5000, kGoOn),
                    ElementsAre(seed))
            << n << " " << workers << " " << batch;
      }
    }
  }
}

TEST(SeedSearchTest, FindsTheSeedOfAGeneratorThatDrewBefore) {
  TorchGenerator generator(2026);
  generator.Random64();
  SeedQuery query = QueryOf(TorchRandperm(5000, generator), {}, 20);
  query.outputs_before = 2;
  EXPECT_THAT(SeedSearch(query).Slice(0, 10000, kGoOn), ElementsAre(2026));
}

TEST(SeedSearchTest, SlicesAreExact) {
  const SeedSearch search(QueryOf(1000, 1000001, {}));
  EXPECT_THAT(search.Slice(1000001, 1000002, kGoOn), ElementsAre(1000001));
  EXPECT_THAT(search.Slice(1000002, 1001000, kGoOn), IsEmpty());
  EXPECT_THAT(search.Slice(999000, 1000001, kGoOn), IsEmpty());
  const SeedSearch last(QueryOf(1000, 0xFFFFFFFF, {}));
  EXPECT_THAT(last.Slice(0xFFFFFFF0, SeedSearch::kSeeds, kGoOn),
              ElementsAre(0xFFFFFFFF));
}

TEST(SeedSearchTest, FindsNothingInAnOrderOfNoSeed) {
  const SeedSearch search(QueryOf(SequentialOrder(1000), {}, 20));
  EXPECT_THAT(search.Slice(0, 1 << 18, kGoOn), IsEmpty());
}

TEST(SeedSearchTest, Stops) {
  const std::atomic<bool> stop = true;
  const SeedSearch search(QueryOf(1000, 5, {}));
  EXPECT_THAT(search.Slice(0, SeedSearch::kSeeds, stop), IsEmpty());
}

TEST(SeedSearchTest, SaysHowManyOpensItNeeds) {
  EXPECT_EQ(SeedSearch::OpensNeeded(2000000, 1), 3U);
  EXPECT_EQ(SeedSearch::OpensNeeded(1000, 1), 6U);
  EXPECT_EQ(SeedSearch::OpensNeeded(1000, 8), 8U);
  EXPECT_EQ(SeedSearch::OpensNeeded(10, 1), 0U);
  EXPECT_EQ(SeedSearch::OpensNeeded(10, 6), 0U);
}

}  // namespace
}  // namespace shufflefs
