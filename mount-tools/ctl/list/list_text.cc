// SPDX-License-Identifier: Apache-2.0
#include "mount-tools/ctl/list/list_text.h"

#include <time.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/config/value_text.h"
#include "mount-tools/ctl/status_fields.h"

namespace shufflefs {
namespace {

using status_fields::Json;
using status_fields::TextOf;

constexpr size_t kListColumns = 6;
using ListRow = std::array<std::string, kListColumns>;

std::vector<Json> ViewsIn(const MountFacts& mount) {
  std::vector<Json> views;
  const Json json = Json::parse(mount.status, nullptr,
                                /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("views")) return views;
  for (const Json& view : json["views"]) {
    if (view.is_object()) views.push_back(view);
  }
  return views;
}

// The texts of all views, or one of them if they are equal.
std::string Together(std::vector<std::string> texts) {
  if (texts.empty()) return "-";
  if (std::all_of(texts.begin(), texts.end(),
                  [&](const auto& text) { return text == texts.front(); })) {
    texts.resize(1);
  }
  return absl::StrJoin(texts, ",");
}

std::string FormatTime(int64_t seconds, bool utc) {
  const time_t when = seconds;
  tm parts;
  if ((utc ? gmtime_r(&when, &parts) : localtime_r(&when, &parts)) == nullptr) {
    return "-";
  }
  std::array<char, 40> text;
  const size_t length =
      strftime(text.data(), text.size(),
               utc ? "%Y-%m-%dT%H:%M:%SZ" : "%Y-%m-%d %H:%M", &parts);
  return {text.data(), length};
}

// Why a mount has no figures, in few words.
std::string ShortState(MountState state) {
  switch (state) {
    case MountState::kAnswers:
      return "serves";
    case MountState::kDead:
      return "gone";
    case MountState::kSilent:
      return "silent";
    case MountState::kRefuses:
      return "refused";
  }
  return "";
}

ListRow ListRowOf(const MountFacts& mount) {
  std::vector<std::string> policies;
  std::vector<std::string> epochs;
  for (const Json& view : ViewsIn(mount)) {
    const std::string policy = ShownPath(TextOf(view, "policy"));
    policies.push_back(policy.empty() ? "-" : policy);
    const auto epoch = status_fields::Count(view, "epoch");
    epochs.push_back(epoch ? absl::StrCat(*epoch) : "-");
  }
  std::string since = mount.since ? FormatTime(*mount.since, false) : "-";
  if (mount.status.empty()) since = WhyNoStatus(mount);
  return {ShownPath(mount.mountpoint),
          ShownPath(mount.source),
          Together(policies),
          Together(epochs),
          mount.pid != 0 ? absl::StrCat(mount.pid) : "-",
          std::move(since)};
}

}  // namespace

std::string ListText(const std::vector<MountFacts>& mounts) {
  if (mounts.empty()) return "";
  std::vector<ListRow> rows = {
      {"MOUNT", "SOURCE", "POLICY", "EPOCH", "PID", "SINCE"}};
  for (const MountFacts& mount : mounts) rows.push_back(ListRowOf(mount));
  std::array<size_t, kListColumns> widths{};
  for (const ListRow& row : rows) {
    for (size_t i = 0; i < kListColumns; ++i) {
      widths[i] = std::max(widths[i], row[i].size());
    }
  }
  std::string text;
  for (const ListRow& row : rows) {
    for (size_t i = 0; i + 1 < kListColumns; ++i) {
      absl::StrAppend(&text, row[i],
                      std::string(widths[i] - row[i].size() + 2, ' '));
    }
    absl::StrAppend(&text, row.back(), "\n");
  }
  return text;
}

std::string ListJson(const std::vector<MountFacts>& mounts) {
  std::string text;
  for (const MountFacts& mount : mounts) {
    Json json = {{"mountpoint", mount.mountpoint},
                 {"source", mount.source},
                 {"state", ShortState(mount.state)},
                 {"pid", nullptr},
                 {"since", nullptr},
                 {"views", Json::array()}};
    if (mount.pid != 0) json["pid"] = mount.pid;
    if (mount.since) json["since"] = FormatTime(*mount.since, true);
    for (const Json& view : ViewsIn(mount)) {
      Json& out = json["views"].emplace_back(Json::object());
      for (const char* key : {"name", "policy", "epoch", "epoch_state"}) {
        out[key] = view.value(key, Json());
      }
    }
    absl::StrAppend(
        &text, json.dump(-1, ' ', false, Json::error_handler_t::replace), "\n");
  }
  return text;
}

}  // namespace shufflefs
