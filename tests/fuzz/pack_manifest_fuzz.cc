// SPDX-License-Identifier: Apache-2.0
// A manifest of a pack, or the record of an unfinished one, with any bytes at
// all: it is refused, or whatever is done with it is safe. A manifest gets a
// checksum that fits, as an attacker would give it one; what passes comes back
// the same when it is written.
#include <stdint.h>
#include <stdlib.h>

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "core/base/files/checked_file.h"
#include "core/staging/pack/pack_format.h"
#include "core/staging/pack/pack_journal.h"
#include "tests/testing/checked_bytes.h"

namespace shufflefs {
namespace {

void Require(bool holds) {
  if (!holds) abort();
}

void WalkEverything(const PackManifest& manifest) {
  uint64_t checks = 0;
  for (const PackManifest::Chunk& chunk : manifest.chunks) {
    uint64_t end = 0;
    for (uint32_t i = 0; i < chunk.file_count; ++i) {
      const PackManifest::File& file = manifest.files[chunk.first_file + i];
      Require(file.offset == end);
      Require(file.length <= chunk.bytes - end);
      end += file.length;
      Require(!manifest.path(file).empty());
      Require(manifest.path(file)[0] != '/');
      Require(file.first_check == checks);
      checks += PackChecksOf(file.length);
    }
    Require(end == chunk.bytes);
  }
  Require(checks == manifest.checks.size());
}

void TryManifest(std::string bytes) {
  testing_support::Seal(bytes);
  const absl::StatusOr<PackManifest> manifest = ParseManifest(bytes);
  if (!manifest.ok()) return;
  WalkEverything(*manifest);
  Require(SerializeManifest(*manifest) == bytes);
}

void TryJournal(const std::string& bytes) {
  const absl::StatusOr<PackJournal> journal = ParseJournal(bytes);
  if (!journal.ok()) return;
  std::vector<uint64_t> again = JournalHeader(journal->identity);
  for (const PackJournal::Finished& finished : journal->finished) {
    const std::vector<uint64_t> record =
        JournalRecord(finished.chunk, finished.checks, again.size());
    again.insert(again.end(), record.begin(), record.end());
  }
  Require(journal->words == again.size());
  Require(absl::StartsWith(bytes, ColumnBytes(again)));
}

}  // namespace
}  // namespace shufflefs

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  shufflefs::TryManifest(bytes);
  shufflefs::TryJournal(bytes);
  return 0;
}
