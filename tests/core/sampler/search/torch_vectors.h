// SPDX-License-Identifier: Apache-2.0
// The vectors of real torch in golden/torch_vectors.txt: lines of
// `what key=value ... | length checksum first values`.
#ifndef SHUFFLEFS_TESTS_CORE_SAMPLER_SEARCH_TORCH_VECTORS_H_
#define SHUFFLEFS_TESTS_CORE_SAMPLER_SEARCH_TORCH_VECTORS_H_

#include <cstdint>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/testing/paths.h"

namespace shufflefs {

struct TorchVector {
  std::string line;
  std::map<std::string, std::string> arguments;
  uint64_t length = 0;
  uint64_t checksum = 0;
  std::vector<uint64_t> first;

  uint64_t operator[](const std::string& key) const {
    return std::stoull(arguments.at(key));
  }
};

// All vectors of a kind.
inline std::vector<TorchVector> TorchVectors(const std::string& what) {
  std::ifstream file(testing_support::RepositoryDir() +
                     "/tests/core/golden/torch_vectors.txt");
  std::vector<TorchVector> out;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string word;
    words >> word;
    if (word != what) continue;
    TorchVector vector;
    vector.line = line;
    while (words >> word && word != "|") {
      const size_t at = word.find('=');
      vector.arguments[word.substr(0, at)] = word.substr(at + 1);
    }
    words >> vector.length >> vector.checksum;
    for (uint64_t value = 0; words >> value;) vector.first.push_back(value);
    out.push_back(vector);
  }
  EXPECT_FALSE(out.empty()) << what;
  return out;
}

// That `order` is what torch gave.
template <typename T>
void ExpectTorchGave(const TorchVector& vector, const std::vector<T>& order) {
  ASSERT_EQ(order.size(), vector.length) << vector.line;
  uint64_t checksum = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    checksum += static_cast<uint64_t>(order[i]) * (2 * i + 1);
  }
  EXPECT_EQ(checksum, vector.checksum) << vector.line;
  for (size_t i = 0; i < vector.first.size(); ++i) {
    EXPECT_EQ(static_cast<uint64_t>(order[i]), vector.first[i])
        << vector.line << " at " << i;
  }
}

}  // namespace shufflefs

#endif  // SHUFFLEFS_TESTS_CORE_SAMPLER_SEARCH_TORCH_VECTORS_H_
