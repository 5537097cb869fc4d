// SPDX-License-Identifier: Apache-2.0
#include "core/view/epoch_token.h"

#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/ledger/packed_pairs.h"
#include "core/ledger/sample_set.h"

namespace shufflefs {
namespace {

constexpr size_t kUnnamedFields = 6;  // fields that have no name
constexpr int kMostFields = 64;
constexpr absl::string_view kOtherNames =
    "it has names that this view does not have";

std::string HexText(uint64_t number) {
  return absl::StrCat(absl::Hex(number, absl::kZeroPad16));
}

uint64_t HashOfText(absl::string_view text) {
  return XXH3_64bits(text.data(), text.size());
}

std::string Base64(absl::string_view bytes) {
  std::string text;
  absl::WebSafeBase64Escape(bytes, &text);
  return text;
}

uint64_t LargestNumber(const std::vector<NameBinding>& pairs) {
  uint64_t largest = 0;
  for (const NameBinding& pair : pairs) {
    largest = std::max({largest, pair.name, pair.sample});
  }
  return largest;
}

// PackedPairs as COUNT,WIDTH,BYTES.
std::string PairsText(const std::vector<NameBinding>& pairs) {
  PackedPairs packed(LargestNumber(pairs) + 1);
  for (const NameBinding& pair : pairs) packed.Add(pair);
  const absl::Span<const uint64_t> words = packed.words();
  return absl::StrCat(
      packed.size(), ",", packed.width(), ",",
      Base64({reinterpret_cast<const char*>(words.data()), words.size() * 8}));
}

absl::optional<std::vector<NameBinding>> PairsFrom(absl::string_view text) {
  const std::vector<absl::string_view> parts = absl::StrSplit(text, ',');
  uint64_t count = 0;
  uint32_t width = 0;
  std::string bytes;
  if (parts.size() != 3 || !absl::SimpleAtoi(parts[0], &count) ||
      !absl::SimpleAtoi(parts[1], &width) || width < 1 ||
      width > PackedPairs::kMaxWidth ||
      !absl::WebSafeBase64Unescape(parts[2], &bytes) ||
      count > bytes.size() * 8 ||
      bytes.size() != PackedPairs::WordsFor(count, width) * 8) {
    return absl::nullopt;
  }
  std::vector<uint64_t> words(bytes.size() / 8);
  if (!words.empty()) std::memcpy(words.data(), bytes.data(), bytes.size());
  const PackedPairs packed(count, width, std::move(words));
  std::vector<NameBinding> pairs;
  pairs.reserve(count);
  for (uint64_t i = 0; i < count; ++i) pairs.push_back(packed[i]);
  return pairs;
}

// One bit per sample, up to the last one.
std::string SamplesText(const std::vector<uint64_t>& samples) {
  std::string bits(samples.empty() ? 0 : samples.back() / 8 + 1, '\0');
  for (const uint64_t sample : samples) {
    bits[sample / 8] |= static_cast<char>(1 << sample % 8);
  }
  return Base64(bits);
}

absl::optional<std::vector<uint64_t>> SamplesFrom(absl::string_view text) {
  std::string bits;
  if (!absl::WebSafeBase64Unescape(text, &bits)) return absl::nullopt;
  std::vector<uint64_t> samples;
  for (uint64_t i = 0; i < bits.size() * 8; ++i) {
    if ((bits[i / 8] >> i % 8 & 1) != 0) samples.push_back(i);
  }
  return samples;
}

std::string WholeText(const EpochToken::Whole& whole) {
  return absl::StrCat(HexText(whole.paths), ",", SamplesText(whole.places));
}

absl::optional<EpochToken::Whole> WholeFrom(absl::string_view text) {
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(text, absl::MaxSplits(',', 1));
  absl::optional<std::vector<uint64_t>> places = SamplesFrom(parts.second);
  EpochToken::Whole whole;
  if (!places || !absl::SimpleHexAtoi(parts.first, &whole.paths)) {
    return absl::nullopt;
  }
  whole.places = *std::move(places);
  return whole;
}

// All containers of a view, by path. So they have the same places on any
// machine.
struct PlacedContainers {
  explicit PlacedContainers(const ViewSetup& setup) {
    if (setup.records.containers == nullptr) return;
    const Catalogue& catalogue = setup.dataset->catalogue();
    for (const EntryId file : setup.records.containers->files()) {
      by_path.emplace_back(catalogue.path(file), file);
    }
    std::sort(by_path.begin(), by_path.end());
    std::string all;
    for (const auto& [path, file] : by_path) {
      absl::StrAppend(&all, path, absl::string_view("\0", 1));
    }
    paths = HashOfText(all);
  }

