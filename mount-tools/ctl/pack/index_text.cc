// SPDX-License-Identifier: Apache-2.0
#include "mount-tools/ctl/pack/index_text.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "core/config/value_text.h"
#include "nlohmann/json.hpp"

namespace shufflefs {
namespace {

using ReportJson = nlohmann::ordered_json;

std::string NameOf(const IndexReport::View& view) {
  return view.path.empty() ? "root" : ShownPath(view.path);
}

void AddCounts(const ContainerReport& report, ReportJson& json) {
  json["containers"] = report.containers;
  json["indexed"] = report.indexed;
  json["read_through"] = report.read_through;
  json["records"] = report.records;
  json["index_bytes"] = report.index_bytes;
}

}  // namespace

ContainerReport IndexReport::Sum() const {
  ContainerReport sum;
  for (const View& view : views) {
    const ContainerReport& report = view.containers;
    sum.containers += report.containers;
    sum.indexed += report.indexed;
    sum.read_through += report.read_through;
    sum.records += report.records;
    sum.index_bytes += report.index_bytes;
    sum.untouched.insert(sum.untouched.end(), report.untouched.begin(),
                         report.untouched.end());
  }
  return sum;
}

std::string IndexText(const IndexReport& report) {
  const ContainerReport sum = report.Sum();
  std::string text =
      absl::StrCat(ShownPath(report.source), ": ",
                   Counted(sum.indexed, "container", "containers"), " of ",
                   Counted(sum.records, "record", "records"), ", ",
                   HumanBytes(report.bytes), "\n");
  if (sum.indexed > 0) {
    absl::StrAppend(&text, Counted(sum.read_through, "was", "were"),
                    " read in ", absl::StrFormat("%.1f s", report.seconds),
                    ", ", HumanCount(sum.indexed - sum.read_through),
                    " up to date; ", HumanBytes(sum.index_bytes),
                    " of index, in ", ShownPath(report.saved), "\n");
  }
  for (const IndexReport::View& view : report.views) {
    if (view.shuffles_records) continue;
    absl::StrAppend(&text, NameOf(view), ": ", view.policy,
                    " leaves records where they are: nothing to index (",
                    ShownPath(view.why), ")\n");
  }
  for (const UntouchedFile& each : sum.untouched) {
    absl::StrAppend(&text, "untouched: ", ShownPath(each.path), ": ",
                    ShownPath(each.why), "\n");
  }
  return text;
}

std::string IndexJson(const IndexReport& report) {
  const ContainerReport sum = report.Sum();
  ReportJson json;
  json["source"] = report.source;
  json["saved"] = report.saved;
  AddCounts(sum, json);
  json["bytes"] = report.bytes;
  json["seconds"] = report.seconds;
  json["interrupted"] = report.interrupted;
  json["views"] = ReportJson::array();
  for (const IndexReport::View& view : report.views) {
    ReportJson each = {{"path", view.path},
                       {"policy", view.policy},
                       {"why", view.why},
                       {"shuffles_records", view.shuffles_records}};
    AddCounts(view.containers, each);
    json["views"].push_back(std::move(each));
  }
  json["untouched"] = ReportJson::array();
  for (const UntouchedFile& each : sum.untouched) {
    json["untouched"].push_back({{"path", each.path}, {"why", each.why}});
  }
  return json.dump(2, ' ', false, ReportJson::error_handler_t::replace) + "\n";
}

}  // namespace shufflefs
