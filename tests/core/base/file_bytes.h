// SPDX-License-Identifier: Apache-2.0
// Bytes of files that tests write and read.
#ifndef SHUFFLEFS_TESTS_CORE_BASE_FILE_BYTES_H_
#define SHUFFLEFS_TESTS_CORE_BASE_FILE_BYTES_H_

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>

#include "core/random/random.h"
#include "gtest/gtest.h"

namespace shufflefs::testing_support {

inline std::string Slurp(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in.good()) << path;
  std::ostringstream bytes;  // an iterator would go byte by byte
  bytes << in.rdbuf();
  return std::move(bytes).str();
}

inline void Spill(const std::string& path, const std::string& bytes) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out << bytes;
  EXPECT_TRUE(out.good()) << path;
}

inline std::string RandomBytes(Rng& rng, size_t size) {
  std::string bytes(size, '\0');
  for (size_t at = 0; at < size; at += sizeof(uint64_t)) {
    const uint64_t word = rng.Next();
    std::memcpy(bytes.data() + at, &word,
                std::min<size_t>(sizeof word, size - at));
  }
  return bytes;
}

}  // namespace shufflefs::testing_support

#endif  // SHUFFLEFS_TESTS_CORE_BASE_FILE_BYTES_H_
