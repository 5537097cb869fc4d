// SPDX-License-Identifier: Apache-2.0
#include "core/records/content/part_reads.h"

#include <algorithm>

#include "absl/types/optional.h"
#include "core/io/file_reader.h"
#include "core/records/content/prefetch.h"

namespace shufflefs {
namespace {

// Cuts a stretch of copies [first, last) into reads of at most `most` bytes.
void Cut(const PartPlan& plan, PartRead stretch, uint64_t most,
         std::vector<PartRead>& reads) {
  const uint64_t end = stretch.offset + stretch.length;
  uint32_t at = stretch.first;
  for (uint64_t begin = RoundDown(stretch.offset); begin < end; begin += most) {
    PartRead read{begin, std::min(most, end - begin), at, at, stretch.file};
    const uint64_t cut = begin + read.length;
    // The first copy that continues in the next read. It need not be the last:
    // a record that comes twice may be whole once and cut off once.
    absl::optional<uint32_t> next;
    for (; read.last < stretch.last && plan.copies[read.last].from < cut;
         ++read.last) {
      const PartCopy& copy = plan.copies[read.last];
      if (!next && copy.from + copy.bytes > cut) next = read.last;
    }
    reads.push_back(read);
    at = next.value_or(read.last);
  }
}

}  // namespace

std::vector<PartRead> PlanPartReads(const PartPlan& plan,
                                    const PartReadLimits& limits) {
  std::vector<PartRead> reads;
  const std::vector<PartCopy>& copies = plan.copies;
  for (size_t i = 0; i < copies.size();) {
    const size_t first = i;
    uint64_t end = copies[i].from + copies[i].bytes;
    for (++i; i < copies.size() && copies[i].file == copies[first].file &&
              copies[i].from < end + limits.gap_bytes;
         ++i) {
      end = std::max(end, copies[i].from + copies[i].bytes);
    }
    Cut(plan,
        {copies[first].from, end - copies[first].from,
         static_cast<uint32_t>(first), static_cast<uint32_t>(i),
         copies[first].file},
        limits.read_bytes, reads);
  }
  return reads;
}

void LayOut(const PartPlan& plan, const PartRead& read, const IoBuf& bytes,
            const IoBuf& part) {
  const uint64_t end = read.offset + read.length;
  for (uint32_t i = read.first; i < read.last; ++i) {
    if (i + kRecordsAhead < read.last) {
      const PartCopy& later = plan.copies[i + kRecordsAhead];
      Prefetch<1>(part.at(later.to), later.bytes);
    }
    const PartCopy& copy = plan.copies[i];
    const uint64_t first = std::max(copy.from, read.offset);
    const uint64_t last = std::min(copy.from + copy.bytes, end);
    if (first >= last) continue;
    Copy(bytes, first - read.offset, part, copy.to + (first - copy.from),
         last - first);
  }
}

void LayOutNewlines(const PartPlan& plan, const IoBuf& part) {
  for (const uint64_t at : plan.newlines) *part.at(at) = '\n';
}

void LayOutLiterals(const PartPlan& plan, const IoBuf& part) {
  for (const PartLiteral& literal : plan.literals) {
    part.Write(literal.to, literal.bytes.data(), literal.bytes.size());
  }
}

}  // namespace shufflefs
