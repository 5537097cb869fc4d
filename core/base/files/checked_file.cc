// SPDX-License-Identifier: Apache-2.0
#include "core/base/files/checked_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <xxhash.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/base/files/atomic_file.h"
#include "core/base/files/read_at.h"
#include "core/base/parallel.h"
#include "core/base/status.h"
#include "core/base/thread.h"

namespace shufflefs {

// The checksum of a file whose parts come one by one.
class CheckedSum {
 public:
  // `header` includes the head.
  CheckedSum(bool seeded, absl::string_view header)
      : state_(XXH3_createState(), &XXH3_freeState) {
    header.remove_prefix(sizeof(CheckedHead));
    if (seeded) {
      XXH3_64bits_reset_withSeed(state_.get(),
                                 XXH3_64bits(header.data(), header.size()));
    } else {
      XXH3_64bits_reset(state_.get());
      Add(header);
    }
  }
  void Add(absl::string_view bytes) {
    XXH3_64bits_update(state_.get(), bytes.data(), bytes.size());
  }
  uint64_t Value() const { return XXH3_64bits_digest(state_.get()); }

 private:
  std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> state_;
};

namespace {

constexpr char kPadding[8] = {};

size_t PaddingBehind(size_t bytes, size_t align) {
  return (align - bytes % align) % align;
}

constexpr absl::string_view kCutOff =
    "cut off, or not as long as its header says";
constexpr absl::string_view kOtherChecksum = "the checksum differs";
constexpr uint64_t kLarge = uint64_t{16} << 20;
// Of a page of memory that the kernel maps at once.
constexpr uintptr_t kHugePage = uintptr_t{2} << 20;

uint64_t ChecksumOf(bool seeded, absl::string_view header,
                    absl::Span<const absl::string_view> columns) {
  CheckedSum sum(seeded, header);
  for (const absl::string_view column : columns) sum.Add(column);
  return sum.Value();
}

// Fills in `head` from the header's first bytes.
absl::Status CheckHead(const CheckedFormat& format, absl::string_view header,
                       CheckedHead& head) {
  if (!absl::StartsWith(header, format.magic)) {
    return absl::InvalidArgumentError(format.other);
  }
  std::memcpy(&head, header.data(), sizeof head);
  if (head.version == format.version && head.header_bytes == header.size()) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      format.name, " of version ", head.version, ", not ", format.version));
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
  if (bytes_.size() < size) return absl::InvalidArgumentError(format_.other);
  RETURN_IF_ERROR(CheckHead(format_, bytes_.substr(0, size), head_));
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
    return absl::DataLossError(kCutOff);
  }
  const absl::string_view header = bytes_.substr(0, head_.header_bytes);
  const absl::string_view columns = bytes_.substr(header.size());
  if (ChecksumOf(format_.seeded, header, {columns}) != head_.checksum) {
    return absl::DataLossError(kOtherChecksum);
  }
  return absl::OkStatus();
}

absl::StatusOr<CheckedFileReader> CheckedFileReader::Open(
    const CheckedFormat& format, const FilePlace& place, uint64_t most) {
  ASSIGN_OR_RETURN(UniqueFd fd, place.Open(O_RDONLY));
  ASSIGN_OR_RETURN(const uint64_t size,
                   SizeToRead(fd.get(), place.path(), most));
  return CheckedFileReader(format, std::move(fd), size);
}

CheckedFileReader::CheckedFileReader(const CheckedFormat& format, UniqueFd fd,
                                     uint64_t size)
    : format_(&format), fd_(std::move(fd)), size_(size) {
  if (size_ < kLarge) return;
  ahead_ = TryStartThread("read-ahead", [fd = fd_.get(),
                                         size](std::stop_token stop) {
    // More than this in one call is cut off.
    constexpr uint64_t kStep = uint64_t{128} << 10;
    for (uint64_t at = 0; at < size && !stop.stop_requested(); at += kStep) {
      posix_fadvise(fd, static_cast<off_t>(at), kStep, POSIX_FADV_WILLNEED);
    }
  });
}

CheckedFileReader::CheckedFileReader(CheckedFileReader&&) = default;
CheckedFileReader::~CheckedFileReader() = default;

absl::Status CheckedFileReader::ReadHeader(char* header, size_t size) {
  if (size_ < size) return absl::InvalidArgumentError(format_->other);
  Read(header, size);
  RETURN_IF_ERROR(failure_);
  RETURN_IF_ERROR(CheckHead(*format_, {header, size}, head_));
  sum_ = std::make_unique<CheckedSum>(format_->seeded,
                                      absl::string_view(header, size));
  return absl::OkStatus();
}

bool CheckedFileReader::Fits(uint64_t count, size_t width) {
  if (failure_.ok() && count > (size_ - read_) / width) {
    failure_ = absl::DataLossError(kCutOff);
  }
  return failure_.ok();
}

void CheckedFileReader::NoMemoryFor(uint64_t bytes) {
  failure_.Update(absl::ResourceExhaustedError(
      absl::StrCat("there is no memory for ", bytes, " bytes of it")));
}

void CheckedFileReader::Read(char* into, size_t bytes) {
  // What was read is still in the processor's cache when it is summed.
  constexpr size_t kPiece = size_t{256} << 10;
  char padding[8];
  const size_t behind =
      sum_ == nullptr ? 0 : PaddingBehind(bytes, format_->align);
  for (size_t at = 0; at < bytes + behind;) {
    const bool inside = at < bytes;
    char* const to = inside ? into + at : padding;
    const size_t take = inside ? std::min(kPiece, bytes - at) : behind;
    const absl::StatusOr<size_t> got = ReadAt(fd_.get(), read_, to, take);
    failure_.Update(got.status());
    if (!failure_.ok()) return;
    if (*got < take) {
      failure_ = absl::DataLossError(kCutOff);
      return;
    }
    if (sum_ != nullptr) sum_->Add({to, take});
    read_ += take;
    at += take;
  }
}

void CheckedFileReader::MakeRoom(void* memory, size_t bytes) {
  const auto begin = reinterpret_cast<uintptr_t>(memory);
  const uintptr_t from = (begin + kHugePage - 1) / kHugePage * kHugePage;
  const uintptr_t end = (begin + bytes) / kHugePage * kHugePage;
  if (end <= from) return;
  // Without this it is only slower. The kernel clears what it maps.
  madvise(reinterpret_cast<void*>(from), end - from, MADV_HUGEPAGE);
#ifdef MADV_POPULATE_WRITE
  ParallelOptions options = ParallelOptions::ToCompute("clear");
  options.chunk = 4;
  ParallelFor((end - from) / kHugePage, options,
              [from](uint64_t begin, uint64_t until) {
                madvise(reinterpret_cast<void*>(from + begin * kHugePage),
                        (until - begin) * kHugePage, MADV_POPULATE_WRITE);
                return true;
              });
#endif
}

absl::Status CheckedFileReader::Finish() {
  RETURN_IF_ERROR(failure_);
  if (read_ != size_) return absl::DataLossError(kCutOff);
  if (sum_->Value() != head_.checksum) {
    return absl::DataLossError(kOtherChecksum);
  }
  return absl::OkStatus();
}

}  // namespace shufflefs
