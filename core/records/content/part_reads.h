// SPDX-License-Identifier: Apache-2.0
// The reads that bring a part of a shuffled file, and how what they bring is
// laid into it.
#ifndef SHUFFLEFS_CORE_RECORDS_CONTENT_PART_READS_H_
#define SHUFFLEFS_CORE_RECORDS_CONTENT_PART_READS_H_

#include <cstdint>
#include <vector>

#include "core/pool/paged_bytes.h"
#include "core/records/order/shuffled_file.h"

namespace shufflefs {

// One read of the source, for the copies [first, last) of a plan; the first
// and the last of these may reach beyond it.
struct PartRead {
  uint64_t offset = 0;  // bytes of the file, a multiple of kReadAlignment
  uint64_t length = 0;  // bytes
  uint32_t first = 0;
  uint32_t last = 0;
  uint64_t file = 0;  // PartCopy::file of them all
};

struct PartReadLimits {
  uint64_t read_bytes = uint64_t{1} << 20;  // a multiple of kReadAlignment
  // What lies between two copies is read and left, up to this size.
  uint64_t gap_bytes = uint64_t{16} << 10;
};

// In the order of the plan. What two reads share of a page both read.
std::vector<PartRead> PlanPartReads(const PartPlan& plan,
                                    const PartReadLimits& limits);

// Lays what a read brought (`bytes`, from read.offset) into the part.
void LayOut(const PartPlan& plan, const PartRead& read, const PagedBytes& bytes,
            const PagedBytes& part);

// Lay in what comes from nowhere.
void LayOutNewlines(const PartPlan& plan, const PagedBytes& part);
void LayOutLiterals(const PartPlan& plan, const PagedBytes& part);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_RECORDS_CONTENT_PART_READS_H_
