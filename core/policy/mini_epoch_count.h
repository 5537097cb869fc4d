// SPDX-License-Identifier: Apache-2.0
// Computes how many mini-epochs a pass needs, if the performance tier is to
// hold one while another is copied into it.
#ifndef SHUFFLEFS_CORE_POLICY_MINI_EPOCH_COUNT_H_
#define SHUFFLEFS_CORE_POLICY_MINI_EPOCH_COUNT_H_

#include <cstdint>

namespace shufflefs {

// For `samples` samples that take `bytes` bytes on a device in total, and a
// tier of `tier_bytes`. 1 if the tier holds them all, or if its size is
// unknown. A pure function; any thread may call.
uint32_t MiniEpochsInTier(uint64_t samples, uint64_t bytes,
                          uint64_t tier_bytes);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_POLICY_MINI_EPOCH_COUNT_H_
