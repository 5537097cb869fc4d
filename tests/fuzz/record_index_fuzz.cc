// SPDX-License-Identifier: Apache-2.0
// An index of records with any bytes at all: it is refused, or it is one:
// records of at least a byte, one after the other inside the file, which both
// searches find. Every input gets a checksum that fits, as an attacker would
// give it one; the rest of its header says of which file it is, so it is taken
// for that one.
#include <stdint.h>
#include <stdlib.h>

#include <cstring>
#include <string>

#include "core/records/index/index_file.h"
#include "tests/testing/checked_bytes.h"

namespace shufflefs {
namespace {

using testing_support::kCovered;
constexpr size_t kFormat = kCovered + 8 * sizeof(uint64_t);
constexpr size_t kHeader = kFormat + kMostFormatBytes + 1;

void Require(bool holds) {
  if (!holds) abort();
}

IndexedFile Forge(std::string& bytes) {
  IndexedFile file;
  if (bytes.size() < kHeader) return file;
  bytes[kHeader - 1] = '\0';
  file.format = bytes.data() + kFormat;
  std::memcpy(&file.identity, bytes.data() + kCovered, sizeof file.identity);
  testing_support::SealSeeded(bytes, kHeader);
  return file;
}

void Run(std::string bytes) {
  const IndexedFile file = Forge(bytes);
  const absl::StatusOr<RecordIndex> index = ParseRecordIndex(bytes, file);
  if (!index.ok()) return;
  Require(index->file == file);
  const OffsetTable& table = *index->table;
  const uint64_t count = table.count();
  Require(table.begin(count) <= file.identity.size);
  Require(table.FirstFrom(table.begin(count)) == count);
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t begin = table.begin(i);
    Require(begin < table.begin(i + 1));
    Require(table.FirstFrom(begin) == i);
    Require(table.FirstFrom(begin + 1) == i + 1);
  }
}

}  // namespace
}  // namespace shufflefs

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  shufflefs::Run(std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}