  std::vector<std::pair<std::string, EntryId>> by_path;
  uint64_t paths = 0;
};

bool TakeHead(const std::vector<absl::string_view>& fields, EpochToken& token) {
  uint64_t seed = 0, epoch = 0, position = 0;
  token.policy.assign(fields[1].data(), fields[1].size());
  if (!absl::SimpleHexAtoi(fields[0], &token.fingerprint) ||
      !absl::SimpleHexAtoi(fields[2], &token.keys) ||
      !absl::SimpleAtoi(fields[3], &seed) ||
      !absl::SimpleAtoi(fields[4], &epoch)) {
    return false;
  }
  token.seed = Seed(seed);
  token.epoch = token.binding = Epoch(epoch);
  if (fields[5] == "-") return true;
  if (!absl::SimpleAtoi(fields[5], &position)) return false;
  token.position = position;
  return true;
}

bool TakeField(absl::string_view key, absl::string_view value,
               EpochToken& token) {
  const auto take = [](auto found, auto& into) {
    if (!found) return false;
    into = *std::move(found);
    return true;
  };
  const auto pairs = [&]() -> EpochToken::Pairs& {
    if (!token.pairs) token.pairs.emplace();
    return *token.pairs;
  };
  uint64_t number = 0;
  if (key == "held") {
    if (!absl::SimpleAtoi(value, &number)) return false;
    token.binding = Epoch(number);
    return true;
  }
  if (key == "digest") {
    if (!absl::SimpleHexAtoi(value, &number)) return false;
    token.digest = number;
    return true;
  }
  if (key == "own") return token.identity = value == "yes";
  if (key == "passed") return token.passed = value == "yes";
  if (key == "kept") return take(PairsFrom(value), token.kept);
  if (key == "read") return take(SamplesFrom(value), token.read);
  if (key == "whole") return take(WholeFrom(value), token.whole);
  if (key == "hand") return absl::SimpleAtoi(value, &token.by_hand);
  if (key == "bound") return take(PairsFrom(value), pairs().bound);
  if (key == "shown") return take(PairsFrom(value), pairs().shown);
  if (key == "times") {
    return absl::WebSafeBase64Unescape(value, &pairs().times);
  }
  return false;
}

// Returns whether a field has more names. To read it would take memory.
bool IsOfMore(absl::string_view key, absl::string_view value,
              uint64_t most_names) {
  if (key == "kept" || key == "bound" || key == "shown") {
    uint64_t count = 0;
    return absl::SimpleAtoi(value.substr(0, value.find(',')), &count) &&
           count > most_names;
  }
  // A character of base64 has six bits. `whole` begins with a number.
  return (key == "read" || key == "whole") &&
         value.size() > most_names / 6 + 64;
}

// Returns whether the pairs that were read are those of which the token tells.
// A line that was completed from a ledger that lacked some has fewer.
bool HasAllRead(const EpochToken& token) {
  ShownPairs shown;
  shown.sum = TimesDigest(token.pairs->times);
  for (const NameBinding& pair : token.pairs->shown) shown.Add(pair);
  return shown.count == token.position && shown.sum == token.digest;
}

std::vector<NameBinding> SortedPairs(std::vector<NameBinding> pairs) {
  std::sort(pairs.begin(), pairs.end(),
            [](const NameBinding& a, const NameBinding& b) {
              return std::tie(a.name, a.sample) < std::tie(b.name, b.sample);
            });
  return pairs;
}

// Returns whether the names of a reactive epoch show what the token says.
bool ShowsPairs(const EpochToken::Pairs& pairs, const BoundNames& bound_names) {
  return bound_names.Served() == pairs.times &&
         std::all_of(pairs.shown.begin(), pairs.shown.end(),
                     [&](const NameBinding& pair) {
                       return bound_names.Bound(SampleId(pair.name)) ==
                              SampleId(pair.sample);
                     });
}

}  // namespace

absl::Status TokenRefused(absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat("token: ", why));
}

