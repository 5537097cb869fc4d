// SPDX-License-Identifier: Apache-2.0
#include "mount-tools/ctl/check/order_line.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/types/optional.h"
#include "core/base/status.h"
#include "core/config/value_text.h"

namespace shufflefs {
namespace {

// Replaces \t, \n and \\ by the bytes that they denote.
std::string Unescaped(absl::string_view text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    const char next = i + 1 < text.size() ? text[i + 1] : '\0';
    if (text[i] != '\\' || (next != 't' && next != 'n' && next != '\\')) {
      plain.push_back(text[i]);
      continue;
    }
    plain.push_back(next == 't' ? '\t' : next == 'n' ? '\n' : '\\');
    ++i;
  }
  return plain;
}

}  // namespace

absl::Status ForEachOrderLine(
    absl::string_view order,
    const std::function<absl::Status(const OrderLine&)>& visit) {
  absl::ConsumeSuffix(&order, "\n");
  if (order.empty()) return absl::OkStatus();
  uint64_t number = 0;
  for (absl::string_view text : absl::StrSplit(order, '\n')) {
    ++number;
    const std::vector<absl::string_view> fields = absl::StrSplit(text, '\t');
    const absl::optional<uint64_t> rank = ParseNumber(fields[0]);
    if (fields.size() != 3 || !rank) {
      return absl::DataLossError(
          absl::StrCat("order, line ", number,
                       ": is not rank TAB name TAB sample; is the mount of "
                       "another version? see shufflectl doctor"));
    }
    RETURN_IF_ERROR(
        visit(OrderLine{*rank, Unescaped(fields[1]), Unescaped(fields[2])}));
  }
  return absl::OkStatus();
}

}  // namespace shufflefs
