// SPDX-License-Identifier: Apache-2.0
#include "core/pool/chunk_map.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/random/permutation.h"
#include "core/random/random.h"

namespace shufflefs {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;
// A chunk of one group has one and a half times what memory holds of each
// group, and so many samples more. On average half of a chunk was shown, so
// memory has room for it.
constexpr double kMoreSamples = 2.5;

// By sample: its group.
std::vector<uint32_t> GroupTable(const Grouping& grouping) {
  std::vector<uint32_t> table(grouping.sample_count());
  for (uint32_t g = 0; g < grouping.group_count(); ++g) {
    const Grouping::Group& group = grouping.group(GroupId(g));
    std::fill_n(table.begin() + static_cast<int64_t>(group.first_sample),
                group.samples, g);
  }
  return table;
}

// The samples of a source in the order of their device addresses.
class Track {
 public:
  Track(const Grouping& grouping, absl::Span<const uint64_t> addresses,
        absl::Span<const uint64_t> bytes)
      : grouping_(grouping),
        addresses_(addresses),
        bytes_(bytes),
        groups_(GroupTable(grouping)),
        order_(grouping.sample_count()) {
    std::iota(order_.begin(), order_.end(), uint32_t{0});
    std::stable_sort(order_.begin(), order_.end(), [&](uint32_t a, uint32_t b) {
      return addresses[a] < addresses[b];
    });
  }

  const std::vector<uint32_t>& order() const { return order_; }
  uint64_t bytes(uint32_t sample) const { return bytes_[sample]; }
  uint32_t files(uint32_t sample) const {
    return grouping_.group(GroupId(groups_[sample])).columns;
  }
  bool SameGroup(uint32_t a, uint32_t b) const {
    return groups_[a] == groups_[b];
  }
  // Bytes between the end of `a` and the start of `b`, its successor.
  uint64_t Gap(uint32_t a, uint32_t b) const {
    const uint64_t end = addresses_[a] + bytes_[a];
    return addresses_[b] > end ? addresses_[b] - end : 0;
  }

  uint64_t TotalBytes() const {
    return std::accumulate(bytes_.begin(), bytes_.end(), uint64_t{0});
  }
  uint64_t MeanBytes() const {
    return TotalBytes() / std::max<uint64_t>(order_.size(), 1);
  }
  std::vector<uint64_t> GroupBytes() const {
    std::vector<uint64_t> bytes(grouping_.group_count());
    for (size_t s = 0; s < groups_.size(); ++s) bytes[groups_[s]] += bytes_[s];
    return bytes;
  }
  // Counts the stretches of samples of one group that are side by side.
  uint64_t Stretches() const {
    uint64_t stretches = order_.empty() ? 0 : 1;
    for (size_t i = 1; i < order_.size(); ++i) {
      if (!SameGroup(order_[i - 1], order_[i])) ++stretches;
    }
    return stretches;
  }

