// SPDX-License-Identifier: Apache-2.0
// Permutation against the uniform distribution over all permutations. Keys
// come from DeriveKey over consecutive epochs, as in a mount.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "core/random/permutation.h"
#include "gtest/gtest.h"
#include "tests/core/quality/statistics.h"

namespace shufflefs {
namespace {

Permutation Make(uint64_t n, uint64_t epoch) {
  return Permutation(n, DeriveKey(Seed(n), Epoch(epoch), 0, Purpose::kTest));
}

// The rank of a permutation of few elements among all n!, by Lehmer code.
uint64_t Rank(const Permutation& p) {
  uint64_t rank = 0;
  for (uint64_t i = 0; i < p.size(); ++i) {
    uint64_t smaller = 0;
    for (uint64_t j = i + 1; j < p.size(); ++j) smaller += p(j) < p(i);
    rank = rank * (p.size() - i) + smaller;
  }
  return rank;
}

// Over the keys: counts of (p(x), p(y)) for one pair of positions.
double PairDeviations(uint64_t n, uint64_t x, uint64_t y, uint64_t keys) {
  std::vector<uint64_t> counts(n * n);
  std::vector<bool> skip(n * n);
  for (uint64_t i = 0; i < n; ++i) skip[i * n + i] = true;
  for (uint64_t e = 0; e < keys; ++e) {
    const Permutation p = Make(n, e);
    ++counts[p(x) * n + p(y)];
  }
  return std::abs(ChiSquareDeviations(counts, skip));
}

TEST(PermutationUniformityTest, AllPermutationsOfTinySetsAreEquallyLikely) {
  uint64_t factorial = 1;
  for (uint64_t n = 2; n <= 9; ++n) {
    factorial *= n;
    std::vector<uint64_t> counts(factorial);
    const uint64_t keys = std::max<uint64_t>(20000, factorial * 5);
    for (uint64_t e = 0; e < keys; ++e) ++counts[Rank(Make(n, e))];
    EXPECT_LT(std::abs(ChiSquareDeviations(counts)), kMaxDeviations) << n;
  }
}

// 10! are too many to count one by one: by the first four elements, and by
// the order of the last six.
TEST(PermutationUniformityTest, PermutationsOfTenElements) {
  std::vector<uint64_t> leading(5040);
  std::vector<uint64_t> trailing(720);
  for (uint64_t e = 0; e < 100000; ++e) {
    const uint64_t rank = Rank(Make(10, e));
    ++leading[rank / 720];
    ++trailing[rank % 720];
  }
  EXPECT_LT(std::abs(ChiSquareDeviations(leading)), kMaxDeviations);
  EXPECT_LT(std::abs(ChiSquareDeviations(trailing)), kMaxDeviations);
}

TEST(PermutationUniformityTest, EveryValueAtEveryPosition) {
  for (uint64_t n : {3, 10, 31, 32, 33, 40, 64, 65, 100, 128, 200}) {
    std::vector<uint64_t> counts(n * n);
    const uint64_t keys = std::max<uint64_t>(4000, 10 * n);
    for (uint64_t e = 0; e < keys; ++e) {
      const Permutation p = Make(n, e);
      for (uint64_t i = 0; i < n; ++i) ++counts[i * n + p(i)];
    }
    double chi = 0;
    const double expected = static_cast<double>(keys) / n;
    for (uint64_t c : counts) {
      chi += (c - expected) * (c - expected) / expected;
    }
    // Sums of permutation matrices: rows and columns add up to `keys`, which
    // leaves (n-1)^2 degrees of freedom, and the mean is n (n-1).
    const double freedom = static_cast<double>((n - 1) * (n - 1));
    const double scaled = chi * static_cast<double>(n - 1) / n;
    EXPECT_LT(std::abs(scaled - freedom) / std::sqrt(2 * freedom),
              kMaxDeviations)
        << n;
  }
}

TEST(PermutationUniformityTest, PairsOfPositionsAreIndependent) {
  for (uint64_t n : {33, 40, 63, 100, 129}) {
    const uint64_t low = n < 128 ? 8 : 16;  // elements of one half of the key
    EXPECT_LT(PairDeviations(n, 0, 1, 200000), kMaxDeviations) << n;
    EXPECT_LT(PairDeviations(n, 0, low, 200000), kMaxDeviations) << n;
    EXPECT_LT(PairDeviations(n, 1, low + 2, 200000), kMaxDeviations) << n;
    EXPECT_LT(PairDeviations(n, n - 2, n - 1, 200000), kMaxDeviations) << n;
  }
}

TEST(PermutationUniformityTest, OddAndEvenPermutationsAreEquallyLikely) {
  constexpr uint64_t kKeys = 20000;
  for (uint64_t n : {2, 5, 32, 35, 49, 63, 64, 81}) {
    double even = 0;
    for (uint64_t e = 0; e < kKeys; ++e) {
      const Permutation p = Make(n, e);
      std::vector<bool> seen(n);
      uint64_t cycles = 0;
      for (uint64_t i = 0; i < n; ++i) {
        cycles += !seen[i];
        for (uint64_t j = i; !seen[j]; j = p(j)) seen[j] = true;
      }
      even += (n - cycles) % 2 == 0;
    }
    EXPECT_LT(std::abs(MeanDeviations(even / kKeys, 0.5, 0.25, kKeys)),
              kMaxDeviations)
        << n;
  }
}

// The number of fixed points of a uniform permutation is Poisson(1) but for
// 1/n!.
TEST(PermutationUniformityTest, FixedPointsArePoisson) {
  constexpr uint64_t kKeys = 20000;
  for (uint64_t n : {12, 32, 33, 100, 400}) {
    std::vector<double> seen(6);
    for (uint64_t e = 0; e < kKeys; ++e) {
      const Permutation p = Make(n, e);
      size_t fixed = 0;
      for (uint64_t i = 0; i < n; ++i) fixed += p(i) == i;
      ++seen[std::min<size_t>(fixed, 5)];
    }
    double chi = 0;
    double rest = 1;
    double probability = std::exp(-1.0);
    for (size_t k = 0; k < 6; ++k) {
      const double expected = kKeys * (k < 5 ? probability : rest);
      chi += (seen[k] - expected) * (seen[k] - expected) / expected;
      rest -= probability;
      probability /= static_cast<double>(k + 1);
    }
    EXPECT_LT(chi, 35) << n;  // 5 degrees of freedom: p < 2e-6
  }
}

TEST(PermutationUniformityTest, NoSerialCorrelation) {
  for (uint64_t n : {1000, 1023, 5000, 100003, 1048583}) {
    const Permutation p = Make(n, 3);
    const double mean = (static_cast<double>(n) - 1) / 2;
    const double variance = (static_cast<double>(n) * n - 1) / 12;
    // Distances include those of one half of the network's domain.
    for (uint64_t lag : {1, 2, 3, 32, 64, 256, 512}) {
      double sum = 0;
      for (uint64_t i = 0; i + lag < n; ++i) {
        sum += (static_cast<double>(p(i)) - mean) *
               (static_cast<double>(p(i + lag)) - mean);
      }
      const double correlation = sum / variance / static_cast<double>(n - lag);
      EXPECT_LT(std::abs(correlation) * std::sqrt(n - lag), kMaxDeviations)
          << n << " lag " << lag;
    }
  }
}

// |p(i+1) - p(i)| of a uniform permutation is d with probability
// 2 (n-d) / (n (n-1)); its mean is (n+1)/3.
TEST(PermutationUniformityTest, NeighboursAreAsFarApartAsChanceHasIt) {
  for (uint64_t n : {64, 1000, 30000, 1048583}) {
    const uint64_t keys = n < 100000 ? 200 : 1;
    const double size = static_cast<double>(n);
    std::vector<uint64_t> counts(20);
    double sum = 0;
    for (uint64_t e = 0; e < keys; ++e) {
      const Permutation p = Make(n, e);
      for (uint64_t i = 0; i + 1 < n; ++i) {
        const double d =
            std::abs(static_cast<double>(p(i)) - static_cast<double>(p(i + 1)));
        sum += d;
        // The distribution function at d - 1/2, which is uniform.
        const double below =
            (d - 0.5) * (2 * size - d - 0.5) / size / (size - 1);
        ++counts[std::min<size_t>(19, static_cast<size_t>(below * 20))];
      }
    }
    const double observed = static_cast<double>(keys) * (size - 1);
    EXPECT_LT(std::abs(MeanDeviations(sum / observed, (size + 1) / 3,
                                      size * size / 18, observed)),
              kMaxDeviations)
        << n;
    if (n >= 1000) {
      EXPECT_LT(std::abs(ChiSquareDeviations(counts)), kMaxDeviations) << n;
    }
  }
}

TEST(PermutationUniformityTest, NeighbouringKeysAreIndependent) {
  for (uint64_t n : {32, 33, 1000, 1048583}) {
    const uint64_t pairs = n < 10000 ? 2000 : 3;
    double same = 0;
    for (uint64_t e = 0; e < pairs; ++e) {
      const Permutation a = Make(n, 2 * e);
      const Permutation b = Make(n, 2 * e + 1);
      const Permutation c(n, RandomKey(2 * e));
      const Permutation d(n, RandomKey(2 * e + 1));
      for (uint64_t i = 0; i < n; ++i) same += (a(i) == b(i)) + (c(i) == d(i));
    }
    // Agreements of two independent permutations: mean 1, variance 1.
    const double count = 2 * static_cast<double>(pairs);
    EXPECT_LT(std::abs(MeanDeviations(same / count, 1, 1, count)),
              kMaxDeviations)
        << n;
  }
}

// Walking one block of positions must not stay in one block of values.
TEST(PermutationUniformityTest, BlocksOfPositionsSpreadOverBlocksOfValues) {
  for (uint64_t n : {4096, 100000, 1048583}) {
    const Permutation p = Make(n, 1);
    std::vector<uint64_t> counts(32 * 32);
    for (uint64_t i = 0; i < n / 32 * 32; ++i) {
      const uint64_t row = i * 32 / n;
      const uint64_t column = std::min<uint64_t>(31, p(i) * 32 / n);
      ++counts[row * 32 + column];
    }
    EXPECT_LT(ChiSquareDeviations(counts), kMaxDeviations) << n;
  }
}

}  // namespace
}  // namespace shufflefs
