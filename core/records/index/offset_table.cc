// SPDX-License-Identifier: Apache-2.0
#include "core/records/index/offset_table.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/records/index/word_select.h"

namespace shufflefs {
namespace {

// Bytes for the counts if the bits per record leave no room.
constexpr uint64_t kFixedCountBytes = 32 * 1024;
constexpr uint64_t kMostHints = 1024;  // for ones and zeros together
constexpr uint64_t kFurthestEnd = uint64_t{1} << 63;

uint64_t BytesOf(const OffsetTable::Extent& extent) {
  return extent.end - extent.first;
}

// The bits that all records together may take. REQUIRES: count > 0.
uint64_t BudgetBits(uint64_t bytes, uint64_t count) {
  const uint64_t mean = (bytes - 1) / count + 1;  // rounded up
  const auto log2_mean = static_cast<uint64_t>(std::bit_width(mean - 1));
  return count * std::max<uint64_t>(16, 2 + log2_mean);
}

}  // namespace

OffsetTable::Shape::Shape(const Extent& extent) {
  if (extent.count == 0) return;
  const uint64_t bytes = BytesOf(extent);
  low_width = static_cast<uint32_t>(std::bit_width(bytes / extent.count)) - 1;
  low_words = (extent.count * low_width + 63) / 64;
  high_bits = extent.count + (bytes >> low_width) + 1;
  const uint64_t budget = BudgetBits(bytes, extent.count);
  const uint64_t used = extent.count * low_width + high_bits;
  const uint64_t room =
      kFixedCountBytes + (budget > used ? (budget - used) / 8 : 0);
  while ((high_bits >> stride_log2) * sizeof(uint64_t) > room) ++stride_log2;
  while (high_bits >> hint_log2 > kMostHints) ++hint_log2;
}

OffsetTable::OffsetTable(const Extent& extent, std::vector<uint64_t> words)
    : extent_(extent),
      shape_(extent),
      words_(std::move(words)),
      ones_before_(CountOnes()),
      one_hints_(Hints<true>()),
      zero_hints_(Hints<false>()) {}

std::vector<uint64_t> OffsetTable::CountOnes() const {
  const uint64_t words_a_block = uint64_t{1} << (shape_.stride_log2 - 6);
  const uint64_t high_words = words_.size() - shape_.low_words;
  std::vector<uint64_t> counts;
  counts.reserve(high_words / words_a_block + 2);
  uint64_t ones = 0;
  for (uint64_t w = 0; w < high_words; ++w) {
    if (w % words_a_block == 0) counts.push_back(ones);
    ones += BitsIn(high()[w]);
  }
  counts.push_back(ones);
  return counts;
}

template <bool kOnes>
std::vector<uint64_t> OffsetTable::Hints() const {
  const uint64_t blocks = ones_before_.size() - 1;
  const uint64_t total = Before<kOnes>(blocks);
  std::vector<uint64_t> hints;
  hints.reserve((total >> shape_.hint_log2) + 2);
  for (uint64_t block = 0; block < blocks; ++block) {
    const uint64_t end = Before<kOnes>(block + 1);
    while (hints.size() << shape_.hint_log2 < end) hints.push_back(block);
  }
  hints.push_back(blocks);
  return hints;
}

absl::StatusOr<std::shared_ptr<const OffsetTable>> OffsetTable::FromWords(
    const Extent& extent, std::vector<uint64_t> words) {
  if (extent.first > extent.end || extent.end > kFurthestEnd ||
      extent.count > BytesOf(extent) ||
      (extent.count == 0) != (BytesOf(extent) == 0)) {
    return absl::DataLossError(
        absl::StrCat("no ", extent.count, " records lie between byte ",
                     extent.first, " and byte ", extent.end));
  }
  // The first comparison keeps the arithmetic of the second in 64 bits.
  if (extent.count / 64 > words.size() ||
      Shape(extent).words() != words.size()) {
    return absl::DataLossError(absl::StrCat(words.size(),
                                            " words do not tell where ",
                                            extent.count, " records are"));
  }
  std::shared_ptr<const OffsetTable> table =
      absl::WrapUnique(new OffsetTable(extent, std::move(words)));
  if (absl::Status status = table->Check(); !status.ok()) return status;
  return table;
}

absl::Status OffsetTable::Check() const {
  const absl::Status wrong =
      absl::DataLossError("the records are not consecutive");
  const uint64_t bytes = BytesOf(extent_);
  const uint64_t low_bits = extent_.count * shape_.low_width;
  if (low_bits % 64 != 0 && words_[low_bits / 64] >> low_bits % 64 != 0) {
    return wrong;
  }
  uint64_t record = 0;
  uint64_t next_least = 0;  // the earliest beginning of the next record
  const uint64_t high_words = words_.size() - shape_.low_words;
  for (uint64_t w = 0; w < high_words; ++w) {
    for (uint64_t bits = high()[w]; bits != 0; bits &= bits - 1) {
      const uint64_t at =
          w * 64 + static_cast<uint64_t>(std::countr_zero(bits));
      if (record == extent_.count || at - record > bytes >> shape_.low_width) {
        return wrong;
      }
      const uint64_t begin = (at - record) << shape_.low_width | Low(record);
      if (begin < next_least || begin >= bytes) return wrong;
      if (record == 0 && begin != 0) return wrong;
      next_least = begin + 1;
      ++record;
    }
  }
  return record == extent_.count ? absl::OkStatus() : wrong;
}

uint64_t OffsetTable::memory_bytes() const {
  return sizeof *this + (words_.capacity() + ones_before_.capacity() +
                         one_hints_.capacity() + zero_hints_.capacity()) *
                            sizeof(uint64_t);
}

inline uint64_t OffsetTable::Low(uint64_t record) const {
  const uint32_t width = shape_.low_width;
  if (width == 0) return 0;
  const uint64_t at = record * width;
  const uint64_t shift = at % 64;
  uint64_t low = words_[at / 64] >> shift;
  if (shift + width > 64) low |= words_[at / 64 + 1] << (64 - shift);
  return low & LowBits(width);
}

template <bool kOnes>
inline uint64_t OffsetTable::Before(uint64_t block) const {
  const uint64_t ones = ones_before_[block];
  return kOnes ? ones : (block << shape_.stride_log2) - ones;
}

template <bool kOnes>
inline uint64_t OffsetTable::Block(uint64_t index) const {
  const auto& hints = kOnes ? one_hints_ : zero_hints_;
  const uint64_t hint = index >> shape_.hint_log2;
  uint64_t low = hints[hint];
  // The block of the next hint may be the block of this bit.
  uint64_t high = std::min(hints[hint + 1] + 1, ones_before_.size() - 1);
  // Starts where the bit is if everything between the hints is uniform, and
  // continues in growing steps.
  uint64_t at = low + ((high - low) * (index & LowBits(shape_.hint_log2)) >>
                       shape_.hint_log2);
  uint64_t step = 1;
  if (Before<kOnes>(at) <= index) {
    for (; at < high && Before<kOnes>(at) <= index; step *= 2) {
      low = at;
      at += step;
    }
    high = std::min(high, at);
  } else {
    for (; at > low && Before<kOnes>(at) > index; step *= 2) {
      high = at;
      at -= std::min(step, at - low);
    }
    low = at;
  }
  while (high - low > 1) {
    const uint64_t middle = low + (high - low) / 2;
    (Before<kOnes>(middle) <= index ? low : high) = middle;
  }
  return low;
}

template <bool kOnes>
inline uint64_t OffsetTable::Select(uint64_t index) const {
  const uint64_t block = Block<kOnes>(index);
  uint64_t left = index - Before<kOnes>(block);
  for (uint64_t w = block << (shape_.stride_log2 - 6);; ++w) {
    const uint64_t bits = kOnes ? high()[w] : ~high()[w];
    const uint64_t here = BitsIn(bits);
    if (left < here) return w * 64 + SelectInWord(bits, left);
    left -= here;
  }
}

uint64_t OffsetTable::begin(uint64_t record) const {
  if (record == extent_.count) return extent_.end;
  const uint64_t high_part = Select<true>(record) - record;
  return extent_.first + (high_part << shape_.low_width | Low(record));
}

void OffsetTable::Begins(uint64_t first, absl::Span<uint64_t> begins) const {
  uint64_t record = first;
  const uint64_t last = std::min(first + begins.size(), extent_.count);
  if (record < last) {
    uint64_t at = Select<true>(record);
    uint64_t w = at / 64;
    uint64_t bits = high()[w] & ~LowBits(static_cast<uint32_t>(at % 64));
    for (; record < last; ++record, bits &= bits - 1) {
      while (bits == 0) bits = high()[++w];
      at = w * 64 + static_cast<uint64_t>(std::countr_zero(bits));
      begins[record - first] =
          extent_.first + ((at - record) << shape_.low_width | Low(record));
    }
  }
  if (record < first + begins.size()) begins.back() = extent_.end;
}

uint64_t OffsetTable::FirstFrom(uint64_t offset) const {
  if (offset <= extent_.first) return 0;
  if (offset >= extent_.end) return extent_.count;
  const uint64_t wanted = offset - extent_.first;
  const uint64_t high_part = wanted >> shape_.low_width;
  const uint64_t low_part = wanted & LowBits(shape_.low_width);
  // The ones of the records with this high part are adjacent, from `at` on.
  const uint64_t at = high_part == 0 ? 0 : Select<false>(high_part - 1) + 1;
  const auto ones =
      static_cast<uint64_t>(std::countr_one(high()[at / 64] >> at % 64));
  uint64_t low = at - high_part;
  uint64_t high =
      low + (ones < 64 - at % 64 ? ones : Select<false>(high_part) - at);
  while (low < high) {
    const uint64_t middle = low + (high - low) / 2;
    if (Low(middle) < low_part) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

}  // namespace shufflefs