 private:
  const Grouping& grouping_;
  const absl::Span<const uint64_t> addresses_;
  const absl::Span<const uint64_t> bytes_;
  const std::vector<uint32_t> groups_;
  std::vector<uint32_t> order_;
};

struct ChunkSize {
  uint64_t bytes = 0;      // at most, except for a single sample
  bool one_group = false;  // a chunk ends where the group changes
};

// The largest c such that `memory` holds c bytes of each of these, or all bytes
// of those that are smaller.
uint64_t EqualShare(std::vector<uint64_t> sizes, uint64_t memory) {
  std::sort(sizes.begin(), sizes.end());
  for (size_t i = 0; i < sizes.size(); ++i) {
    const uint64_t share = memory / (sizes.size() - i);
    if (share < sizes[i]) return share;
    memory -= sizes[i];
  }
  return memory;
}

// If groups are in stretches of s bytes, a chunk of c bytes brings c / s
// groups. So memory holds one chunk of every group if the sum of min(c, s) over
// all groups fits.
ChunkSize ChooseSize(const Track& track, uint64_t groups,
                     const PhysicalChunkOptions& options) {
  const uint64_t most = std::max<uint64_t>(options.chunk_bytes, 1);
  if (groups <= 1) return {.bytes = most};
  const uint64_t stretch =
      track.TotalBytes() / std::max<uint64_t>(track.Stretches(), 1);
  if (stretch <= options.memory_bytes / groups) return {.bytes = most};
  const uint64_t share = EqualShare(track.GroupBytes(), options.memory_bytes);
  const auto more = static_cast<uint64_t>(
      kMoreSamples * static_cast<double>(track.MeanBytes()));
  return {.bytes = std::clamp<uint64_t>(share + share / 2 + more, 1, most),
          .one_group = true};
}

// Cuts samples [first, last) of the track into about equal parts, so that no
// small rest costs a seek of its own.
void CutEvenly(const Track& track, size_t first, size_t last,
               uint64_t most_bytes, uint32_t most_files, ChunkList* chunks) {
  uint64_t bytes = 0;  // that are not in a chunk yet
  uint64_t files = 0;
  for (size_t i = first; i < last; ++i) {
    bytes += track.bytes(track.order()[i]);
    files += track.files(track.order()[i]);
  }
  for (size_t i = first; i < last;) {
    const uint64_t parts =
        std::max<uint64_t>({(bytes + most_bytes - 1) / most_bytes,
                            (files + most_files - 1) / most_files, 1});
    std::vector<uint32_t> chunk;
    uint64_t chunk_bytes = 0;
    uint64_t chunk_files = 0;
    for (; i < last; ++i) {
      const uint32_t sample = track.order()[i];
      const uint64_t more = track.bytes(sample);
      const bool over = chunk_bytes + more > most_bytes ||
                        chunk_files + track.files(sample) > most_files;
      // More than half of the sample would be over the equal part.
      const bool full = parts > 1 && chunk_bytes + more / 2 > bytes / parts;
      if (!chunk.empty() && (over || full)) break;
      chunk.push_back(sample);
      chunk_bytes += more;
      chunk_files += track.files(sample);
    }
    bytes -= chunk_bytes;
    files -= chunk_files;
    chunks->push_back(std::move(chunk));
  }
}

std::string Describe(const PhysicalChunks& made, const ChunkSize& size,
                     uint64_t samples, uint64_t groups,
                     const PhysicalChunkOptions& options) {
  const uint64_t mean =
      made.chunks.empty()
          ? 0
          : (samples + made.chunks.size() / 2) / made.chunks.size();
  std::string text =
      absl::StrCat(made.chunks.size(), " chunks of about ", mean,
                   mean == 1 ? " sample" : " samples", " that lie together");
  if (size.one_group) {
    absl::StrAppend(&text, ", of one group each: ", options.memory_bytes / kMiB,
                    " MiB of memory are shared by ", groups, " groups");
  } else if (groups > 1) {
    absl::StrAppend(&text, "; groups are mixed on the device");
  }
  return text;
}

// The groups that have samples, large ones first, equal ones at random.
std::vector<uint32_t> BySize(const Grouping& grouping, RandomKey key) {
  const Permutation order(grouping.group_count(), key);
  std::vector<uint32_t> groups;
  for (uint64_t i = 0; i < grouping.group_count(); ++i) {
    const auto group = static_cast<uint32_t>(order(i));
    if (grouping.group(GroupId(group)).samples > 0) groups.push_back(group);
  }
  std::stable_sort(groups.begin(), groups.end(), [&](uint32_t a, uint32_t b) {
    return grouping.group(GroupId(a)).samples >
           grouping.group(GroupId(b)).samples;
  });
  return groups;
}

// The samples of the groups and their groups, each group's evenly spread over
// the list: the i-th of n is at the place (i + u) / n of it, u random by group.
std::vector<std::pair<uint32_t, uint32_t>> Spread(
    const Grouping& grouping, absl::Span<const uint32_t> groups,
    RandomKey key) {
  struct Placed {
    uint64_t place;
    uint32_t group;
    uint32_t sample;
    auto operator<=>(const Placed&) const = default;
  };
  std::vector<Placed> placed;
  for (const uint32_t g : groups) {
    const Grouping::Group& group = grouping.group(GroupId(g));
    const RandomKey own = SubKey(key, g);
    const Permutation order(group.samples, own);
    const uint64_t u = own.value() >> 32;
    for (uint64_t i = 0; i < group.samples; ++i) {
      placed.push_back({((i << 32) | u) / group.samples, g,
                        static_cast<uint32_t>(group.first_sample + order(i))});
    }
  }
  std::sort(placed.begin(), placed.end());
  std::vector<std::pair<uint32_t, uint32_t>> spread;
  spread.reserve(placed.size());
  for (const Placed& each : placed) {
    spread.emplace_back(each.group, each.sample);
  }
  return spread;
}

}  // namespace

ChunkList ComposeMixedChunks(const Grouping& grouping, uint64_t dataset_key,
                             uint32_t files_per_chunk) {
  const RandomKey key =
      DeriveKey(Seed(0), Epoch(0), dataset_key, Purpose::kComposition);
  const std::vector<uint32_t> groups = BySize(grouping, key);
  const auto columns = [&](size_t i) -> uint64_t {
    return grouping.group(GroupId(groups[i])).columns;
  };
  ChunkList chunks;
  uint64_t files = 0;  // of the last chunk
  for (size_t first = 0; first < groups.size();) {
    size_t end = first + 1;
    uint64_t width = columns(first);  // files of a sample of each group
    while (end < groups.size() && width + columns(end) <= files_per_chunk) {
      width += columns(end++);
    }
    const auto block = absl::MakeConstSpan(groups).subspan(first, end - first);
    for (const auto& [group, sample] : Spread(grouping, block, key)) {
      const uint64_t more = grouping.group(GroupId(group)).columns;
      if (chunks.empty() || files + more > files_per_chunk) {
        chunks.emplace_back();
        files = 0;
      }
      chunks.back().push_back(sample);
      files += more;
    }
    first = end;
  }
  return chunks;
}

PhysicalChunks ComposePhysicalChunks(const Grouping& grouping,
                                     absl::Span<const uint64_t> addresses,
                                     absl::Span<const uint64_t> bytes,
                                     const PhysicalChunkOptions& options) {
  const Track track(grouping, addresses, bytes);
  const ChunkSize size = ChooseSize(track, grouping.group_count(), options);
  PhysicalChunks made;
  const std::vector<uint32_t>& order = track.order();
  size_t first = 0;
  for (size_t i = 1; i <= order.size(); ++i) {
    if (i < order.size() &&
        track.Gap(order[i - 1], order[i]) <= options.gap_bytes &&
        !(size.one_group && !track.SameGroup(order[i - 1], order[i]))) {
      continue;
    }
    CutEvenly(track, first, i, size.bytes, options.files_per_chunk,
              &made.chunks);
    first = i;
  }
  made.how =
      Describe(made, size, order.size(), grouping.group_count(), options);
  return made;
}

}  // namespace shufflefs
