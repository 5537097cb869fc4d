// SPDX-License-Identifier: Apache-2.0
#include "core/sampler/search/generator_seeds.h"

#include "core/sampler/search/torch_random.h"

namespace shufflefs {

const std::vector<uint64_t>& KnownGeneratorSeeds() {
  static const std::vector<uint64_t> seeds = {
      0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 17, 21, 22, 23, 24, 27, 29,
      31, 33, 37, 42, 43, 44, 47, 50, 55, 64, 66, 69, 77, 88, 99, 100, 101, 111,
      123, 128, 137, 200, 222, 233, 256, 300, 314, 333, 369, 400, 420, 456, 500,
      512, 555, 600, 666, 700, 777, 786, 800, 888, 900, 999, 1000, 1001, 1024,
      1111, 1122, 1123, 1234, 1337, 1993, 1996, 1998, 2000, 2001, 2010, 2012,
      2015, 2016, 2017, 2018, 2019, 2020, 2021, 2022, 2023, 2024, 2025, 2026,
      2222, 2333, 3333, 3407, 4096, 4242, 4321, 4711, 5000, 5555, 6666, 7777,
      8888, 9999, 10000, 12321, 12345, 13579, 20000, 31337, 31415, 42069, 43210,
      54321, 65535, 65536, 99999, 100000, 123123, 123321, 123456, 271828,
      314159, 654321, 888888, 987654, 999999, 1000000, 1234567, 3141592,
      12345678, 31415926, 123456789, 987654321, 1234567890, 0xDEADBEEF,
      0xCAFEBABE,
      // The seed of a new torch.Generator(). The default generator of a Python
      // process is seeded with random bits.
      67280421310721};
  return seeds;
}

std::vector<uint32_t> EarlyEpochSeeds(uint64_t generator_seed,
                                      uint32_t outputs) {
  TorchGenerator generator(generator_seed);
  std::vector<uint32_t> seeds;
  if (outputs > 0) generator.Random();  // not the second of any pair
  for (uint32_t i = 1; i < outputs; ++i) seeds.push_back(generator.Random());
  return seeds;
}

}  // namespace shufflefs
