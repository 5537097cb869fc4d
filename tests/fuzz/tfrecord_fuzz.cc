// SPDX-License-Identifier: Apache-2.0
// A TFRecord file of any bytes at all, in any pieces: what the scanner finds
// tiles the file up to where it gave up, and does not depend on the pieces. No
// input guesses a checksum, so half of the inputs get those that fit. The first
// byte: the largest piece, and in its top bit whether to correct checksums.
#include <stdint.h>
#include <stdlib.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "core/base/files/crc32c.h"
#include "core/formats/tfrecord/tfrecord_scanner.h"

namespace shufflefs {
namespace {

void Require(bool holds) {
  if (!holds) abort();
}

class Found : public RecordSink {
 public:
  void Begin(uint64_t offset) override {
    Require(!begun_ && offset == 0);
    begun_ = true;
  }
  void Add(uint64_t bytes) override {
    Require(begun_ && bytes >= kTfrecordHeadBytes + kTfrecordTailBytes);
    sizes.push_back(bytes);
    end += bytes;
  }

  std::vector<uint64_t> sizes;
  uint64_t end = 0;

 private:
  bool begun_ = false;
};

void Correct(std::string& file) {
  size_t at = 0;
  while (file.size() - at >= kTfrecordHeadBytes) {
    uint64_t length;
    std::memcpy(&length, file.data() + at, sizeof length);
    const uint32_t head = MaskedCrc32c({file.data() + at, sizeof length});
    std::memcpy(file.data() + at + sizeof length, &head, sizeof head);
    at += kTfrecordHeadBytes;
    if (file.size() - at < kTfrecordTailBytes ||
        length > file.size() - at - kTfrecordTailBytes) {
      return;
    }
    const uint32_t data = MaskedCrc32c({file.data() + at, length});
    std::memcpy(file.data() + at + length, &data, sizeof data);
    at += length + kTfrecordTailBytes;
  }
}

absl::Status Scan(absl::string_view file, size_t piece, Found& found) {
  const auto scanner = MakeTfrecordScanner(file.size());
  for (size_t at = 0; at < file.size(); at += piece) {
    const absl::Status fed = scanner->Feed(file.substr(at, piece), found);
    Require(found.end <= std::min(at + piece, file.size()));
    if (!fed.ok()) return fed;
  }
  return scanner->Finish(found);
}

void Run(uint8_t how, std::string file) {
  const bool corrected = how >= 0x80;
  if (corrected) Correct(file);
  Found whole;
  const absl::Status status = Scan(file, file.size() + 1, whole);
  Found pieces;
  Require(Scan(file, how % 0x80 + 1, pieces) == status);
  Require(pieces.sizes == whole.sizes);
  Require(!status.ok() || whole.end == file.size());
  Require(status.ok() || status.code() == absl::StatusCode::kDataLoss);
  Require(!corrected || status.ok() ||
          status.message().find("checksum") == absl::string_view::npos);
  Require(LooksLikeTfrecord(file) || whole.sizes.empty());
}

}  // namespace
}  // namespace shufflefs

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  shufflefs::Run(
      data[0], std::string(reinterpret_cast<const char*>(data + 1), size - 1));
  return 0;
}
