// SPDX-License-Identifier: Apache-2.0
#include "core/records/content/straddling_record_cache.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace shufflefs {
namespace {

constexpr uint64_t kCellBytes = 64;
constexpr uint64_t kCellsOfPage = Arena::kPage / kCellBytes;
constexpr uint64_t kPagesOfBlock = 16;  // what is taken from the pool at once
constexpr uint64_t kCellsOfBlock = kPagesOfBlock * kCellsOfPage;
constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();

}  // namespace

struct StraddlingRecordCache::Cell {
  static constexpr uint64_t kBytes = kCellBytes - sizeof(uint32_t);

  uint32_t next;  // of the same piece, or the next free one
  char bytes[kBytes];
};

uint64_t StraddlingRecordCache::Footprint(uint64_t bytes) {
  return (bytes + Cell::kBytes - 1) / Cell::kBytes * kCellBytes;
}

StraddlingRecordCache::StraddlingRecordCache(
    std::vector<std::unique_ptr<PoolShare>> shares, uint64_t most_pieces)
    : shares_(std::move(shares)), most_pieces_(most_pieces), free_(kNone) {
  static_assert(sizeof(Cell) == kCellBytes);
}

StraddlingRecordCache::Cell& StraddlingRecordCache::At(uint32_t cell) const {
  return reinterpret_cast<Cell*>(
      pages_[cell / kCellsOfPage])[cell % kCellsOfPage];
}

void StraddlingRecordCache::PutFree(uint32_t cell) {
  At(cell).next = free_;
  free_ = cell;
  ++free_count_;
}

uint32_t StraddlingRecordCache::TakeFree() {
  const uint32_t cell = free_;
  free_ = At(cell).next;
  --free_count_;
  return cell;
}

bool StraddlingRecordCache::Grow() {
  const uint64_t first = blocks_.size() * kCellsOfBlock;
  if (first + kCellsOfBlock >= kNone) return false;
  std::unique_ptr<MemoryBlock> block;
  for (const std::unique_ptr<PoolShare>& share : shares_) {
    block = share->Allocate(kPagesOfBlock * Arena::kPage);
    if (block != nullptr) break;
  }
  if (block == nullptr) return false;
  for (const iovec& run : block->pieces()) {
    for (size_t at = 0; at < run.iov_len; at += Arena::kPage) {
      pages_.push_back(static_cast<char*>(run.iov_base) + at);
    }
  }
  blocks_.push_back(std::move(block));
  for (uint64_t i = kCellsOfBlock; i > 0; --i) {
    PutFree(static_cast<uint32_t>(first + i - 1));
  }
  return true;
}

void StraddlingRecordCache::Keep(uint64_t file, uint64_t from,
                                 absl::string_view piece) {
  const uint64_t cells = Footprint(piece.size()) / kCellBytes;
  MutexLock lock(mu_);
  if (pieces_.size() >= most_pieces_ || piece.size() >= kNone) return;
  const Key key(file, from);
  if (pieces_.contains(key)) return;
  while (free_count_ < cells) {
    if (!Grow()) return;
  }
  Piece kept{kNone, static_cast<uint32_t>(piece.size())};
  uint32_t* link = &kept.cell;
  for (; !piece.empty();
       piece.remove_prefix(std::min(piece.size(), Cell::kBytes))) {
    *link = TakeFree();
    Cell& cell = At(*link);
    std::memcpy(cell.bytes, piece.data(), std::min(piece.size(), Cell::kBytes));
    cell.next = kNone;
    link = &cell.next;
  }
  pieces_.emplace(key, kept);
}

absl::optional<std::string> StraddlingRecordCache::Take(uint64_t file,
                                                        uint64_t from,
                                                        uint64_t bytes) {
  MutexLock lock(mu_);
  const auto found = pieces_.find(Key(file, from));
  if (found == pieces_.end() || found->second.bytes != bytes) {
    return absl::nullopt;
  }
  std::string piece;
  piece.reserve(bytes);
  for (uint32_t at = found->second.cell; at != kNone; at = At(at).next) {
    piece.append(At(at).bytes, std::min(bytes - piece.size(), Cell::kBytes));
  }
  Drop(found->second);
  pieces_.erase(found);
  if (pieces_.empty()) Clear();
  return piece;
}

void StraddlingRecordCache::Drop(const Piece& piece) {
  for (uint32_t at = piece.cell; at != kNone;) {
    const uint32_t next = At(at).next;
    PutFree(at);
    at = next;
  }
}

void StraddlingRecordCache::Forget(const absl::flat_hash_set<uint64_t>& files) {
  MutexLock lock(mu_);
  for (auto it = pieces_.begin(); it != pieces_.end();) {
    const auto piece = it++;
    if (!files.contains(piece->first.first)) continue;
    Drop(piece->second);
    pieces_.erase(piece);
  }
  if (pieces_.empty()) Clear();
}

void StraddlingRecordCache::GiveBack(uint64_t bytes) {
  constexpr uint64_t kBlock = kPagesOfBlock * Arena::kPage;
  MutexLock lock(mu_);
  const uint64_t blocks = std::min<uint64_t>(
      blocks_.size(), bytes / kBlock + (bytes % kBlock != 0));
  ShrinkTo(blocks_.size() - blocks);
}

bool StraddlingRecordCache::HasCellFrom(const Piece& piece,
                                        uint32_t first) const {
  for (uint32_t at = piece.cell; at != kNone; at = At(at).next) {
    if (at >= first) return true;
  }
  return false;
}

void StraddlingRecordCache::ShrinkTo(size_t blocks) {
  if (blocks == 0) return Clear();
  const auto end = static_cast<uint32_t>(blocks * kCellsOfBlock);
  for (auto it = pieces_.begin(); it != pieces_.end();) {
    const auto piece = it++;
    if (!HasCellFrom(piece->second, end)) continue;
    Drop(piece->second);
    pieces_.erase(piece);
  }
  uint32_t all = std::exchange(free_, kNone);
  free_count_ = 0;
  while (all != kNone) {
    const uint32_t cell = all;
    all = At(cell).next;
    if (cell < end) PutFree(cell);
  }
  blocks_.resize(blocks);
  pages_.resize(blocks * kPagesOfBlock);
}

void StraddlingRecordCache::Clear() {
  free_ = kNone;
  free_count_ = 0;
  blocks_.clear();
  pages_.clear();
  absl::flat_hash_map<Key, Piece>().swap(pieces_);
}

uint64_t StraddlingRecordCache::bytes() const {
  MutexLock lock(mu_);
  return blocks_.size() * kPagesOfBlock * Arena::kPage +
         pieces_.size() * kIndexBytes;
}

}  // namespace shufflefs
