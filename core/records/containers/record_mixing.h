// SPDX-License-Identifier: Apache-2.0
// How well the records of containers are mixed in an epoch, in one line.
#ifndef SHUFFLEFS_CORE_RECORDS_CONTAINERS_RECORD_MIXING_H_
#define SHUFFLEFS_CORE_RECORDS_CONTAINERS_RECORD_MIXING_H_

#include <cstdint>
#include <string>

#include "core/base/types.h"
#include "core/dataset/dataset.h"
#include "core/policy/policy.h"
#include "core/records/containers/container_set.h"

namespace shufflefs {

// From 0 to 1, against a full shuffle: how far apart in the file two random
// records of a batch lie on average. A batch takes its records from the blocks
// of a window, or of several; two of the same block lie together, the others
// as far apart as in a full shuffle: 1 - 1/blocks, and 1 where the whole file
// is one window. REQUIRES: records > 0, blocks.bytes > 0.
double BlockMixing(const RecordBlocks& blocks, uint64_t records, uint64_t bytes,
                   uint64_t batch);

// The worst of the containers that are indexed, as MixingReport grades: "B: a
// batch takes its records from 16 of 2048 blocks of 1.0 MiB of a.tfrecord".
// Containers of less than two records are left out. Empty where none is left.
// Goes over all files of the view; an order without blocks is measured, which
// takes some 10 ms.
std::string RecordMixingLine(const Dataset& dataset,
                             const ContainerSet& containers,
                             const Policy& policy, Seed seed, Epoch epoch);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_RECORDS_CONTAINERS_RECORD_MIXING_H_
