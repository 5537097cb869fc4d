// SPDX-License-Identifier: Apache-2.0
#ifndef SHUFFLEFS_CORE_SAMPLER_CACHED_FINDER_H_
#define SHUFFLEFS_CORE_SAMPLER_CACHED_FINDER_H_

#include <functional>
#include <stop_token>
#include <vector>

#include "core/base/types.h"

namespace shufflefs {

// Returns which of these files the kernel has whole in its own memory. False
// where that is not known. Empty if nothing is known. Any thread may call it,
// with no lock that a request to the mount may wait for. Blocks until the mount
// has answered some requests. Returns within some milliseconds once `stop` is
// requested.
using CachedFinder = std::function<std::vector<bool>(
    const std::vector<EntryId>& files, std::stop_token stop)>;

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_SAMPLER_CACHED_FINDER_H_
