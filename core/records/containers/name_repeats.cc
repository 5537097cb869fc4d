// SPDX-License-Identifier: Apache-2.0
#include "core/records/containers/name_repeats.h"

#include <algorithm>
#include <utility>

#include "core/formats/record_scanner.h"

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
  // The first list in which the current name moves. Names that stay come
  // behind those that move.
  absl::optional<NextName> first;
  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end(), ComesLater);
    NextName& next = heap.back();
    if (first && first->hash == (next.hash & ~kNameStays)) {
      const auto [with, list] = std::minmax({first->list, next.list});
      repeats[list] = std::min(repeats[list].value_or(with), with);
    } else if ((next.hash & kNameStays) == 0) {
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
