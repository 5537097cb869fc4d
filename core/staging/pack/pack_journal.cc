// SPDX-License-Identifier: Apache-2.0
#include "core/staging/pack/pack_journal.h"

#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>

#include "absl/strings/str_cat.h"

namespace shufflefs {
namespace {

constexpr char kJournalMagic[8] = {'S', 'H', 'U', 'F', 'P', 'R', 'T', '\n'};
constexpr uint64_t kJournalVersion = 2;

struct JournalHeader {
  char magic[8];
  uint64_t version;
  uint64_t fingerprint;
  uint64_t state;
  uint64_t seed;
  uint64_t chunk_size;
  uint64_t composition;
  uint64_t checksum;  // of the fields before it
};
static_assert(std::has_unique_object_representations_v<JournalHeader>);

// Followed by `checks` words, then the checksum of the record. The checksum is
// seeded with the record's place, so a record that was moved is not accepted.
struct RecordHead {
  uint64_t chunk;
  uint64_t checks;
};

uint64_t SumOf(absl::string_view bytes, uint64_t at) {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), at);
}

void AppendWord(uint64_t word, std::string& out) {
  out.append(reinterpret_cast<const char*>(&word), sizeof word);
}

uint64_t WordAt(absl::string_view bytes, size_t at) {
  uint64_t word;
  std::memcpy(&word, bytes.data() + at, sizeof word);
  return word;
}

// The size of the record at `at`, or 0 if there is no whole record.
uint64_t RecordSize(absl::string_view bytes, uint64_t at) {
  if (bytes.size() - at < sizeof(RecordHead) + sizeof(uint64_t)) return 0;
  const uint64_t checks = WordAt(bytes, at + sizeof(uint64_t));
  const uint64_t room =
      (bytes.size() - at - sizeof(RecordHead)) / sizeof(uint64_t) - 1;
  if (checks > room) return 0;
  const uint64_t covered = sizeof(RecordHead) + checks * sizeof(uint64_t);
  if (SumOf(bytes.substr(at, covered), at) != WordAt(bytes, at + covered)) {
    return 0;
  }
  return covered + sizeof(uint64_t);
}

}  // namespace

std::string SerializeJournalHeader(const PackIdentity& identity) {
  JournalHeader header = {};
  std::copy(std::begin(kJournalMagic), std::end(kJournalMagic), header.magic);
  header.version = kJournalVersion;
  header.fingerprint = identity.fingerprint;
  header.state = identity.state;
  header.seed = identity.seed;
  header.chunk_size = identity.chunk_size;
  header.composition = identity.composition;
  header.checksum = XXH3_64bits(&header, offsetof(JournalHeader, checksum));
  return std::string(reinterpret_cast<const char*>(&header), sizeof header);
}

std::string SerializeJournalRecord(uint32_t chunk,
                                   absl::Span<const uint64_t> checks,
                                   uint64_t at) {
  std::string record;
  AppendWord(chunk, record);
  AppendWord(checks.size(), record);
  for (uint64_t check : checks) AppendWord(check, record);
  AppendWord(SumOf(record, at), record);
  return record;
}

absl::StatusOr<PackJournal> ParseJournal(absl::string_view bytes) {
  JournalHeader header;
  if (bytes.size() < sizeof header ||
      std::memcmp(bytes.data(), kJournalMagic, sizeof kJournalMagic) != 0) {
    return absl::InvalidArgumentError("not the record of a pack");
  }
  std::memcpy(&header, bytes.data(), sizeof header);
  if (header.version != kJournalVersion) {
    return absl::InvalidArgumentError(
        absl::StrCat("of version ", header.version, ", not ", kJournalVersion));
  }
  if (XXH3_64bits(&header, offsetof(JournalHeader, checksum)) !=
      header.checksum) {
    return absl::InvalidArgumentError("its header is damaged");
  }
  PackJournal journal;
  journal.identity = {header.fingerprint, header.state, header.seed,
                      header.chunk_size, header.composition};
  journal.bytes = sizeof header;
  while (const uint64_t size = RecordSize(bytes, journal.bytes)) {
    const uint64_t chunk = WordAt(bytes, journal.bytes);
    if (chunk > std::numeric_limits<uint32_t>::max()) break;
    PackJournal::Finished finished;
    finished.chunk = static_cast<uint32_t>(chunk);
    finished.checks.resize(size / sizeof(uint64_t) - 3);
    if (!finished.checks.empty()) {
      std::memcpy(finished.checks.data(),
                  bytes.data() + journal.bytes + sizeof(RecordHead),
                  finished.checks.size() * sizeof(uint64_t));
    }
    journal.finished.push_back(std::move(finished));
    journal.bytes += size;
  }
  return journal;
}

}  // namespace shufflefs
