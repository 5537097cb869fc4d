// SPDX-License-Identifier: Apache-2.0
#include "core/records/order/repeat_order.h"

#include <algorithm>
#include <utility>

#include "core/formats/record_math.h"
#include "core/random/permutation.h"
#include "core/records/order/window_mix.h"

namespace shufflefs {
namespace {

constexpr uint64_t kLeastWindowBytes = uint64_t{1} << 20;
// This many blocks are composed in a few milliseconds.
constexpr uint64_t kQuickBlocks = uint64_t{1} << 14;

// First SubKey of a pass after those of its composition.
constexpr uint64_t kOfRepetitions = 2;
// SubKeys of a repetition.
constexpr uint64_t kOfBlocks = 0;
constexpr uint64_t kOfWindows = 1;

uint64_t WindowOf(const RecordBlocks& blocks, const RecordTable& table) {
  const uint64_t wished =
      std::max(blocks.window, DivideUp(kLeastWindowBytes, blocks.bytes));
  if (table.count() <= kMostInWindow) return wished;
  return std::clamp<uint64_t>(kMostInWindow / blocks.bytes, 1, wished);
}

// A multiple of the factor. So an epoch begins with a mini-epoch, and few
// mini-epochs are read in two epochs.
uint64_t WishedMiniEpochs(const RecordRepeats& repeats, uint64_t bytes) {
  uint64_t wished = repeats.mini_epochs;
  if (wished == 0 && repeats.most_bytes > 0) {
    wished = DivideUp(bytes, repeats.most_bytes);
  }
  wished = std::max<uint64_t>(wished, 1);
  return DivideUp(wished, repeats.factor) * repeats.factor;
}

}  // namespace

RepeatOrder::RepeatOrder(const RecordTable& table, RecordBlocks blocks,
                         RecordRepeats repeats,
                         const RecordOrderOptions& options)
    : table_(table),
      repeats_(repeats),
      strata_(options.strata),
      pass_key_(SubKey(
          DeriveKey(options.seed, Epoch(0), options.key, Purpose::kMiniEpoch),
          repeats.pass)),
      block_bytes_(blocks.bytes),
      blocks_(BlockPass::BlocksOf(table, block_bytes_)),
      window_(WindowOf({block_bytes_, blocks.window}, table)),
      most_part_bytes_(std::max<uint64_t>(options.most_part_bytes, 1)) {}

bool RepeatOrder::is_quick() const {
  if (!is_made_.load() && blocks_ > kQuickBlocks) return false;
  return RecordOrder::is_quick();
}

const RepeatOrder::Table& RepeatOrder::Made() const {
  const Table& made = made_.Get([this] {
    Table table;
    BlockPass::Input input;
    input.table = &table_;
    input.block_bytes = block_bytes_;
    input.mini_epochs = WishedMiniEpochs(repeats_, BytesOfAll(table_));
    input.multiple_of = repeats_.factor;
    input.key = pass_key_;
    input.strata = strata_;
    table.pass = std::make_unique<const BlockPass>(input);
    table.steps = blocks_;
    const uint64_t begin = repeats_.part * table_.count();
    const uint64_t end = begin + table_.count();
    uint64_t at = 0;  // position in the pass
    for (uint32_t m = 0; m < table.pass->mini_epochs(); ++m) {
      const uint64_t records = table.pass->records(m);
      const uint64_t next = at + repeats_.factor * records;
      if (next <= begin || at >= end) {
        at = next;
        continue;
      }
      const std::vector<RandomKey> keys = KeysOf(*table.pass, m);
      for (uint32_t r = 0; r < repeats_.factor; ++r, at += records) {
        if (at + records <= begin || at >= end) continue;
        Part part;
        part.mini = m;
        part.repetition = r;
        part.from = begin - std::min(begin, at);
        part.to = std::min(end - at, records);
        part.key = keys[r];
        AppendRepetition(table, part);
      }
    }
    return table;
  });
  is_made_.store(true);
  return made;
}

// Appends the records [of.from, of.to) of all windows of the repetition.
void RepeatOrder::AppendRepetition(Table& table, const Part& of) const {
  const BlockPass& pass = *table.pass;
  uint64_t position = 0;  // first record of the window in the repetition
  const uint64_t windows = WindowsOf(pass, of.mini);
  for (uint64_t w = 0; w < windows && position < of.to; ++w) {
    uint64_t records = 0;
    uint64_t bytes = 0;
    for (const PartRecords::Run& run : BlocksOf(pass, {of.mini, of.key, w})) {
      records += run.size();
      bytes += table_.begin(run.last) - table_.begin(run.first);
    }
    const uint64_t shares = std::clamp<uint64_t>(
        std::max(DivideUp(bytes, most_part_bytes_),
                 DivideUp(records, MostRecordsOfPart(most_part_bytes_))),
        1, records);
    for (uint64_t s = 0; s < shares; ++s) {
      Part part = of;
      part.window = w;
      const uint64_t from = position + records * s / shares;
      const uint64_t to = position + records * (s + 1) / shares;
      if (to <= of.from || from >= of.to) continue;
      part.from = std::max(from, of.from) - position;
      part.to = std::min(to, of.to) - position;
      const bool whole = part.from == 0 && part.to == records;
      part.bytes = whole ? bytes : 0;
      if (!whole) table.steps += part.to - part.from;
      table.parts.push_back(part);
    }
    position += records;
  }
}

uint64_t RepeatOrder::WindowsOf(const BlockPass& pass, uint64_t mini) const {
  return DivideUp(pass.blocks(mini).size(), window_);
}

std::vector<RandomKey> RepeatOrder::KeysOf(const BlockPass& pass,
                                           uint64_t mini) const {
  const RandomKey of = SubKey(pass_key_, kOfRepetitions + mini);
  const uint64_t last_window = WindowsOf(pass, mini) - 1;
  std::vector<RandomKey> keys;
  uint64_t before = table_.count();  // the previous record
  for (uint64_t r = 0; r < repeats_.factor; ++r) {
    RandomKey key = SubKey(SubKey(of, r), 0);
    for (uint64_t salt = 1;
         pass.records(mini) > 1 && EndOf(pass, {mini, key, 0}, false) == before;
         ++salt) {
      key = SubKey(SubKey(of, r), salt);
    }
    before = EndOf(pass, {mini, key, last_window}, true);
    keys.push_back(key);
  }
  return keys;
}

std::vector<PartRecords::Run> RepeatOrder::BlocksOf(
    const BlockPass& pass, const Window& window) const {
  const absl::Span<const uint32_t> blocks = pass.blocks(window.mini);
  const Permutation order(blocks.size(), SubKey(window.key, kOfBlocks));
  const uint64_t begin = window.number * window_;
  const uint64_t end = std::min<uint64_t>(begin + window_, blocks.size());
  std::vector<PartRecords::Run> runs;
  runs.reserve(end - begin);
  for (uint64_t i = begin; i < end; ++i) {
    runs.push_back(pass.RunOf(blocks[order(i)]));
  }
  return runs;
}

uint64_t RepeatOrder::EndOf(const BlockPass& pass, const Window& window,
                            bool last) const {
  const std::vector<PartRecords::Run> runs = BlocksOf(pass, window);
  uint64_t records = 0;
  for (const PartRecords::Run& run : runs) records += run.size();
  const Permutation mix(records,
                        SubKey(window.key, kOfWindows + window.number));
  uint64_t at = mix(last ? records - 1 : 0);
  for (const PartRecords::Run& run : runs) {
    if (at < run.size()) return run.first + at;
    at -= run.size();
  }
  return table_.count();
}

PartRecords RepeatOrder::RecordsOf(uint64_t part) const {
  const Table& made = Made();
  const Part& of = made.parts[part];
  std::vector<BlockSlot> slots;
  uint64_t records = 0;
  for (const PartRecords::Run& run :
       BlocksOf(*made.pass, {of.mini, of.key, of.window})) {
    slots.push_back({run, records});
    records += run.size();
  }
  const RandomKey key = SubKey(of.key, kOfWindows + of.window);
  if (of.from > 0 || of.to < records) {
    return ShareOfWindow(slots, key, of.from, of.to);
  }
  std::vector<uint32_t> positions(records);
  MixWindow(key, 0, records, positions);
  return PartOfSlots(std::move(slots), positions);
}

RecordOrder::Sums RepeatOrder::SumsOf(uint64_t part) const {
  const Part& of = Made().parts[part];
  Sums sums{of.bytes, of.to - of.from};
  if (of.bytes > 0) return sums;
  for (const PartRecords::Run& run : RecordsOf(part).runs) {
    sums.bytes += table_.begin(run.last) - table_.begin(run.first);
  }
  return sums;
}

uint64_t RepeatOrder::EndOfMiniEpoch(uint64_t mini) const {
  const std::vector<Part>& parts = Made().parts;
  const auto behind = std::upper_bound(
      parts.begin(), parts.end(), mini,
      [](uint64_t wanted, const Part& part) { return wanted < part.mini; });
  return static_cast<uint64_t>(behind - parts.begin());
}

double RepeatOrder::TimesShown(uint64_t mini, uint64_t first,
                               uint64_t last) const {
  const Table& made = Made();
  const uint64_t begin =
      std::max(mini == 0 ? 0 : EndOfMiniEpoch(mini - 1), first);
  const uint64_t end = std::min(EndOfMiniEpoch(mini), last);
  uint64_t records = 0;
  for (uint64_t p = begin; p < end; ++p) {
    records += made.parts[p].to - made.parts[p].from;
  }
  return static_cast<double>(records) /
         static_cast<double>(made.pass->records(mini));
}

std::vector<PartRecords::Run> RepeatOrder::RunsOf(uint64_t mini) const {
  const BlockPass& pass = *Made().pass;
  std::vector<PartRecords::Run> runs;
  for (const uint32_t block : pass.blocks(mini)) {
    runs.push_back(pass.RunOf(block));
  }
  return runs;
}

}  // namespace shufflefs
