// SPDX-License-Identifier: Apache-2.0
// Names of records with any bytes at all: they are refused, or they are hashes
// in order, each once, which can be merged with others. As in
// record_index_fuzz.cc, every input gets a checksum that fits and is taken for
// the file that its header names.
#include <stdint.h>
#include <stdlib.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "core/records/containers/name_repeats.h"
#include "core/records/index/index_file.h"
#include "tests/testing/checked_bytes.h"

namespace shufflefs {
namespace {

using testing_support::kCovered;
constexpr size_t kFormat = kCovered + 6 * sizeof(uint64_t);
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
  const absl::StatusOr<NameHashes> names = ParseRecordNames(bytes, file);
  if (!names.ok()) return;
  Require(names->size() * sizeof(uint64_t) == bytes.size() - kHeader);
  for (size_t i = 1; i < names->size(); ++i) {
    Require((*names)[i - 1] / 2 < (*names)[i] / 2);
  }
  const bool some_move =
      std::any_of(names->begin(), names->end(),
                  [](uint64_t name) { return (name & kNameStays) == 0; });
  const auto repeats = FindNameRepeats({*names, *names});
  Require(!repeats[0] && repeats[1].has_value() == some_move);
}

}  // namespace
}  // namespace shufflefs

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  shufflefs::Run(std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}
