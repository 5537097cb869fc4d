// SPDX-License-Identifier: Apache-2.0
#include "core/ledger/ledger_format.h"

#include <array>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/base/files/append_log.h"
#include "core/base/status.h"
#include "core/ledger/ledger_fields.h"

namespace shufflefs::ledger_format {
namespace {

constexpr uint64_t kMagic = 0x524744454c464853;  // "SHFLEDGR"
// Version 1 had no pairs and no reactive epochs. Version 2 had no epochs that
// repeat samples. Version 3 had only opens that consumed. Version 4 did not say
// why passes over containers end by hand only. Otherwise all are the same.
constexpr uint64_t kVersion = 5;
constexpr uint64_t kSampleMask = kMaxLedgerNames - 1;
// Flags of an epoch. `by_hand` is in the upper half of their word.
constexpr int kByHandShift = 32;
constexpr uint64_t kIdentity = 1;
constexpr uint64_t kReactive = 2;
constexpr uint64_t kContinues = 4;
constexpr uint64_t kRepeats = 8;
constexpr uint64_t kUnexplained = 16;
constexpr uint64_t kMoves = 32;
constexpr uint64_t kReadBefore = 64;
constexpr uint64_t kReadUnknown = 128;
constexpr uint64_t kApart = 256;
constexpr uint64_t kSuspected = 512;
constexpr uint64_t kServedBefore = 1024;
constexpr uint64_t kFlagsEnd = 2048;

// CRC-16/CCITT: detects every one- and two-bit error and every burst of up to
// 16 bits in a word.
constexpr std::array<uint16_t, 256> kCrcTable = [] {
  std::array<uint16_t, 256> table{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t crc = byte << 8;
    for (int bit = 0; bit < 8; ++bit) {
      crc = (crc << 1) ^ ((crc & 0x8000) != 0 ? 0x1021 : 0);
    }
    table[byte] = static_cast<uint16_t>(crc);
  }
  return table;
}();

uint16_t Crc(uint64_t value, int bytes, uint16_t crc) {
  for (int i = 0; i < bytes; ++i) {
    const auto byte = static_cast<uint8_t>(value >> (8 * i));
    crc = static_cast<uint16_t>(crc << 8) ^
          kCrcTable[static_cast<uint8_t>(crc >> 8) ^ byte];
  }
  return crc;
}

uint16_t ConsumedCheck(uint64_t tag, uint64_t sample, uint64_t at) {
  return Crc(tag << 40 | sample, 6, Crc(at, 5, 0xffff));
}

uint64_t FlagsOf(ReadBefore read) {
  if (read == ReadBefore::kNothing) return 0;
  return read == ReadBefore::kUnknown ? kReadBefore | kReadUnknown
                                      : kReadBefore;
}

ReadBefore ReadBeforeOf(uint64_t flags) {
  if ((flags & kReadUnknown) != 0) return ReadBefore::kUnknown;
  return (flags & kReadBefore) != 0 ? ReadBefore::kSomething
                                    : ReadBefore::kNothing;
}

}  // namespace

Words Header() {
  Words header(kHeaderWords - 1);
  header[0] = kMagic;
  header[1] = kVersion;
  return Sealed(std::move(header), 0);
}

absl::Status CheckHeader(absl::Span<const uint64_t> header) {
  if (!header.empty() && header[0] == 0) {
    return absl::DataLossError("the header was never written");
  }
  if (header.empty() || header[0] != kMagic) {
    return absl::FailedPreconditionError(
        "not a ledger; name another state with -o state=DIR");
  }
  if (header.size() < kHeaderWords) {
    return absl::DataLossError("the header is cut off");
  }
  if (header[1] == 0 || header[1] > kVersion) {
    return absl::FailedPreconditionError(absl::StrCat(
        "ledger version ", header[1], ", this program reads up to ", kVersion,
        "; use the newer shufflefs, or another state with -o state=DIR"));
  }
  if (!IsSealed(header.first(kHeaderWords), 0)) {
    return absl::DataLossError("the header is damaged");
  }
  return absl::OkStatus();
}

bool IsCurrent(absl::Span<const uint64_t> header) {
  return header[1] == kVersion;
}

uint64_t ConsumedWord(uint8_t view, uint64_t sample, uint64_t at) {
  const uint64_t tag = uint64_t{view} + 1;
  return tag << 56 | uint64_t{ConsumedCheck(tag, sample, at)} << 40 | sample;
}

WordKind KindOf(uint64_t word) {
  if (word == 0) return WordKind::kNothing;
  return word >> 56 == kRecordTag ? WordKind::kRecord : WordKind::kConsumed;
}

absl::StatusOr<Consumption> ParseConsumed(uint64_t word, uint64_t at) {
  const uint64_t tag = word >> 56;
  const uint64_t sample = word & kSampleMask;
  if (tag == 0 ||
      ConsumedCheck(tag, sample, at) != static_cast<uint16_t>(word >> 40)) {
    return absl::DataLossError("a consumption is damaged");
  }
  return Consumption{static_cast<uint8_t>(tag - 1), sample};
}

absl::StatusOr<Words> Encode(const LedgerEpoch& record, uint64_t at) {
  if (record.names > kMaxLedgerNames) {
    return absl::InvalidArgumentError(
        absl::StrCat("a ledger holds at most 2^40 names, not ", record.names));
  }
  RecordWriter writer(RecordType::kEpoch, record.view);
  writer.Put(record.view_path);
  writer.Put(record.names);
  writer.Put(record.fingerprint);
  writer.Put(record.epoch.value());
  writer.Put(record.binding.value());
  writer.Put(record.seed.value());
  writer.Put(record.policy);
  writer.Put(record.options_hash);
  writer.Put(static_cast<uint64_t>(record.substitute));
  writer.Put(
      (record.identity ? kIdentity : 0) | (record.reactive ? kReactive : 0) |
      (record.continues ? kContinues : 0) | (record.repeats ? kRepeats : 0) |
      (record.unexplained ? kUnexplained : 0) | (record.moves ? kMoves : 0) |
      (record.apart ? kApart : 0) | (record.suspected ? kSuspected : 0) |
      (record.served_before.empty() ? 0 : kServedBefore) |
      FlagsOf(record.read_before) | uint64_t{record.by_hand} << kByHandShift);
  if (record.repeats) writer.Put(record.served);
  if (!record.served_before.empty()) writer.Put(record.served_before);
  for (const NameBinding& pair : record.retained) {
    writer.Put(pair.name);
    writer.Put(pair.sample);
  }
  return std::move(writer).Finish(at);
}

absl::StatusOr<Words> Encode(const LedgerHold& record, uint64_t at) {
  RecordWriter writer(RecordType::kHold, record.view);
  writer.Put(record.epoch.value());
  writer.Put(static_cast<uint8_t>(record.rule));
  writer.Put(record.reason);
  return std::move(writer).Finish(at);
}

absl::StatusOr<Words> Encode(const LedgerSwitch& record, uint64_t at) {
  RecordWriter writer(RecordType::kSwitch, record.view);
  writer.Put(record.epoch.value());
  writer.Put(record.what);
  return std::move(writer).Finish(at);
}

absl::StatusOr<Words> EncodeConsumedSet(uint8_t view,
                                        absl::Span<const SampleBits> set,
                                        uint64_t at) {
  RecordWriter writer(RecordType::kConsumedSet, view);
  for (const SampleBits& bits : set) {
    writer.Put(bits.index);
    writer.Put(bits.bits);
  }
  return std::move(writer).Finish(at);
}

absl::StatusOr<uint64_t> RecordLength(uint64_t first) {
  const uint64_t length = first >> 24 & 0xffffff;
  if (length < 2) return absl::DataLossError("a record's length is damaged");
  return length;
}

RecordType TypeOf(uint64_t first) {
  return static_cast<RecordType>(first >> 48 & 0xff);
}

uint8_t ViewOf(uint64_t first) { return static_cast<uint8_t>(first >> 16); }

absl::Status CheckRecord(absl::Span<const uint64_t> record, uint64_t at) {
  if (!IsSealed(record, at)) {
    return absl::DataLossError("a record is damaged");
  }
  if (ViewOf(record[0]) >= kMaxLedgerViews) {
    return absl::DataLossError("a record names an impossible view");
  }
  return absl::OkStatus();
}

absl::StatusOr<LedgerEpoch> DecodeEpoch(absl::Span<const uint64_t> record) {
  RecordFields reader(record);
  LedgerEpoch epoch;
  epoch.view = ViewOf(record[0]);
  epoch.view_path = reader.Text();
  epoch.names = reader.NumberBelow(kMaxLedgerNames + 1);
  epoch.fingerprint = reader.Number();
  epoch.epoch = Epoch(reader.Number());
  epoch.binding = Epoch(reader.Number());
  epoch.seed = Seed(reader.Number());
  epoch.policy = reader.Text();
  epoch.options_hash = reader.Number();
  epoch.substitute = static_cast<Substitute>(
      reader.NumberBelow(static_cast<uint64_t>(Substitute::kTree) + 1));
  const uint64_t word = reader.Number();
  epoch.by_hand = static_cast<uint32_t>(word >> kByHandShift);
  const uint64_t flags = word & ((uint64_t{1} << kByHandShift) - 1);
  if (flags >= kFlagsEnd) {
    return absl::DataLossError("an epoch record has unknown flags");
  }
  epoch.identity = (flags & kIdentity) != 0;
  epoch.reactive = (flags & kReactive) != 0;
  epoch.continues = (flags & kContinues) != 0;
  epoch.repeats = (flags & kRepeats) != 0;
  epoch.unexplained = (flags & kUnexplained) != 0;
  epoch.moves = (flags & kMoves) != 0;
  epoch.apart = (flags & kApart) != 0;
  epoch.suspected = (flags & kSuspected) != 0;
  epoch.read_before = ReadBeforeOf(flags);
  if (epoch.repeats) epoch.served = reader.Text();
  if ((flags & kServedBefore) != 0) epoch.served_before = reader.Text();
  while (reader.left() > 0) {
    const uint64_t name = reader.NumberBelow(epoch.names);
    epoch.retained.push_back({name, reader.NumberBelow(epoch.names)});
  }
  RETURN_IF_ERROR(reader.Done("an epoch"));
  return epoch;
}

absl::StatusOr<LedgerHold> DecodeHold(absl::Span<const uint64_t> record) {
  RecordFields reader(record);
  LedgerHold hold;
  hold.view = ViewOf(record[0]);
  hold.epoch = Epoch(reader.Number());
  hold.rule = static_cast<char>(reader.NumberBelow(128));
  hold.reason = reader.Text();
  RETURN_IF_ERROR(reader.Done("a hold"));
  return hold;
}

absl::StatusOr<LedgerSwitch> DecodeSwitch(absl::Span<const uint64_t> record) {
  RecordFields reader(record);
  LedgerSwitch change;
  change.view = ViewOf(record[0]);
  change.epoch = Epoch(reader.Number());
  change.what = reader.Text();
  RETURN_IF_ERROR(reader.Done("a switch"));
  return change;
}

absl::StatusOr<std::vector<SampleBits>> DecodeConsumedSet(
    absl::Span<const uint64_t> record) {
  RecordFields reader(record);
  std::vector<SampleBits> set;
  while (reader.left() > 0) {
    const uint64_t index = reader.NumberBelow(kMaxLedgerNames / 64);
    set.push_back({index, reader.Number()});
  }
  RETURN_IF_ERROR(reader.Done("a consumed-set"));
  return set;
}

}  // namespace shufflefs::ledger_format
