// SPDX-License-Identifier: Apache-2.0
#include "core/sampler/search/samplers.h"

#include <cmath>
#include <numeric>

namespace shufflefs {

std::vector<uint32_t> SequentialOrder(uint32_t n) {
  std::vector<uint32_t> order(n);
  std::iota(order.begin(), order.end(), 0);
  return order;
}

std::vector<uint32_t> RandomSamplerOrder(uint32_t n, uint32_t samples,
                                         TorchGenerator& generator) {
  std::vector<uint32_t> order;
  order.reserve(samples);
  for (uint32_t i = 0; i < samples / n; ++i) {
    const std::vector<uint32_t> all = TorchRandperm(n, generator);
    order.insert(order.end(), all.begin(), all.end());
  }
  const std::vector<uint32_t> last = TorchRandperm(n, generator);
  order.insert(order.end(), last.begin(), last.begin() + samples % n);
  return order;
}

uint32_t DistributedSampler::Length() const {
  return drop_last ? n / world
                   : static_cast<uint32_t>((uint64_t{n} + world - 1) / world);
}

std::vector<uint32_t> DistributedSampler::Permutation() const {
  return shuffle ? TorchRandperm(n, seed + epoch) : SequentialOrder(n);
}

std::vector<uint32_t> DistributedSampler::Order(
    const std::vector<uint32_t>& permutation) const {
  std::vector<uint32_t> order(Length());
  for (uint32_t i = 0; i < order.size(); ++i) order[i] = permutation[Place(i)];
  return order;
}

std::vector<std::vector<uint32_t>> Dealing::Deal(
    const std::vector<uint32_t>& order) const {
  std::vector<std::vector<uint32_t>> dealt(workers == 0 ? 1 : workers);
  const uint64_t length = Length(order.size());
  for (uint64_t i = 0; i < length; ++i) dealt[Worker(i)].push_back(order[i]);
  return dealt;
}

std::vector<uint32_t> SplitLengths(uint32_t n,
                                   const std::vector<double>& fractions) {
  std::vector<uint32_t> lengths;
  uint64_t sum = 0;
  for (const double fraction : fractions) {
    lengths.push_back(static_cast<uint32_t>(std::floor(n * fraction)));
    sum += lengths.back();
  }
  for (uint32_t i = 0; sum < n && !lengths.empty(); ++i, ++sum) {
    ++lengths[i % lengths.size()];
  }
  return lengths;
}

std::vector<std::vector<uint32_t>> RandomSplit(
    const std::vector<uint32_t>& lengths, TorchGenerator& generator) {
  const uint32_t n = std::accumulate(lengths.begin(), lengths.end(), 0U);
  const std::vector<uint32_t> order = TorchRandperm(n, generator);
  std::vector<std::vector<uint32_t>> parts;
  auto at = order.begin();
  for (const uint32_t length : lengths) {
    parts.emplace_back(at, at + length);
    at += length;
  }
  return parts;
}

std::vector<uint32_t> SubsetOrder(const std::vector<uint32_t>& indices,
                                  const std::vector<uint32_t>& order) {
  std::vector<uint32_t> out;
  out.reserve(order.size());
  for (const uint32_t place : order) out.push_back(indices[place]);
  return out;
}

}  // namespace shufflefs
