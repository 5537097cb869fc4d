// SPDX-License-Identifier: Apache-2.0
#include "policies/brand/keep_binder.h"

namespace shufflefs {

std::vector<SampleId> KeepBinder::FetchChunkOf(SampleId sample, uint64_t room) {
  ++counts_.misses;
  if (input_.bytes[sample.value()] > room) return {};
  return {sample};
}

}  // namespace shufflefs
