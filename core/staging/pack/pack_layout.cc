// SPDX-License-Identifier: Apache-2.0
#include "core/staging/pack/pack_layout.h"

#include <xxhash.h>

#include <algorithm>

namespace shufflefs {

PackLayout LayOutPack(const Catalogue& catalogue,
                      const PackComposition& composition) {
  PackLayout layout;
  PackManifest& manifest = layout.manifest;
  manifest.fingerprint = catalogue.fingerprint();
  manifest.state = catalogue.state();
  manifest.seed = composition.seed;
  manifest.chunk_size = composition.chunk_size;
  uint64_t checks = 0;
  std::vector<uint32_t> hashed;
  for (const std::vector<EntryId>& files : composition.chunks) {
    PackManifest::Chunk chunk;
    chunk.first_file = static_cast<uint32_t>(manifest.files.size());
    chunk.file_count = static_cast<uint32_t>(files.size());
    hashed.push_back(chunk.file_count);
    for (EntryId entry : files) {
      const uint64_t length = catalogue.attributes(entry).size;
      manifest.files.push_back(
          {chunk.bytes, length, checks, manifest.paths.size()});
      layout.entries.push_back(entry);
      hashed.push_back(entry.value());
      manifest.paths.append(catalogue.path(entry)).push_back('\0');
      chunk.bytes += length;
      checks += PackChecksOf(length);
    }
    manifest.chunks.push_back(chunk);
  }
  manifest.checks.assign(checks, 0);
  layout.composition =
      XXH3_64bits(hashed.data(), hashed.size() * sizeof(uint32_t));
  return layout;
}

bool PackPasses::AddChunk(PackPass& pass, uint64_t& used) {
  const uint32_t number = chunks_[next_chunk_];
  const PackManifest::Chunk& chunk = manifest_.chunks[number];
  PackStretch stretch{number, written_, 0, used, false};
  while (next_file_ < chunk.file_count) {
    const uint32_t index = chunk.first_file + next_file_;
    const uint64_t left = manifest_.files[index].length - next_byte_;
    uint64_t take = std::min({left, kPieceBytes, memory_bytes_ - used});
    if (take < left) take = take / kPackCheckBytes * kPackCheckBytes;
    if (take > 0) {
      pass.pieces.push_back({index, next_byte_, take, used});
      used += take;
      stretch.length += take;
      next_byte_ += take;
    } else if (left > 0) {
      break;  // the memory is full
    }
    if (take == left) {
      ++next_file_;
      next_byte_ = 0;
    }
  }
  stretch.last = next_file_ == chunk.file_count;
  written_ += stretch.length;
  pass.stretches.push_back(stretch);
  return stretch.last;
}

bool PackPasses::Next(PackPass& pass) {
  pass.pieces.clear();
  pass.stretches.clear();
  uint64_t used = 0;
  while (next_chunk_ < chunks_.size()) {
    const uint64_t rest =
        manifest_.chunks[chunks_[next_chunk_]].bytes - written_;
    if (!pass.stretches.empty() && rest > memory_bytes_ - used) break;
    if (!AddChunk(pass, used)) break;
    ++next_chunk_;
    next_file_ = 0;
    next_byte_ = 0;
    written_ = 0;
  }
  return !pass.stretches.empty();
}

}  // namespace shufflefs
