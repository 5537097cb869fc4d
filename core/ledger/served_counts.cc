// SPDX-License-Identifier: Apache-2.0
#include "core/ledger/served_counts.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace shufflefs {
namespace {

struct Head {
  uint64_t count = 0;
  uint32_t least = 0;
  uint32_t width = 0;  // bits, 0 to 32
};

// A catalogue has no more entries.
constexpr uint64_t kMostSamples = uint64_t{1} << 32;

}  // namespace

std::string PackCounts(const std::vector<uint32_t>& counts) {
  Head head;
  head.count = counts.size();
  uint32_t most = 0;
  if (!counts.empty()) {
    const auto [low, high] = std::minmax_element(counts.begin(), counts.end());
    head.least = *low;
    most = *high - *low;
  }
  head.width = static_cast<uint32_t>(std::bit_width(most));
  std::string text(sizeof(head) + (head.count * head.width + 7) / 8, '\0');
  std::memcpy(text.data(), &head, sizeof(head));
  uint64_t at = 0;
  for (const uint32_t count : counts) {
    for (uint32_t bit = 0; bit < head.width; ++bit, ++at) {
      if (((count - head.least) >> bit & 1) == 0) continue;
      text[sizeof(head) + at / 8] |= static_cast<char>(1 << at % 8);
    }
  }
  return text;
}

absl::StatusOr<std::vector<uint32_t>> UnpackCounts(absl::string_view text,
                                                   uint64_t samples) {
  const auto damaged = absl::DataLossError("counts of samples are damaged");
  Head head;
  if (text.size() < sizeof(head)) return damaged;
  std::memcpy(&head, text.data(), sizeof(head));
  text.remove_prefix(sizeof(head));
  if (head.width > 32 || head.count != samples || samples > kMostSamples ||
      text.size() != (head.count * head.width + 7) / 8) {
    return damaged;
  }
  std::vector<uint32_t> counts(head.count, head.least);
  uint64_t at = 0;
  for (uint32_t& count : counts) {
    uint64_t more = 0;
    for (uint32_t bit = 0; bit < head.width; ++bit, ++at) {
      more |= static_cast<uint64_t>(text[at / 8] >> at % 8 & 1) << bit;
    }
    if (more > UINT32_MAX - head.least) return damaged;
    count = head.least + static_cast<uint32_t>(more);
  }
  return counts;
}

}  // namespace shufflefs
