// SPDX-License-Identifier: Apache-2.0
// The bytes of a ledger file: 64-bit words in the machine's (little-endian)
// order.
//
//   header    8 words: magic, version, zeros, hash of the seven before
//   consumed  1 word: view + 1 in bits 56-63, CRC-16 in 40-55, sample in 0-39
//   record    n words: 0xff in bits 56-63, type in 48-55, n in 24-47, view in
//             16-23; payload; last a 64-bit hash of the words before. A
//             consumption with its name is one (core/ledger/ledger_pairs.h)
//   zero      nothing was written from here on
//
// Both checks are seeded with the word's number in the file, so a word in
// another place is not accepted. A consumption is a single word. However the
// process is killed, the word is there or it is not. Of a record of several
// pages the first word is written last, so the same holds for it.
//
// Parsing trusts nothing. Every error says what is wrong; the caller adds file
// and offset.
#ifndef SHUFFLEFS_CORE_LEDGER_LEDGER_FORMAT_H_
#define SHUFFLEFS_CORE_LEDGER_LEDGER_FORMAT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/base/types.h"
#include "core/config/config.h"
#include "core/policy/read_before.h"
#include "core/policy/retained_bindings.h"

namespace shufflefs {

inline constexpr uint8_t kMaxLedgerViews = 254;  // views are 0 … 253
inline constexpr uint64_t kMaxLedgerNames = uint64_t{1} << 40;

// A binding that began. `epoch` is the number that the user sees. The bijection
// is that of `binding`, which stays behind if boundaries are held.
struct LedgerEpoch {
  uint8_t view = 0;
  std::string view_path;     // of the view, relative to the source
  uint64_t names = 0;        // samples in the view, at most 2^40
  uint64_t fingerprint = 0;  // of the catalogue
  Epoch epoch{0};
  Epoch binding{0};
  Seed seed{0};
  std::string policy;
  uint64_t options_hash = 0;  // of the policy's options
  Substitute substitute = Substitute::kNever;
  bool identity = false;  // every name shows its own sample
  // Names are bound as they are asked for. Only the pairs that are recorded and
  // `retained` say what they show.
  bool reactive = false;
  // Set by Ledger::Continue: the view's last epoch continues, and its consumed
  // samples are written again.
  bool continues = false;
  // For a reactive epoch that shows samples several times or not at all
  // (Binder::mini_epochs). `served` says how often each was shown before it, in
  // the binder's format.
  bool repeats = false;
  std::string served;
  // For any other epoch: the counts of an epoch before it that repeated, for
  // one that repeats again. Or "".
  std::string served_before;
  // What names show, or contents, differ between epochs.
  bool moves = false;
  // The pass before it ended without an explanation: it may be half of one.
  bool unexplained = false;
  // It does not follow the pass that the ledger has before it: a token brought
  // it, or a pass between them is lost. So what was opened again in that pass
  // says nothing about `retained`.
  bool apart = false;
  // The client seems to split the names itself, so they keep their samples.
  bool suspected = false;
  // Not kNothing: containers are shown in the source's order.
  ReadBefore read_before = ReadBefore::kNothing;
  // Not 0: no pass over the view's containers ends by itself. The bits are
  // those of ContainerSet::ByHand and say why. A ledger keeps all that it is
  // told.
  uint32_t by_hand = 0;
  std::vector<NameBinding> retained;
};

// The epoch number advanced, but the bijection was kept.
struct LedgerHold {
  uint8_t view = 0;
  Epoch epoch{0};  // the epoch that begins
  char rule = 0;
  std::string reason;
};

// The epoch runs with other keys than the one before: the control file changed
// them.
struct LedgerSwitch {
  uint8_t view = 0;
  Epoch epoch{0};  // the epoch that begins
  std::string what;
};

// 64 samples of a set: sample 64 * index + i is in it if bit i is set.
struct SampleBits {
  uint64_t index = 0;
  uint64_t bits = 0;
  friend bool operator==(const SampleBits&, const SampleBits&) = default;
};

namespace ledger_format {

inline constexpr uint64_t kHeaderWords = 8;
inline constexpr uint64_t kMaxRecordWords = (uint64_t{1} << 24) - 1;

enum class RecordType : uint8_t {
  kEpoch = 1,
  kHold = 2,
  kSwitch = 4,  // 3 was never written
  kConsumedSet = 5,
  kShown = 6,  // core/ledger/ledger_pairs.h, also the next
  kPairSet = 7,
  kOpens = 8,  // core/ledger/ledger_opens.h
  // See core/ledger/ledger_containers.h for this one.
  kContainers = 9,
};

using Words = std::vector<uint64_t>;

Words Header();
// FailedPrecondition: no ledger, or another version. DataLoss: damaged, or
// never written.
absl::Status CheckHeader(absl::Span<const uint64_t> header);
// Returns whether a header that CheckHeader accepted is of the current version,
// not an older one.
bool IsCurrent(absl::Span<const uint64_t> header);

// The word for a consumption at word number `at`. REQUIRES: view <
// kMaxLedgerViews, sample < kMaxLedgerNames.
uint64_t ConsumedWord(uint8_t view, uint64_t sample, uint64_t at);

enum class WordKind { kNothing, kConsumed, kRecord };
WordKind KindOf(uint64_t word);

struct Consumption {
  uint8_t view = 0;
  uint64_t sample = 0;
};
absl::StatusOr<Consumption> ParseConsumed(uint64_t word, uint64_t at);

// The whole record, ready to be stored at word number `at`. InvalidArgument if
// it is too long or a field is out of range.
absl::StatusOr<Words> Encode(const LedgerEpoch& record, uint64_t at);
absl::StatusOr<Words> Encode(const LedgerHold& record, uint64_t at);
absl::StatusOr<Words> Encode(const LedgerSwitch& record, uint64_t at);
absl::StatusOr<Words> EncodeConsumedSet(uint8_t view,
                                        absl::Span<const SampleBits> set,
                                        uint64_t at);

// Takes a record's first word. Returns its length in words, or an error.
absl::StatusOr<uint64_t> RecordLength(uint64_t first);
RecordType TypeOf(uint64_t first);
uint8_t ViewOf(uint64_t first);

// OK if a whole record (RecordLength words) is as it was written at word number
// `at`, else DataLoss.
absl::Status CheckRecord(absl::Span<const uint64_t> record, uint64_t at);

// These take a record that CheckRecord accepted. DataLoss: fields that do not
// fit.
absl::StatusOr<LedgerEpoch> DecodeEpoch(absl::Span<const uint64_t> record);
absl::StatusOr<LedgerHold> DecodeHold(absl::Span<const uint64_t> record);
absl::StatusOr<LedgerSwitch> DecodeSwitch(absl::Span<const uint64_t> record);
absl::StatusOr<std::vector<SampleBits>> DecodeConsumedSet(
    absl::Span<const uint64_t> record);

}  // namespace ledger_format
}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_LEDGER_LEDGER_FORMAT_H_
