// SPDX-License-Identifier: Apache-2.0
// The metadata of a Parquet file with any bytes at all: it is refused, or its
// row groups can be listed in any order, in as many bytes, and found again in
// that order. No input guesses a length, so each gets the tail that fits. The
// first byte chooses the order.
#include <stdint.h>
#include <stdlib.h>

#include <string>
#include <vector>

#include "core/formats/columnar/parquet_footer.h"
#include "core/random/permutation.h"

namespace shufflefs {
namespace {

constexpr uint64_t kDataEnd = 1 << 20;  // where the footer begins

void Require(bool holds) {
  if (!holds) abort();
}

void Run(uint8_t key, std::string footer) {
  const uint64_t length = footer.size();
  for (int i = 0; i < 4; ++i) footer += static_cast<char>(length >> 8 * i);
  footer += "PAR1";
  const uint64_t file_bytes = kDataEnd + footer.size();
  const auto parsed = ParseParquetFooter(footer, file_bytes);
  if (!parsed.ok()) {
    Require(absl::IsDataLoss(parsed.status()) ||
            absl::IsFailedPrecondition(parsed.status()));
    return;
  }
  const ColumnarFooter& groups = **parsed;
  const uint64_t count = groups.count();
  Require(groups.begin() >= kDataEnd &&
          groups.size() <= file_bytes - groups.begin());
  const Permutation order(count, RandomKey(key));
  const std::string bytes = groups.ReorderedBytes(order, 0, groups.size());
  Require(bytes.size() == groups.size());
  footer.replace(groups.begin() - kDataEnd, groups.size(), bytes);
  const auto again = ParseParquetFooter(footer, file_bytes);
  Require(again.ok() && (*again)->count() == count);
  Require((*again)->begin() == groups.begin());
  const std::vector<uint64_t> sizes = groups.group_bytes();
  const std::vector<uint64_t> begins = groups.group_begins();
  const std::vector<uint64_t> new_sizes = (*again)->group_bytes();
  const std::vector<uint64_t> new_begins = (*again)->group_begins();
  for (uint64_t at = 0; at < count; ++at) {
    Require(new_sizes[at] == sizes[order(at)]);
    Require(new_begins[at] == begins[order(at)]);
    Require(sizes[order(at)] == 0 || begins[order(at)] < kDataEnd);
  }
}

}  // namespace
}  // namespace shufflefs

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  shufflefs::Run(
      data[0], std::string(reinterpret_cast<const char*>(data + 1), size - 1));
  return 0;
}
