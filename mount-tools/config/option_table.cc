// SPDX-License-Identifier: Apache-2.0
#include "mount-tools/config/option_table.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "core/base/status.h"
#include "core/config/value_text.h"
#include "mount-tools/config/nearest_word.h"
#include "mount-tools/config/option_values.h"
#include "mount-tools/config/paths.h"
#include "policies/registry.h"

namespace shufflefs {
namespace {

using namespace option_values;  // NOLINT: that is what they are for

// Inodes and the ledger have 8 bits for the number of a view.
constexpr size_t kMostViews = 254;

constexpr OptionScope kView = OptionScope::kView;
constexpr OptionScope kMount = OptionScope::kMount;
using Text = absl::string_view;
using M = MountConfig;
using V = ViewConfig;

// A key of a view whose value is one of a set of words.
template <const auto& words, auto field>
bool SetViewWord(Text t, M&, V& v) {
  return SetWord(words, t, v.*field);
}
template <const auto& words, auto field>
std::string GetViewWord(const M&, const V& v) {
  return GetWord(words, v.*field);
}
std::string BytesOr(const char* word, uint64_t bytes) {
  return bytes == 0 ? word : FormatBytes(bytes);
}

// One row per key: {key, default, "must be …", help, scope, kind, run time,
// set, get}. The order is that of help. The keys of policies come after the
// first of these tables, and those of baselines after the second.
constexpr Option kFirst[] = {
    {"policy", "auto", "",  // those of the registry
     "order of the samples", kView, ValueKind::kWord, true,
     [](Text t, M&, V& v) { return SetPolicy(t, v); },
     [](const M&, const V& v) { return v.policy; }},
    {"seed", "0", "a whole number from 0 to 18446744073709551615",
     "random seed; equal seeds give equal orders", kView, ValueKind::kNumber,
     true, [](Text t, M&, V& v) { return SetSeed(t, v); },
     [](const M&, const V& v) { return absl::StrCat(v.seed.value()); }},
    {"epoch.start", "0", "a whole number from 0 to 9223372036854775807",
     "first epoch of a new state", kView, ValueKind::kNumber, false,
     [](Text t, M&, V& v) { return SetEpochStart(t, v); },
     [](const M&, const V& v) { return absl::StrCat(v.epoch_start.value()); }},
    {"epoch.advance", "auto", "auto or manual",
     "what ends an epoch: the opens, or only the control file", kView,
     ValueKind::kWord, true, SetViewWord<kAdvanceWords, &V::epoch_advance>,
     GetViewWord<kAdvanceWords, &V::epoch_advance>},
    {"epoch.length", "all", "all or a number of names from 1 to 1099511627776",
     "names per epoch if a program reads only a share", kView,
     ValueKind::kNumber, true,
     [](Text t, M&, V& v) { return SetEpochLength(t, v); },
     [](const M&, const V& v) {
       return v.epoch_length == 0 ? std::string("all")
                                  : absl::StrCat(v.epoch_length);
     }},
    {"epoch.pad", "8", "a whole number from 0 to 1000000",
     "re-opens after completion that may be sampler padding", kView,
     ValueKind::kNumber, true,
     [](Text t, M&, V& v) { return SetNumber(t, 0, 1000000, v.epoch_pad); },
     [](const M&, const V& v) { return absl::StrCat(v.epoch_pad); }},
    {"epoch.double_open", "10s", "a time such as 500ms or 10s, at most 1h",
     "time within which re-opens count as one use", kView, ValueKind::kDuration,
     true, [](Text t, M&, V& v) { return SetTime(t, v.epoch_double_open); },
     [](const M&, const V& v) { return FormatDuration(v.epoch_double_open); }},
    {"substitute", "auto", "auto, never, directory or tree",
     "range within which a name may show another sample", kView,
     ValueKind::kWord, false, SetViewWord<kSubstituteWords, &V::substitute>,
     GetViewWord<kSubstituteWords, &V::substitute>},
    {"pair", "stem", "stem or off",
     "pairing of files that share a stem into one sample", kView,
     ValueKind::kWord, false, SetViewWord<kPairWords, &V::pair>,
     GetViewWord<kPairWords, &V::pair>},
    {"groups", "none", "the path of a file",
     "file of PATH TAB GROUP lines; finer groups than folders", kView,
     ValueKind::kPath, false,
     [](Text t, M&, V& v) { return SetAbsolutePath(t, v.groups); },
     [](const M&, const V& v) { return v.groups; }},
    {"layout", "tree", "tree or ranked",
     "directories and names, or one directory sorted by rank", kView,
     ValueKind::kWord, false, SetViewWord<kLayoutWords, &V::layout>,
     GetViewWord<kLayoutWords, &V::layout>},
    {"memory", "a quarter of what there is, at most 4GiB",
     "a size such as 512M or 8GiB, from 4MiB to 64TiB, or 1% to 100%",
     "memory for samples until they are read, of all views", kMount,
     ValueKind::kBytes, false, [](Text t, M& m, V&) { return SetMemory(t, m); },
     [](const M& m, const V&) {
       return m.memory_percent != 0 ? absl::StrCat(m.memory_percent, "%")
                                    : BytesOr("", m.memory);
     }},
    {"nodes", "1/1", "k/n, two whole numbers from 1 to 65536, k at most n",
     "number of this node, and of the nodes that serve the job", kView,
     ValueKind::kShare, true,
     [](Text t, M&, V& v) { return SetTo(ParseNodes(t), v.nodes); },
     [](const M&, const V& v) { return FormatNodes(v.nodes); }},
    {"state", "the user's state directory", "the path of a directory",
     "directory of catalogue and ledger", kMount, ValueKind::kPath, false,
     [](Text t, M& m, V&) { return SetAbsolutePath(t, m.state); },
     [](const M& m, const V&) { return m.state; }},
    {"open", "auto", "auto, seen, observed or unseen",
     "opens that the daemon sees, or files at native speed", kMount,
     ValueKind::kWord, false,
     [](Text t, M& m, V&) { return SetWord(kOpenWords, t, m.open); },
     [](const M& m, const V&) { return GetWord(kOpenWords, m.open); }},
};
constexpr Option kBehindPolicies[] = {
    {"tier.path", "none", "the path of a directory",
     "performance tier: a directory on a faster device", kMount,
     ValueKind::kPath, false,
     [](Text t, M& m, V&) { return SetAbsolutePath(t, m.tier_path); },
     [](const M& m, const V&) { return m.tier_path; }},
    {"tier.capacity", "nine tenths of what is free",
     "a size such as 100GiB, from 4MiB to 1024TiB, or 1% to 100% of its device",
     "bytes of the tier's device that copies may take", kMount,
     ValueKind::kBytes, false,
     [](Text t, M& m, V&) { return SetTierCapacity(t, m); },
     [](const M& m, const V&) {
       return m.tier_percent != 0 ? absl::StrCat(m.tier_percent, "%")
                                  : BytesOr("", m.tier_capacity);
     }},
    {"tier.bandwidth", "as fast as it goes",
     "a size such as 200MiB, from 64KiB to 1TiB",
     "maximum bytes per second that are copied to the tier", kMount,
     ValueKind::kBytes, false,
     [](Text t, M& m, V&) {
       return SetBytes(t, kMinBandwidth, kMaxRecord, m.tier_bandwidth);
     },
     [](const M& m, const V&) { return BytesOr("", m.tier_bandwidth); }},
    {"record.as", "none",
     "PATTERN:FORMAT[,bytes=SIZE,header=N,csv=quoted] rules, separated by ;",
     "files of records and formats: lines, npy, idx or fixed", kView,
     ValueKind::kText, false,
     [](Text t, M&, V& v) { return SetRecordRules(t, v); },
     [](const M&, const V& v) { return v.record.as; }},
    {"record.bytes", "0", "a size from 0 to 1TiB",
     "bytes per record of the format fixed", kView, ValueKind::kBytes, false,
     [](Text t, M&, V& v) {
       return SetBytes(t, 0, kMaxRecord, v.record.bytes);
     },
     [](const M&, const V& v) { return FormatBytes(v.record.bytes); }},
    {"record.header", "0", "a whole number from 0 to 1099511627776",
     "header that stays first: bytes (fixed) or lines (lines)", kView,
     ValueKind::kNumber, false,
     [](Text t, M&, V& v) {
       return SetNumber(t, 0, kMaxRecord, v.record.header);
     },
     [](const M&, const V& v) { return absl::StrCat(v.record.header); }},
    {"record.csv", "plain", "plain or quoted",
     "line ends within quotes in .csv files: none, or allowed", kView,
     ValueKind::kWord, false,
     [](Text t, M&, V& v) { return SetWord(kCsvWords, t, v.record.csv); },
     [](const M&, const V& v) { return GetWord(kCsvWords, v.record.csv); }},
    {"record.scope", "file", "file, set or view",
     "containers from which a container's records come", kView,
     ValueKind::kWord, false,
     [](Text t, M&, V& v) { return SetWord(kScopeWords, t, v.record.scope); },
     [](const M&, const V& v) { return GetWord(kScopeWords, v.record.scope); }},
    {"record.align", "none", "rules of patterns separated by :, separated by ;",
     "files whose rows correspond; their records get one order", kView,
     ValueKind::kText, false,
     [](Text t, M&, V& v) { return SetRecordAlign(t, v); },
     [](const M&, const V& v) { return v.record.align; }},
};
constexpr Option kLast[] = {
    {"peers", "none",
     "HOST:PORT;…, slurm, dns:NAME:PORT or etcd:HOST:PORT[;…]/NAME",
     "the daemons of the job's nodes, which share their memory", kMount,
     ValueKind::kText, false,
     [](Text t, M& m, V&) { return SetPeers(t, m.peers.members); },
     [](const M& m, const V&) { return m.peers.members; }},
    {"peers.listen", "the first private address, port 7373", "HOST:PORT",
     "address at which this daemon answers its peers", kMount, ValueKind::kText,
     false, [](Text t, M& m, V&) { return SetHostAndPort(t, m.peers.listen); },
     [](const M& m, const V&) { return m.peers.listen; }},
    {"peers.tls", "none", "the path of a directory",
     "directory of ca.pem, cert.pem and key.pem, for mutual TLS", kMount,
     ValueKind::kPath, false,
     [](Text t, M& m, V&) { return SetAbsolutePath(t, m.peers.tls); },
     [](const M& m, const V&) { return m.peers.tls; }},
    {"peers.secret", "none", "the path of a file",
     "file of a secret that all peers know", kMount, ValueKind::kPath, false,
     [](Text t, M& m, V&) { return SetAbsolutePath(t, m.peers.secret); },
     [](const M& m, const V&) { return m.peers.secret; }},
    {"peers.insecure", "off", "yes or off",
     "answers to anybody on the network, without TLS or secret", kMount,
     ValueKind::kWord, false,
     [](Text t, M& m, V&) { return SetWord(kYesOff, t, m.peers.insecure); },
     [](const M& m, const V&) { return GetWord(kYesOff, m.peers.insecure); }},
    {"wait", "5s", "a time such as 500ms or 10s, at most 1h",
     "wait for the catalogue before names are served untouched", kMount,
     ValueKind::kDuration, false,
     [](Text t, M& m, V&) { return SetTime(t, m.wait); },
     [](const M& m, const V&) { return FormatDuration(m.wait); }},
    {"control.gid", "none",
     "the name of a group, or its id from 0 to 4294967294",
     "group that may read and write the control files", kMount,
     ValueKind::kNumber, false,
     [](Text t, M& m, V&) { return SetControlGid(t, m); },
     [](const M& m, const V&) {
       return m.control_gid ? absl::StrCat(*m.control_gid) : std::string();
     }},
    {"log.level", "info", "debug, info, warning or error",
     "lowest level of what is logged", kMount, ValueKind::kWord, true,
     [](Text t, M& m, V&) { return SetWord(kLogLevels, t, m.log_level); },
     [](const M& m, const V&) { return GetWord(kLogLevels, m.log_level); }},
    {"log.format", "text", "text or json",
     "format of the log: lines of text, or an object per line", kMount,
     ValueKind::kWord, false,
     [](Text t, M& m, V&) { return SetWord(kLogFormats, t, m.log_format); },
     [](const M& m, const V&) { return GetWord(kLogFormats, m.log_format); }},
    {"log.target", "auto", "auto, stderr or syslog",
     "destination of the log; auto: stderr with -f, else syslog", kMount,
     ValueKind::kWord, false,
     [](Text t, M& m, V&) { return SetWord(kLogTargets, t, m.log_target); },
     [](const M& m, const V&) { return GetWord(kLogTargets, m.log_target); }},
    {"path", "all of the source",
     "a directory below the source, relative to it, without . and ..",
     "directory of the view, below the source", kView, ValueKind::kPath, false,
     [](Text t, M&, V& v) { return SetTo(ParseViewPath(t), v.path); },
     [](const M&, const V& v) { return v.path; }},
};

ValueKind KindOf(PolicyOption::Kind kind) {
  switch (kind) {
    case PolicyOption::Kind::kWord:
      return ValueKind::kWord;
    case PolicyOption::Kind::kPath:
      return ValueKind::kPath;
    case PolicyOption::Kind::kNumber:
      return ValueKind::kNumber;
    case PolicyOption::Kind::kBytes:
      return ValueKind::kBytes;
    default:
      return ValueKind::kText;
  }
}

Option RowOf(const PolicyOption& of_policy) {
  Option row{of_policy.key,
             of_policy.default_text,
             of_policy.values,
             of_policy.help,
             of_policy.whole_mount ? kMount : kView,
             KindOf(of_policy.kind),
             of_policy.run_time};
  row.of_policy = &of_policy;
  return row;
}

struct Table {
  std::string policies;  // the values of the key `policy`
  std::vector<Option> rows;
};

// `policies` are in the order of their keys.
void AddKeys(absl::Span<const PolicyEntry* const> policies, bool baselines,
             std::vector<Option>& rows) {
  for (const PolicyEntry* entry : policies) {
    if ((entry->keys_rank >= PolicyEntry::kBaselineRank) != baselines) continue;
    for (const PolicyOption& key : entry->keys) rows.push_back(RowOf(key));
  }
}

const Table* MakeTable() {
  auto* const table = new Table;
  table->policies = absl::StrCat("auto, ", NamesOf(Policies(), " or "));
  std::vector<const PolicyEntry*> policies(Policies().begin(),
                                           Policies().end());
  std::stable_sort(policies.begin(), policies.end(),
                   [](const PolicyEntry* a, const PolicyEntry* b) {
                     return a->keys_rank < b->keys_rank;
                   });
  std::vector<Option>& rows = table->rows;
  rows.assign(std::begin(kFirst), std::end(kFirst));
  rows.front().values = table->policies;
  AddKeys(policies, /*baselines=*/false, rows);
  rows.insert(rows.end(), std::begin(kBehindPolicies),
              std::end(kBehindPolicies));
  AddKeys(policies, /*baselines=*/true, rows);
  rows.insert(rows.end(), std::begin(kLast), std::end(kLast));
  return table;
}

void NoteOldName(absl::string_view key, const Option& option,
                 MountConfig& mount) {
  if (key == option.key) return;
  std::string note = absl::StrCat(key, " is now called ", option.key,
                                  "; the next release takes only that name");
  if (std::find(mount.notes.begin(), mount.notes.end(), note) ==
      mount.notes.end()) {
    mount.notes.push_back(std::move(note));
  }
}

// Switches that are written as in other programs: a key that may be `off` also
// takes `no` and `false`. If it has one other value, that is `on`.
absl::string_view WithoutSynonyms(const Option& option,
                                  absl::string_view value) {
  if (option.kind != ValueKind::kWord) return value;
  const std::vector<absl::string_view> words =
      absl::StrSplit(option.values, " or ");
  const bool may_be_off =
      words.back() == "off" || absl::StartsWith(option.values, "off, ");
  if (!may_be_off) return value;
  if (value == "no" || value == "false") return "off";
  const bool is_on = value == "on" || value == "yes" || value == "true";
  return is_on && words.back() == "off" && words.size() == 2 ? words.front()
                                                             : value;
}

// The word among a key's values that is nearest to `value`. "" if none is.
std::string NearestValue(const Option& option, absl::string_view value) {
  if (option.kind != ValueKind::kWord) return "";
  const std::string commas =
      absl::StrReplaceAll(option.values, {{" or ", ", "}});
  const std::vector<absl::string_view> words = absl::StrSplit(commas, ", ");
  return std::string(NearestWord(value, words));
}

}  // namespace

bool Option::Set(absl::string_view text, MountConfig& mount,
                 ViewConfig& view) const {
  if (of_policy == nullptr) return set(text, mount, view);
  return SetPolicyValue(
      *of_policy, text,
      of_policy->whole_mount ? mount.policy_options : view.policy_options);
}

std::string Option::Get(const MountConfig& mount,
                        const ViewConfig& view) const {
  if (of_policy == nullptr) return get(mount, view);
  return PolicyValueText(*of_policy, of_policy->whole_mount
                                         ? mount.policy_options
                                         : view.policy_options);
}

absl::Span<const Option> Options() {
  // Lives as long as the program.
  static const Table* const table = MakeTable();
  return table->rows;
}

const Option* FindOption(absl::string_view key) {
  const Option* renamed = nullptr;
  for (const Option& option : Options()) {
    if (option.key == key) return &option;
    const bool is_old = option.of_policy != nullptr && !key.empty() &&
                        option.of_policy->formerly == key;
    if (is_old) renamed = &option;
  }
  return renamed;
}

absl::Status NoSuchKey(absl::string_view key) {
  std::vector<absl::string_view> keys;
  for (const Option& option : Options()) keys.push_back(option.key);
  const absl::string_view nearest = NearestWord(key, keys);
  return absl::InvalidArgumentError(absl::StrCat(
      "no such key: ", key,
      nearest.empty() ? "; see shufflefs --help=all"
                      : absl::StrCat("; did you mean ", nearest, "?")));
}

absl::Status SetOption(absl::string_view key, absl::string_view value,
                       MountConfig& mount, ViewConfig& view) {
  const Option* option = FindOption(key);
  if (option == nullptr) return NoSuchKey(key);
  if (option->Set(WithoutSynonyms(*option, value), mount, view)) {
    NoteOldName(key, *option, mount);
    return absl::OkStatus();
  }
  if (option->kind == ValueKind::kBytes && !ParseBytes(value) &&
      !absl::EndsWith(value, "%")) {
    return absl::InvalidArgumentError(absl::StrCat(
        key, ": \"", value, "\" is not a size (examples: 512M, 8GiB)"));
  }
  // -o and files of keys make paths absolute. The control file cannot.
  const bool relative = option->kind == ValueKind::kPath && key != "path" &&
                        !value.empty() && !absl::StartsWith(value, "/");
  if (relative) {
    return absl::InvalidArgumentError(absl::StrCat(
        key, " = ", value, ": must be ", option->values, ", and absolute"));
  }
  const std::string nearest = NearestValue(*option, value);
  const bool has_no_unit =
      option->kind == ValueKind::kBytes && ParseNumber(value);
  return absl::InvalidArgumentError(absl::StrCat(
      key, " = ", value, ": must be ", option->values,
      nearest.empty() ? "" : absl::StrCat("; did you mean ", nearest, "?"),
      has_no_unit ? "; a number without a unit counts bytes" : ""));
}

absl::Status SetOptionBelow(absl::string_view base, absl::string_view key,
                            std::string value, MountConfig& mount,
                            ViewConfig& view) {
  const Option* const option = FindOption(key);
  const bool is_path = option != nullptr && option->kind == ValueKind::kPath &&
                       key != "path" && !value.empty();
  if (!is_path) return SetOption(key, value, mount, view);
  RETURN_IF_ERROR(Annotate(RefuseHome(value), key));
  return SetOption(key, AbsolutePath(value, base), mount, view);
}

absl::Status ValidateView(const ViewConfig& view) {
  if (!view.groups.empty() && view.substitute == Substitute::kNever) {
    return absl::InvalidArgumentError(
        "groups has no meaning with substitute = never; remove one of them");
  }
  RETURN_IF_ERROR(RecordRules::Parse(view.record).status());
  return CheckPolicyOptions(view.policy_options);
}

absl::Status ValidateMount(const MountConfig& mount) {
  if (mount.views.size() > kMostViews) {
    return absl::InvalidArgumentError(
        absl::StrCat("there are ", mount.views.size(),
                     " views; a mount can have ", kMostViews));
  }
  absl::flat_hash_map<std::string, absl::string_view> paths;  // by name
  for (const ViewConfig& view : mount.views) {
    const auto [known, fresh] =
        paths.try_emplace(ViewName(view.path), view.path);
    if (!fresh && known->second == view.path) {
      return absl::InvalidArgumentError(
          absl::StrCat("two views have the path \"", view.path,
                       "\"; give each a directory of its own"));
    }
    if (!fresh) {
      return absl::InvalidArgumentError(absl::StrCat(
          "the views at \"", known->second, "\" and \"", view.path,
          "\" would have one name, ", known->first, "; rename a directory"));
    }
    RETURN_IF_ERROR(ValidateView(view));
  }
  return CheckPolicyOptions(mount.policy_options);
}

}  // namespace shufflefs
