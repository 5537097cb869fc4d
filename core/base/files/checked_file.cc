// SPDX-License-Identifier: Apache-2.0
#include "core/base/files/checked_file.h"

#include <xxhash.h>

#include <algorithm>
#include <memory>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace shufflefs {
namespace {

constexpr char kPadding[8] = {};

size_t PaddingBehind(size_t bytes, size_t align) {
  return (align - bytes % align) % align;
}

uint64_t ChecksumOf(bool seeded, absl::string_view header,
                    absl::Span<const absl::string_view> columns) {
  header.remove_prefix(sizeof(CheckedHead));
  const std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> state(
      XXH3_createState(), &XXH3_freeState);
  if (seeded) {
    XXH3_64bits_reset_withSeed(state.get(),
                               XXH3_64bits(header.data(), header.size()));
  } else {
    XXH3_64bits_reset(state.get());
    XXH3_64bits_update(state.get(), header.data(), header.size());
  }
  for (const absl::string_view column : columns) {
    XXH3_64bits_update(state.get(), column.data(), column.size());
  }
  return XXH3_64bits_digest(state.get());
}

}  // namespace

std::vector<absl::string_view> SealedPieces(
    const CheckedFormat& format, char* header, size_t header_bytes,
    absl::Span<const absl::string_view> columns) {
  std::vector<absl::string_view> pieces = {{header, header_bytes}};
  for (const absl::string_view column : columns) {
    if (column.empty()) continue;  // an empty column may have no address
    pieces.push_back(column);
    pieces.emplace_back(kPadding, PaddingBehind(column.size(), format.align));
  }
  CheckedHead head = {
      .magic = {},
      .version = format.version,
      .header_bytes = static_cast<uint32_t>(header_bytes),
      .checksum = ChecksumOf(format.seeded, pieces[0],
                             absl::MakeSpan(pieces).subspan(1))};
  std::copy(format.magic.begin(), format.magic.end(), head.magic);
  std::memcpy(header, &head, sizeof head);
  return pieces;
}

absl::Status CheckedReader::ReadHeader(char* header, size_t size) {
  if (bytes_.size() < size || !absl::StartsWith(bytes_, format_.magic)) {
    return absl::InvalidArgumentError(format_.other);
  }
  std::memcpy(&head_, bytes_.data(), sizeof head_);
  if (head_.version != format_.version || head_.header_bytes != size) {
    return absl::InvalidArgumentError(absl::StrCat(format_.name, " of version ",
                                                   head_.version, ", not ",
                                                   format_.version));
  }
  std::memcpy(header, bytes_.data(), size);
  rest_.remove_prefix(size);
  return absl::OkStatus();
}

absl::string_view CheckedReader::TakeView(uint64_t count, size_t width) {
  fits_ = fits_ && count <= rest_.size() / width;
  if (!fits_) return {};
  const absl::string_view taken = rest_.substr(0, count * width);
  rest_.remove_prefix(taken.size());
  const size_t padding = PaddingBehind(taken.size(), format_.align);
  fits_ = padding <= rest_.size();
  rest_.remove_prefix(fits_ ? padding : 0);
  return taken;
}

absl::Status CheckedReader::Finish() const {
  if (!fits_ || !rest_.empty()) {
    return absl::DataLossError("cut off, or not as long as its header says");
  }
  const absl::string_view header = bytes_.substr(0, head_.header_bytes);
  const absl::string_view columns = bytes_.substr(header.size());
  if (ChecksumOf(format_.seeded, header, {columns}) != head_.checksum) {
    return absl::DataLossError("the checksum differs");
  }
  return absl::OkStatus();
}

}  // namespace shufflefs