std::string TokenText(const EpochToken& token) {
  std::string text = absl::StrCat(
      HexText(token.fingerprint), " ", token.policy, " ", HexText(token.keys),
      " ", token.seed.value(), " ", token.epoch.value(), " ",
      token.position ? absl::StrCat(*token.position) : "-");
  if (token.binding != token.epoch) {
    absl::StrAppend(&text, " held=", token.binding.value());
  }
  if (token.identity) absl::StrAppend(&text, " own=yes");
  if (token.passed) absl::StrAppend(&text, " passed=yes");
  if (!token.kept.empty()) {
    absl::StrAppend(&text, " kept=", PairsText(token.kept));
  }
  if (!token.read.empty()) {
    absl::StrAppend(&text, " read=", SamplesText(token.read));
  }
  if (token.whole) absl::StrAppend(&text, " whole=", WholeText(*token.whole));
  if (token.by_hand != 0) absl::StrAppend(&text, " hand=", token.by_hand);
  if (token.digest) absl::StrAppend(&text, " digest=", HexText(*token.digest));
  if (token.pairs) {
    absl::StrAppend(&text, " bound=", PairsText(token.pairs->bound),
                    " shown=", PairsText(token.pairs->shown));
    if (!token.pairs->times.empty()) {
      absl::StrAppend(&text, " times=", Base64(token.pairs->times));
    }
  }
  return absl::StrCat(text, " check=", HexText(HashOfText(text)), "\n");
}

absl::StatusOr<EpochToken> ParseToken(absl::string_view text,
                                      uint64_t most_names) {
  text = absl::StripAsciiWhitespace(text);
  const std::vector<absl::string_view> fields =
      absl::StrSplit(text, absl::MaxSplits(absl::ByAnyChar(" \t"), kMostFields),
                     absl::SkipEmpty());
  EpochToken token;
  if (fields.size() == 5) {
    return TokenRefused(
        "it is from a version that did not save all that is needed; write "
        "epoch = N to control to begin an epoch anew");
  }
  if (fields.size() < kUnnamedFields + 1 || !TakeHead(fields, token)) {
    return TokenRefused(
        "must be the line that was read from this file, from its first field, "
        "the fingerprint, to its last, check");
  }
  const size_t end = text.rfind(" check=");
  uint64_t check = 0;
  if (end == absl::string_view::npos ||
      !absl::SimpleHexAtoi(text.substr(end + 7), &check) ||
      check != HashOfText(text.substr(0, end))) {
    return TokenRefused("it is damaged or not whole");
  }
  for (size_t i = kUnnamedFields; i + 1 < fields.size(); ++i) {
    const std::pair<absl::string_view, absl::string_view> field =
        absl::StrSplit(fields[i], absl::MaxSplits('=', 1));
    if (IsOfMore(field.first, field.second, most_names)) {
      return TokenRefused(kOtherNames);
    }
    if (!TakeField(field.first, field.second, token)) {
      return TokenRefused(
          absl::StrCat("this version does not understand its ", field.first));
    }
  }
  if (token.reactive() && !token.position) {
    return TokenRefused("it does not say how much was read");
  }
  if (token.reactive() && token.pairs && !HasAllRead(token)) {
    return TokenRefused(
        "it lacks a part of what was read; save it again when the mount's "
        "state has room");
  }
  return token;
}

