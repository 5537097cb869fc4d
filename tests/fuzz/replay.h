// SPDX-License-Identifier: Apache-2.0
// The fuzz targets of a program that has them all, by name.
#ifndef SHUFFLEFS_TESTS_FUZZ_REPLAY_H_
#define SHUFFLEFS_TESTS_FUZZ_REPLAY_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

struct FuzzTarget {
  std::string name;
  int (*run)(const uint8_t* data, size_t size);
};
const std::vector<FuzzTarget>& FuzzTargets();  // the build writes it

#endif  // SHUFFLEFS_TESTS_FUZZ_REPLAY_H_
