// SPDX-License-Identifier: Apache-2.0
#include "core/formats/tfrecord/tfrecord_scanner.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "core/base/files/crc32c.h"
#include "core/base/status.h"

namespace shufflefs {
namespace {

static_assert(std::endian::native == std::endian::little,
              "numbers are read as they are");

template <typename T>
T NumberAt(const char* at) {
  T number;
  std::memcpy(&number, at, sizeof number);
  return number;
}

absl::Status Differs(absl::string_view of, uint64_t record, uint32_t stored,
                     uint32_t found) {
  return absl::DataLossError(absl::StrCat(
      "the checksum of the ", of, " of the record at byte ", record, " is ",
      absl::Hex(stored, absl::kZeroPad8), " in the file, but should be ",
      absl::Hex(found, absl::kZeroPad8)));
}

class TfrecordScanner : public RecordScanner {
 public:
  explicit TfrecordScanner(uint64_t file_bytes) : file_bytes_(file_bytes) {}

  absl::Status Feed(absl::string_view bytes, RecordSink& sink) override {
    while (!bytes.empty()) {
      switch (part_) {
        case Part::kHead:
          if (Gather(kTfrecordHeadBytes, bytes)) RETURN_IF_ERROR(Head());
          break;
        case Part::kData:
          Data(bytes);
          break;
        case Part::kTail:
          if (Gather(kTfrecordTailBytes, bytes)) RETURN_IF_ERROR(Tail(sink));
          break;
      }
    }
    return absl::OkStatus();
  }

  absl::Status Finish(RecordSink& /*sink*/) override {
    if (seen_ == file_bytes_ && seen_ == record_) return absl::OkStatus();
    return absl::DataLossError(absl::StrCat(
        "the file ends at byte ", seen_, ", ",
        seen_ == record_
            ? absl::StrCat("though it had ", file_bytes_, " bytes")
            : absl::StrCat("inside the record at byte ", record_)));
  }

 private:
  enum class Part { kHead, kData, kTail };

  // Takes bytes until `wanted` of them are held. Returns whether they are.
  bool Gather(uint64_t wanted, absl::string_view& bytes) {
    const size_t now = std::min<uint64_t>(wanted - held_, bytes.size());
    std::memcpy(held_bytes_ + held_, bytes.data(), now);
    bytes.remove_prefix(now);
    seen_ += now;
    held_ += now;
    if (held_ < wanted) return false;
    held_ = 0;
    return true;
  }

  absl::Status Head() {
    const auto length = NumberAt<uint64_t>(held_bytes_);
    const auto stored = NumberAt<uint32_t>(held_bytes_ + sizeof length);
    const uint32_t found = MaskedCrc32c({held_bytes_, sizeof length});
    if (stored != found) return Differs("length", record_, stored, found);
    // If the file is longer than before, no room is left either.
    const uint64_t rest = file_bytes_ - std::min(seen_, file_bytes_);
    if (rest < kTfrecordTailBytes || length > rest - kTfrecordTailBytes) {
      return absl::DataLossError(absl::StrCat(
          "the record at byte ", record_, " has ", length,
          " bytes of data, beyond the end of the file at byte ", file_bytes_));
    }
    left_ = length;
    crc_ = 0;
    part_ = length > 0 ? Part::kData : Part::kTail;
    return absl::OkStatus();
  }

  void Data(absl::string_view& bytes) {
    const size_t now = std::min<uint64_t>(left_, bytes.size());
    crc_ = ExtendCrc32c(crc_, bytes.substr(0, now));
    bytes.remove_prefix(now);
    seen_ += now;
    left_ -= now;
    if (left_ == 0) part_ = Part::kTail;
  }

  absl::Status Tail(RecordSink& sink) {
    const auto stored = NumberAt<uint32_t>(held_bytes_);
    const uint32_t found = MaskCrc32c(crc_);
    if (stored != found) return Differs("data", record_, stored, found);
    if (record_ == 0) sink.Begin(0);
    sink.Add(seen_ - record_);
    record_ = seen_;
    part_ = Part::kHead;
    return absl::OkStatus();
  }

  const uint64_t file_bytes_;

  uint64_t seen_ = 0;    // bytes of the file
  uint64_t record_ = 0;  // where the current record begins
  Part part_ = Part::kHead;
  char held_bytes_[kTfrecordHeadBytes] = {};  // of a head or a tail
  size_t held_ = 0;
  uint64_t left_ = 0;  // bytes of data still to come
  uint32_t crc_ = 0;   // of the data seen
};

}  // namespace

std::unique_ptr<RecordScanner> MakeTfrecordScanner(uint64_t file_bytes) {
  return std::make_unique<TfrecordScanner>(file_bytes);
}

bool LooksLikeTfrecord(absl::string_view head) {
  if (head.size() < kTfrecordHeadBytes) return false;
  return NumberAt<uint32_t>(head.data() + sizeof(uint64_t)) ==
         MaskedCrc32c(head.substr(0, sizeof(uint64_t)));
}

}  // namespace shufflefs
