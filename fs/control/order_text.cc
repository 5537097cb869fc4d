// SPDX-License-Identifier: Apache-2.0
#include "fs/control/order_text.h"

#include "absl/strings/str_cat.h"

namespace shufflefs {
namespace {

void AppendPath(const std::string& path, std::string& out) {
  for (const char c : path) {
    switch (c) {
      case '\t':
        out += "\\t";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\\':
        out += "\\\\";
        break;
      default:
        out += c;
    }
  }
}

// For a binding that shows a sample under several names, or none: what each
// name shows, in the order of name numbers.
std::string RepeatingText(const Binding& binding) {
  const Dataset& dataset = binding.plan().dataset();
  const Grouping& grouping = dataset.grouping();
  std::string text;
  uint64_t rank = 0;
  for (uint64_t n = 0; n < grouping.sample_count(); ++n) {
    const SampleId name(n);
    const absl::optional<SampleId> sample = binding.bound_names()->Bound(name);
    if (!sample) continue;
    for (uint32_t column = 0; column < grouping.columns(name); ++column) {
      absl::StrAppend(&text, rank, "\t");
      AppendPath(dataset.catalogue().path(grouping.member(name, column)), text);
      text += '\t';
      AppendPath(dataset.catalogue().path(grouping.member(*sample, column)),
                 text);
      text += '\n';
    }
    ++rank;
  }
  return text;
}

}  // namespace

std::string OrderText(const Binding& binding, const RankedNames* ranked) {
  if (binding.repeats()) return RepeatingText(binding);
  const Dataset& dataset = binding.plan().dataset();
  const Grouping& grouping = dataset.grouping();
  const Order& order = binding.plan().view_order();
  std::string text;
  for (uint64_t rank = 0; rank < order.size(); ++rank) {
    const SampleId sample(order.SampleAt(rank));
    if (binding.bound_names() != nullptr && !binding.bound_names()->NameOf(sample)) {
      continue;  // no name shows it yet
    }
    const SampleId name = binding.NameOfSample(sample);
    const GroupId id = grouping.group_of(sample);
    const Grouping::Group& group = grouping.group(id);
    for (uint32_t column = 0; column < group.columns; ++column) {
      const auto file = [&](SampleId which) {
        return grouping.member(id, which.value() - group.first_sample, column);
      };
      absl::StrAppend(&text, rank, "\t");
      AppendPath(ranked != nullptr ? ranked->Name(rank, file(sample))
                                   : dataset.catalogue().path(file(name)),
                 text);
      text += '\t';
      AppendPath(dataset.catalogue().path(file(sample)), text);
      text += '\n';
    }
  }
  return text;
}

}  // namespace shufflefs
