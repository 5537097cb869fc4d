// SPDX-License-Identifier: Apache-2.0
// RecordTable says where the records of one container file are. Records tile a
// section of the file: each begins where the previous one ends. Bytes before
// the first (a header) and after the last (a footer, padding) are no records.
#ifndef SHUFFLEFS_CORE_FORMATS_RECORD_TABLE_H_
#define SHUFFLEFS_CORE_FORMATS_RECORD_TABLE_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>

#include "absl/types/span.h"

namespace shufflefs {

// Immutable; any thread may call; no call blocks.
class RecordTable {
 public:
  virtual ~RecordTable() = default;

  virtual uint64_t count() const = 0;
  // The byte of the file at which a record begins. For count(): where the last
  // one ends. REQUIRES: record <= count().
  virtual uint64_t begin(uint64_t record) const = 0;
  // The number of records that begin before byte `offset` of the file. This is
  // also the first record that begins at or after it; count() if there is none.
  virtual uint64_t FirstFrom(uint64_t offset) const = 0;
  // Where the records from `first` on begin, in order. Faster than begin() for
  // each. REQUIRES: first + begins.size() <= count() + 1.
  virtual void Begins(uint64_t first, absl::Span<uint64_t> begins) const {
    for (uint64_t& at : begins) at = begin(first++);
  }
  // The size of every record in bytes. 0 if they differ.
  virtual uint64_t record_bytes() const { return 0; }
  // Bytes that the table takes.
  virtual uint64_t memory_bytes() const = 0;

  uint64_t bytes(uint64_t record) const {
    return begin(record + 1) - begin(record);
  }
};

// Records of one size; needs no table.
class FixedTable : public RecordTable {
 public:
  // `head` is the number of bytes before the first record. REQUIRES:
  // record_bytes > 0, and the end, head + record_bytes * count, fits 64 bits.
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

// The records of another table, of which the last is some bytes longer.
class ExtendedTable : public RecordTable {
 public:
  ExtendedTable(std::shared_ptr<const RecordTable> table, uint64_t more)
      : table_(std::move(table)), more_(more) {}
  uint64_t count() const override { return table_->count(); }
  uint64_t begin(uint64_t record) const override {
    return table_->begin(record) + (record == count() ? more_ : 0);
  }
  uint64_t FirstFrom(uint64_t offset) const override {
    return table_->FirstFrom(offset);
  }
  uint64_t memory_bytes() const override { return table_->memory_bytes(); }

 private:
  const std::shared_ptr<const RecordTable> table_;
  const uint64_t more_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_FORMATS_RECORD_TABLE_H_
