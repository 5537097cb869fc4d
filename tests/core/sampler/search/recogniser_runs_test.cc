// SPDX-License-Identifier: Apache-2.0
// The recogniser follows 80 random jobs, from 100 to 2,000,000 files, or 200 in
// a soak test. Every claim must be right. Of the jobs over at least 1,000 files
// that can be recognised, 99 % must be. A search of all 2^32 seeds takes
// minutes, so the tests search the 2^18 seeds around the right one. That the
// rest yield nothing follows from the certainty that SeedSearch::OpensNeeded
// demands.
#include <cmath>
#include <string>

#include "core/sampler/search/recogniser.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/sampler/loader_simulation.h"
#include "tests/testing/effort.h"
#include "tests/testing/torch_loaders.h"

namespace shufflefs {
namespace {

const uint64_t kRuns = testing_support::SoakRounds<uint64_t>(8, 20);  // a case
constexpr uint64_t kMostOpens = 6000;
constexpr uint64_t kWindow = uint64_t{1} << 18;  // seeds that are searched
const std::atomic<bool> kGoOn = false;

struct RandomJob {
  uint32_t n = 0;
  Dealing dealing;
  uint32_t world = 1;
  std::string what;
  bool knowable = true;
  uint32_t searched = 0;  // the seed to be found by a search; 0: none
  std::vector<uint32_t> permutation;
  std::vector<std::vector<uint32_t>> ranks;  // those that read here
};

uint64_t AnyOf(const std::vector<uint64_t>& values, Rng& rng) {
  return values[rng.Bounded(values.size())];
}

void ChooseOrder(RandomJob& job, Rng& rng) {
  job.permutation = SequentialOrder(job.n);
  switch (rng.Bounded(9)) {
    case 0:
      job.what = "sorted";
      break;
    case 1:
    case 2:
    case 3: {
      job.what = "distributed";
      const uint64_t seed = AnyOf({0, 1, 42, 1234, 1337, 2024, 3407}, rng);
      job.permutation = TorchRandperm(job.n, seed + rng.Bounded(10001));
      break;
    }
    case 4: {
      job.what = "early epoch";
      job.world = 1;
      LoaderEpochs epochs({.seed = AnyOf({0, 7, 42, 123456}, rng)});
      for (uint64_t skip = rng.Bounded(10); skip > 0; --skip) epochs.NextSeed();
      job.permutation = epochs.NextOrder(job.n);
      break;
    }
    case 5:
    case 6:
      job.what = "random";
      job.world = 1;
      job.searched = static_cast<uint32_t>(rng.Next() | 1);
      job.permutation = TorchRandperm(job.n, job.searched);
      break;
    case 7:
      job.what = "with replacement";
      job.knowable = false;
      for (uint32_t& index : job.permutation) {
        index = static_cast<uint32_t>(rng.Bounded(job.n));
      }
      break;
    default:
      job.what = "none of torch";
      job.knowable = false;
      for (uint32_t i = job.n; i > 1; --i) {
        std::swap(job.permutation[i - 1], job.permutation[rng.Bounded(i)]);
      }
  }
}

RandomJob MakeJob(Rng& rng) {
  RandomJob job;
  const double power = static_cast<double>(rng.Bounded(1000)) / 999;
  job.n = static_cast<uint32_t>(100 * std::pow(20000, power));
  const double batch = static_cast<double>(rng.Bounded(1000)) / 999;
  job.dealing = {.batch = static_cast<uint32_t>(std::pow(512, batch)),
                 .workers = static_cast<uint32_t>(rng.Bounded(9))};
  job.world = static_cast<uint32_t>(1 + rng.Bounded(8));
  ChooseOrder(job, rng);
  const bool all_here = rng.Bounded(2) == 0;
  const uint32_t here = static_cast<uint32_t>(rng.Bounded(job.world));
  for (uint32_t rank = 0; rank < job.world; ++rank) {
    if (!all_here && rank != here) continue;
    const DistributedSampler sampler = {
        .n = job.n, .world = job.world, .rank = rank};
    job.ranks.push_back(sampler.Order(job.permutation));
  }
  return job;
}

// Feeds the recogniser and looks at every claim: a wrong one may stand for at
// most 100 opens. Returns whether the right one stands at the end of the epoch.
bool IsRecognised(const RandomJob& job, Rng& rng) {
  Recogniser recogniser({.n = job.n});
  bool searched = false;
  const OrderClaim* looked_at = nullptr;
  bool right = false;
  uint64_t wrong = 0;  // opens since a wrong claim
  for (const auto& open : OpensOf(job.ranks, job.dealing, kMostOpens, rng)) {
    recogniser.Opened(open.index, open.thread);
    while (recogniser.Work()) {
    }
    if (const auto query = recogniser.Query();
        query.has_value() && job.searched != 0 && !searched) {
      searched = true;
      const uint64_t begin = job.searched - job.searched % kWindow;
      for (const uint32_t seed :
           SeedSearch(*query).Slice(begin, begin + kWindow, kGoOn)) {
        recogniser.Propose({SamplerKind::kRandom, seed, 0});
      }
    }
    const OrderClaim* claim = recogniser.claim();
    if (claim == nullptr || claim == looked_at) {
      wrong += claim != nullptr && !right ? 1 : 0;
    } else {
      looked_at = claim;
      right = claim->permutation == job.permutation;
      wrong = 0;
    }
    EXPECT_LE(wrong, 100U);
  }
  return recogniser.claim() != nullptr && right;
}

class RecogniserRunsTest : public testing::TestWithParam<uint64_t> {};

TEST_P(RecogniserRunsTest, ClaimsAreRightAndSeldomMissing) {
  uint64_t knowable = 0;
  uint64_t known = 0;
  for (uint64_t run = 0; run < kRuns; ++run) {
    Rng rng(RandomKey(GetParam() * 20 + run));
    const RandomJob job = MakeJob(rng);
    SCOPED_TRACE(testing::Message()
                 << "run " << run << ": " << job.what << ", n " << job.n
                 << ", workers " << job.dealing.workers << ", batch "
                 << job.dealing.batch << ", ranks " << job.ranks.size()
                 << " of " << job.world);
    const bool recognised = IsRecognised(job, rng);
    EXPECT_TRUE(job.knowable || !recognised);
    if (!job.knowable || job.n < 1000) continue;
    ++knowable;
    known += recognised ? 1 : 0;
    if (!recognised) ADD_FAILURE() << "not recognised";
  }
  EXPECT_GE(known * 100, knowable * 99);
}

INSTANTIATE_TEST_SUITE_P(Recogniser, RecogniserRunsTest,
                         testing::Range(uint64_t{0}, uint64_t{10}));

}  // namespace
}  // namespace shufflefs
