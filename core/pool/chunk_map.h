// SPDX-License-Identifier: Apache-2.0
// The chunks of a reactive policy: samples that are read together. They are
// composed once for all epochs. An epoch only orders them.
//
// Pure functions; any thread may call them. They take some 30 ns per sample.
#ifndef SHUFFLEFS_CORE_POOL_CHUNK_MAP_H_
#define SHUFFLEFS_CORE_POOL_CHUNK_MAP_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "core/dataset/grouping.h"

namespace shufflefs {

// By chunk: its samples (SampleId values), in their order on the device. Every
// sample of the grouping is in exactly one chunk, and no chunk is empty.
using ChunkList = std::vector<std::vector<uint32_t>>;

// Composes chunks as the Brand paper does (section 3, data chunk generation).
// It permutes all samples, keyed by the dataset, and cuts the permutation into
// runs of `files_per_chunk` files, so that a chunk mixes labels. The same
// dataset gives the same chunks on every machine for ever. A sample is never
// cut: a chunk of pairs may have a few files less, and has at least one sample.
// REQUIRES: files_per_chunk >= 1; fewer than 2^32 samples.
ChunkList ComposeRandomChunks(const Grouping& grouping, uint64_t dataset_key,
                              uint32_t files_per_chunk);

struct PhysicalChunkOptions {
  uint64_t memory_bytes = 0;          // capacity of the pool
  uint32_t files_per_chunk = 64;      // at most; >= 1
  uint64_t chunk_bytes = 8ULL << 20;  // at most, except for a single sample
  // Samples further apart than this are never read together. It is about the
  // bytes that a disk reads in the time of a seek.
  uint64_t gap_bytes = 1ULL << 20;
};

struct PhysicalChunks {
  ChunkList chunks;
  std::string how;  // one clause for `status`
};

// Composes chunks of samples that are adjacent on the device, if a source is
// read directly. `addresses` and `bytes` are by SampleId: the address of the
// sample's first file (DeviceLayout, core/source/physical.h), and the memory
// that all its files take.
//
// If a group's samples are side by side (class folders that were copied one
// after the other), a chunk holds samples of one group, and all groups compete
// for the memory. A chunk then has three samples more than memory can hold of
// every group. (Simulated with 40 to 2,000 groups, and groups of unlike sizes,
// with a disk and four readers: without the three, 1,000 groups of 20 take 1.5
// times as long. With twice what memory holds instead, 200 groups of 100 take
// 1.2 times as long. Many samples are then read alone.)
//
// If labels are mixed on the device, chunks are as large as the options allow.
// REQUIRES: both spans have sample_count() elements, fewer than 2^32.
PhysicalChunks ComposePhysicalChunks(const Grouping& grouping,
                                     absl::Span<const uint64_t> addresses,
                                     absl::Span<const uint64_t> bytes,
                                     const PhysicalChunkOptions& options);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_POOL_CHUNK_MAP_H_
