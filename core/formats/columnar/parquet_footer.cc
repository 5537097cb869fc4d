// SPDX-License-Identifier: Apache-2.0
#include "core/formats/columnar/parquet_footer.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "core/formats/columnar/parquet_metadata.h"
#include "core/formats/columnar/thrift_compact.h"

namespace shufflefs {
namespace {

constexpr absl::string_view kParquetMagic = "PAR1";
constexpr absl::string_view kEncryptedMagic = "PARE";

absl::Status Refused(absl::string_view why) {
  return absl::FailedPreconditionError(why);
}

// The bytes [from, to) of what is appended.
class ByteRange {
 public:
  ByteRange(uint64_t from, uint64_t to) : from_(from), to_(to) {
    bytes_.reserve(to - from);
  }

  void Append(absl::string_view piece) {
    const uint64_t begin = std::max(from_, at_);
    const uint64_t end = std::min(to_, at_ + piece.size());
    if (begin < end) bytes_.append(piece.data() + (begin - at_), end - begin);
    at_ += piece.size();
  }
  uint64_t at() const { return at_; }  // bytes appended so far
  std::string Take() { return std::move(bytes_); }

 private:
  const uint64_t from_;
  const uint64_t to_;
  uint64_t at_ = 0;
  std::string bytes_;
};

class ParquetFooter : public ColumnarFooter {
 public:
  // `list` is the bytes of the entries of `groups`. It begins at byte `begin`
  // of the file.
  ParquetFooter(std::string list, uint64_t begin, ParquetRowGroups groups)
      : list_(std::move(list)),
        begin_(begin),
        entries_(std::move(groups.entries)),
        rows_(groups.rows) {}

  uint64_t count() const override { return entries_.size(); }
  absl::optional<uint64_t> rows() const override { return rows_; }
  uint64_t begin() const override { return begin_; }
  uint64_t size() const override { return list_.size(); }

  // The ordinals are the same set of numbers in every order. So together they
  // take the same number of bytes, though one entry may grow and another
  // shrink.
  std::string ReorderedBytes(const GroupAt& group_at, uint64_t from,
                             uint64_t to) const override {
    const absl::string_view list(list_);
    ByteRange range(from, to);
    std::string ordinal;
    for (uint64_t at = 0; range.at() < to; ++at) {
      const ParquetRowGroup& entry = entries_[group_at(at)];
      if (entry.ordinal_begin == 0) {
        range.Append(list.substr(entry.begin, entry.end - entry.begin));
        continue;
      }
      range.Append(list.substr(entry.begin, entry.ordinal_begin - entry.begin));
      ordinal.clear();
      AppendThriftInteger(static_cast<int64_t>(at), ordinal);
      range.Append(ordinal);
      range.Append(
          list.substr(entry.ordinal_end, entry.end - entry.ordinal_end));
    }
    return range.Take();
  }

  std::vector<uint64_t> group_begins() const override {
    return Each(&ParquetRowGroup::data_begin);
  }
  std::vector<uint64_t> group_bytes() const override {
    return Each(&ParquetRowGroup::data_bytes);
  }
  uint64_t memory_bytes() const override {
    return sizeof *this + list_.capacity() +
           entries_.capacity() * sizeof(ParquetRowGroup);
  }

 private:
  std::vector<uint64_t> Each(uint64_t ParquetRowGroup::*field) const {
    std::vector<uint64_t> values;
    values.reserve(entries_.size());
    for (const ParquetRowGroup& entry : entries_)
      values.push_back(entry.*field);
    return values;
  }

  const std::string list_;
  const uint64_t begin_;
  const std::vector<ParquetRowGroup> entries_;
  const absl::optional<uint64_t> rows_;
};

absl::Status CheckOrdinals(const std::vector<ParquetRowGroup>& entries) {
  const auto has = [](const ParquetRowGroup& entry) {
    return entry.ordinal_begin != 0;
  };
  if (std::none_of(entries.begin(), entries.end(), has)) {
    return absl::OkStatus();
  }
  std::vector<bool> seen(entries.size());
  for (const ParquetRowGroup& entry : entries) {
    if (!has(entry)) return Refused("only some of its row groups are numbered");
    if (entry.ordinal < 0 ||
        static_cast<uint64_t>(entry.ordinal) >= seen.size() ||
        seen[entry.ordinal]) {
      return Refused("its row groups are not numbered from 0 on");
    }
    seen[entry.ordinal] = true;
    // Otherwise the rewritten list would be shorter.
    if (ThriftIntegerBytes(entry.ordinal) !=
        entry.ordinal_end - entry.ordinal_begin) {
      return Refused("its numbers are encoded in more bytes than needed");
    }
  }
  return absl::OkStatus();
}

}  // namespace

bool LooksLikeParquet(absl::string_view head) {
  return absl::StartsWith(head, kParquetMagic);
}

absl::StatusOr<uint64_t> ParquetFooterBytes(absl::string_view tail) {
  if (tail.size() != kParquetTailBytes) {
    return absl::DataLossError("it is too short for a Parquet file");
  }
  const absl::string_view magic = tail.substr(4);
  if (magic == kEncryptedMagic) return Refused("its footer is encrypted");
  if (magic != kParquetMagic) {
    return absl::DataLossError("it does not end as a Parquet file does");
  }
  uint64_t length = 0;
  for (int i = 3; i >= 0; --i) {
    length = length << 8 | static_cast<uint8_t>(tail[i]);
  }
  RETURN_IF_ERROR(CheckFooterLength(length));
  return length + kParquetTailBytes;
}

absl::StatusOr<std::unique_ptr<ColumnarFooter>> ParseParquetFooter(
    absl::string_view footer_and_tail, uint64_t file_bytes) {
  const size_t size = footer_and_tail.size();
  ASSIGN_OR_RETURN(const uint64_t wanted,
                   ParquetFooterBytes(footer_and_tail.substr(
                       size - std::min<size_t>(size, kParquetTailBytes))));
  RETURN_IF_ERROR(
      CheckFooterSizes({wanted, size, kParquetMagic.size(), file_bytes}));
  const absl::string_view metadata =
      footer_and_tail.substr(0, size - kParquetTailBytes);
  const uint64_t begin = file_bytes - size;
  ASSIGN_OR_RETURN(ParquetRowGroups groups,
                   ParseParquetMetadata(metadata, begin));
  RETURN_IF_ERROR(CheckOrdinals(groups.entries));
  const uint64_t list = begin + groups.begin;
  return std::make_unique<ParquetFooter>(
      std::string(metadata.substr(groups.begin, groups.end - groups.begin)),
      list, std::move(groups));
}

}  // namespace shufflefs
