// SPDX-License-Identifier: Apache-2.0
#include "core/ledger/ledger_opens.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "core/base/status.h"
#include "core/ledger/ledger_fields.h"

namespace shufflefs {
namespace {

constexpr int kKindShift = 40;
// More than a detector looks back for double opens.
constexpr std::ptrdiff_t kFirstOpensKept = 1100;
constexpr uint64_t kKinds = 3;

}  // namespace

void RecentOpens::Add(const LedgerOpen& open) {
  std::vector<LedgerOpen>& opens = told_.opens;
  if (opens.size() == 2 * kKept) {
    const auto kept = opens.begin() + kKept;
    told_.untold += static_cast<uint64_t>(
        std::count_if(opens.begin(), kept, [](const LedgerOpen& old) {
          return old.kind == LedgerOpen::Kind::kAgain;
        }));
    opens.erase(opens.begin(), kept);
  }
  opens.push_back(open);
}

void RecentOpens::Add(const LedgerOpens& opens) {
  if (opens.anew) told_ = {.anew = true};
  told_.untold += opens.untold;
  for (const LedgerOpen& open : opens.opens) Add(open);
}

void RecentOpens::Trim() {
  std::vector<LedgerOpen>& opens = told_.opens;
  const auto other =
      std::find_if(opens.begin(), opens.end(), [](const LedgerOpen& open) {
        return open.kind != LedgerOpen::Kind::kFirst;
      });
  const std::ptrdiff_t firsts = other - opens.begin();
  opens.erase(opens.begin(),
              opens.begin() + std::max<std::ptrdiff_t>(
                                  0, firsts - kFirstOpensKept));
  opens.shrink_to_fit();
}

namespace ledger_format {

absl::StatusOr<Words> EncodeOpens(uint8_t view, const LedgerOpens& opens,
                                  uint64_t at) {
  RecordWriter writer(RecordType::kOpens, view);
  writer.Put(uint64_t{opens.anew});
  writer.Put(opens.untold);
  for (const LedgerOpen& open : opens.opens) {
    writer.Put(static_cast<uint64_t>(open.kind) << kKindShift | open.number);
  }
  return std::move(writer).Finish(at);
}

absl::StatusOr<LedgerOpens> DecodeOpens(absl::Span<const uint64_t> record) {
  RecordFields fields(record);
  LedgerOpens opens;
  opens.anew = fields.NumberBelow(2) == 1;
  opens.untold = fields.Number();
  while (fields.left() > 0) {
    const uint64_t word = fields.NumberBelow(kKinds << kKindShift);
    opens.opens.push_back(
        {static_cast<LedgerOpen::Kind>(word >> kKindShift),
         word & ((uint64_t{1} << kKindShift) - 1)});
  }
  RETURN_IF_ERROR(fields.Done("an opens"));
  return opens;
}

}  // namespace ledger_format
}  // namespace shufflefs
