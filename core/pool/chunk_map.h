// SPDX-License-Identifier: Apache-2.0
// Which samples are read together: the chunks of a reactive policy. They are
// composed once and hold for all epochs; an epoch only orders them.
//
// Pure functions; any thread may call. Some 30 ns a sample.
#ifndef SHUFFLEFS_CORE_POOL_CHUNK_MAP_H_
#define SHUFFLEFS_CORE_POOL_CHUNK_MAP_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "core/dataset/grouping.h"

namespace shufflefs {

// By chunk: its samples (SampleId values), in the order in which they lie on
// the device. Every sample of the grouping is in exactly one chunk, and no
// chunk is empty.
using ChunkList = std::vector<std::vector<uint32_t>>;

// Chunks as the Brand paper composes them (section 3, data chunk generation):
// a permutation of all samples, keyed by the dataset, cut into runs of
// `files_per_chunk` files, so that a chunk mixes labels. The same dataset
// gives the same chunks on every machine and for ever. A sample is never cut:
// a chunk of pairs may hold a few files less, and at least one sample.
// REQUIRES: files_per_chunk >= 1; fewer than 2^32 samples.
ChunkList ComposeRandomChunks(const Grouping& grouping, uint64_t dataset_key,
                              uint32_t files_per_chunk);

struct PhysicalChunkOptions {
  uint64_t memory_bytes = 0;          // what the pool holds
  uint32_t files_per_chunk = 64;      // at most; >= 1
  uint64_t chunk_bytes = 8ULL << 20;  // at most, but for a single sample
  // Samples further apart than this are never read together: about what a
  // disk reads in the time of a seek.
  uint64_t gap_bytes = 1ULL << 20;
};

struct PhysicalChunks {
  ChunkList chunks;
  std::string how;  // one clause for `status`
};

// Chunks of samples that lie together on the device, for a source that is
// read as it is. `addresses` and `bytes` are by SampleId: where a sample's
// first file begins (DeviceLayout, core/source/physical.h), and how much memory
// all its files take.
//
// Where a group's samples lie side by side (class folders, copied one after
// the other) a chunk holds one group's samples, and all groups compete for
// the memory: a chunk is then so small that memory can hold one of every
// group, though at least a sample. (Simulated with 40 to 2,000 groups: chunks
// half that size cost twice the reads; of twice that size, so many samples are
// read alone that it costs as much.) Where labels are mixed on the device
// chunks are as large as the options allow.
// REQUIRES: both spans have sample_count() elements, fewer than 2^32.
PhysicalChunks ComposePhysicalChunks(const Grouping& grouping,
                                     absl::Span<const uint64_t> addresses,
                                     absl::Span<const uint64_t> bytes,
                                     const PhysicalChunkOptions& options);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_POOL_CHUNK_MAP_H_