uint64_t TokenKeys(const ViewSetup& setup) {
  const Grouping& grouping = setup.dataset->grouping();
  return HashOfText(absl::StrCat(
      setup.options_hash, " ", static_cast<int>(setup.config.substitute), " ",
      grouping.sample_count(), " ", grouping.group_count(), " ",
      setup.config.path));
}

uint64_t PairDigest(const NameBinding& pair) {
  const uint64_t numbers[] = {pair.name, pair.sample};
  return XXH3_64bits(numbers, sizeof(numbers));
}

uint64_t TimesDigest(absl::string_view times) {
  return times.empty() ? 0 : HashOfText(times);
}

EpochToken HeadOf(const LedgerEpoch& begin, uint64_t keys) {
  EpochToken token;
  token.fingerprint = begin.fingerprint;
  token.policy = begin.policy;
  token.keys = keys;
  token.seed = begin.seed;
  token.epoch = begin.epoch;
  token.binding = begin.binding;
  token.identity = begin.identity;
  token.passed = begin.read_before != ReadBefore::kNothing;
  token.by_hand = begin.by_hand;
  if (begin.reactive) {
    token.digest = TimesDigest(begin.served);
  } else {
    token.kept = begin.retained;
  }
  return token;
}

EpochToken TokenOf(const LedgerState& state, uint64_t keys,
                   absl::optional<uint64_t> position) {
  const LedgerEpoch& begin = state.begin;
  EpochToken token = HeadOf(begin, keys);
  if (!begin.reactive) {
    token.position = position ? position : state.consumed.size();
    state.consumed.ForEach([&](uint64_t s) { token.read.push_back(s); });
    return token;
  }
  token.position =
      std::min(position.value_or(state.bound_consumed), state.bound_consumed);
  const auto shown = state.bound_and_consumed().first(*token.position);
  const auto later = state.bound_and_consumed().subspan(*token.position);
  EpochToken::Pairs& pairs = token.pairs.emplace();
  pairs.times = begin.served;
  pairs.bound.assign(state.not_consumed().begin(), state.not_consumed().end());
  pairs.bound.insert(pairs.bound.end(), later.begin(), later.end());
  pairs.shown.assign(shown.begin(), shown.end());
  for (const NameBinding& pair : shown) *token.digest += PairDigest(pair);
  return token;
}

absl::StatusOr<LedgerState> StateOf(const EpochToken& token,
                                    const ViewSetup& setup) {
  LedgerState state;
  LedgerEpoch& begin = state.begin;
  begin.view_path = setup.config.path;
  begin.names = setup.dataset->grouping().sample_count();
  begin.fingerprint = token.fingerprint;
  begin.epoch = token.epoch;
  begin.binding = token.binding;
  begin.seed = token.seed;
  begin.policy = token.policy;
  begin.options_hash = setup.options_hash;
  begin.substitute = setup.config.substitute;
  begin.identity = token.identity;
  begin.by_hand = token.by_hand;
  if (token.passed) {
    // Without `whole`, nobody knows which containers were read.
    begin.read_before =
        token.whole ? ReadBefore::kSomething : ReadBefore::kUnknown;
  }
  begin.moves = setup.rebinds() || setup.records.producer != nullptr;
  begin.reactive = token.reactive();
  begin.repeats = begin.reactive && setup.repeats();
  begin.retained = token.kept;
  const absl::Status wrong = TokenRefused(kOtherNames);
  const auto files = WholeFilesOf(token, setup);
  if (token.whole && !files) return wrong;
  if (files) {
    for (const EntryId file : *files) state.containers.push_back(file.value());
  }
  const Grouping& grouping = setup.dataset->grouping();
  if (!AllFit(token.kept, grouping) ||
      token.position.value_or(0) > begin.names ||
      (!token.read.empty() && token.read.back() >= begin.names)) {
    return wrong;
  }
  for (const uint64_t sample : token.read) state.consumed.Add(sample);
  if (token.pairs) {
    if (!AllFit(token.pairs->bound, grouping) ||
        !AllFit(token.pairs->shown, grouping)) {
      return wrong;
    }
    begin.served = token.pairs->times;
    state.bound = token.pairs->bound;
    state.bound.insert(state.bound.end(), token.pairs->shown.begin(),
                       token.pairs->shown.end());
    state.bound_consumed = token.pairs->shown.size();
    for (const NameBinding& pair : token.pairs->shown) {
      state.consumed.Add(pair.sample);
    }
  }
  state.consumed.Settle();
  return state;
}

