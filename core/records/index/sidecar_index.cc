// SPDX-License-Identifier: Apache-2.0
#include "core/records/index/sidecar_index.h"

#include <fcntl.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/files/read_at.h"
#include "core/base/files/unique_fd.h"
#include "core/base/status.h"
#include "core/records/index/padded_builder.h"
#include "core/source/file_check.h"

namespace shufflefs {
namespace {

constexpr size_t kReadBytes = size_t{1} << 20;
constexpr size_t kGapReadBytes = size_t{64} << 10;
// Two numbers of 20 digits, and blanks. A view shows lines as long as those of
// the source are on average, with what is left before the first one.
constexpr size_t kLongestLine = 256;
constexpr size_t kLongestFirstLine = size_t{1} << 20;

uint32_t DigitCount(uint64_t number) {
  return static_cast<uint32_t>(absl::AlphaNum(number).size());
}

absl::Status NotItsIndex(const SidecarIndex& sidecar) {
  return absl::FailedPreconditionError(
      absl::StrCat("it has a sidecar file, ", sidecar.path,
                   ", which is not an index of its records"));
}

absl::Status NotWhatWasWritten(const SidecarIndex& sidecar) {
  return absl::DataLossError(absl::StrCat(
      sidecar.path, ": is not the index that was written with it"));
}

size_t LongestLine(uint64_t line) {
  return line == 1 ? kLongestFirstLine : kLongestLine;
}

absl::Status TooLong(uint64_t line) {
  return absl::InvalidArgumentError(
      absl::StrCat("line ", line, " is too long"));
}

absl::Status IndexingStopped() {
  return absl::CancelledError("indexing was stopped");
}

using TakeText = std::function<absl::Status(absl::string_view)>;

// Feeds the text of the index to `take`.
absl::Status ReadSidecar(const SourceDir& source, const SidecarIndex& sidecar,
                         const TakeText& take) {
  const absl::StatusOr<UniqueFd> opened = source.Open(sidecar.path, O_RDONLY);
  if (!opened.ok()) {
    return OpenFailure(ErrnoOf(opened.status()).value_or(EIO));
  }
  const int fd = opened->get();
  RETURN_IF_ERROR(CheckUnchanged(fd, sidecar.expected));
  std::vector<char> buffer(
      std::min<uint64_t>(kReadBytes, sidecar.expected.size));
  for (uint64_t at = 0; at < sidecar.expected.size;) {
    const size_t wanted =
        std::min<uint64_t>(buffer.size(), sidecar.expected.size - at);
    ASSIGN_OR_RETURN(const size_t got, ReadAt(fd, at, buffer.data(), wanted));
    if (got < wanted) return EndsEarly(at + got);
    RETURN_IF_ERROR(take(absl::string_view(buffer.data(), got)));
    if (sidecar.goes_on && !sidecar.goes_on()) {
      return IndexingStopped();
    }
    at += got;
  }
  return CheckUnchanged(fd, sidecar.expected);
}

absl::Status CheckZeros(int fd, const PaddingGap& gap,
                        const SidecarIndex& sidecar) {
  std::vector<char> buffer(std::min<uint64_t>(gap.bytes, kGapReadBytes));
  for (uint64_t at = 0; at < gap.bytes;) {
    if (sidecar.goes_on && !sidecar.goes_on()) return IndexingStopped();
    const size_t wanted = std::min<uint64_t>(buffer.size(), gap.bytes - at);
    ASSIGN_OR_RETURN(const size_t got,
                     ReadAt(fd, gap.offset + at, buffer.data(), wanted));
    if (got < wanted) return EndsEarly(gap.offset + at + got);
    if (!std::all_of(buffer.begin(), buffer.begin() + got,
                     [](char byte) { return byte == 0; })) {
      return absl::DataLossError(absl::StrCat(
          kAlignedManifest,
          ": the file is not the one that was written: it has data where "
          "padding was, at byte ",
          gap.offset));
    }
    at += got;
  }
  return absl::OkStatus();
}

struct IndexHashDeleter {
  void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
};

}  // namespace

absl::Status TfrecordIndexLines::Lines(absl::string_view text,
                                       const Take& take) {
  TfrecordSpan span;
  while (!text.empty()) {
    ++taken_;
    const size_t before = text.size();
    const bool is_valid = TakeTfrecordIndexLine(text, &span);
    if (before - text.size() > LongestLine(taken_)) return TooLong(taken_);
    if (!is_valid) {
      return absl::InvalidArgumentError(
          absl::StrCat("line ", taken_, " is not an offset and a size"));
    }
    RETURN_IF_ERROR(take(span));
  }
  return absl::OkStatus();
}

absl::Status TfrecordIndexLines::Feed(absl::string_view text,
                                      const Take& take) {
  if (text.empty()) return absl::OkStatus();
  if (!held_.empty()) {
    const size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    held_.append(text.data(), end);
    text.remove_prefix(end);
    if (held_.back() == '\n') {
      RETURN_IF_ERROR(Lines(held_, take));
      held_.clear();
    }
  }
  const size_t whole = text.rfind('\n') + 1;  // 0 if there is none
  RETURN_IF_ERROR(Lines(text.substr(0, whole), take));
  text.remove_prefix(whole);
  held_.append(text.data(), text.size());
  return held_.size() > LongestLine(taken_ + 1) ? TooLong(taken_ + 1)
                                                : absl::OkStatus();
}

absl::Status TfrecordIndexLines::Finish(const Take& take) {
  return Lines(std::exchange(held_, ""), take);
}

void IndexLinesOf::Add(uint64_t bytes) {
  ++count_;
  all_ += bytes;
  largest_ = std::max(largest_, bytes);
  smallest_ = std::min(smallest_, bytes);
}

IndexLines IndexLinesOf::Finish(uint64_t source_bytes) const {
  IndexLines lines;
  // The last record has the largest offset if it is the smallest record.
  lines.widths = {.offset = DigitCount(all_ - smallest_),
                  .bytes = DigitCount(largest_)};
  const uint64_t line = lines.widths.offset + lines.widths.bytes + 2;
  const uint64_t least = count_ * line;
  const uint64_t more = std::max(least, source_bytes) - least;
  lines.widths.offset += static_cast<uint32_t>(more / count_);
  lines.blanks = more % count_;
  lines.bytes = least + more;
  return lines;
}

bool IndexComparison::Take(const TfrecordSpan& span) {
  if (next_ == table_.count()) return false;
  if (next_ == first_ + held_) Fill();
  const size_t at = next_++ - first_;
  lines_.Add(span.bytes);
  return span.offset == begins_[at] &&
         span.bytes == begins_[at + 1] - begins_[at];
}

void IndexComparison::Fill() {
  first_ = next_;
  held_ = std::min<uint64_t>(table_.count() - first_, begins_.size() - 1);
  table_.Begins(first_, absl::MakeSpan(begins_).subspan(0, held_ + 1));
}

absl::StatusOr<IndexLines> CheckSidecarIndex(const SourceDir& source,
                                             const SidecarIndex& sidecar,
                                             const RecordTable& records) {
  IndexComparison comparison(records);
  TfrecordIndexLines lines;
  const TfrecordIndexLines::Take take = [&](const TfrecordSpan& span) {
    return comparison.Take(span) ? absl::OkStatus() : NotItsIndex(sidecar);
  };
  RETURN_IF_ERROR(ReadSidecar(source, sidecar, [&](absl::string_view text) {
    const absl::Status fed = lines.Feed(text, take);
    return fed.ok() ? fed : NotItsIndex(sidecar);
  }));
  if (!lines.Finish(take).ok() || !comparison.all()) {
    return NotItsIndex(sidecar);
  }
  return comparison.lines().Finish(sidecar.expected.size);
}

absl::StatusOr<ContainerShape> ReadPaddedRecords(const SourceDir& source,
                                                 int fd,
                                                 const SidecarIndex& sidecar,
                                                 const AlignedFile& file) {
  PaddedBuilder builder(file);
  TfrecordIndexLines lines;
  const std::unique_ptr<XXH3_state_t, IndexHashDeleter> hash(
      XXH3_createState());
  XXH3_64bits_reset(hash.get());
  const TfrecordIndexLines::Take take = [&](const TfrecordSpan& span) {
    return builder.Take(span) ? absl::OkStatus() : NotWhatWasWritten(sidecar);
  };
  RETURN_IF_ERROR(ReadSidecar(source, sidecar, [&](absl::string_view text) {
    XXH3_64bits_update(hash.get(), text.data(), text.size());
    const absl::Status fed = lines.Feed(text, take);
    return fed.ok() ? fed : NotWhatWasWritten(sidecar);
  }));
  ContainerShape shape;
  if (!lines.Finish(take).ok() ||
      XXH3_64bits_digest(hash.get()) != file.idx_checksum ||
      !builder.Finish(sidecar.expected.size, &shape)) {
    return NotWhatWasWritten(sidecar);
  }
  for (const PaddingGap& gap : builder.some_gaps()) {
    RETURN_IF_ERROR(CheckZeros(fd, gap, sidecar));
  }
  return shape;
}

}  // namespace shufflefs
