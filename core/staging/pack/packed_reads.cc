// SPDX-License-Identifier: Apache-2.0
#include "core/staging/pack/packed_reads.h"

#include <errno.h>

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "core/io/file_reader.h"
#include "core/staging/pack/pack_format.h"

namespace shufflefs {
namespace {

// Adds the reads of [begin, end) of a chunk that holds `wants` in this order.
void AddStretch(uint64_t begin, uint64_t end,
                const std::vector<std::shared_ptr<PackedWant>>& wants,
                uint64_t read_bytes, std::vector<PackedRead>& reads) {
  size_t first = 0;  // the first want that ends after the read begins
  for (uint64_t at = RoundDown(begin, kReadAlignment); at < end;
       at += read_bytes) {
    PackedRead read;
    read.chunk = wants.front()->place().chunk;
    read.begin = at;
    read.end = std::min(at + read_bytes, end);
    while (wants[first]->end() <= at) ++first;
    for (size_t i = first; i < wants.size() && wants[i]->begin() < read.end;
         ++i) {
      read.parts.push_back({wants[i], std::max(wants[i]->begin(), read.begin),
                            std::min(wants[i]->end(), read.end)});
    }
    // No parts if the whole read is between two files.
    if (!read.parts.empty()) reads.push_back(std::move(read));
  }
}

}  // namespace

PackedWant::PackedWant(FilePiece piece, const PackIndex::Place& place)
    : piece_(std::move(piece)),
      place_(place),
      from_(RoundDown(piece_.offset, kPackCheckBytes)),
      to_(std::min(
          RoundDown(piece_.offset + piece_.length + kPackCheckBytes - 1,
                    kPackCheckBytes),
          place.length)) {
  const uint64_t before = piece_.offset - from_;
  const uint64_t behind = to_ - (piece_.offset + piece_.length);
  if (before > 0) before_.reset(new char[before]);
  if (behind > 0) behind_.reset(new char[behind]);
  memory_.Append(iovec{before_.get(), before});
  memory_.AppendUpTo(piece_.into, piece_.length);
  memory_.Append(iovec{behind_.get(), behind});
}

bool PackedWant::PartEnded(const absl::Status& status) {
  MutexLock lock(mu_);
  failed_.Update(status);
  return --parts_ == 0;
}

absl::Status PackedWant::Check(const PackIndex& index) const {
  for (uint64_t at = from_; at < to_; at += kPackCheckBytes) {
    const uint64_t length = std::min(kPackCheckBytes, to_ - at);
    if (PackCheckOf(memory_, at - from_, length) ==
        place_.checks[at / kPackCheckBytes]) {
      continue;
    }
    return ErrnoStatus(
        EIO, absl::StrCat(index.catalogue().path(file()), ": ",
                          PackChunkName(place_.chunk), " at byte ",
                          place_.offset + at, ": the checksum differs"));
  }
  return absl::OkStatus();
}

void PackedWant::Finish(const PackIndex& index) {
  absl::Status status;
  {
    MutexLock lock(mu_);
    status = failed_;
  }
  if (status.ok()) {
    status = Check(index);
  } else {
    status = Annotate(status, index.catalogue().path(file()));
  }
  piece_.done(status);
}

std::vector<PackedRead> PlanPackedReads(
    std::vector<std::shared_ptr<PackedWant>> wants,
    const PackedReadLimits& limits) {
  std::vector<PackedRead> reads;
  std::vector<std::shared_ptr<PackedWant>> stretch;
  for (size_t i = 0; i < wants.size(); ++i) {
    stretch.push_back(std::move(wants[i]));
    const PackedWant& last = *stretch.back();
    const PackedWant* next =
        i + 1 < wants.size() ? wants[i + 1].get() : nullptr;
    if (next != nullptr && next->place().chunk == last.place().chunk &&
        next->begin() >= last.end() &&
        next->begin() - last.end() < limits.gap_bytes) {
      continue;
    }
    AddStretch(stretch.front()->begin(), last.end(), stretch, limits.read_bytes,
               reads);
    stretch.clear();
  }
  absl::flat_hash_map<PackedWant*, uint64_t> parts;
  for (const PackedRead& read : reads) {
    for (const PackedRead::Part& part : read.parts) ++parts[part.want.get()];
  }
  for (const auto& [want, count] : parts) want->SetParts(count);
  return reads;
}

std::vector<PackedRead> SplitPackedRead(const PackedRead& read) {
  std::vector<PackedRead> reads;
  for (const PackedRead::Part& part : read.parts) {
    PackedRead alone;
    alone.chunk = read.chunk;
    alone.begin = RoundDown(part.begin, kReadAlignment);
    alone.end = part.end;
    alone.urgent = read.urgent;
    alone.parts.push_back(part);
    reads.push_back(std::move(alone));
  }
  return reads;
}

}  // namespace shufflefs
