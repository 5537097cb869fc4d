// SPDX-License-Identifier: Apache-2.0
#include "policies/auto/suitability.h"

#include <array>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "policies/auto/gain_estimate.h"
#include "policies/reimu.h"

namespace shufflefs {
namespace {

// With fewer files an order is not recognised soon enough to gain from it.
constexpr uint64_t kLeastPrefetch = 1000;

// "about 3x the files a second of 4 plain readers that draw at random, no more
// than 16 get", from the gain over the usual number of readers and over many.
std::string TimesClause(double gain, double many) {
  std::string clause =
      absl::StrCat(AboutTimes(gain), " the files a second of ", kUsualReaders,
                   " plain readers that draw at random");
  if (many < kWorthwhileGain) {
    absl::StrAppend(&clause, ", no more than ", kManyReaders, " get");
  } else if (many < 0.8 * gain) {
    absl::StrAppend(&clause, ", ", AboutTimes(many), " of ", kManyReaders);
  }
  return clause;
}

// The gain of brand.
std::string GainClause(const DatasetFacts& facts, double gain) {
  return TimesClause(gain, EstimateGain(facts, kManyReaders)->gain());
}

// The gain of brand over 4 readers. 0 if it cannot be estimated.
double UsualGain(const DatasetFacts& facts) {
  const auto estimate = EstimateGain(facts, kUsualReaders);
  return estimate ? estimate->gain() : 0;
}

bool IsSlow(DeviceKind device) {
  return device == DeviceKind::kSeekBound ||
         device == DeviceKind::kLatencyBound;
}

bool IsMostlyContainers(const DatasetFacts& facts) {
  return facts.record_files > 0 && facts.record_bytes > facts.bytes / 2;
}

// The gain of prefetching. "" if that was not measured.
std::string PrefetchGain(const DatasetFacts& facts) {
  const auto usual = EstimatePrefetch(facts, kUsualReaders);
  const auto many = EstimatePrefetch(facts, kManyReaders);
  return usual ? TimesClause(usual->gain(), many->gain()) : "";
}

// Why opens are not predicted, for names that keep their samples on a slow
// source that, as far as is known, is larger than memory. "" if nothing speaks
// against it.
std::string AgainstPrefetch(const DatasetFacts& facts) {
  if (!facts.not_foreseen.empty()) {
    return absl::StrCat("not clairvoyant because of ", facts.not_foreseen);
  }
  if (IsMostlyContainers(facts))
    return "clairvoyant is for files, not for records";
  if (facts.files < kLeastPrefetch) {
    return absl::StrCat("clairvoyant needs at least ", kLeastPrefetch,
                        " files");
  }
  if (facts.memory_bytes == 0) {
    return "-o policy=clairvoyant reads ahead of a client that draws names at "
           "random";
  }
  const auto estimate = EstimatePrefetch(facts, kUsualReaders);
  if (estimate && estimate->gain() < kWorthwhileGain) {
    return absl::StrCat("clairvoyant would gain too little: ",
                        PrefetchGain(facts));
  }
  return "";
}

// Why brand is not chosen on a slow source that is larger than memory, and what
// the user could ask for.
std::string AgainstBrand(const DatasetFacts& facts) {
  const double gain = UsualGain(facts);
  if (!facts.held_back.empty()) {
    return absl::StrCat("not brand because of ", facts.held_back);
  }
  if (gain == 0) {
    return "what brand would gain could not be measured (-o policy=brand)";
  }
  if (gain < kWorthwhileGain) {
    return absl::StrCat("brand would gain too little with ",
                        BytesText(facts.pool_bytes),
                        " of memory: ", GainClause(facts, gain));
  }
  return absl::StrCat("-o policy=brand may give ", GainClause(facts, gain),
                      ", if the job does not split by name");
}

// The expected gain, and what the user could ask for.
std::string Advice(const DatasetFacts& facts) {
  if (facts.device == DeviceKind::kMemory) {
    return "no policy is expected to be faster";
  }
  if (FitsInMemory(facts))
    return "no gain in speed to expect after the first epoch";
  if (facts.device == DeviceKind::kFlash) {
    return "little gain in speed to expect; -o policy=lirs,layout=ranked gives "
           "readers in name order a full shuffle";
  }
  if (facts.device == DeviceKind::kUnknown) {
    return "no gain can be promised; -o policy=lirs,layout=ranked gives "
           "readers in name order a full shuffle";
  }
  const std::string ordered =
      "readers in name order gain by "
      "-o policy=lirs,lirs.unit=page,layout=ranked";
  if (!facts.names_may_move) {
    return absl::StrCat(ordered, "; ", AgainstPrefetch(facts));
  }
  return absl::StrCat(AgainstBrand(facts), "; ", ordered);
}

// Whether names could show other samples, and why auto does not use that.
std::string NamesClause(const DatasetFacts& facts) {
  if (!facts.names_may_move) return "names keep their own samples";
  std::string clause = absl::StrCat(
      "samples could move inside ", facts.classes,
      facts.classes == 1 ? " class" : " classes",
      " (-o policy=lirs,substitute=directory), which auto leaves to you");
  if (!facts.has_validation_split) {
    absl::StrAppend(&clause,
                    ": no validation split beside them, so a client may split "
                    "by name");
  }
  return clause;
}

// Returns whether names keep their samples and a policy may gain by predicting
// opens.
bool PrefetchPays(const DatasetFacts& facts) {
  return !(facts.names_may_move && facts.has_validation_split) &&
         facts.memory_bytes > 0 && !FitsInMemory(facts) &&
         IsSlow(facts.device) && AgainstPrefetch(facts).empty();
}

std::string ForPrefetch(const DatasetFacts& facts) {
  const std::string gain = PrefetchGain(facts);
  std::string clause = absl::StrCat(
      "the order of a stock PyTorch sampler is recognised from its first opens "
      "and read ahead, ",
      gain.empty() ? "no gain in speed can be promised"
                   : absl::StrCat("expect ", gain));
  if (facts.names_may_move) {
    absl::StrAppend(&clause, "; ", AgainstBrand(facts));
  }
  return clause;
}

bool BrandIsSafe(const DatasetFacts& facts) {
  return facts.names_may_move && facts.has_validation_split &&
         facts.held_back.empty();
}

bool BrandPays(const DatasetFacts& facts) {
  return facts.memory_bytes > 0 && !FitsInMemory(facts) &&
         IsSlow(facts.device) && UsualGain(facts) >= kWorthwhileGain;
}

std::string ForBrand(const DatasetFacts& facts) {
  return absl::StrCat("expect ", GainClause(facts, UsualGain(facts)),
                      "; names show samples of "
                      "their class, of ",
                      facts.classes,
                      ", with a validation split of its own beside them");
}

// Returns whether most of it is containers whose records may be shuffled.
bool RecordsMayMove(const DatasetFacts& facts) {
  return IsMostlyContainers(facts) && facts.passes_are_seen &&
         !facts.several_nodes;
}

// For the current and next windows of two readers, and one more.
uint64_t MemoryOfBlocks(const DatasetFacts& facts) {
  const RecordBlocks blocks = ReimuBlocks(facts.options);
  return 5 * blocks.window * blocks.bytes;
}

// The policy that pays for these records. "" if none does.
std::string RecordPolicy(const DatasetFacts& facts) {
  if (!RecordsMayMove(facts) || facts.memory_bytes == 0 ||
      facts.record_bytes <= facts.memory_bytes) {
    return "";
  }
  if (facts.device == DeviceKind::kFlash) return "lirs";
  return IsSlow(facts.device) && facts.record_memory >= MemoryOfBlocks(facts)
             ? "reimu"
             : "";
}

std::string ForRecords(const DatasetFacts& facts, absl::string_view policy) {
  std::string how =
      "a full shuffle of the records of each file, by a random read each";
  if (policy == "reimu") {
    how = absl::StrCat("records come shuffled in blocks of ",
                       BytesText(ReimuBlocks(facts.options).bytes),
                       " that are read whole");
    const auto estimate = EstimateRecords(facts, kUsualReaders);
    if (estimate) {
      absl::StrAppend(&how, ", expect ", AboutTimes(estimate->gain()), " what ",
                      kUsualReaders, " plain readers get that draw records of ",
                      BytesText(kUsualRecord), " at random");
    }
  }
  return absl::StrCat(how, "; ", facts.record_files,
                      facts.record_files == 1 ? " container" : " containers",
                      ", whose records carry their labels");
}

// Why records of containers stay in place. "" if there are none.
std::string AgainstRecords(const DatasetFacts& facts) {
  if (facts.record_files == 0 || FitsInMemory(facts)) return "";
  if (!facts.passes_are_seen) {
    return "; records stay where they are because of open = unseen";
  }
  if (facts.several_nodes) {
    return "; records stay where they are, because another node might choose "
           "otherwise: -o policy=reimu, on all nodes, shuffles them";
  }
  if (IsSlow(facts.device) && facts.record_memory < MemoryOfBlocks(facts)) {
    const RecordBlocks blocks = ReimuBlocks(facts.options);
    return absl::StrCat(
        "; not reimu for its records: ", blocks.window, " blocks of ",
        BytesText(blocks.bytes), " need ", BytesText(MemoryOfBlocks(facts)),
        " of memory, there are ", BytesText(facts.record_memory));
  }
  return "; -o policy=reimu shuffles the records of its containers";
}

// Ranks: the fastest reader comes first. Two policies of one rank never suit
// the same dataset.
constexpr int kOnDemand = 40;
constexpr int kOfRecords = 30;
constexpr int kReadAhead = 20;
constexpr int kAlways = 10;

constexpr char kNotFinished[] = "for its epoch is not finished";

}  // namespace

std::string BytesText(uint64_t bytes) {
  constexpr std::array<const char*, 5> kUnits = {"KiB", "MiB", "GiB", "TiB",
                                                 "PiB"};
  if (bytes < 1024) return absl::StrCat(bytes, " bytes");
  double value = static_cast<double>(bytes) / 1024;
  size_t unit = 0;
  while (value >= 1023.95 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  return absl::StrFormat("%.1f %s", value, kUnits[unit]);
}

bool FitsInMemory(const DatasetFacts& facts) {
  return facts.memory_bytes > 0 && facts.bytes <= facts.memory_bytes;
}

absl::optional<Suitability> SuitsOnDemand(const DatasetFacts& facts,
                                          absl::string_view policy) {
  if (!BrandIsSafe(facts)) return absl::nullopt;
  if (BrandPays(facts)) return Suitability{kOnDemand, ForBrand(facts)};
  if (facts.under_way != policy) return absl::nullopt;
  return Suitability{kOnDemand, kNotFinished};
}

absl::optional<Suitability> SuitsRecords(const DatasetFacts& facts,
                                         absl::string_view policy) {
  const std::string best = RecordPolicy(facts);
  const bool is_kept =
      RecordsMayMove(facts) && facts.under_way != best &&
      (facts.under_way == "reimu" || facts.under_way == "lirs");
  if (is_kept) {
    if (facts.under_way != policy) return absl::nullopt;
    return Suitability{kOfRecords, kNotFinished};
  }
  if (best != policy) return absl::nullopt;
  return Suitability{kOfRecords, ForRecords(facts, policy)};
}

absl::optional<Suitability> SuitsReadAhead(const DatasetFacts& facts) {
  if (!PrefetchPays(facts)) return absl::nullopt;
  return Suitability{kReadAhead,
                     absl::StrCat(ForPrefetch(facts), "; ", NamesClause(facts),
                                  AgainstRecords(facts))};
}

absl::optional<Suitability> SuitsAlways(const DatasetFacts& facts) {
  return Suitability{kAlways,
                     absl::StrCat(Advice(facts), "; ", NamesClause(facts),
                                  AgainstRecords(facts))};
}

}  // namespace shufflefs
