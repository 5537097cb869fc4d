// SPDX-License-Identifier: Apache-2.0
// A manifest of page-aligned files with any bytes at all: it is refused, or
// whatever is done with it is safe, and it comes back the same when it is
// written. It gets a checksum that fits, as an attacker would give it one. What
// follows a line "--" is taken for the index of its files.
#include <stdint.h>
#include <stdlib.h>
#include <xxhash.h>

#include <cstring>
#include <string>

#include "core/records/aligned/aligned_manifest.h"

namespace shufflefs {
namespace {

constexpr size_t kCovered = kAlignedChecksumAt + sizeof(uint64_t);

void Require(bool holds) {
  if (!holds) abort();
}

void TryIndex(const AlignedManifest& manifest, absl::string_view text) {
  for (const AlignedFile& file : manifest.files()) {
    const auto spans = manifest.ParseIndex(text, file);
    if (!spans.ok()) continue;
    Require(spans->size() == file.records);
    uint64_t end = 0;
    uint64_t bytes = 0;
    for (const TfrecordSpan& span : *spans) {
      Require(span.offset >= end && span.bytes > 0);
      end = span.offset + span.bytes;
      bytes += span.bytes;
    }
    Require(end == file.padded_bytes && bytes == file.stripped_bytes);
  }
}

void Run(absl::string_view input) {
  const size_t mark = input.find("\n--\n");
  std::string bytes(input.substr(0, mark));
  if (bytes.size() >= kCovered) {
    const uint64_t sum =
        XXH3_64bits(bytes.data() + kCovered, bytes.size() - kCovered);
    std::memcpy(bytes.data() + kAlignedChecksumAt, &sum, sizeof sum);
  }
  const auto manifest = AlignedManifest::Parse(bytes);
  if (!manifest.ok()) return;
  Require(manifest->Serialize() == bytes);
  for (const AlignedFile& file : manifest->files()) {
    Require(IsAlignedName(file.name));
    Require(manifest->Find(file.name) == &file);
    Require(file.stripped_bytes <= file.padded_bytes);
  }
  if (mark != absl::string_view::npos) {
    TryIndex(*manifest, input.substr(mark + 4));
  }
}

}  // namespace
}  // namespace shufflefs

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  shufflefs::Run({reinterpret_cast<const char*>(data), size});
  return 0;
}
