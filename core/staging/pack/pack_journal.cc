// SPDX-License-Identifier: Apache-2.0
#include "core/staging/pack/pack_journal.h"

#include <cstring>
#include <limits>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/base/files/append_log.h"

namespace shufflefs {
namespace {

// The header: these, the identity, a seal.
constexpr uint64_t kJournalMagic = 0x0a54525046554853;  // "SHUFPRT\n"
constexpr uint64_t kJournalVersion = 2;
constexpr size_t kJournalHeaderWords = 8;
// A record: the chunk, the number of its checksums, these, a seal.
constexpr size_t kBesideChecks = 3;

// The words of the record at the beginning of `rest`, which is at word number
// `at`. 0 if there is no whole record.
uint64_t RecordWords(absl::Span<const uint64_t> rest, uint64_t at) {
  if (rest.size() < kBesideChecks || rest[1] > rest.size() - kBesideChecks ||
      rest[0] > std::numeric_limits<uint32_t>::max()) {
    return 0;
  }
  const uint64_t words = rest[1] + kBesideChecks;
  return IsSealed(rest.first(words), at * 8) ? words : 0;
}

}  // namespace

std::vector<uint64_t> JournalHeader(const PackIdentity& identity) {
  return Sealed(
      {kJournalMagic, kJournalVersion, identity.fingerprint, identity.state,
       identity.seed, identity.chunk_size, identity.composition},
      0);
}

std::vector<uint64_t> JournalRecord(uint32_t chunk,
                                    absl::Span<const uint64_t> checks,
                                    uint64_t at) {
  std::vector<uint64_t> record = {chunk, checks.size()};
  record.insert(record.end(), checks.begin(), checks.end());
  return Sealed(std::move(record), at * 8);
}

absl::StatusOr<PackJournal> ParseJournal(absl::string_view bytes) {
  std::vector<uint64_t> words(bytes.size() / 8);
  if (!words.empty()) std::memcpy(words.data(), bytes.data(), words.size() * 8);
  if (words.size() < kJournalHeaderWords || words[0] != kJournalMagic) {
    return absl::InvalidArgumentError("not the record of a pack");
  }
  if (words[1] != kJournalVersion) {
    return absl::InvalidArgumentError(
        absl::StrCat("of version ", words[1], ", not ", kJournalVersion));
  }
  const auto all = absl::MakeConstSpan(words);
  if (!IsSealed(all.first(kJournalHeaderWords), 0)) {
    return absl::InvalidArgumentError("its header is damaged");
  }
  PackJournal journal;
  journal.identity = {words[2], words[3], words[4], words[5], words[6]};
  journal.words = kJournalHeaderWords;
  while (const uint64_t size =
             RecordWords(all.subspan(journal.words), journal.words)) {
    const auto record = all.subspan(journal.words, size);
    const auto checks = record.subspan(2, size - kBesideChecks);
    journal.finished.push_back(
        {static_cast<uint32_t>(record[0]), {checks.begin(), checks.end()}});
    journal.words += size;
  }
  return journal;
}

}  // namespace shufflefs
