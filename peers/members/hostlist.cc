// SPDX-License-Identifier: Apache-2.0
#include "peers/members/hostlist.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/base/status.h"

namespace shufflefs::peers {
namespace {

constexpr size_t kMostHosts = 65536;
constexpr size_t kMostBrackets = 8;  // in one item

absl::Status Wrong(absl::string_view item, absl::string_view why) {
  return absl::InvalidArgumentError(
      absl::StrCat("host list: \"", item.substr(0, 200), "\" ", why));
}

bool IsNumber(absl::string_view text) {
  return !text.empty() && text.size() <= 9 &&
         std::all_of(text.begin(), text.end(),
                     [](unsigned char c) { return std::isdigit(c) != 0; });
}

// The items between commas that are not within brackets.
absl::StatusOr<std::vector<absl::string_view>> Items(absl::string_view list) {
  std::vector<absl::string_view> items;
  size_t begin = 0;
  bool inside = false;
  for (size_t i = 0; i <= list.size(); ++i) {
    const char c = i < list.size() ? list[i] : ',';
    if (c == '[' || c == ']') {
      if (inside == (c == '[')) return Wrong(list, "has a bracket too many");
      inside = c == '[';
    } else if (c == ',' && (!inside || i == list.size())) {
      if (inside) return Wrong(list, "has a bracket that does not end");
      if (i > begin) items.push_back(list.substr(begin, i - begin));
      begin = i + 1;
    }
  }
  return items;
}

// Appends to each of `hosts` each number of `ranges`, such as "01-03,7".
absl::Status AppendNumbers(absl::string_view ranges,
                           std::vector<std::string>& hosts) {
  std::vector<std::string> numbers;
  for (absl::string_view range : absl::StrSplit(ranges, ',')) {
    const size_t dash = range.find('-');
    const absl::string_view first = range.substr(0, dash);
    const absl::string_view last =
        dash == absl::string_view::npos ? first : range.substr(dash + 1);
    uint32_t from = 0;
    uint32_t to = 0;
    if (!IsNumber(first) || !IsNumber(last) ||
        !absl::SimpleAtoi(first, &from) || !absl::SimpleAtoi(last, &to) ||
        to < from) {
      return Wrong(range, "is not a range of numbers");
    }
    if (to - from >= kMostHosts - std::min(numbers.size(), kMostHosts)) {
      return Wrong(ranges, "names too many hosts");
    }
    for (uint32_t n = from; n <= to; ++n) {
      std::string digits = absl::StrCat(n);
      if (digits.size() < first.size()) {
        digits.insert(0, first.size() - digits.size(), '0');
      }
      numbers.push_back(std::move(digits));
    }
  }
  if (numbers.size() * hosts.size() > kMostHosts) {
    return Wrong(ranges, "names too many hosts");
  }
  std::vector<std::string> longer;
  for (const std::string& host : hosts) {
    for (const std::string& number : numbers) {
      longer.push_back(absl::StrCat(host, number));
    }
  }
  hosts = std::move(longer);
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> ExpandItem(absl::string_view item) {
  std::vector<std::string> hosts = {""};
  absl::string_view rest = item;
  for (size_t brackets = 0;; ++brackets) {
    const size_t open = rest.find('[');
    for (std::string& host : hosts) {
      absl::StrAppend(&host, rest.substr(0, open));
    }
    if (open == absl::string_view::npos) return hosts;
    if (brackets == kMostBrackets) return Wrong(item, "has too many brackets");
    const size_t close = rest.find(']');  // Items() saw it
    RETURN_IF_ERROR(
        AppendNumbers(rest.substr(open + 1, close - open - 1), hosts));
    rest.remove_prefix(close + 1);
  }
}

}  // namespace

absl::StatusOr<std::vector<std::string>> ExpandHostlist(
    absl::string_view list) {
  ASSIGN_OR_RETURN(const std::vector<absl::string_view> items, Items(list));
  std::vector<std::string> hosts;
  for (absl::string_view item : items) {
    ASSIGN_OR_RETURN(std::vector<std::string> more, ExpandItem(item));
    if (hosts.size() + more.size() > kMostHosts) {
      return Wrong(list, "names too many hosts");
    }
    hosts.insert(hosts.end(), std::make_move_iterator(more.begin()),
                 std::make_move_iterator(more.end()));
  }
  return hosts;
}

}  // namespace shufflefs::peers
