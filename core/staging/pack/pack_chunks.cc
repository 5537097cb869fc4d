// SPDX-License-Identifier: Apache-2.0
#include "core/staging/pack/pack_chunks.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"

namespace shufflefs {
namespace {

// Calls visit(file) for each file of a sample until it returns false.
template <typename Visit>
bool ForEachFile(const Grouping& grouping, SampleId sample, Visit&& visit) {
  const GroupId group = grouping.group_of(sample);
  const Grouping::Group& info = grouping.group(group);
  const auto index = static_cast<uint32_t>(sample.value() - info.first_sample);
  for (uint32_t column = 0; column < info.columns; ++column) {
    if (!visit(grouping.member(group, index, column))) return false;
  }
  return true;
}

absl::Status CheckThatItHasAll(const PackIndex& index,
                               const Grouping& grouping) {
  for (uint64_t sample = 0; sample < grouping.sample_count(); ++sample) {
    EntryId missing;
    const bool all = ForEachFile(grouping, SampleId(sample), [&](EntryId file) {
      missing = file;
      return index.Find(file).has_value();
    });
    if (!all) {
      return absl::FailedPreconditionError(absl::StrCat(
          index.catalogue().path(missing), ": is not in the pack; pack again"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ChunkList> ChunksOfPack(const PackIndex& index,
                                       const Grouping& grouping) {
  RETURN_IF_ERROR(CheckThatItHasAll(index, grouping));
  ChunkList chunks;
  for (uint32_t chunk = 0; chunk < index.chunk_count(); ++chunk) {
    std::vector<uint32_t> samples;
    for (EntryId file : index.files(chunk)) {
      const absl::optional<Grouping::Place> place = grouping.place(file);
      if (!place || place->column != 0) continue;
      samples.push_back(static_cast<uint32_t>(grouping.sample(file).value()));
    }
    if (!samples.empty()) chunks.push_back(std::move(samples));
  }
  return chunks;
}

std::vector<std::vector<EntryId>> FilesOfChunks(const ChunkList& chunks,
                                                const Grouping& grouping) {
  std::vector<std::vector<EntryId>> files;
  files.reserve(chunks.size());
  for (const std::vector<uint32_t>& samples : chunks) {
    std::vector<EntryId>& chunk = files.emplace_back();
    for (uint32_t sample : samples) {
      ForEachFile(grouping, SampleId(sample), [&chunk](EntryId file) {
        chunk.push_back(file);
        return true;
      });
    }
  }
  return files;
}

}  // namespace shufflefs
