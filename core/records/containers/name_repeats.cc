// SPDX-License-Identifier: Apache-2.0
#include "core/records/containers/name_repeats.h"

#include <algorithm>
#include <utility>

namespace shufflefs {
namespace {

// The next hash of a list.
struct NextName {
  uint64_t hash = 0;
  size_t list = 0;
  size_t at = 0;
};

// Orders a heap so that the lowest hash comes first, of the first list.
bool ComesLater(const NextName& a, const NextName& b) {
  return std::pair(a.hash, a.list) > std::pair(b.hash, b.list);
}

}  // namespace

std::vector<absl::optional<size_t>> FindNameRepeats(
    const std::vector<absl::Span<const uint64_t>>& lists) {
  std::vector<absl::optional<size_t>> repeats(lists.size());
  std::vector<NextName> heap;
  for (size_t list = 0; list < lists.size(); ++list) {
    if (!lists[list].empty()) heap.push_back({lists[list][0], list, 0});
  }
  std::make_heap(heap.begin(), heap.end(), ComesLater);
  absl::optional<NextName> first;  // the first list with the current hash
  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end(), ComesLater);
    NextName& next = heap.back();
    if (first && first->hash == next.hash) {
      absl::optional<size_t>& with = repeats[next.list];
      with = std::min(with.value_or(first->list), first->list);
    } else {
      first = next;
    }
    if (++next.at < lists[next.list].size()) {
      next.hash = lists[next.list][next.at];
      std::push_heap(heap.begin(), heap.end(), ComesLater);
    } else {
      heap.pop_back();
    }
  }
  return repeats;
}

}  // namespace shufflefs
