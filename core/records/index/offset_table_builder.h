// SPDX-License-Identifier: Apache-2.0
// Makes an offset table in one pass over the records, whose number and bytes
// are not known before.
#ifndef SHUFFLEFS_CORE_RECORDS_INDEX_OFFSET_TABLE_BUILDER_H_
#define SHUFFLEFS_CORE_RECORDS_INDEX_OFFSET_TABLE_BUILDER_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "core/formats/record_scanner.h"
#include "core/records/index/offset_table.h"

namespace shufflefs {

// OffsetTableBuilder makes the table of the records that it receives. Until
// then it holds their sizes, seven bits per byte: two bytes for a record of 128
// bytes to 16 KiB, three up to 2 MiB, and at most 64 KiB more. Finish holds
// these and the table. Not thread-safe.
class OffsetTableBuilder : public RecordSink {
 public:
  void Begin(uint64_t offset) override;
  // REQUIRES: the end of the record is at most 2^63.
  void Add(uint64_t bytes) override;

  // Counts so far.
  uint64_t count() const { return extent_.count; }
  uint64_t end() const { return extent_.end; }
  uint64_t memory_bytes() const;

  // The builder is empty afterwards, like a new one.
  std::shared_ptr<const OffsetTable> Finish();

 private:
  OffsetTable::Extent extent_;
  std::vector<std::vector<uint8_t>> blocks_;  // no size spans two of them
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_RECORDS_INDEX_OFFSET_TABLE_BUILDER_H_
