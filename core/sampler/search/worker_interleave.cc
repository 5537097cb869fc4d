// SPDX-License-Identifier: Apache-2.0
#include "core/sampler/search/worker_interleave.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

namespace shufflefs {
namespace {

// Returns the most frequent distance, the smallest of equals. Ignores `except`
// and distances seen fewer than `at_least` times.
uint32_t MostFrequent(const std::vector<uint32_t>& sorted, uint32_t except,
                      uint64_t at_least) {
  uint32_t best = 0;
  uint64_t best_count = at_least - 1;
  for (size_t i = 0; i < sorted.size();) {
    size_t end = i;
    while (end < sorted.size() && sorted[end] == sorted[i]) ++end;
    if (sorted[i] != except && end - i > best_count) {
      best = sorted[i];
      best_count = end - i;
    }
    i = end;
  }
  return best;
}

}  // namespace

WorkerInterleave::WorkerInterleave(
    const std::vector<std::vector<uint32_t>>& streams) {
  LearnDistances(streams);
  for (const auto& stream : streams) {
    for (size_t i = 1; i < stream.size(); ++i) {
      if (Expects(stream[i - 1], stream[i])) {
        ++expected_;
        Learn(stream[i]);
      } else {
        ++unexpected_;
      }
    }
  }
}

void WorkerInterleave::LearnDistances(
    const std::vector<std::vector<uint32_t>>& streams) {
  std::vector<uint32_t> distances;
  for (const auto& stream : streams) {
    for (size_t i = 1; i < stream.size(); ++i) {
      if (stream[i - 1] < stream[i]) {
        distances.push_back(stream[i] - stream[i - 1]);
      }
    }
  }
  std::sort(distances.begin(), distances.end());
  stride_ = MostFrequent(distances, 0, 1);
  jump_ = MostFrequent(distances, stride_, 2);
  // In batches of two, jumps may be as frequent as strides.
  if (jump_ != 0 && stride_ % jump_ == 0) std::swap(stride_, jump_);
  if (jump_ != 0 && jump_ % stride_ != 0) jump_ = 0;
}

void WorkerInterleave::Learn(uint32_t place) {
  const uint32_t residue = place % stride_;
  const auto at = std::lower_bound(residues_.begin(), residues_.end(), residue);
  if (at == residues_.end() || *at != residue) residues_.insert(at, residue);
}

uint64_t StepsToProve(uint32_t n, uint64_t candidates) {
  // By chance a step has one of two distances with probability 2 / n. The
  // counted steps are chosen out of a quarter more, which costs less than 1 bit
  // each. Three steps go into learning the distances.
  const double bits = std::log2(std::max(n, 16U)) - 2;
  const double needed =
      std::log2(static_cast<double>(std::max<uint64_t>(1, candidates))) + 20;
  return static_cast<uint64_t>(std::ceil(needed / bits)) + 3;
}

}  // namespace shufflefs
