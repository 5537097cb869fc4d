// SPDX-License-Identifier: Apache-2.0
#include "core/ledger/ledger_pairs.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/files/append_log.h"
#include "core/base/status.h"
#include "core/ledger/ledger_fields.h"

namespace shufflefs::ledger_format {
namespace {

constexpr uint64_t kShownWords = 3;

}  // namespace

std::array<uint64_t, 3> ShownRecord(uint8_t view, const NameBinding& pair,
                                    uint64_t at) {
  std::array<uint64_t, kShownWords> words;
  words[0] = FirstWord(RecordType::kShown, view) | kShownWords << 24 |
             (pair.name & 0xffff);
  words[1] = pair.name >> 16 << 40 | pair.sample;
  words[2] = SealOf(absl::MakeConstSpan(words).first(2), at);
  return words;
}

absl::StatusOr<NameBinding> DecodeShown(absl::Span<const uint64_t> record) {
  if (record.size() != kShownWords) {
    return absl::DataLossError(
        "a shown record has fields that contradict each other");
  }
  return NameBinding{record[1] >> 40 << 16 | (record[0] & 0xffff),
                     record[1] & (kMaxLedgerNames - 1)};
}

absl::StatusOr<Words> EncodePairSet(uint8_t view, const PairSet& set,
                                    uint64_t at) {
  if (set.pairs.size() > kMaxSetPairs) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a ledger's set of ", set.pairs.size(), " pairs is too long"));
  }
  RecordWriter writer(RecordType::kPairSet, view);
  writer.Put(uint64_t{set.consumed});
  writer.Put(set.pairs.size());
  writer.Put(uint64_t{set.pairs.width()});
  writer.Put(set.pairs.words());
  return std::move(writer).Finish(at);
}

absl::StatusOr<PairSet> DecodePairSet(absl::Span<const uint64_t> record) {
  RecordFields fields(record);
  const bool consumed = fields.NumberBelow(2) == 1;
  const uint64_t count = fields.NumberBelow(kMaxSetPairs + 1);
  const auto width =
      static_cast<uint32_t>(fields.NumberBelow(PackedPairs::kMaxWidth + 1));
  Words words = fields.Numbers(PackedPairs::WordsFor(count, width));
  RETURN_IF_ERROR(fields.Done("a pair-set"));
  if (width == 0) return absl::DataLossError("a pair-set of numbers of 0 bits");
  return PairSet{consumed, PackedPairs(count, width, std::move(words))};
}

}  // namespace shufflefs::ledger_format
