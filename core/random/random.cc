// SPDX-License-Identifier: Apache-2.0
#include "core/random/random.h"

namespace shufflefs {
namespace {

constexpr uint64_t Absorb(uint64_t state, uint64_t word) {
  return Mix64((state ^ word) + random_internal::kGamma);
}

}  // namespace

RandomKey DeriveKey(Seed seed, Epoch epoch, uint64_t stratum, Purpose purpose) {
  uint64_t k = Absorb(0, seed.value());
  k = Absorb(k, epoch.value());
  k = Absorb(k, stratum);
  return RandomKey(Absorb(k, static_cast<uint64_t>(purpose)));
}

RandomKey SubKey(RandomKey key, uint64_t index) {
  return RandomKey(Absorb(Mix64(key.value()), index));
}

}  // namespace shufflefs
