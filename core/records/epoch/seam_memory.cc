// SPDX-License-Identifier: Apache-2.0
#include "core/records/epoch/seam_memory.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/config/value_text.h"
#include "core/formats/record_math.h"
#include "core/formats/record_table.h"
#include "core/io/file_reader.h"
#include "core/records/content/part_reads.h"
#include "core/records/content/record_shares.h"
#include "core/records/content/straddling_record_cache.h"
#include "core/records/order/block_order.h"
#include "core/records/order/record_order.h"
#include "core/records/order/shuffled_file.h"

namespace shufflefs {
namespace {

constexpr uint64_t kSampled = 2048;  // borders
constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr uint64_t kLargestBlock = 16 * kMiB;  // that is advised

// Pieces of records on the borders of a container, one for each border: half of
// what is before it and half of what is behind, because either may come first.
struct Seams {
  double pieces = 0;  // that are kept if there is memory
  double bytes = 0;   // of these
  double memory = 0;  // of these
  double again = 0;   // bytes that are read again for them if none is kept
  double always = 0;  // bytes that are read again in any case

  Seams& operator*=(double factor) {
    for (double* each : {&pieces, &bytes, &memory, &again, &always}) {
      *each *= factor;
    }
    return *this;
  }
};

double PagesOf(uint64_t bytes) {
  return static_cast<double>(DivideUp(bytes, kReadAlignment) * kReadAlignment);
}

// A record that crosses a border.
struct Crossing {
  uint64_t before = 0;  // bytes in the block in which it begins
  uint64_t behind = 0;  // bytes in the block in which it ends
  bool begins = false;  // in the block before the border
  bool ends = false;    // in the block behind it
  // If it fills blocks between these, nobody finds the piece that is kept.
  bool found() const { return begins && ends; }
};

void AddPiece(uint64_t bytes, bool found, double weight, Seams& seams) {
  if (!found || bytes > ShuffledFile::kLongestSeam) {
    seams.always += weight * PagesOf(bytes);
    return;
  }
  seams.pieces += weight;
  seams.bytes += weight * static_cast<double>(bytes);
  seams.memory +=
      weight * static_cast<double>(StraddlingRecordCache::Footprint(bytes));
  seams.again += weight * PagesOf(bytes);
}

// The record that crosses byte `border`, a multiple of `block`. Empty if there
// is none.
absl::optional<Crossing> CrossingAt(const RecordTable& table, uint64_t border,
                                    uint64_t block) {
  const uint64_t next = table.FirstFrom(border);
  if (next == 0 || table.begin(next) <= border) return absl::nullopt;
  const uint64_t begin = table.begin(next - 1);
  const uint64_t end = table.begin(next);
  const uint64_t first_border = (begin / block + 1) * block;
  const uint64_t last_border = (end - 1) / block * block;
  return Crossing{first_border - begin, end - last_border,
                  first_border == border, last_border == border};
}

// Of a block without a whole record, and of its neighbours, it comes first in
// one of three cases. Then all its records belong to others. It is not read for
// itself, and others read its pieces.
void AddEmptyBlock(const Crossing& left, const Crossing& right, uint64_t block,
                   Seams& seams) {
  constexpr double kFirst = 1.0 / 3;
  AddPiece(left.behind, left.found(), -kFirst, seams);
  AddPiece(right.before, right.found(), -kFirst, seams);
  seams.always += kFirst * (PagesOf(left.behind) + PagesOf(right.before) -
                            static_cast<double>(block));
}

// The block that begins with byte `border`.
void AddBlock(const RecordTable& table, uint64_t border, uint64_t block,
              Seams& seams) {
  const auto left = CrossingAt(table, border, block);
  if (!left) return;
  if (left->begins) {  // each record counts once
    AddPiece(left->before, left->found(), 0.5, seams);
    AddPiece(left->behind, left->found(), 0.5, seams);
  }
  if (!left->ends) return;
  const auto right = CrossingAt(table, border + block, block);
  if (right && right->begins && left->behind + right->before == block) {
    AddEmptyBlock(*left, *right, block, seams);
  }
}

Seams SeamsOf(const RecordTable& table, uint64_t block) {
  Seams seams;
  if (table.count() == 0) return seams;
  const uint64_t first = table.begin(0) / block + 1;
  const uint64_t last = DivideUp(table.begin(table.count()), block);
  if (first >= last) return seams;
  const uint64_t borders = last - first;
  const uint64_t sampled = std::min(borders, kSampled);
  // Multiples of the golden ratio fall in step with no size of records.
  constexpr double kGolden = 0.6180339887498949;
  for (uint64_t i = 0; i < sampled; ++i) {
    const double at = std::fmod(static_cast<double>(i) * kGolden, 1.0);
    const uint64_t border =
        sampled == borders
            ? i
            : static_cast<uint64_t>(at * static_cast<double>(borders));
    AddBlock(table, (first + border) * block, block, seams);
  }
  return seams *= static_cast<double>(borders) / static_cast<double>(sampled);
}

// The part of the pieces that finds no memory in an epoch, if there is memory
// for `room` of the most that are kept at a time.
//
// After a part t of the blocks, 2t(1 - t) of all pieces are kept, at most half
// of them. While only c can be kept, 2(1 - t) come per t and c / (1 - t) are
// taken, from t0 when c are kept until t1 when no more come than are taken.
double LostPart(double room) {
  if (room >= 1) return 0;
  const double c = room / 2;
  const double left0 = (1 + std::sqrt(1 - 2 * c)) / 2;  // 1 - t0
  const double left1 = std::sqrt(c / 2);                // 1 - t1
  const double come = left0 * left0 - left1 * left1;
  return c <= 0 ? 1 : std::max(0.0, come - c * std::log(left0 / left1));
}

double RoomFor(const Seams& seams, const RecordBudget& budget) {
  if (seams.pieces <= 0) return 1;
  return std::min(
      static_cast<double>(budget.straddling_bytes()) / (seams.memory / 2),
      static_cast<double>(budget.most_pieces()) / (seams.pieces / 2));
}

// What is read of a container with some memory.
struct Reading {
  const RecordTable& table;
  const uint64_t block = 0;
  const Seams& seams;
  const RecordBudget& budget;

