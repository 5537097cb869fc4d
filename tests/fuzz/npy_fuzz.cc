// SPDX-License-Identifier: Apache-2.0
// The header of an npy or idx file with any bytes at all, and a file of any
// size: it is refused, or what it says is the size of the file. The first 8
// bytes are that size, or, if they are 0, it is that of the header.
#include <stdint.h>
#include <stdlib.h>

#include <cstring>
#include <string>

#include "core/formats/idx_header.h"
#include "core/formats/npy_header.h"

namespace shufflefs {
namespace {

void Check(const absl::StatusOr<FixedShape>& shape, uint64_t file_bytes) {
  if (!shape.ok()) {
    if (!absl::IsFailedPrecondition(shape.status())) abort();
    return;
  }
  uint64_t records = 0;
  if (shape->record_bytes == 0 ||
      __builtin_mul_overflow(shape->record_bytes, shape->count, &records) ||
      shape->head_bytes > file_bytes ||
      file_bytes - shape->head_bytes != records) {
    abort();
  }
}

}  // namespace
}  // namespace shufflefs

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  uint64_t file_bytes = 0;
  if (size < sizeof file_bytes) return 0;
  std::memcpy(&file_bytes, data, sizeof file_bytes);
  const std::string head(data + sizeof file_bytes, data + size);
  if (file_bytes == 0) file_bytes = head.size();
  shufflefs::Check(shufflefs::ParseNpyHeader(head, file_bytes), file_bytes);
  shufflefs::Check(shufflefs::ParseIdxHeader(head, file_bytes), file_bytes);
  return 0;
}
