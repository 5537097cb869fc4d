// SPDX-License-Identifier: Apache-2.0
#include "mount-tools/ctl/status_text.h"

#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "core/base/status.h"
#include "core/config/value_text.h"
#include "mount-tools/ctl/check/prefetch_text.h"
#include "mount-tools/ctl/peers/peers_text.h"
#include "mount-tools/ctl/status_fields.h"
#include "policies/registry.h"

namespace shufflefs {
namespace {

using status_fields::Count;
using status_fields::Json;
using status_fields::MakeShown;
using status_fields::Number;
using status_fields::ParseStatus;
using status_fields::ShownStatus;
using status_fields::TextOf;
using status_fields::Texts;

std::string Progress(const Json& view) {
  std::string text;
  if (const auto epoch = Count(view, "epoch")) {
    text = absl::StrCat("epoch ", *epoch);
  }
  const auto samples = Number(view, "samples");
  const auto consumed = Number(view, "consumed");
  if (samples && consumed && *samples > 0) {
    absl::StrAppendFormat(&text, ", %.0f %%", 100 * *consumed / *samples);
  }
  const std::string state = TextOf(view, "epoch_state");
  if (!state.empty() && state != "running") {
    absl::StrAppend(&text, text.empty() ? "" : ", ", state);
  }
  return text;
}

std::string Waited(const Json& view) {
  const auto stall = Number(view, "stall_seconds");
  const auto consumer = Number(view, "consumer_seconds");
  if (!stall || !consumer || *stall + *consumer <= 0) return "";
  return absl::StrFormat("readers waited %.0f %%",
                         100 * *stall / (*stall + *consumer));
}

std::string SourceRead(const Json& view) {
  const auto source = Number(view, "source_bytes");
  const auto served = Number(view, "served_bytes");
  if (!source || !served || *served <= 0) return "";
  return absl::StrFormat("source %.2fx read", *source / *served);
}

// The work of a pool of samples. "" if there is none.
std::string Pool(const Json& view) {
  const auto loads = Count(view, "chunk_loads");
  const auto hits = Count(view, "hits");
  const auto misses = Count(view, "misses");
  const auto bypass = Count(view, "bypass");
  if (!loads || !hits || !misses || !bypass) return "";
  std::string text = absl::StrCat(HumanCount(*loads),
                                  *loads == 1 ? " chunk load" : " chunk loads");
  if (const auto fill = Number(view, "fill_rate")) {
    absl::StrAppendFormat(&text, " (fill rate %.1f %%)", 100 * *fill);
  }
  return absl::StrCat(text, ", ", HumanCount(*hits), " hits, ",
                      HumanCount(*misses), " misses, ", HumanCount(*bypass),
                      " read alone");
}

// The position of a view with mini-epochs. "" if it has none.
std::string MiniEpoch(const Json& view) {
  const auto mini = view.find("mini_epoch");
  if (mini == view.end() || !mini->is_object()) return "";
  const auto number = Count(*mini, "number");
  const auto of = Count(*mini, "of");
  const auto pass = Count(*mini, "pass");
  const auto repetition = Count(*mini, "repetition");
  if (!number || !of || !pass || !repetition) return "";
  const std::string why = TextOf(*mini, "why");
  return absl::StrCat(*number + 1, " of ", *of, " in pass ", *pass + 1,
                      ", repetition ", *repetition,
                      why.empty() ? "" : absl::StrCat(" (", why, ")"));
}

// Content and work of a view's faster tier. "" if it has none.
std::string TierText(const Json& view) {
  const auto tier = view.find("tier");
  if (tier == view.end() || !tier->is_object()) return "";
  const auto bytes = [&](const char* key) {
    return HumanBytes(Count(*tier, key).value_or(0));
  };
  std::string text =
      absl::StrCat(bytes("staged_bytes"), " of ", bytes("capacity"),
                   " in use, ", bytes("copied_bytes"), " copied, ",
                   bytes("saved_bytes"), " not read from the source");
  const std::string trouble = TextOf(*tier, "trouble");
  if (!trouble.empty()) absl::StrAppend(&text, "; ", trouble);
  return text;
}

// The rate of readers against what each tier delivers. "" if nothing is known.
std::string Roofline(const Json& view) {
  const auto roofline = view.find("roofline");
  if (roofline == view.end() || !roofline->is_object()) return "";
  bool is_any_known = false;
  const auto rate = [&](const char* key) {
    const auto value = Number(*roofline, key);
    is_any_known |= value.has_value();
    return value ? absl::StrCat(HumanBytes(static_cast<uint64_t>(*value)), "/s")
                 : std::string("not known yet");
  };
  std::string text =
      absl::StrCat("readers take ", rate("reader"), ", and would take ",
                   rate("reader_without_waiting"), "; the tier gives ",
                   rate("tier"), ", the source ", rate("source"),
                   ", with what is repeated ", rate("source_repeated"));
  return is_any_known ? text : "";
}

// The policy of the view with its default keys. Null if this program does not
// know it.
std::unique_ptr<const Policy> PolicyOf(const Json& view) {
  const PolicyEntry* const entry =
      FindPolicy(Policies(), TextOf(view, "policy"));
  return entry == nullptr ? nullptr : entry->make(PolicyOptions(), nullptr);
}

// The containers whose records are shuffled. "" if there are none.
std::string ShuffledRecords(const Json& view) {
  const auto records = view.find("records");
  if (records == view.end() || !records->is_object()) return "";
  const std::unique_ptr<const Policy> policy = PolicyOf(view);
  if (policy != nullptr && !policy->shuffles_records()) return "";
  const auto containers = Count(*records, "containers");
  if (!containers || *containers == 0) return "";
  return absl::StrCat("records of ",
                      Counted(*containers, "container", "containers"),
                      " are shuffled");
}

// What the names of the view show.
std::string Substitution(const Json& view) {
  const std::string records = ShuffledRecords(view);
  if (!records.empty() && TextOf(view, "substitute") == "never") return records;
  const std::string substitute = TextOf(view, "substitute");
  const std::unique_ptr<const Policy> policy = PolicyOf(view);
  const bool is_source =
      policy != nullptr && policy->consumption() == Consumption::kSource;
  if (substitute == "never" || is_source) {
    return "every name shows its own file";
  }
  if (substitute == "tree") return "names move in the whole view";
  if (substitute != "directory") return substitute;
  const auto groups = Count(view, "groups");
  if (!groups) return "labels by directory";
  return absl::StrCat("labels by directory (", HumanCount(*groups),
                      *groups == 1 ? " class)" : " classes)");
}

void Append(std::vector<std::string>& parts, std::string part) {
  if (!part.empty()) parts.push_back(std::move(part));
}

// Lines below that of the view, if the daemon has something to say.
struct Detail {
  const char* key;
  const char* title;
};
constexpr Detail kDetails[] = {{"why", "why"},
                               {"substitute_why", "names"},
                               {"next_policy", "from the next epoch"},
                               {"epoch_hold_reason", "held"},
                               {"mixing", "mixing"},
                               {"block_reads", "block reads"},
                               {"device", "device"}};

// train  lirs  epoch 3, 62 % | readers waited 4 % | … | 0 warnings
// `of_mount` are warnings of the mount, if it has no other view.
std::string ViewText(const Json& view,
                     const std::vector<std::string>& of_mount) {
  std::vector<std::string> warnings = Texts(view, "warnings");
  warnings.insert(warnings.end(), of_mount.begin(), of_mount.end());
  std::vector<std::string> parts;
  Append(parts, Progress(view));
  Append(parts, Waited(view));
  Append(parts, SourceRead(view));
  Append(parts, Substitution(view));
  parts.push_back(absl::StrCat(
      warnings.size(), warnings.size() == 1 ? " warning" : " warnings"));
  std::string text =
      absl::StrCat(TextOf(view, "name"), "  ", TextOf(view, "policy"), "  ",
                   absl::StrJoin(parts, " | "), "\n");
  for (const Detail& detail : kDetails) {
    const std::string value = TextOf(view, detail.key);
    if (value.empty()) continue;
    absl::StrAppend(&text, "  ", detail.title, ": ", value, "\n");
  }
  const std::string pool = Pool(view);
  const std::pair<const char*, std::string> more[] = {
      {"pool", pool},
      {"mini-epoch", MiniEpoch(view)},
      {"tier", TierText(view)},
      {"roofline", Roofline(view)}};
  for (const auto& [title, value] : more) {
    if (value.empty()) continue;
    absl::StrAppend(&text, "  ", title, ": ", value, "\n");
  }
  for (const std::string& line : PrefetchLines(view)) {
    absl::StrAppend(&text, "  reads ahead: ", line, "\n");
  }
  for (const std::string& warning : warnings) {
    absl::StrAppend(&text, "  warning: ", warning, "\n");
  }
  return text;
}

// How the mount sees opens, and whether the kernel reads large files by itself.
// "" if the daemon does not say.
std::string OpensLines(const Json& status) {
  constexpr std::pair<const char*, const char*> kWays[] = {
      {"requests", "each asks the daemon"},
      {"reports", "the kernel reports them"},
      {"nothing", "not seen"}};
  std::string text;
  const auto opens = status.find("opens");
  if (opens != status.end() && opens->is_object()) {
    const std::string seen_by = TextOf(*opens, "seen_by");
    for (const auto& [way, says] : kWays) {
      if (seen_by != way) continue;
      absl::StrAppend(&text, "opens: ", says, " (", TextOf(*opens, "why"),
                      ")\n");
    }
  }
  const auto large = status.find("passthrough");
  if (large != status.end() && large->is_object() &&
      large->value("on", Json()) == Json(true)) {
    absl::StrAppend(&text, "large files: the kernel reads them by itself (",
                    TextOf(*large, "why"), ")\n");
  }
  return text;
}

// As JSON has it, which has no bytes that are not UTF-8.
std::string InJson(absl::string_view name) {
  const std::string text = Json(std::string(name))
                               .dump(-1, ' ', /*ensure_ascii=*/false,
                                     Json::error_handler_t::replace);
  return Json::parse(text).get<std::string>();
}

bool IsNamed(const Json& view, absl::string_view name) {
  return view.is_object() && TextOf(view, "name") == InJson(name);
}

std::string EpochLine(const Json& view) {
  const std::string next = TextOf(view, "next_policy");
  return absl::StrCat(
      TextOf(view, "name"), "  ", TextOf(view, "policy"), "  ", Progress(view),
      next.empty() ? "" : absl::StrCat(" | from the next epoch: ", next));
}

// Those that `status` has for the same view.
std::vector<std::string> WarningsOf(const Json& status, const Json& view) {
  for (const Json& each : status["views"]) {
    if (each.is_object() && TextOf(each, "name") == TextOf(view, "name")) {
      return Texts(each, "warnings");
    }
  }
  return {};
}

// One line for each selected view.
template <typename Line>
absl::StatusOr<std::string> LineEach(absl::string_view text,
                                     absl::string_view name, Line line) {
  ASSIGN_OR_RETURN(const Json json, ParseStatus(text));
  std::string lines;
  for (const Json& view : json["views"]) {
    if (!view.is_object()) continue;
    if (!name.empty() && !IsNamed(view, name)) continue;
    absl::StrAppend(&lines, line(view), "\n");
  }
  if (!lines.empty()) return lines;
  return absl::NotFoundError(
      absl::StrCat("the status names no view \"", name,
                   "\"; shufflectl status lists the views"));
}

}  // namespace

absl::StatusOr<std::string> StatusText(absl::string_view json) {
  ASSIGN_OR_RETURN(Json status, ShownStatus(json));
  std::string text;
  std::vector<std::string> of_mount = Texts(status, "warnings");
  const bool is_alone = status["views"].size() == 1;
  for (const Json& view : status["views"]) {
    if (!view.is_object()) continue;
    absl::StrAppend(&text,
                    ViewText(view, is_alone ? std::exchange(of_mount, {})
                                            : std::vector<std::string>()));
  }
  absl::StrAppend(&text, OpensLines(status), PeersLine(status));
  for (const std::string& warning : of_mount) {
    absl::StrAppend(&text, "warning: ", warning, "\n");
  }
  return text;
}

std::string StatusJsonLine(const std::string& mountpoint,
                           absl::string_view json, const std::string& why) {
  Json line = {{"mountpoint", mountpoint}};
  const absl::StatusOr<Json> status = ParseStatus(json);
  if (status.ok()) {
    line.update(*status);
  } else {
    line["error"] = why;
  }
  return line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

absl::StatusOr<std::string> LedgerWarning(absl::string_view json,
                                          absl::string_view view) {
  ASSIGN_OR_RETURN(const Json status, ParseStatus(json));
  for (const Json& each : status["views"]) {
    if (!IsNamed(each, view)) continue;
    for (const Json& warning : each.value("warnings", Json::array())) {
      if (!warning.is_string()) continue;
      std::string text = warning.get<std::string>();
      if (absl::StartsWith(text, "ledger: ")) return text;
    }
  }
  return std::string();
}

absl::StatusOr<bool> IsIndexing(absl::string_view json,
                                absl::string_view view) {
  ASSIGN_OR_RETURN(const Json status, ParseStatus(json));
  for (const Json& each : status["views"]) {
    if (IsNamed(each, view)) {
      return TextOf(each, "epoch_state") == "indexing";
    }
  }
  return false;
}

absl::StatusOr<std::string> EpochText(absl::string_view json,
                                      absl::string_view view) {
  return LineEach(json, view, [](Json found) {
    MakeShown(found);
    return EpochLine(found);
  });
}

absl::StatusOr<std::string> AfterWriteText(absl::string_view before,
                                           absl::string_view after,
                                           absl::string_view view) {
  ASSIGN_OR_RETURN(const Json old, ShownStatus(before));
  return LineEach(after, view, [&](Json found) {
    MakeShown(found);
    std::string text = EpochLine(found);
    const std::vector<std::string> known = WarningsOf(old, found);
    for (const std::string& warning : Texts(found, "warnings")) {
      if (absl::c_linear_search(known, warning)) continue;
      absl::StrAppend(&text, "\n  warning: ", warning);
    }
    return text;
  });
}

absl::StatusOr<std::string> EpochJson(absl::string_view json,
                                      absl::string_view view) {
  return LineEach(json, view, [](const Json& found) {
    Json line = {{"view", found.value("name", Json())}};
    for (const char* key :
         {"policy", "next_policy", "seed", "epoch", "epoch_state"}) {
      line[key] = found.value(key, Json());
    }
    return line.dump();
  });
}

}  // namespace shufflefs
