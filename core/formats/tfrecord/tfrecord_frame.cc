// SPDX-License-Identifier: Apache-2.0
#include "core/formats/tfrecord/tfrecord_frame.h"

#include <bit>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "core/base/files/crc32c.h"
#include "core/base/status.h"
#include "core/formats/tfrecord/tfrecord_scanner.h"

namespace shufflefs {
namespace {

static_assert(std::endian::native == std::endian::little,
              "numbers are copied as they are");

template <typename T>
void AppendNumber(T number, std::string* bytes) {
  bytes->append(reinterpret_cast<const char*>(&number), sizeof number);
}

absl::Status CheckSum(absl::string_view bytes, const char* stored_at,
                      absl::string_view of, uint64_t offset) {
  uint32_t stored;
  std::memcpy(&stored, stored_at, sizeof stored);
  const uint32_t found = MaskedCrc32c(bytes);
  if (stored == found) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(
      "the checksum of the ", of, " of the record at byte ", offset, " is ",
      absl::Hex(stored, absl::kZeroPad8), " in the file, but should be ",
      absl::Hex(found, absl::kZeroPad8)));
}

}  // namespace

void AppendTfrecord(absl::string_view data, std::string* file) {
  const uint64_t length = data.size();
  AppendNumber(length, file);
  AppendNumber(
      MaskedCrc32c({reinterpret_cast<const char*>(&length), sizeof length}),
      file);
  file->append(data.data(), data.size());
  AppendNumber(MaskedCrc32c(data), file);
}

absl::StatusOr<absl::string_view> TfrecordData(absl::string_view frame,
                                               uint64_t offset) {
  constexpr uint64_t kFraming = kTfrecordHeadBytes + kTfrecordTailBytes;
  if (frame.size() < kFraming) {
    return absl::DataLossError(absl::StrCat("the record at byte ", offset,
                                            " has ", frame.size(),
                                            " bytes, which is none"));
  }
  uint64_t length;
  std::memcpy(&length, frame.data(), sizeof length);
  RETURN_IF_ERROR(CheckSum(frame.substr(0, sizeof length),
                           frame.data() + sizeof length, "length", offset));
  if (length != frame.size() - kFraming) {
    return absl::DataLossError(absl::StrCat(
        "the record at byte ", offset, " has ", length,
        " bytes of data, where there were ", frame.size() - kFraming));
  }
  const absl::string_view data = frame.substr(kTfrecordHeadBytes, length);
  RETURN_IF_ERROR(CheckSum(data, data.data() + data.size(), "data", offset));
  return data;
}

}  // namespace shufflefs
