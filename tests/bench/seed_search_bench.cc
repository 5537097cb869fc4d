// SPDX-License-Identifier: Apache-2.0
// How long a core searches for the seed of an epoch, and then for the generator
// that drew it, in each form of the inner loop that the processor can run.
//
//   seed_search_bench [--n FILES] [--workers N] [--seconds S] [--all]
//
// Searches so many seconds in each form and says how long all 2^32 seeds take;
// --all searches them, in the fastest form. By chance about 64 generators are
// found among all.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <iomanip>
#include <iostream>
#include <string>
#include <vector>

#include "core/sampler/search/generator_search.h"
#include "core/sampler/search/seed_search.h"
#include "tests/testing/torch_loaders.h"

namespace shufflefs {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr uint32_t kSeed = 0xFFF00000;  // near the end of the search
constexpr uint64_t kSliceSeeds = uint64_t{1} << 20;

struct BenchArguments {
  uint32_t n = 1281167;
  uint32_t workers = 4;
  double seconds = 3;
  bool all = false;
};

double SecondsSince(SteadyClock::time_point start) {
  return std::chrono::duration<double>(SteadyClock::now() - start).count();
}

SeedSearch MakeSearch(const BenchArguments& arguments) {
  const Dealing dealing = {.batch = 64, .workers = arguments.workers};
  SeedQuery query;
  query.n = arguments.n;
  query.streams = dealing.Deal(TorchRandperm(arguments.n, kSeed));
  for (auto& stream : query.streams) stream.resize(64);
  return SeedSearch(query);
}

template <typename Search>
void Run(const Search& search, SeedKernel kernel, const char* what,
         const BenchArguments& arguments) {
  const char* const name = kernel == SeedKernel::kPortable ? "portable"
                           : kernel == SeedKernel::kAvx2   ? "AVX2"
                                                           : "AVX-512";
  const std::atomic<bool> stop = false;
  const auto start = SteadyClock::now();
  uint64_t at = 0;
  size_t found = 0;
  while (at < SeedSearch::kSeeds &&
         (arguments.all || SecondsSince(start) < arguments.seconds)) {
    found += search.Slice(at, at + kSliceSeeds, stop, kernel).size();
    at += kSliceSeeds;
  }
  const double rate = static_cast<double>(at) / SecondsSince(start);
  std::cout << std::fixed << std::setprecision(1) << std::setw(9) << what
            << std::setw(9) << name << std::setw(9) << rate / 1e6
            << " million seeds a second" << std::setw(8)
            << static_cast<double>(SeedSearch::kSeeds) / rate
            << " s for all; found " << found << "\n";
}

bool ParseBench(int argc, char** argv, BenchArguments& arguments) {
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--all") {
      arguments.all = true;
      continue;
    }
    if (i + 1 == argc) return false;
    const double value = std::strtod(argv[++i], nullptr);
    if (word == "--n") {
      arguments.n = static_cast<uint32_t>(value);
    } else if (word == "--workers") {
      arguments.workers = static_cast<uint32_t>(value);
    } else if (word == "--seconds") {
      arguments.seconds = value;
    } else {
      return false;
    }
  }
  const uint32_t streams = std::max(1U, arguments.workers);
  return arguments.n >= 128 * streams && streams <= 64 &&
         SeedSearch::OpensNeeded(arguments.n, streams) > 0;
}

}  // namespace
}  // namespace shufflefs

int main(int argc, char** argv) {
  using shufflefs::SeedKernel;
  shufflefs::BenchArguments arguments;
  if (!shufflefs::ParseBench(argc, argv, arguments)) {
    std::cerr << "seed_search_bench: see the top of seed_search_bench.cc\n";
    return 2;
  }
  const shufflefs::SeedSearch search = shufflefs::MakeSearch(arguments);
  const auto kernels = shufflefs::SeedKernels();
  for (const SeedKernel kernel : kernels) {
    if (arguments.all && kernel != kernels.back()) continue;
    shufflefs::Run(search, kernel, "seed", arguments);
    shufflefs::Run(shufflefs::GeneratorSearch(shufflefs::kSeed), kernel,
                   "generator", arguments);
  }
  return 0;
}
