// SPDX-License-Identifier: Apache-2.0
#include "mount-tools/config/option_table.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "core/config/value_text.h"
#include "mount-tools/config/nearest_word.h"
#include "mount-tools/config/option_values.h"
#include "policies/registry.h"

namespace shufflefs {
namespace {

using namespace option_values;  // NOLINT: that is what they are for

constexpr OptionScope kView = OptionScope::kView;
constexpr OptionScope kMount = OptionScope::kMount;
using Text = absl::string_view;
using M = MountConfig;
using V = ViewConfig;

// A key of a view, or of its policy, whose value is one of some words.
template <const auto& words, auto field>
bool SetViewWord(Text t, M&, V& v) {
  return SetWord(words, t, v.*field);
}
template <const auto& words, auto field>
std::string GetViewWord(const M&, const V& v) {
  return GetWord(words, v.*field);
}
template <const auto& words, auto field>
bool SetPolicyWord(Text t, M&, V& v) {
  return SetWord(words, t, v.policy_options.*field);
}
template <const auto& words, auto field>
std::string GetPolicyWord(const M&, const V& v) {
  return GetWord(words, v.policy_options.*field);
}
template <uint64_t min, uint64_t max, auto field>
bool SetPolicyNumber(Text t, M&, V& v) {
  return SetNumber(t, min, max, v.policy_options.*field);
}
template <auto field>
std::string GetPolicyNumber(const M&, const V& v) {
  return absl::StrCat(v.policy_options.*field);
}

std::string NumberOr(const char* word, uint64_t number) {
  return number == 0 ? word : absl::StrCat(number);
}
std::string BytesOr(const char* word, uint64_t bytes) {
  return bytes == 0 ? word : FormatBytes(bytes);
}

// One row a key: {key, default, "must be …", help, scope, kind, run time,
// set, get}.
constexpr Option kOptions[] = {
    {"policy", "auto",
     "auto, native, lirs, brand, met, reimu, clairvoyant, window or static",
     "how the samples are ordered", kView, ValueKind::kWord, true,
     [](Text t, M&, V& v) { return SetPolicy(t, v); },
     [](const M&, const V& v) { return v.policy; }},
    {"seed", "0", "a whole number from 0 to 18446744073709551615",
     "of every plan: the same seed gives the same order", kView,
     ValueKind::kNumber, true, [](Text t, M&, V& v) { return SetSeed(t, v); },
     [](const M&, const V& v) { return absl::StrCat(v.seed.value()); }},
    {"epoch.start", "0", "a whole number from 0 to 9223372036854775807",
     "the first epoch of a new state", kView, ValueKind::kNumber, false,
     [](Text t, M&, V& v) { return SetEpochStart(t, v); },
     [](const M&, const V& v) { return absl::StrCat(v.epoch_start.value()); }},
    {"epoch.advance", "auto", "auto or manual",
     "who moves the epoch: the opens, or only the control file", kView,
     ValueKind::kWord, true, SetViewWord<kAdvanceWords, &V::epoch_advance>,
     GetViewWord<kAdvanceWords, &V::epoch_advance>},
    {"epoch.length", "all", "all or a number of names from 1 to 1099511627776",
     "names a pass opens, where a job reads only a share", kView,
     ValueKind::kNumber, true,
     [](Text t, M&, V& v) { return SetEpochLength(t, v); },
     [](const M&, const V& v) {
       return v.epoch_length == 0 ? std::string("all")
                                  : absl::StrCat(v.epoch_length);
     }},
    {"epoch.pad", "8", "a whole number from 0 to 1000000",
     "re-opens after completion that may be a sampler's padding", kView,
     ValueKind::kNumber, true,
     [](Text t, M&, V& v) { return SetNumber(t, 0, 1000000, v.epoch_pad); },
     [](const M&, const V& v) { return absl::StrCat(v.epoch_pad); }},
    {"epoch.double_open", "10s", "a time such as 500ms or 10s, at most 1h",
     "age up to which a re-open is the same use of the file", kView,
     ValueKind::kDuration, true,
     [](Text t, M&, V& v) { return SetTime(t, v.epoch_double_open); },
     [](const M&, const V& v) { return FormatDuration(v.epoch_double_open); }},
    {"substitute", "auto", "auto, never, directory or tree",
     "whether and within what a name may show another sample", kView,
     ValueKind::kWord, false, SetViewWord<kSubstituteWords, &V::substitute>,
     GetViewWord<kSubstituteWords, &V::substitute>},
    {"pair", "stem", "stem or off",
     "whether files that share a stem are one sample", kView, ValueKind::kWord,
     false, SetViewWord<kPairWords, &V::pair>,
     GetViewWord<kPairWords, &V::pair>},
    {"groups", "none", "the path of a file",
     "file of path TAB group lines: finer groups than directories", kView,
     ValueKind::kPath, false,
     [](Text t, M&, V& v) { return SetAbsolutePath(t, v.groups); },
     [](const M&, const V& v) { return v.groups; }},
    {"layout", "tree", "tree or ranked",
     "directories and names, or one directory sorted by the order", kView,
     ValueKind::kWord, false, SetViewWord<kLayoutWords, &V::layout>,
     GetViewWord<kLayoutWords, &V::layout>},
    {"memory", "a quarter of what there is, at most 4GiB",
     "a size such as 320MiB, from 4MiB to 64TiB",
     "bytes that hold samples until they are read, of all views together",
     kMount, ValueKind::kBytes, false,
     [](Text t, M& m, V&) { return SetMemory(t, m); },
     [](const M& m, const V&) {
       return m.memory == 0 ? std::string() : FormatBytes(m.memory);
     }},
    {"nodes", "1/1", "k/n, two whole numbers from 1 to 65536, k at most n",
     "how many nodes serve the job, and which this is", kView,
     ValueKind::kShare, true,
     [](Text t, M&, V& v) { return SetTo(ParseNodes(t), v.nodes); },
     [](const M&, const V& v) { return FormatNodes(v.nodes); }},
    {"state", "the user's state directory", "the path of a directory",
     "where catalogue and ledger are kept", kMount, ValueKind::kPath, false,
     [](Text t, M& m, V&) { return SetAbsolutePath(t, m.state); },
     [](const M& m, const V&) { return m.state; }},
    {"open", "auto", "auto, seen or unseen",
     "whether the daemon sees each open, or files open at native speed", kMount,
     ValueKind::kWord, false,
     [](Text t, M& m, V&) { return SetWord(kOpenWords, t, m.open); },
     [](const M& m, const V&) { return GetWord(kOpenWords, m.open); }},
    {"lirs.unit", "instance", "instance or page",
     "what lirs permutes: samples, or pages of the device", kView,
     ValueKind::kWord, true,
     SetPolicyWord<kUnitWords, &PolicyOptions::lirs_unit>,
     GetPolicyWord<kUnitWords, &PolicyOptions::lirs_unit>},
    {"lirs.page", "4KiB", "a power of two from 4KiB to 16MiB",
     "bytes of the device that lirs.unit=page reads together", kView,
     ValueKind::kBytes, true, [](Text t, M&, V& v) { return SetPage(t, v); },
     [](const M&, const V& v) {
       return FormatBytes(v.policy_options.lirs_page);
     }},
    {"lirs.batch", "0", "a whole number of pages from 0 to 1099511627776",
     "pages whose samples are mixed with each other; 0: one page", kView,
     ValueKind::kNumber, true,
     SetPolicyNumber<0, kMaxSamples, &PolicyOptions::lirs_batch>,
     GetPolicyNumber<&PolicyOptions::lirs_batch>},
    {"brand.chunk", "64", "a number of files from 1 to 65536",
     "files that brand reads together, at most", kView, ValueKind::kNumber,
     true, SetPolicyNumber<1, kMaxChunk, &PolicyOptions::brand_chunk>,
     GetPolicyNumber<&PolicyOptions::brand_chunk>},
    {"brand.chunks", "auto", "auto, random or physical",
     "what brand reads together: files drawn at random, or what lies together",
     kView, ValueKind::kWord, true,
     SetPolicyWord<kChunksWords, &PolicyOptions::brand_chunks>,
     GetPolicyWord<kChunksWords, &PolicyOptions::brand_chunks>},
    {"brand.binding", "group", "group or location",
     "what a name shows: any sample of its group, or the paper's protocol",
     kView, ValueKind::kWord, true,
     SetPolicyWord<kBindingWords, &PolicyOptions::brand_binding>,
     GetPolicyWord<kBindingWords, &PolicyOptions::brand_binding>},
    {"brand.packed", "none", "the path of a directory",
     "chunk files that shufflectl pack wrote, to read instead of the source",
     kView, ValueKind::kPath, false,
     [](Text t, M&, V& v) {
       return SetAbsolutePath(t, v.policy_options.brand_packed);
     },
     [](const M&, const V& v) { return v.policy_options.brand_packed; }},
    {"reimu.block", "1MiB", "a size from 4KiB to 1GiB",
     "bytes of a container whose records reimu reads together", kView,
     ValueKind::kBytes, true,
     [](Text t, M&, V& v) {
       return SetBytes(t, kMinPage, kMaxBlock, v.policy_options.reimu_block);
     },
     [](const M&, const V& v) {
       return FormatBytes(v.policy_options.reimu_block);
     }},
    {"reimu.window", "64", "a number of blocks from 1 to 1048576",
     "blocks whose records are mixed with each other", kView,
     ValueKind::kNumber, true,
     SetPolicyNumber<1, kMaxWindow, &PolicyOptions::reimu_window>,
     GetPolicyNumber<&PolicyOptions::reimu_window>},
    {"met.mini_epochs", "what the tier holds",
     "a number of mini-epochs from 1 to 65536",
     "parts of a pass, one of which is in the tier while the next is copied",
     kView, ValueKind::kNumber, true,
     [](Text t, M&, V& v) {
       return SetNumber(t, 1, kMaxMiniEpochs, v.policy_options.met_mini_epochs);
     },
     [](const M&, const V& v) {
       return NumberOr("", v.policy_options.met_mini_epochs);
     }},
    {"met.repeat", "auto", "auto or a number from 1 to 1024",
     "times a mini-epoch is shown; auto: until the next is there, at most 8",
     kView, ValueKind::kNumber, true,
     [](Text t, M&, V& v) {
       return SetNumberOr("auto", t, kMaxRepeat, v.policy_options.met_repeat);
     },
     [](const M&, const V& v) {
       return NumberOr("auto", v.policy_options.met_repeat);
     }},
    {"met.epochs", "not known", "a number of epochs from 1 to 60000",
     "epochs that the job runs: nothing is repeated where it is not known",
     kView, ValueKind::kNumber, true,
     [](Text t, M&, V& v) {
       return SetNumber(t, 1, kMaxEpochs, v.policy_options.met_epochs);
     },
     [](const M&, const V& v) {
       return NumberOr("", v.policy_options.met_epochs);
     }},
    {"met.adapt", "off", "off, score or bollinger",
     "which rule ends repeating by the losses that feedback = x tells", kView,
     ValueKind::kWord, true,
     SetPolicyWord<kAdaptWords, &PolicyOptions::met_adapt>,
     GetPolicyWord<kAdaptWords, &PolicyOptions::met_adapt>},
    {"met.patience", "2", "a number of repetitions from 1 to 1024",
     "repetitions without a better loss that met.adapt = score allows", kView,
     ValueKind::kNumber, true,
     SetPolicyNumber<1, kMaxRepeat, &PolicyOptions::met_patience>,
     GetPolicyNumber<&PolicyOptions::met_patience>},
    {"met.scores", "8", "a number of losses from 2 to 1024",
     "losses whose mean and deviation make the band of met.adapt = bollinger",
     kView, ValueKind::kNumber, true,
     SetPolicyNumber<2, kMaxRepeat, &PolicyOptions::met_scores>,
     GetPolicyNumber<&PolicyOptions::met_scores>},
    {"met.model", "none", "a name",
     "of the model, by which learnt factors are kept for its next run", kView,
     ValueKind::kText, false,
     [](Text t, M&, V& v) {
       v.policy_options.met_model = std::string(t);
       return !t.empty();
     },
     [](const M&, const V& v) { return v.policy_options.met_model; }},
    {"clairvoyant.seeds", "none",
     "at most 64 whole numbers from 0 to 18446744073709551615, separated by ;",
     "seeds of the job's samplers, besides those that are commonly used", kView,
     ValueKind::kText, true,
     [](Text t, M&, V& v) {
       return SetTo(ParseSeeds(t), v.policy_options.clairvoyant_seeds);
     },
     [](const M&, const V& v) {
       return FormatSeeds(v.policy_options.clairvoyant_seeds);
     }},
    {"clairvoyant.cores", "1", "a whole number from 0 to 1024",
     "cores that a search of all seeds takes when they are idle; 0: no search",
     kMount, ValueKind::kNumber, false,
     [](Text t, M& m, V&) {
       return SetNumber(t, 0, kMaxCores, m.clairvoyant_cores);
     },
     [](const M& m, const V&) { return absl::StrCat(m.clairvoyant_cores); }},
    {"tier.path", "none", "the path of a directory",
     "performance tier: a directory on a faster device, for copies of samples",
     kMount, ValueKind::kPath, false,
     [](Text t, M& m, V&) { return SetAbsolutePath(t, m.tier_path); },
     [](const M& m, const V&) { return m.tier_path; }},
    {"tier.capacity", "nine tenths of what is free",
     "a size such as 100GiB, from 4MiB to 1024TiB",
     "bytes of the tier's device that copies may take", kMount,
     ValueKind::kBytes, false,
     [](Text t, M& m, V&) {
       return SetBytes(t, kMinMemory, kMaxTier, m.tier_capacity);
     },
     [](const M& m, const V&) { return BytesOr("", m.tier_capacity); }},
    {"tier.bandwidth", "as fast as it goes",
     "a size such as 200MiB, from 64KiB to 1TiB",
     "bytes a second that are copied to the tier at most", kMount,
     ValueKind::kBytes, false,
     [](Text t, M& m, V&) {
       return SetBytes(t, kMinBandwidth, kMaxRecord, m.tier_bandwidth);
     },
     [](const M& m, const V&) { return BytesOr("", m.tier_bandwidth); }},
    {"record.as", "none", "PATTERN:FORMAT rules, separated by ;",
     "which files hold records, and in which format: lines, npy, idx, fixed",
     kView, ValueKind::kText, false,
     [](Text t, M&, V& v) { return SetRecordRules(t, v); },
     [](const M&, const V& v) { return v.record.as; }},
    {"record.bytes", "0", "a size from 0 to 1TiB",
     "of a record of the format fixed", kView, ValueKind::kBytes, false,
     [](Text t, M&, V& v) {
       return SetBytes(t, 0, kMaxRecord, v.record.bytes);
     },
     [](const M&, const V& v) { return FormatBytes(v.record.bytes); }},
    {"record.header", "0", "a whole number from 0 to 1099511627776",
     "what stays first: bytes of the format fixed, lines of lines", kView,
     ValueKind::kNumber, false,
     [](Text t, M&, V& v) {
       return SetNumber(t, 0, kMaxRecord, v.record.header);
     },
     [](const M&, const V& v) { return absl::StrCat(v.record.header); }},
    {"record.csv", "plain", "plain or quoted",
     "whether a line's end within quotes belongs to its record, in .csv files",
     kView, ValueKind::kWord, false,
     [](Text t, M&, V& v) { return SetWord(kCsvWords, t, v.record.csv); },
     [](const M&, const V& v) { return GetWord(kCsvWords, v.record.csv); }},
    {"record.scope", "file", "file, set or view",
     "which containers a container's records come from", kView,
     ValueKind::kWord, false,
     [](Text t, M&, V& v) { return SetWord(kScopeWords, t, v.record.scope); },
     [](const M&, const V& v) { return GetWord(kScopeWords, v.record.scope); }},
    {"record.align", "none", "rules of patterns separated by :, separated by ;",
     "files whose rows belong together: their records get one order", kView,
     ValueKind::kText, false,
     [](Text t, M&, V& v) { return SetRecordAlign(t, v); },
     [](const M&, const V& v) { return v.record.align; }},
    {"window.samples", "10000", "a number of samples from 1 to 1099511627776",
     "samples in the shuffle queue of the window policy", kView,
     ValueKind::kNumber, true,
     SetPolicyNumber<1, kMaxSamples, &PolicyOptions::window_samples>,
     GetPolicyNumber<&PolicyOptions::window_samples>},
    {"wait", "5s", "a time such as 500ms or 10s, at most 1h",
     "how long to wait for the catalogue before serving untouched names",
     kMount, ValueKind::kDuration, false,
     [](Text t, M& m, V&) { return SetTime(t, m.wait); },
     [](const M& m, const V&) { return FormatDuration(m.wait); }},
    {"control.gid", "none", "a group id from 0 to 4294967294",
     "group that may read and write the control files", kMount,
     ValueKind::kNumber, false,
     [](Text t, M& m, V&) { return SetControlGid(t, m); },
     [](const M& m, const V&) {
       return m.control_gid ? absl::StrCat(*m.control_gid) : std::string();
     }},
    {"path", "all of the source",
     "a directory below the source, relative to it, without . and ..",
     "the directory that the view shuffles", kView, ValueKind::kPath, false,
     [](Text t, M&, V& v) { return SetTo(ParseViewPath(t), v.path); },
     [](const M&, const V& v) { return v.path; }},
};

}  // namespace

absl::Span<const Option> Options() { return kOptions; }

const Option* FindOption(absl::string_view key) {
  for (const Option& option : kOptions) {
    if (option.key == key) return &option;
  }
  return nullptr;
}

absl::Status NoSuchKey(absl::string_view key) {
  std::vector<absl::string_view> keys;
  for (const Option& option : kOptions) keys.push_back(option.key);
  const absl::string_view nearest = NearestWord(key, keys);
  return absl::InvalidArgumentError(absl::StrCat(
      "no such key: ", key,
      nearest.empty() ? "" : absl::StrCat("; did you mean ", nearest, "?")));
}

absl::Status SetOption(absl::string_view key, absl::string_view value,
                       MountConfig& mount, ViewConfig& view) {
  const Option* option = FindOption(key);
  if (option == nullptr) return NoSuchKey(key);
  if (option->set(value, mount, view)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(key, " = ", value, ": must be ", option->values));
}

absl::Status ValidateView(const ViewConfig& view) {
  if (!view.groups.empty() && view.substitute == Substitute::kNever) {
    return absl::InvalidArgumentError(
        "groups has no meaning with substitute = never");
  }
  RETURN_IF_ERROR(RecordRules::Parse(view.record).status());
  return CheckPolicyOptions(view.policy_options);
}

absl::Status ValidateMount(const MountConfig& mount) {
  absl::flat_hash_set<absl::string_view> paths;
  for (const ViewConfig& view : mount.views) {
    if (!paths.insert(view.path).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("two views have the path \"", view.path, "\""));
    }
    RETURN_IF_ERROR(ValidateView(view));
  }
  return absl::OkStatus();
}

}  // namespace shufflefs
