// SPDX-License-Identifier: Apache-2.0
// Arrow IPC with any bytes at all. As the footer of a file: it is refused, or
// its batches can be listed in any order, in as many bytes, and found again in
// that order. As a stream, in any pieces: what the scanner finds tiles the file
// from the first batch on, and does not depend on the pieces. The first byte
// chooses the order, and the size of the pieces.
#include <stdint.h>
#include <stdlib.h>

#include <string>
#include <vector>

#include "core/formats/columnar/arrow_file.h"
#include "core/formats/columnar/arrow_stream.h"
#include "core/random/permutation.h"

namespace shufflefs {
namespace {

constexpr uint64_t kDataEnd = 1 << 20;  // where the footer begins

void Require(bool holds) {
  if (!holds) abort();
}

// Why a file is not shuffled.
bool IsReason(const absl::Status& status) {
  return absl::IsDataLoss(status) || absl::IsFailedPrecondition(status);
}

void RunFooter(uint8_t key, std::string footer) {
  const uint64_t length = footer.size();
  for (int i = 0; i < 4; ++i) footer += static_cast<char>(length >> 8 * i);
  footer += "ARROW1";
  const uint64_t file_bytes = kDataEnd + footer.size();
  const auto parsed = ParseArrowFooter(footer, file_bytes);
  if (!parsed.ok()) return Require(IsReason(parsed.status()));
  const ColumnarFooter& batches = **parsed;
  const uint64_t count = batches.count();
  const std::vector<uint64_t> sizes = batches.group_bytes();
  const std::vector<uint64_t> begins = batches.group_begins();
  for (uint64_t i = 0; i < count; ++i) {
    Require(begins[i] <= kDataEnd && sizes[i] <= kDataEnd - begins[i]);
  }
  const Permutation order(count, RandomKey(key));
  const std::string bytes = batches.ReorderedBytes(order, 0, batches.size());
  Require(bytes.size() == batches.size());
  footer.replace(batches.begin() - kDataEnd, batches.size(), bytes);
  const auto again = ParseArrowFooter(footer, file_bytes);
  Require(again.ok() && (*again)->count() == count);
  Require((*again)->begin() == batches.begin());
  const std::vector<uint64_t> new_begins = (*again)->group_begins();
  for (uint64_t at = 0; at < count; ++at) {
    Require(new_begins[at] == begins[order(at)]);
  }
}

class Found : public RecordSink {
 public:
  void Begin(uint64_t offset) override {
    Require(!begun_);
    begun_ = true;
    end = offset;
  }
  void Add(uint64_t bytes) override {
    Require(begun_ && bytes > 0 && bytes % 8 == 0);
    sizes.push_back(bytes);
    end += bytes;
  }

  std::vector<uint64_t> sizes;
  uint64_t end = 0;

 private:
  bool begun_ = false;
};

absl::Status Scan(absl::string_view file, size_t piece, Found& found) {
  const auto scanner = MakeArrowStreamScanner(file.size());
  for (size_t at = 0; at < file.size(); at += piece) {
    const absl::Status fed = scanner->Feed(file.substr(at, piece), found);
    Require(found.end <= file.size());
    if (!fed.ok()) return fed;
  }
  return scanner->Finish(found);
}

void RunStream(uint8_t key, const std::string& file) {
  Found whole;
  const absl::Status status = Scan(file, file.size() + 1, whole);
  Found pieces;
  Require(Scan(file, key + 1, pieces) == status);
  Require(pieces.sizes == whole.sizes && pieces.end == whole.end);
  Require(status.ok() || IsReason(status));
  Require(whole.sizes.empty() || LooksLikeArrowStream(file));
}

}  // namespace
}  // namespace shufflefs

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string bytes(reinterpret_cast<const char*>(data + 1), size - 1);
  shufflefs::RunFooter(data[0], bytes);
  shufflefs::RunStream(data[0], bytes);
  return 0;
}
