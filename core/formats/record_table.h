// SPDX-License-Identifier: Apache-2.0
// Where the records of one container file lie. Records tile a stretch of the
// file: each begins where the one before it ends. What lies before the first
// (a header) and behind the last (a footer, padding) is no record.
#ifndef SHUFFLEFS_CORE_FORMATS_RECORD_TABLE_H_
#define SHUFFLEFS_CORE_FORMATS_RECORD_TABLE_H_

#include <algorithm>
#include <cstdint>

#include "absl/types/span.h"

namespace shufflefs {

// Immutable; any thread may call; no call blocks.
class RecordTable {
 public:
  virtual ~RecordTable() = default;

  virtual uint64_t count() const = 0;
  // Where a record begins, in bytes of the file; of count(): where the last
  // one ends. REQUIRES: record <= count().
  virtual uint64_t begin(uint64_t record) const = 0;
  // How many records begin before `offset` (bytes of the file), which is also
  // the first that begins at or behind it; count() if none does.
  virtual uint64_t FirstFrom(uint64_t offset) const = 0;
  // Where the records from `first` on begin, one after the other: what is
  // faster than asking for each. REQUIRES: first + begins.size() <= count()
  // + 1.
  virtual void Begins(uint64_t first, absl::Span<uint64_t> begins) const {
    for (uint64_t& at : begins) at = begin(first++);
  }
  // The size of every record, in bytes; 0 if they differ.
  virtual uint64_t record_bytes() const { return 0; }
  // Bytes held by the table.
  virtual uint64_t memory_bytes() const = 0;

  uint64_t bytes(uint64_t record) const {
    return begin(record + 1) - begin(record);
  }
};

// Records of one size: no table at all.
class FixedTable : public RecordTable {
 public:
  // `head`: bytes before the first record. REQUIRES: record_bytes > 0, and the
  // end, head + record_bytes * count, fits 64 bits.
  FixedTable(uint64_t head, uint64_t record_bytes, uint64_t count)
      : head_(head), record_bytes_(record_bytes), count_(count) {}

  uint64_t count() const override { return count_; }
  uint64_t record_bytes() const override { return record_bytes_; }
  uint64_t begin(uint64_t record) const override {
    return head_ + record * record_bytes_;
  }
  uint64_t FirstFrom(uint64_t offset) const override {
    if (offset <= head_) return 0;
    const uint64_t before = (offset - head_ - 1) / record_bytes_ + 1;
    return std::min(before, count_);
  }
  uint64_t memory_bytes() const override { return sizeof *this; }

 private:
  const uint64_t head_;
  const uint64_t record_bytes_;
  const uint64_t count_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_FORMATS_RECORD_TABLE_H_
