// SPDX-License-Identifier: Apache-2.0
#include "policies/brand/chunk_line.h"

#include <algorithm>
#include <utility>

namespace shufflefs {
namespace {

// Number of random tries before samples that cannot be drawn are moved away.
constexpr int kTries = 8;

}  // namespace

ChunkLine::ChunkLine(const std::vector<std::vector<uint32_t>>& chunks,
                     const std::vector<uint32_t>& chunk_of, uint64_t window,
                     SampleTable& table)
    : chunks_(chunks),
      chunk_of_(chunk_of),
      window_(window),
      table_(table),
      place_(chunks.size(), kNever),
      samples_(std::make_unique_for_overwrite<uint32_t[]>(table.size())),
      queues_(table.group_count()) {}

void ChunkLine::BeginEpoch() {
  samples_begun_ = 0;
  std::fill(place_.begin(), place_.end(), kNever);
  line_.clear();
  settled_ = 0;
  std::fill(queues_.begin(), queues_.end(), Queue());
}

bool ChunkLine::Settled(uint32_t sample) const {
  return table_.done(sample) || table_.in_memory(sample) ||
         (!table_.held(sample) && !table_.fetchable(sample));
}

bool ChunkLine::Drawable(uint32_t sample) const {
  return !table_.bound(sample) && !table_.open(sample) &&
         (table_.held(sample) || table_.fetchable(sample));
}

void ChunkLine::Begin(absl::Span<const uint32_t> chunks) {
  std::vector<uint32_t> samples;
  for (const uint32_t chunk : chunks) {
    if (place_[chunk] != kNever) continue;
    place_[chunk] = samples_begun_;
    samples.insert(samples.end(), chunks_[chunk].begin(), chunks_[chunk].end());
  }
  if (samples.empty()) return;
  samples_begun_ += samples.size();
  for (const uint32_t sample : samples) {
    if (!Drawable(sample)) continue;
    const uint32_t group = table_.group_of(sample);
    samples_[table_.first(group) + queues_[group].end++] = sample;
  }
  line_.push_back(std::move(samples));
}

void ChunkLine::Advance() {
  for (; !line_.empty(); line_.pop_front(), settled_ = 0) {
    const std::vector<uint32_t>& samples = line_.front();
    while (settled_ < samples.size() && Settled(samples[settled_])) ++settled_;
    if (settled_ < samples.size()) return;
    for (const uint32_t sample : samples) table_.Open(sample);
  }
}

void ChunkLine::Tidy(uint32_t* samples, Queue& queue) const {
  uint32_t first = queue.window;
  for (uint32_t i = queue.window; i > queue.begin; --i) {
    if (Drawable(samples[i - 1])) samples[--first] = samples[i - 1];
  }
  queue.begin = first;
}

uint32_t ChunkLine::Draw(uint32_t group, Rng* rng) {
  uint32_t* const samples = samples_.get() + table_.first(group);
  const auto place = [&](uint32_t at) {
    return place_[chunk_of_[samples[at]]];
  };
  Queue& queue = queues_[group];
  while (queue.begin < queue.end) {
    if (!Drawable(samples[queue.begin])) {
      ++queue.begin;
      continue;
    }
    const uint64_t from = place(queue.begin);
    while (queue.window < queue.end && place(queue.window) <= from + window_) {
      ++queue.window;
    }
    for (int tries = 0; tries < kTries; ++tries) {
      const uint64_t at = rng->Bounded(queue.window - queue.begin);
      const uint32_t sample = samples[queue.begin + at];
      if (Drawable(sample)) return sample;
    }
    Tidy(samples, queue);
  }
  return SampleTable::kNone;
}

}  // namespace shufflefs
