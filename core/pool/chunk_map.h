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

// Composes chunks that mix labels, as the Brand paper does (section 3, data
// chunk generation), but in equal shares: readers ask for labels at random, so
// memory needs some samples of each.
//
// Groups of about the same size form a block, as many as a chunk has files. The
// chunks of a block have its samples in equal shares. So 64 classes with 20
// files each make 20 chunks of 64, each with a file of every class. If one
// label runs low, those of its block do, too, and one chunk brings them all.
// `shufflectl simulate brand` counts what is read alone: 4 % of the samples
// with 1,000 classes of 20 and memory for 3,000 samples. It counted 9 % with
// the paper's chunks, where each sample's is drawn by itself.
//
// Which samples of different groups share a chunk is random, keyed by the
// dataset. The same dataset gives the same chunks on every machine.
//
// All chunks but the last have equally many files. A sample is never cut: a
// chunk of pairs may have a few files less, and has at least one sample.
// REQUIRES: files_per_chunk >= 1; fewer than 2^32 samples.
ChunkList ComposeMixedChunks(const Grouping& grouping, uint64_t dataset_key,
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
// for the memory. A chunk then has one and a half times what memory can hold of
// every group, and two or three samples more. Smaller chunks cost more seeks;
// with larger ones more labels run out, and more samples are read alone, which
// costs a seek each. `shufflectl simulate brand --in-place` counts both. On the
// emulated disk of the benchmarks, with four readers and 1,000 groups of 20, an
// epoch takes 43 s. It took 47 s when a chunk had three samples more than
// memory holds of each group, and 84 s when it had as many.
//
// If labels are mixed on the device, chunks are as large as the options allow.
// REQUIRES: both spans have sample_count() elements, fewer than 2^32.
PhysicalChunks ComposePhysicalChunks(const Grouping& grouping,
                                     absl::Span<const uint64_t> addresses,
                                     absl::Span<const uint64_t> bytes,
                                     const PhysicalChunkOptions& options);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_POOL_CHUNK_MAP_H_
