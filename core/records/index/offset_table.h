// SPDX-License-Identifier: Apache-2.0
// Where records that differ in size begin, in few bits a record: the code of
// Elias (J. ACM 21(2), 1974) and Fano (MIT memo 61, 1971) for increasing
// numbers.
//
// Of n records over u bytes of the file, the l = floor(log2(u / n)) low bits
// of each beginning are packed one behind the other. The rest of each, its
// high part, is counted in unary: a one for each record, a zero behind the
// last record of each high part. That is l + 1 + u / (n * 2^l) bits a record,
// between l + 2 and l + 3, however the sizes are spread. A count of the ones
// before every 512th bit finds the i-th one and the i-th zero alike.
//
// Memory, all counted: at most max(16, 2 + ceil(log2(u / n))) bits a record,
// and kFixedBytes a file. Where the counts would not fit they lie further
// apart.
//
// Time: begin() and FirstFrom() search the counts between two hints, of which
// there are at most a thousand, from where the bit would be if the sizes there
// were alike, then at most 8 words of bits, and one or two words of low parts:
// some 20 ns in order, 100 to 200 ns at random in a table of 20 million
// records, most of it cache misses. No spread of sizes needs more than O(log n)
// steps.
#ifndef SHUFFLEFS_CORE_RECORDS_INDEX_OFFSET_TABLE_H_
#define SHUFFLEFS_CORE_RECORDS_INDEX_OFFSET_TABLE_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/formats/record_table.h"

namespace shufflefs {

// Immutable; any thread may call; no call blocks.
class OffsetTable : public RecordTable {
 public:
  // What a table may hold beside its bits a record.
  static constexpr uint64_t kFixedBytes = 42 * 1024;

  // What the words of a table stand for. 0 records: first == end.
  struct Extent {
    uint64_t count = 0;
    uint64_t first = 0;  // where the first record begins, bytes of the file
    uint64_t end = 0;    // where the last record ends
  };

  // The table that has this extent and these words, from anywhere: DataLoss,
  // saying what is wrong, unless they are what extent() and words() of some
  // table were. Reads all words.
  static absl::StatusOr<std::shared_ptr<const OffsetTable>> FromWords(
      const Extent& extent, std::vector<uint64_t> words);

  uint64_t count() const override { return extent_.count; }
  uint64_t begin(uint64_t record) const override;
  uint64_t FirstFrom(uint64_t offset) const override;
  void Begins(uint64_t first, absl::Span<uint64_t> begins) const override;
  uint64_t memory_bytes() const override;

  const Extent& extent() const { return extent_; }
  // First the low parts, then from a fresh word on the bits of the high parts.
  absl::Span<const uint64_t> words() const { return words_; }

 private:
  friend class OffsetTableBuilder;

  // How many bits are where: follows from the extent.
  struct Shape {
    explicit Shape(const Extent& extent);
    uint64_t words() const { return low_words + (high_bits + 63) / 64; }

    uint32_t low_width = 0;  // bits of a low part
    uint64_t low_words = 0;
    uint64_t high_bits = 0;
    uint32_t stride_log2 = 9;  // of the bits from one count to the next
    uint32_t hint_log2 = 12;   // of the ones from one hint to the next
  };

  // REQUIRES: as many words as the shape has.
  OffsetTable(const Extent& extent, std::vector<uint64_t> words);
  // Whether the words code increasing numbers from 0 up to the end.
  absl::Status Check() const;

  uint64_t Low(uint64_t record) const;
  const uint64_t* high() const { return words_.data() + shape_.low_words; }
  std::vector<uint64_t> CountOnes() const;
  template <bool kOnes>
  std::vector<uint64_t> Hints() const;

  // Ones or zeros among the bits before this block.
  template <bool kOnes>
  uint64_t Before(uint64_t block) const;
  // The block in which the one or zero number `index` is. REQUIRES: there is
  // one.
  template <bool kOnes>
  uint64_t Block(uint64_t index) const;
  // Where it is, in bits.
  template <bool kOnes>
  uint64_t Select(uint64_t index) const;

  const Extent extent_;
  const Shape shape_;
  const std::vector<uint64_t> words_;
  // Ones before each block of 2^stride_log2 bits of the high parts, and before
  // their end.
  const std::vector<uint64_t> ones_before_;
  // The block of every 2^hint_log2-th one, or zero; then how many blocks.
  const std::vector<uint64_t> one_hints_;
  const std::vector<uint64_t> zero_hints_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_RECORDS_INDEX_OFFSET_TABLE_H_