  uint64_t bytes() const { return BytesOfAll(table); }
  double blocks() const {
    return static_cast<double>(DivideUp(bytes(), block));
  }
  uint64_t BlocksOfPart() const {
    return DivideUp(PartBytes(table, budget.whole_bytes()), block);
  }

  // The part of all pairs of neighbours that are on their way at the same time,
  // so that neither has the other's piece. Pairs of one part need none.
  double TogetherPart() const {
    const uint64_t ahead =
        std::min(BlockOrder::kAheadBlocks, budget.pool_bytes() / 2 / block);
    const double part =
        static_cast<double>(ahead - std::min(ahead, BlocksOfPart())) / blocks();
    return part >= 1 ? 1 : 2 * part - part * part;
  }

  // Bytes that are read and ignored between the blocks of a part.
  double GapBytes() const {
    const uint64_t most = (PartReadLimits().gap_bytes - 1) / block;
    // Blocks that have records of their own, at most.
    const double own = std::min(blocks(), static_cast<double>(table.count()));
    const double of_part = static_cast<double>(BlocksOfPart()) * own / blocks();
    // 1 to `most` blocks are between two of them, each number as likely.
    return own * of_part / blocks() *
           static_cast<double>(most * (most + 1) / 2 * block);
  }

  double Times(double room) const {
    const double kept = (1 - LostPart(room)) * (1 - TogetherPart());
    return 1 + (seams.always + seams.again * (1 - kept) + GapBytes()) /
                   static_cast<double>(bytes());
  }
  double Times() const { return Times(RoomFor(seams, budget)); }
};

uint64_t EnoughGuarantee(const Seams& seams) {
  constexpr int kMostDoublings = 24;
  uint64_t above = kMiB;
  for (int i = 0; RoomFor(seams, RecordBudget::Of(above)) < 1; ++i) {
    if (i == kMostDoublings) return 0;
    above *= 2;
  }
  for (uint64_t step = above / 4; step >= kMiB; step /= 2) {
    if (RoomFor(seams, RecordBudget::Of(above - step)) >= 1) above -= step;
  }
  return above;
}

uint64_t EnoughBlock(const RecordTable& table, uint64_t block,
                     const RecordBudget& budget) {
  for (uint64_t more = 2 * block; more <= kLargestBlock; more *= 2) {
    const Seams seams = SeamsOf(table, more);
    if (Reading{table, more, seams, budget}.Times() <= SeamMemory::kOnce) {
      return more;
    }
  }
  return 0;
}

// A container whose blocks are read at random.
struct Candidate {
  EntryId file;
  std::shared_ptr<const RecordTable> records;
};

bool HasSeams(const RecordTable& table, const RecordBudget& budget,
              const RecordBlocks& blocks) {
  if (blocks.bytes == 0 || table.count() == 0) return false;
  // A window of all blocks has no borders with others.
  if (PartBytes(table, budget.whole_bytes()) >= BytesOfAll(table) ||
      BytesOfAll(table) / blocks.bytes <= blocks.window) {
    return false;
  }
  const uint64_t size = table.record_bytes();
  return size == 0 || blocks.bytes % size != 0 || table.begin(0) % size != 0;
}

bool IsOrderedByItself(const ContainerShape& shape) {
  return shape.records != nullptr && !shape.keeps_order && !shape.family &&
         !shape.order_by && !shape.columnar && !shape.placed;
}

// The most bytes of pieces, roughly: one for each border and record, of half a
// record or block.
double Weight(const RecordTable& table, uint64_t block) {
  const double borders = static_cast<double>(BytesOfAll(table) / block);
  const auto count = static_cast<double>(table.count());
  const double record = static_cast<double>(BytesOfAll(table)) / count;
  return std::min(borders, count) *
         std::min(record, static_cast<double>(block));
}

absl::optional<Candidate> Worst(const ContainerSet& containers,
                                const RecordBudget& budget,
                                const RecordBlocks& blocks) {
  absl::optional<Candidate> worst;
  double most = 0;
  for (const EntryId file : containers.files()) {
    const absl::optional<ContainerShape> shape = containers.Shape(file);
    if (!shape || !IsOrderedByItself(*shape) ||
        !HasSeams(*shape->records, budget, blocks)) {
      continue;
    }
    const double weight = Weight(*shape->records, blocks.bytes);
    if (weight <= most) continue;
    most = weight;
    worst = Candidate{file, shape->records};
  }
  return worst;
}

}  // namespace

absl::optional<SeamMemory> SeamMemoryOf(const RecordTable& table,
                                        const RecordBlocks& blocks,
                                        uint64_t guarantee) {
  const RecordBudget budget = RecordBudget::Of(guarantee);
  if (!HasSeams(table, budget, blocks)) return absl::nullopt;
  const uint64_t all = BytesOfAll(table);
  const Seams seams = SeamsOf(table, blocks.bytes);
  const Reading reading{table, blocks.bytes, seams, budget};
  if (reading.Times(0) <= SeamMemory::kOnce) return absl::nullopt;
  SeamMemory found;
  found.blocks = blocks;
  found.record_bytes = all / table.count();
  found.kept_share = seams.bytes / 2 / static_cast<double>(all);
  found.needed_bytes = static_cast<uint64_t>(seams.memory / 2);
  found.guarantee = guarantee;
  found.room_bytes = static_cast<uint64_t>(
      std::min(static_cast<double>(budget.straddling_bytes()),
               static_cast<double>(budget.most_pieces()) * seams.memory /
                   std::max(seams.pieces, 1.0)));
  found.times_read = reading.Times();
  if (!found.reads_again()) return found;
  // More memory brings at least half of what can be saved.
  if (RoomFor(seams, budget) < 1 &&
      reading.Times(1) - 1 <= (found.times_read - 1) / 2) {
    found.enough_guarantee = EnoughGuarantee(seams);
  }
  found.enough_block = EnoughBlock(table, blocks.bytes, budget);
  return found;
}

absl::optional<SeamMemory> SeamMemoryOf(const ContainerSet& containers,
                                        const Catalogue& catalogue,
                                        const RecordBlocks& blocks,
                                        uint64_t guarantee) {
  if (blocks.bytes == 0) return absl::nullopt;
  const auto worst = Worst(containers, RecordBudget::Of(guarantee), blocks);
  if (!worst) return absl::nullopt;
  auto found = SeamMemoryOf(*worst->records, blocks, guarantee);
  if (found) found->path = catalogue.path(worst->file);
  return found;
}

std::string SeamLine(const SeamMemory& seams) {
  const std::string block = FormatBytes(seams.blocks.bytes);
  std::string text = absl::StrFormat(
      "records of %d bytes cross blocks of %s: at most %.1f %% of %s is kept",
      seams.record_bytes, block, 100 * seams.kept_share, seams.path);
  if (seams.record_bytes <= seams.blocks.bytes) {
    absl::StrAppend(&text, " (R / 4B for records of R and blocks of B bytes)");
  }
  absl::StrAppend(
      &text, ", which takes ", HumanBytes(seams.needed_bytes),
      " of memory; there is room for ", HumanBytes(seams.room_bytes),
      absl::StrFormat(", %.0f %% of what is guaranteed: ",
                      100.0 * static_cast<double>(seams.room_bytes) /
                          static_cast<double>(seams.guarantee)));
  absl::StrAppendFormat(&text, "about %.2f times its bytes are read",
                        seams.times_read);
  return text;
}

std::string SeamWarning(const SeamMemory& seams, uint64_t memory) {
  if (!seams.reads_again()) return "";
  std::string text = absl::StrFormat(
      "records cross blocks of %s, so about %.2f times the bytes of %s are "
      "read in an epoch",
      FormatBytes(seams.blocks.bytes), seams.times_read, seams.path);
  std::string advice;
  if (seams.enough_guarantee > 0) {
    advice = absl::StrCat("raise memory to ", FormatBytes(memory));
  }
  if (seams.enough_block > 0) {
    absl::StrAppend(&advice, advice.empty() ? "raise " : ", or ",
                    seams.blocks.key, " to ", FormatBytes(seams.enough_block));
  }
  return advice.empty() ? text : absl::StrCat(text, ": ", advice);
}

}  // namespace shufflefs
