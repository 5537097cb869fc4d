// SPDX-License-Identifier: Apache-2.0
#include "core/ledger/ledger_containers.h"

#include <utility>

#include "core/base/status.h"
#include "core/ledger/ledger_fields.h"

namespace shufflefs::ledger_format {
namespace {

// A word is a file, or it has kNotes. Then its lower half is `by_hand`.
constexpr uint64_t kNotes = uint64_t{1} << 32;
constexpr uint64_t kAnew = kNotes << 1;

}  // namespace

absl::StatusOr<Words> EncodeContainers(uint8_t view,
                                       const LedgerContainers& containers,
                                       uint64_t at) {
  RecordWriter writer(RecordType::kContainers, view);
  writer.Put(containers.binding.value());
  if (containers.by_hand != 0 || containers.anew) {
    writer.Put(kNotes | (containers.anew ? kAnew : 0) | containers.by_hand);
  }
  writer.Put(absl::MakeConstSpan(containers.files));
  return std::move(writer).Finish(at);
}

absl::StatusOr<LedgerContainers> DecodeContainers(
    absl::Span<const uint64_t> record) {
  RecordFields fields(record);
  LedgerContainers containers;
  containers.binding = Epoch(fields.Number());
  while (fields.left() > 0) {
    const uint64_t word = fields.NumberBelow(kAnew << 1);
    if (word < kNotes) {
      containers.files.push_back(word);
      continue;
    }
    containers.by_hand |= static_cast<uint32_t>(word);
    containers.anew |= (word & kAnew) != 0;
  }
  RETURN_IF_ERROR(fields.Done("a containers"));
  return containers;
}

}  // namespace shufflefs::ledger_format
