// SPDX-License-Identifier: Apache-2.0
#include "core/records/content/gather_list.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "core/formats/record_math.h"
#include "core/pool/memory/arena.h"
#include "core/records/content/prefetch.h"

namespace shufflefs {
namespace {

constexpr uint64_t kPiecesOfBucket = 8;
// Below this size, a copy is faster than a piece of its own. A reply of 1 MiB
// then has some 400 pieces, each maybe across a page boundary. The kernel
// accepts 1,024.
constexpr uint64_t kSmallPiece = 4096;

uint64_t LiteralBytes(const PartPlan& plan) {
  uint64_t bytes = plan.newlines.size();
  for (const PartLiteral& literal : plan.literals) {
    bytes += literal.bytes.size();
  }
  return bytes;
}

uint64_t PieceCount(const PartPlan& plan) {
  return plan.copies.size() - plan.kept.size() + plan.newlines.size() +
         plan.literals.size();
}

}  // namespace

void GivenBytes::Bound() {
  if (range.size() <= kMostPieces) return;
  uint64_t bytes = 0;
  for (const iovec& piece : range) bytes += piece.iov_len;
  auto copy = std::make_unique_for_overwrite<char[]>(bytes);
  char* to = copy.get();
  for (const iovec& piece : range) {
    std::memcpy(to, piece.iov_base, piece.iov_len);
    to += piece.iov_len;
  }
  range.assign(1, iovec{copy.get(), bytes});
  copies.clear();
  copies.push_back(std::move(copy));
}

// Sorts pieces by their offset in the part. They cover the part evenly enough
// to put each into its bucket at once.
class GatherList::Sorter {
 public:
  Sorter(uint64_t part_bytes, uint64_t pieces) : pieces_(pieces) {
    const uint64_t buckets = pieces / kPiecesOfBucket + 1;
    shift_ = std::bit_width(part_bytes / buckets);
    ends_.resize((part_bytes >> shift_) + 2);
  }
  void Count(uint64_t to) { ++ends_[(to >> shift_) + 1]; }
  void Counted() {
    for (size_t b = 1; b < ends_.size(); ++b) ends_[b] += ends_[b - 1];
  }
  void Add(uint64_t to, uint64_t at) {
    pieces_[ends_[to >> shift_]++] = {static_cast<uint32_t>(to),
                                      static_cast<uint32_t>(at)};
  }
  std::vector<Piece> Sorted() && {
    auto begin = pieces_.begin();
    for (const uint32_t count : ends_) {
      const auto end = pieces_.begin() + count;
      std::sort(begin, end,
                [](const Piece& a, const Piece& b) { return a.to < b.to; });
      begin = end;
    }
    return std::move(pieces_);
  }

 private:
  int shift_ = 0;
  std::vector<uint32_t> ends_;  // of buckets; at first their begins
  std::vector<Piece> pieces_;
};

uint64_t GatherList::Footprint(const PartPlan& plan,
                               const std::vector<PartRead>& reads) {
  uint64_t bytes = 0;
  for (const PartRead& read : reads) bytes += Arena::Footprint(read.length);
  bytes += DivideUp(LiteralBytes(plan), sizeof(Piece)) * sizeof(Piece);
  return bytes + (PieceCount(plan) + 1) * sizeof(Piece);
}

GatherList::GatherList(PartPlan& plan, const std::vector<PartRead>& reads,
                       IoBuf memory)
    : memory_(std::move(memory)), count_(PieceCount(plan)) {
  uint64_t end = 0;
  read_begins_.reserve(reads.size());
  for (const PartRead& read : reads) {
    read_begins_.push_back(end);
    end += Arena::Footprint(read.length);
  }
  table_ = end + DivideUp(LiteralBytes(plan), sizeof(Piece)) * sizeof(Piece);

  Sorter sorter(plan.bytes, count_);
  for (const PartCopy& copy : plan.copies) {
    if (copy.to < plan.bytes) sorter.Count(copy.to);
  }
  for (const PartLiteral& literal : plan.literals) sorter.Count(literal.to);
  for (const uint64_t newline : plan.newlines) sorter.Count(newline);
  sorter.Counted();
  auto kept = plan.kept.begin();
  for (size_t k = 0; k < reads.size(); ++k) {
    for (uint32_t i = reads[k].first; i < reads[k].last; ++i) {
      const PartCopy& copy = plan.copies[i];
      if (copy.from < reads[k].offset) continue;  // the read before brings it
      const uint64_t at = read_begins_[k] + (copy.from - reads[k].offset);
      if (copy.to < plan.bytes) {
        sorter.Add(copy.to, at);
      } else {
        kept++->to = at;
      }
    }
  }
  for (const PartLiteral& literal : plan.literals) {
    memory_.Write(end, literal.bytes.data(), literal.bytes.size());
    sorter.Add(literal.to, end);
    end += literal.bytes.size();
  }
  for (const uint64_t newline : plan.newlines) {
    *memory_.at(end) = '\n';
    sorter.Add(newline, end++);
  }
  std::vector<Piece> pieces = std::move(sorter).Sorted();
  pieces.push_back({static_cast<uint32_t>(plan.bytes), 0});
  memory_.Write(table_, reinterpret_cast<const char*>(pieces.data()),
                pieces.size() * sizeof(Piece));
}

GatherList::Piece GatherList::piece(uint64_t i) const {
  Piece piece;
  std::memcpy(&piece, memory_.at(table_ + i * sizeof piece), sizeof piece);
  return piece;
}

uint64_t GatherList::PieceAt(uint64_t offset) const {
  uint64_t first = 0;
  uint64_t last = count_;  // the piece is in [first, last)
  while (last - first > 1) {
    const uint64_t middle = first + (last - first) / 2;
    (piece(middle).to <= offset ? first : last) = middle;
  }
  return first;
}

void GatherList::Give(uint64_t from, uint64_t length, GivenBytes& given) const {
  uint64_t i = PieceAt(from);
  const uint64_t pieces = PieceAt(from + length - 1) - i + 1;
  if (pieces * kSmallPiece > length) {
    given.copies.push_back(std::make_unique_for_overwrite<char[]>(length));
    char* const copy = given.copies.back().get();
    CopyOut(from, length, copy);
    given.range.push_back({copy, length});
    return;
  }
  while (length > 0) {
    const Piece piece = this->piece(i);
    const uint64_t take =
        std::min<uint64_t>(this->piece(++i).to - from, length);
    const std::vector<iovec> bytes =
        memory_.Range(piece.at + (from - piece.to), take);
    given.range.insert(given.range.end(), bytes.begin(), bytes.end());
    from += take;
    length -= take;
  }
}

void GatherList::CopyOut(uint64_t from, uint64_t length, char* to) const {
  uint64_t i = PieceAt(from);
  Piece piece = this->piece(i);
  while (length > 0) {
    if (i + kRecordsAhead < count_) {
      const Piece later = this->piece(i + kRecordsAhead);
      Prefetch<0>(memory_.at(later.at),
                  this->piece(i + kRecordsAhead + 1).to - later.to);
    }
    const Piece next = this->piece(++i);
    const uint64_t take = std::min<uint64_t>(next.to - from, length);
    memory_.Read(piece.at + (from - piece.to), take, to);
    to += take;
    from += take;
    length -= take;
    piece = next;
  }
}

}  // namespace shufflefs