EpochToken::Whole WholeOf(const std::vector<EntryId>& files,
                          const ViewSetup& setup) {
  const PlacedContainers all(setup);
  const absl::flat_hash_set<EntryId> read(files.begin(), files.end());
  EpochToken::Whole whole;
  whole.paths = all.paths;
  for (uint64_t place = 0; place < all.by_path.size(); ++place) {
    if (read.contains(all.by_path[place].second)) whole.places.push_back(place);
  }
  return whole;
}

WholeFiles WholeFilesOf(const EpochToken& token, const ViewSetup& setup) {
  if (!token.whole) return absl::nullopt;
  const PlacedContainers all(setup);
  if (all.paths != token.whole->paths) return absl::nullopt;
  std::vector<EntryId> files;
  for (const uint64_t place : token.whole->places) {
    if (place >= all.by_path.size()) return absl::nullopt;
    files.push_back(all.by_path[place].second);
  }
  return files;
}

bool BindsAs(const EpochToken& token, const ViewSetup& setup,
             const Binding& binding, const RecordEpoch* records) {
  const std::shared_ptr<BoundNames>& bound_names = binding.bound_names();
  const bool passed =
      records != nullptr && records->read_before() != ReadBefore::kNothing;
  if (token.passed != passed ||
      absl::string_view(token.policy) != setup.policy->name() ||
      token.keys != TokenKeys(setup) || token.seed != setup.config.seed ||
      token.binding != binding.epoch() ||
      token.identity != binding.identity() ||
      token.reactive() != (bound_names != nullptr)) {
    return false;
  }
  if (token.reactive()) {
    // Tables have a place for each name of the view, and for no other.
    const Grouping& grouping = setup.dataset->grouping();
    return AllFit(token.pairs->bound, grouping) &&
           AllFit(token.pairs->shown, grouping) &&
           ShowsPairs(*token.pairs, *bound_names);
  }
  return SortedPairs(token.kept) == SortedPairs(binding.retained().pairs());
}

std::vector<uint64_t> NamesReadOf(const EpochToken& token,
                                  const ViewSetup& setup,
                                  const Binding& binding) {
  std::vector<uint64_t> names;
  if (token.reactive()) {
    if (!token.pairs) return names;
    for (const NameBinding& pair : token.pairs->shown) {
      names.push_back(pair.name);
    }
    return names;
  }
  const uint64_t samples = setup.dataset->grouping().sample_count();
  for (const uint64_t sample : token.read) {
    if (sample >= samples) continue;  // the token is of another source
    names.push_back(binding.NameOfSample(SampleId(sample)).value());
  }
  return names;
}

bool AllFit(const std::vector<NameBinding>& pairs, const Grouping& grouping) {
  if (pairs.empty()) return true;
  if (LargestNumber(pairs) >= grouping.sample_count()) return false;
  return std::all_of(pairs.begin(), pairs.end(), [&](const NameBinding& pair) {
    return grouping.group_of(SampleId(pair.name)) ==
           grouping.group_of(SampleId(pair.sample));
  });
}

}  // namespace shufflefs
