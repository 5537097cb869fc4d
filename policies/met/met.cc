// SPDX-License-Identifier: Apache-2.0
#include "policies/met/met.h"

#include <algorithm>
#include <numeric>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/config/value_text.h"
#include "core/policy/mini_epoch_count.h"
#include "policies/met/met_binder.h"
#include "policies/met/met_plan.h"
#include "policies/met/met_progress.h"
#include "policies/met/met_rank_binder.h"
#include "policies/met/model/met_model_report.h"
#include "policies/reimu.h"

namespace shufflefs {
namespace {

constexpr absl::string_view kMetAdaptWords[] = {"off", "score", "bollinger"};
constexpr PolicyOption kMetKeys[] = {
    {.key = "met.mini_epochs",
     .default_text = "what the tier holds",
     .values = "a number of mini-epochs from 1 to 65536",
     .help = "parts of a pass; the tier holds one and copies the next",
     .min = 1,
     .max = MetOptions::kMostMiniEpochs,
     .binds = true,
     .place = 19},
    {.key = "met.repeat",
     .default_text = "auto",
     .values = "auto or a number from 1 to 1024",
     .help = "times each mini-epoch is shown; auto: at most 8",
     .min = 1,
     .max = MetOptions::kMostRepeat,
     .unset = "auto",
     .binds = true,
     .place = 20},
    {.key = "met.epochs",
     .default_text = "not known",
     .values = "a number of epochs from 1 to 60000",
     .help = "epochs that the job runs; without it nothing is repeated",
     .min = 1,
     .max = 60000,
     .common = true,
     .binds = true,
     .place = 21},
    {.key = "met.adapt",
     .default_text = "off",
     .values = "off, score or bollinger",
     .help = "rule that stops repeating, from the losses you report",
     .kind = PolicyOption::Kind::kWord,
     .words = kMetAdaptWords,
     .binds = true,
     .place = 22},
    {.key = "met.patience",
     .default_text = "2",
     .values = "a number of repetitions from 1 to 1024",
     .help = "repetitions without a better loss that score allows",
     .initial = 2,
     .min = 1,
     .max = MetOptions::kMostRepeat,
     .binds = true,
     .place = 23},
    {.key = "met.scores",
     .default_text = "8",
     .values = "a number of losses from 2 to 1024",
     .help = "losses that make the band of met.adapt=bollinger",
     .initial = 8,
     .min = 2,
     .max = MetOptions::kMostRepeat,
     .binds = true,
     .place = 24},
    // Learnt factors decide how often a mini-epoch comes, as measured speeds
    // do. They do not decide what a name shows, so an epoch can resume under
    // another model.
    {.key = "met.model",
     .default_text = "none",
     .values = "a name",
     .help = "name of the model; its next run uses the learnt factors",
     .kind = PolicyOption::Kind::kText,
     .run_time = false},
};
constexpr const PolicyOption& kMetMiniEpochs = kMetKeys[0];
constexpr const PolicyOption& kMetRepeat = kMetKeys[1];
constexpr const PolicyOption& kMetEpochs = kMetKeys[2];
constexpr const PolicyOption& kMetAdapt = kMetKeys[3];
constexpr const PolicyOption& kMetPatience = kMetKeys[4];
constexpr const PolicyOption& kMetScores = kMetKeys[5];
constexpr const PolicyOption& kMetModel = kMetKeys[6];

// Ranks and records have the same order in every mount. So what they need of
// the tier's size is taken from the key, not from the free space.
MetOptions FitTier(MetOptions options, const StagedView& view) {
  if (options.mini_epochs != 0) return options;
  if (view.ranked) {
    options.mini_epochs =
        MiniEpochsInTier(view.samples, view.sample_bytes, view.tier_bytes);
  } else if (!view.moves) {
    options.record_bytes = view.record_bytes;
    if (view.tier_bytes > 0 &&
        MiniEpochsInTier(2, view.file_bytes, view.tier_bytes) == 1) {
      options.mini_epochs = 1;  // no repetition is needed
    }
  }
  return options;
}

}  // namespace

constinit const PolicyEntry kMetEntry = {
    .name = "met",
    .help = "parts of the dataset, repeated from a faster tier",
    .keys = kMetKeys,
    .keys_rank = 1,
    .shares_tier = true,
    .takes_feedback = true,
    .make = [](const PolicyOptions& options,
               const StagedView* view) -> std::unique_ptr<const Policy> {
      MetOptions met = MetOptions::Of(options);
      if (view != nullptr) met = FitTier(std::move(met), *view);
      return std::make_unique<MetPolicy>(std::move(met));
    },
    .not_simulated =
        "what it shows depends on the tiers; for its model, give "
        "--capacity-tier, --consume or --repeats",
    .model = {.options = kMetModelOptions, .by_itself = MakeMetModelReport},
};

MetOptions MetOptions::Of(const PolicyOptions& options) {
  MetOptions met;
  met.mini_epochs = options.number(kMetMiniEpochs);
  met.repeat = options.number(kMetRepeat);
  met.epochs = options.number(kMetEpochs);
  met.adapt = options.word<Adapt>(kMetAdapt);
  met.patience = options.number(kMetPatience);
  met.scores = options.number(kMetScores);
  met.model = options.text(kMetModel);
  met.blocks = ReimuBlocks(options);
  return met;
}

std::unique_ptr<const Order> MetPolicy::MakeOrder(const Stratum& stratum,
                                                  Seed seed,
                                                  Epoch epoch) const {
  if (stratum.grouping != nullptr) {
    return std::make_unique<MetOrder>(
        options_, MetPlanInput{stratum.grouping, stratum.key, seed}, epoch);
  }
  return Policy::MakeOrder(stratum, seed, epoch);
}

std::unique_ptr<Binder> MetPolicy::MakeBinder(const BinderInput& input) const {
  return std::make_unique<MetBinder>(options_, input);
}

RecordRepeats MetPolicy::record_repeats(Epoch epoch) const {
  const MetEpoch of = MetEpochOf(options_, epoch);
  RecordRepeats repeats;
  repeats.pass = of.pass;
  repeats.mini_epochs = options_.mini_epochs;
  repeats.factor = of.factor;
  repeats.part = of.part;
  repeats.most_bytes = options_.record_bytes;
  return repeats;
}

std::unique_ptr<Binder> MetPolicy::MakeRankBinder(
    const BinderInput& input) const {
  return std::make_unique<MetRankBinder>(options_, input);
}

absl::StatusOr<uint64_t> MetPolicy::SetsFor(const BinderInput& input) const {
  const uint64_t count = MetProgress::MiniEpochsFor(options_, input);
  const uint64_t bytes =
      std::accumulate(input.bytes.begin(), input.bytes.end(), uint64_t{0});
  // Room for the largest mini-epoch and another one.
  const uint64_t room = count == 1 ? input.tier_bytes : input.tier_bytes / 2;
  if (bytes / count <= room) return count;
  const uint64_t half = std::max<uint64_t>(input.tier_bytes / 2, 1);
  return absl::InvalidArgumentError(absl::StrCat(
      "met.mini_epochs = ", count, ": a mini-epoch of ",
      HumanBytes(bytes / count), " is more than ", count == 1 ? "" : "half of ",
      "tier.capacity, ", HumanBytes(input.tier_bytes), "; at least ",
      bytes / half + 1, " are needed"));
}

std::vector<StagingFacet::Note> MetPolicy::Notes(bool of_records) const {
  std::vector<Note> notes;
  if (options_.epochs == 0) {
    notes.push_back({.text =
                         "policy = met: every mini-epoch is shown once, "
                         "because met.epochs, the number of epochs that the "
                         "job runs, is not given"});
  }
  if (!of_records) return notes;
  if (options_.epochs != 0 && options_.repeat == 0) {
    notes.push_back(
        {.text =
             "policy = met: every mini-epoch of records is shown once, because "
             "the order of records is known beforehand and nothing of it is "
             "measured: give met.repeat"});
  }
  if (options_.repeat > 1 && options_.mini_epochs == 0 &&
      options_.record_bytes == 0) {
    notes.push_back(
        {.warns = true,
         .text =
             "policy = met: a mini-epoch of records is as large as a container "
             "over met.repeat, whatever the tier holds: give tier.capacity, or "
             "met.mini_epochs"});
  }
  return notes;
}

}  // namespace shufflefs
