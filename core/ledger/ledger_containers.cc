// SPDX-License-Identifier: Apache-2.0
#include "core/ledger/ledger_containers.h"

#include <utility>

#include "core/base/status.h"
#include "core/ledger/ledger_fields.h"

namespace shufflefs::ledger_format {

absl::StatusOr<Words> EncodeContainers(uint8_t view,
                                       const LedgerContainers& containers,
                                       uint64_t at) {
  RecordWriter writer(RecordType::kContainers, view);
  writer.Put(containers.binding.value());
  writer.Put(absl::MakeConstSpan(containers.files));
  return std::move(writer).Finish(at);
}

absl::StatusOr<LedgerContainers> DecodeContainers(
    absl::Span<const uint64_t> record) {
  RecordFields fields(record);
  LedgerContainers containers;
  containers.binding = Epoch(fields.Number());
  while (fields.left() > 0) {
    containers.files.push_back(fields.NumberBelow(uint64_t{1} << 32));
  }
  RETURN_IF_ERROR(fields.Done("a containers"));
  return containers;
}

}  // namespace shufflefs::ledger_format
