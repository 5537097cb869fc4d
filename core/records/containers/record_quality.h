// SPDX-License-Identifier: Apache-2.0
// The shuffle quality of records in an epoch, in one line.
#ifndef SHUFFLEFS_CORE_RECORDS_CONTAINERS_RECORD_QUALITY_H_
#define SHUFFLEFS_CORE_RECORDS_CONTAINERS_RECORD_QUALITY_H_

#include <cstdint>
#include <string>

#include "core/base/types.h"
#include "core/dataset/dataset.h"
#include "core/policy/policy.h"
#include "core/records/containers/container_set.h"

namespace shufflefs {

// From 0 to 1, relative to a full shuffle: the average distance in the file of
// two random records of a batch. A batch takes its records from the blocks of a
// window, or of several. Two of the same block are together; the others are as
// far apart as in a full shuffle: 1 - 1/blocks, and 1 if the whole file is one
// window. REQUIRES: records > 0, blocks.bytes > 0.
double BlockQuality(const RecordBlocks& blocks, uint64_t records,
                    uint64_t bytes, uint64_t batch);

// The worst of the indexed containers, graded as in QualityReport: "B: a batch
// takes its records from 16 of 2048 blocks of 1.0 MiB of a.tfrecord". Ignores
// containers with fewer than two records. Empty if none is left. Visits all
// files of the view. An order without blocks is measured, which takes about 10
// ms.
std::string RecordQualityLine(const Dataset& dataset,
                              const ContainerSet& containers,
                              const Policy& policy, Seed seed, Epoch epoch);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_RECORDS_CONTAINERS_RECORD_QUALITY_H_
