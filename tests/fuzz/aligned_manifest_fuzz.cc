// SPDX-License-Identifier: Apache-2.0
// A manifest of page-aligned files with any bytes at all: it is refused, or
// whatever is done with it is safe, and it comes back the same when it is
// written. It gets a checksum that fits, as an attacker would give it one. What
// follows a line "--" is taken for the index of its files.
#include <stdint.h>
#include <stdlib.h>

#include <string>

#include "core/records/aligned/aligned_manifest.h"
#include "core/records/index/padded_builder.h"
#include "tests/testing/checked_bytes.h"

namespace shufflefs {
namespace {

void Require(bool holds) {
  if (!holds) abort();
}

void TryIndex(const AlignedFile& file, absl::string_view text) {
  PaddedBuilder builder(file);
  TfrecordIndexLines lines;
  const TfrecordIndexLines::Take take = [&](const TfrecordSpan& span) {
    return builder.Take(span) ? absl::OkStatus()
                              : absl::DataLossError("no such record");
  };
  ContainerShape shape;
  if (!lines.Feed(text, take).ok() || !lines.Finish(take).ok() ||
      !builder.Finish(text.size(), &shape)) {
    return;
  }
  const RecordTable& shown = *shape.records;
  const RecordTable& placed = *shape.placed;
  Require(shown.count() == file.records && placed.count() == file.records);
  Require(shown.begin(shown.count()) == file.stripped_bytes);
  Require(placed.begin(placed.count()) == file.padded_bytes);
  for (uint64_t record = 0; record < shown.count(); ++record) {
    Require(shown.bytes(record) > 0);
    Require(shown.bytes(record) <= placed.bytes(record));
  }
}

void Run(absl::string_view input) {
  const size_t mark = input.find("\n--\n");
  std::string bytes(input.substr(0, mark));
  testing_support::Seal(bytes);
  const auto manifest = AlignedManifest::Parse(bytes);
  if (!manifest.ok()) return;
  Require(manifest->Serialize() == bytes);
  for (const AlignedFile& file : manifest->files()) {
    Require(IsAlignedName(file.name));
    Require(manifest->Find(file.name) == &file);
    Require(file.stripped_bytes <= file.padded_bytes);
  }
  if (mark == absl::string_view::npos) return;
  for (const AlignedFile& file : manifest->files()) {
    TryIndex(file, input.substr(mark + 4));
  }
}

}  // namespace
}  // namespace shufflefs

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  shufflefs::Run({reinterpret_cast<const char*>(data), size});
  return 0;
}
