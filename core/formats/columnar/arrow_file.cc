// SPDX-License-Identifier: Apache-2.0
#include "core/formats/columnar/arrow_file.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "core/formats/columnar/flatbuffer_table.h"

namespace shufflefs {
namespace {

constexpr absl::string_view kArrowMagic = "ARROW1";
constexpr absl::string_view kHead("ARROW1\0\0", 8);

// Fields of the table Footer in File.fbs.
constexpr int kRecordBatches = 3;

// The struct Block of File.fbs, as stored in the file.
struct Block {
  int64_t offset;
  int32_t metadata_bytes;
  int32_t padding;
  int64_t body_bytes;
};
static_assert(sizeof(Block) == 24);

class ArrowFooter : public ColumnarFooter {
 public:
  // `list` is the blocks' bytes, which begin at byte `begin` of the file.
  ArrowFooter(std::string list, uint64_t begin)
      : list_(std::move(list)), begin_(begin) {}

  uint64_t count() const override { return list_.size() / sizeof(Block); }
  uint64_t begin() const override { return begin_; }
  uint64_t size() const override { return list_.size(); }

  std::string ReorderedBytes(const GroupAt& group_at, uint64_t from,
                             uint64_t to) const override {
    std::string bytes;
    bytes.reserve(to - from);
    for (uint64_t at = from / sizeof(Block); from < to; ++at) {
      const uint64_t begin = from - at * sizeof(Block);
      const uint64_t take = std::min(to - from, sizeof(Block) - begin);
      bytes.append(list_, group_at(at) * sizeof(Block) + begin, take);
      from += take;
    }
    return bytes;
  }

  std::vector<uint64_t> group_begins() const override {
    std::vector<uint64_t> begins(count());
    for (uint64_t i = 0; i < count(); ++i) begins[i] = BlockAt(i).offset;
    return begins;
  }
  std::vector<uint64_t> group_bytes() const override {
    std::vector<uint64_t> bytes(count());
    for (uint64_t i = 0; i < count(); ++i) {
      const Block block = BlockAt(i);
      bytes[i] = static_cast<uint64_t>(block.metadata_bytes) + block.body_bytes;
    }
    return bytes;
  }
  uint64_t memory_bytes() const override {
    return sizeof *this + list_.capacity();
  }

  // Checks that every block is between the magic and `limit`, where the footer
  // begins.
  absl::Status CheckBlocks(uint64_t limit) const {
    const auto end = static_cast<int64_t>(limit);
    for (uint64_t i = 0; i < count(); ++i) {
      const Block block = BlockAt(i);
      if (block.offset < static_cast<int64_t>(kHead.size()) ||
          block.offset > end || block.metadata_bytes <= 0 ||
          block.metadata_bytes > end - block.offset || block.body_bytes < 0 ||
          block.body_bytes > end - block.offset - block.metadata_bytes) {
        return absl::DataLossError(
            absl::StrCat("its footer says at byte ", begin_ + i * sizeof(Block),
                         " that a record batch has ", block.metadata_bytes,
                         " and ", block.body_bytes, " bytes at byte ",
                         block.offset, ", but data ends at byte ", limit));
      }
    }
    return absl::OkStatus();
  }

 private:
  Block BlockAt(uint64_t i) const {
    Block block;
    std::memcpy(&block, list_.data() + i * sizeof block, sizeof block);
    return block;
  }

  const std::string list_;
  const uint64_t begin_;
};

}  // namespace

bool LooksLikeArrowFile(absl::string_view head) {
  return absl::StartsWith(head, kHead);
}

absl::StatusOr<uint64_t> ArrowFooterBytes(absl::string_view tail) {
  if (tail.size() != kArrowTailBytes) {
    return absl::DataLossError("it is too short for an Arrow file");
  }
  if (tail.substr(sizeof(uint32_t)) != kArrowMagic) {
    return absl::DataLossError("it does not end as an Arrow file does");
  }
  uint32_t length;
  std::memcpy(&length, tail.data(), sizeof length);
  RETURN_IF_ERROR(CheckFooterLength(length));
  return length + kArrowTailBytes;
}

absl::StatusOr<std::unique_ptr<ColumnarFooter>> ParseArrowFooter(
    absl::string_view footer_and_tail, uint64_t file_bytes) {
  const size_t size = footer_and_tail.size();
  ASSIGN_OR_RETURN(const uint64_t wanted,
                   ArrowFooterBytes(footer_and_tail.substr(
                       size - std::min<size_t>(size, kArrowTailBytes))));
  RETURN_IF_ERROR(CheckFooterSizes({wanted, size, kHead.size(), file_bytes}));
  const absl::string_view buffer =
      footer_and_tail.substr(0, size - kArrowTailBytes);
  const uint64_t begin = file_bytes - size;
  ASSIGN_OR_RETURN(const FlatbufferTable footer,
                   FlatbufferTable::Root(buffer, begin));
  ASSIGN_OR_RETURN(const absl::optional<FlatbufferVector> blocks,
                   footer.Vector(kRecordBatches, sizeof(Block)));
  const FlatbufferVector list =
      blocks.value_or(FlatbufferVector{buffer.size(), 0});
  const size_t list_bytes = list.count * sizeof(Block);
  // The list must not contain anything that says where the list is.
  if (footer.Overlaps(list.begin, list.begin + list_bytes)) {
    return absl::DataLossError(
        absl::StrCat("its metadata is invalid at byte ", begin + list.begin));
  }
  auto parsed = std::make_unique<ArrowFooter>(
      std::string(buffer.substr(list.begin, list_bytes)), begin + list.begin);
  RETURN_IF_ERROR(parsed->CheckBlocks(begin));
  return parsed;
}

}  // namespace shufflefs
