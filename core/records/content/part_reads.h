// SPDX-License-Identifier: Apache-2.0
// PlanPartReads plans the reads that bring a part of a shuffled file. LayOut
// copies their bytes into the part.
#ifndef SHUFFLEFS_CORE_RECORDS_CONTENT_PART_READS_H_
#define SHUFFLEFS_CORE_RECORDS_CONTENT_PART_READS_H_

#include <cstdint>
#include <vector>

#include "core/io/io_buf.h"
#include "core/records/order/shuffled_file.h"

namespace shufflefs {

// One read of the source, for the copies [first, last) of a plan. The first and
// the last copy may extend beyond the read.
struct PartRead {
  uint64_t offset = 0;  // bytes of the file, a multiple of kReadAlignment
  uint64_t length = 0;  // bytes
  uint32_t first = 0;
  uint32_t last = 0;
  uint64_t file = 0;  // PartCopy::file of all these copies
};

struct PartReadLimits {
  uint64_t read_bytes = uint64_t{1} << 20;  // a multiple of kReadAlignment
  // A gap of up to this size between two copies is read and ignored.
  uint64_t gap_bytes = uint64_t{16} << 10;
};

// Returns the reads in the order of the plan. If two reads share a page, both
// read it.
std::vector<PartRead> PlanPartReads(const PartPlan& plan,
                                    const PartReadLimits& limits);

// Copies the bytes of a read (`bytes`, from read.offset) into the part.
void LayOut(const PartPlan& plan, const PartRead& read, const IoBuf& bytes,
            const IoBuf& part);

// These write what no file contains into the part.
void LayOutNewlines(const PartPlan& plan, const IoBuf& part);
void LayOutLiterals(const PartPlan& plan, const IoBuf& part);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_RECORDS_CONTENT_PART_READS_H_
