// SPDX-License-Identifier: Apache-2.0
// OffsetTable says where records of different sizes begin, in few bits per
// record. It uses the code of Elias (J. ACM 21(2), 1974) and Fano (MIT memo 61,
// 1971) for increasing numbers.
//
// Let there be n records over u bytes of the file. The l = floor(log2(u / n))
// low bits of each beginning are packed. The rest of each, its high part, is
// counted in unary: a one for each record, a zero after the last record of each
// high part. That is l + 1 + u / (n * 2^l) bits per record, between l + 2 and l
// + 3, whatever the distribution of sizes. Counts of the ones before every
// 512th bit help to find the i-th one and the i-th zero.
//
// Total memory: at most max(16, 2 + ceil(log2(u / n))) bits per record, and
// kFixedBytes per file. If the counts would not fit, they are further apart.
//
// Time: begin() and FirstFrom() search the counts between two hints, of which
// there are at most a thousand. The search starts where the bit would be if
// sizes were uniform there. Then it reads at most 8 words of bits, and one or
// two words of low parts. This takes about 20 ns in order, and 100 to 200 ns at
// random in a table of 20 million records, most of it cache misses. No
// distribution of sizes needs more than O(log n) steps.
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
  // Memory besides the bits per record.
  static constexpr uint64_t kFixedBytes = 42 * 1024;

  // The extent that the words of a table describe. With 0 records, first ==
  // end.
  struct Extent {
    uint64_t count = 0;
    uint64_t first = 0;  // byte of the file where the first record begins
    uint64_t end = 0;    // where the last record ends
  };

  // Makes a table of this extent from untrusted words. Returns DataLoss, with
  // the reason, unless extent() and words() of some table were equal to them.
  // Reads all words.
  static absl::StatusOr<std::shared_ptr<const OffsetTable>> FromWords(
      const Extent& extent, std::vector<uint64_t> words);

  uint64_t count() const override { return extent_.count; }
  uint64_t begin(uint64_t record) const override;
  uint64_t FirstFrom(uint64_t offset) const override;
  void Begins(uint64_t first, absl::Span<uint64_t> begins) const override;
  uint64_t memory_bytes() const override;

  const Extent& extent() const { return extent_; }
  // First the low parts; then, from a new word on, the bits of the high parts.
  absl::Span<const uint64_t> words() const { return words_; }

 private:
  friend class OffsetTableBuilder;

  // The layout of the bits. It follows from the extent.
  struct Shape {
    explicit Shape(const Extent& extent);
    uint64_t words() const { return low_words + (high_bits + 63) / 64; }

    uint32_t low_width = 0;  // bits of a low part
    uint64_t low_words = 0;
    uint64_t high_bits = 0;
    uint32_t stride_log2 = 9;  // of the bits between two counts
    uint32_t hint_log2 = 12;   // of the ones between two hints
  };

  // REQUIRES: as many words as the shape has.
  OffsetTable(const Extent& extent, std::vector<uint64_t> words);
  // Checks that the words encode increasing numbers from 0 to the end.
  absl::Status Check() const;

  uint64_t Low(uint64_t record) const;
  const uint64_t* high() const { return words_.data() + shape_.low_words; }
  std::vector<uint64_t> CountOnes() const;
  template <bool kOnes>
  std::vector<uint64_t> Hints() const;

  // Ones or zeros among the bits before this block.
  template <bool kOnes>
  uint64_t Before(uint64_t block) const;
  // The block with the one or zero number `index`. REQUIRES: there is one.
  template <bool kOnes>
  uint64_t Block(uint64_t index) const;
  // Its position in bits.
  template <bool kOnes>
  uint64_t Select(uint64_t index) const;

  const Extent extent_;
  const Shape shape_;
  const std::vector<uint64_t> words_;
  // Ones before each block of 2^stride_log2 bits of the high parts, and before
  // their end.
  const std::vector<uint64_t> ones_before_;
  // The block of every 2^hint_log2-th one, or zero, and then the number of
  // blocks.
  const std::vector<uint64_t> one_hints_;
  const std::vector<uint64_t> zero_hints_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_RECORDS_INDEX_OFFSET_TABLE_H_
