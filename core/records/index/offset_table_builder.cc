// SPDX-License-Identifier: Apache-2.0
#include "core/records/index/offset_table_builder.h"

#include <utility>

#include "absl/memory/memory.h"
#include "core/records/index/word_select.h"

namespace shufflefs {
namespace {

// Room for a size, seven bits per byte, at the end of a block.
constexpr size_t kBlockBytes = 64 * 1024;
constexpr size_t kLongestSize = 10;

// Calls `take` with each size of a block of the builder.
template <typename Take>
void EachSize(const std::vector<uint8_t>& block, Take take) {
  uint64_t size = 0;
  uint32_t shift = 0;
  for (const uint8_t byte : block) {
    size |= uint64_t{byte & 0x7fu} << shift;
    shift += 7;
    if (byte >= 0x80) continue;
    take(size);
    size = 0;
    shift = 0;
  }
}

// Writes the two parts of each beginning into words of zeros.
class Encoder {
 public:
  Encoder(uint64_t* low, uint64_t* high, uint32_t low_width)
      : low_(low), high_(high), low_width_(low_width) {}

  void Add(uint64_t bytes) {
    const uint64_t one = (begin_ >> low_width_) + record_;
    high_[one / 64] |= uint64_t{1} << one % 64;
    const uint64_t at = record_ * low_width_;
    const uint64_t shift = at % 64;
    const uint64_t low_part = begin_ & LowBits(low_width_);
    if (low_part != 0) low_[at / 64] |= low_part << shift;
    if (shift + low_width_ > 64) low_[at / 64 + 1] |= low_part >> (64 - shift);
    begin_ += bytes;
    ++record_;
  }

 private:
  uint64_t* const low_;
  uint64_t* const high_;
  const uint32_t low_width_;
  uint64_t record_ = 0;
  uint64_t begin_ = 0;
};

}  // namespace

void OffsetTableBuilder::Begin(uint64_t offset) {
  extent_.first = offset;
  extent_.end = offset;
}

void OffsetTableBuilder::Add(uint64_t bytes) {
  ++extent_.count;
  extent_.end += bytes;
  if (blocks_.empty() || kBlockBytes - blocks_.back().size() < kLongestSize) {
    blocks_.emplace_back().reserve(kBlockBytes);
  }
  std::vector<uint8_t>& block = blocks_.back();
  for (; bytes >= 0x80; bytes >>= 7) {
    block.push_back(static_cast<uint8_t>(bytes | 0x80));
  }
  block.push_back(static_cast<uint8_t>(bytes));
}

uint64_t OffsetTableBuilder::memory_bytes() const {
  return sizeof *this + blocks_.capacity() * sizeof blocks_[0] +
         blocks_.size() * kBlockBytes;
}

std::shared_ptr<const OffsetTable> OffsetTableBuilder::Finish() {
  const OffsetTable::Extent extent = std::exchange(extent_, {});
  if (extent.count == 0) {
    return absl::WrapUnique(new OffsetTable({}, {}));
  }
  const OffsetTable::Shape shape(extent);
  std::vector<uint64_t> words(shape.words());
  Encoder encoder(words.data(), words.data() + shape.low_words,
                  shape.low_width);
  for (std::vector<uint8_t>& block : blocks_) {
    EachSize(block, [&](uint64_t bytes) { encoder.Add(bytes); });
    std::vector<uint8_t>().swap(block);
  }
  blocks_.clear();
  return absl::WrapUnique(new OffsetTable(extent, std::move(words)));
}

}  // namespace shufflefs
