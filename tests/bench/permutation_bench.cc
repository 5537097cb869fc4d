// SPDX-License-Identifier: Apache-2.0
// Nanoseconds an element of core/permutation, and a construction: the median
// of runs, independent calls in sequential and in random order, and a chain
// in which each call waits for the one before it.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <vector>

#include "core/random/permutation.h"
#include "core/random/random.h"

namespace shufflefs {
namespace {

constexpr int kRuns = 9;
constexpr uint64_t kCalls = 1 << 19;

RandomKey KeyOf(uint64_t index) {
  return DeriveKey(Seed(1), Epoch(2), index, Purpose::kTest);
}

// Median nanoseconds a call of `run`, which makes kCalls calls and returns
// something that depends on all of them.
double MedianNs(const std::function<uint64_t()>& run) {
  std::vector<double> times;
  volatile uint64_t sink = 0;
  for (int i = 0; i < kRuns; ++i) {
    const auto start = std::chrono::steady_clock::now();
    sink = sink + run();
    const std::chrono::duration<double, std::nano> took =
        std::chrono::steady_clock::now() - start;
    times.push_back(took.count() / kCalls);
  }
  std::nth_element(times.begin(), times.begin() + kRuns / 2, times.end());
  return times[kRuns / 2];
}

template <typename Call>
uint64_t Sum(const std::vector<uint64_t>& inputs, Call call) {
  uint64_t sum = 0;
  for (uint64_t input : inputs) sum += call(input);
  return sum;
}

void BenchSize(uint64_t n) {
  std::vector<uint64_t> ascending(kCalls);
  std::vector<uint64_t> random(kCalls);
  Rng rng(KeyOf(n));
  for (uint64_t i = 0; i < kCalls; ++i) {
    ascending[i] = i % n;
    random[i] = rng.Bounded(n);
  }
  const Permutation p(n, KeyOf(n + 1));
  const auto apply = [&p](uint64_t i) { return p.Apply(i); };
  const auto inverse = [&p](uint64_t i) { return p.Inverse(i); };
  const double apply_ascending =
      MedianNs([&] { return Sum(ascending, apply); });
  const double apply_random = MedianNs([&] { return Sum(random, apply); });
  const double inverse_ascending =
      MedianNs([&] { return Sum(ascending, inverse); });
  const double inverse_random = MedianNs([&] { return Sum(random, inverse); });
  const double chained = MedianNs([&] {
    uint64_t x = 0;
    for (uint64_t i = 0; i < kCalls; ++i)
      x = p.Apply(x ^ (i & 1 & (x + 1 < n)));
    return x;
  });
  const double made = MedianNs([&] {
    uint64_t sum = 0;
    for (uint64_t i = 0; i < kCalls; ++i) {
      sum += Permutation(n, RandomKey(i)).Apply(0);
    }
    return sum;
  });
  std::printf("%14llu %9.1f %9.1f %9.1f %9.1f %9.1f %11.1f\n",
              static_cast<unsigned long long>(n), apply_ascending, apply_random,
              inverse_ascending, inverse_random, chained, made);
}

}  // namespace
}  // namespace shufflefs

int main() {
  std::printf("ns an element%11s %9s %9s %9s %9s %11s\n", "apply", "apply",
              "inverse", "inverse", "apply", "make+apply");
  std::printf("%14s %9s %9s %9s %9s %9s %11s\n", "n", "ascending", "random",
              "ascending", "random", "chained", "");
  for (uint64_t n :
       {5ULL, 20ULL, 32ULL, 33ULL, 100ULL, 1000ULL, 5000ULL, 100000ULL,
        1000000ULL, 1281167ULL, 1ULL << 27, (1ULL << 31) + 12345, 1ULL << 40}) {
    shufflefs::BenchSize(n);
  }
  return 0;
}
