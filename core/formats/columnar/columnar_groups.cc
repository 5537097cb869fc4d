// SPDX-License-Identifier: Apache-2.0
#include "core/formats/columnar/columnar_groups.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "core/base/files/atomic_file.h"
#include "core/base/files/read_at.h"
#include "core/base/status.h"
#include "core/formats/columnar/arrow_file.h"
#include "core/formats/columnar/parquet_footer.h"
#include "core/source/file_check.h"

namespace shufflefs {
namespace {

std::vector<uint64_t> Ascending(std::vector<uint64_t> begins) {
  std::sort(begins.begin(), begins.end());
  return begins;
}

absl::string_view Last(absl::string_view bytes, uint64_t count) {
  return bytes.substr(bytes.size() - std::min<size_t>(bytes.size(), count));
}

}  // namespace

ColumnarGroups::ColumnarGroups(std::unique_ptr<const ColumnarFooter> footer)
    : footer_(std::move(footer)), begins_(Ascending(footer_->group_begins())) {}

uint64_t ColumnarGroups::NextBegin(uint64_t offset) const {
  const auto next = std::upper_bound(begins_.begin(), begins_.end(), offset);
  return next == begins_.end() ? std::max(footer_->begin(), offset) : *next;
}

uint64_t ColumnarGroups::memory_bytes() const {
  return sizeof *this + footer_->memory_bytes() +
         begins_.capacity() * sizeof(uint64_t);
}

bool EndsLikeArrowFile(absl::string_view tail) {
  const absl::Status ends =
      ArrowFooterBytes(Last(tail, kArrowTailBytes)).status();
  return !absl::IsDataLoss(ends);
}

absl::StatusOr<std::shared_ptr<const ColumnarGroups>> ReadColumnarGroups(
    int fd, uint64_t file_bytes, ColumnarFormat format,
    absl::string_view tail) {
  const bool parquet = format == ColumnarFormat::kParquet;
  ASSIGN_OR_RETURN(const uint64_t wanted,
                   parquet ? ParquetFooterBytes(Last(tail, kParquetTailBytes))
                           : ArrowFooterBytes(Last(tail, kArrowTailBytes)));
  std::string larger;
  absl::string_view footer = Last(tail, wanted);
  // The parsers refuse a footer that is larger than the file.
  if (wanted > tail.size() && wanted <= file_bytes) {
    const uint64_t from = file_bytes - wanted;
    RETURN_IF_ERROR(CheckWritten(fd, {from, wanted}, "its footer"));
    larger.resize(wanted - tail.size());
    ASSIGN_OR_RETURN(const size_t got,
                     ReadAt(fd, from, larger.data(), larger.size()));
    if (got < larger.size()) return EndsEarly(from + got);
    larger.append(tail.data(), tail.size());
    footer = larger;
  }
  ASSIGN_OR_RETURN(std::unique_ptr<const ColumnarFooter> parsed,
                   parquet ? ParseParquetFooter(footer, file_bytes)
                           : ParseArrowFooter(footer, file_bytes));
  return std::make_shared<const ColumnarGroups>(std::move(parsed));
}

}  // namespace shufflefs
