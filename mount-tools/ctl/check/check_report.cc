// SPDX-License-Identifier: Apache-2.0
#include "mount-tools/ctl/check/check_report.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "core/base/status.h"
#include "core/catalogue/credentials.h"
#include "core/dataset/file_kinds.h"
#include "core/dataset/grouping.h"
#include "core/engine/dataset_facts.h"
#include "core/engine/records_maker.h"
#include "policies/auto/auto_choice.h"
#include "policies/auto/gain_estimate.h"
#include "policies/auto/suitability.h"
#include "policies/registry.h"

namespace shufflefs {
namespace {

// Number of files at or below each directory, by DirId.
std::vector<uint64_t> FilesBelow(const Catalogue& catalogue) {
  std::vector<uint64_t> files(catalogue.dir_count());
  for (uint32_t i = 0; i < catalogue.entry_count(); ++i) {
    const EntryId entry(i);
    if (catalogue.kind(entry) != EntryKind::kFile) continue;
    ++files[catalogue.parent(entry).value()];
  }
  // Parents come before their children.
  for (uint32_t d = catalogue.dir_count(); d-- > 1;) {
    files[catalogue.parent(DirId(d)).value()] += files[d];
  }
  return files;
}

// Visits all entries once.
class Survey {
 public:
  Survey(const Catalogue& catalogue, CheckReport& report)
      : catalogue_(catalogue),
        in_split_(SplitDirs(catalogue)),
        files_below_(FilesBelow(catalogue)),
        report_(report) {}

  void Run() {
    for (uint32_t i = 0; i < catalogue_.entry_count(); ++i) {
      const EntryId entry(i);
      const EntryKind kind = catalogue_.kind(entry);
      if (kind == EntryKind::kLink) ++report_.links;
      if (in_split_[catalogue_.parent(entry).value()]) continue;
      if (kind == EntryKind::kDirectory) AddDirectory(entry);
      if (kind == EntryKind::kFile) AddFile(entry);
    }
  }

 private:
  void AddDirectory(EntryId entry) {
    const DirId dir = catalogue_.as_dir(entry);
    if (!in_split_[dir.value()]) return;
    report_.splits.push_back({catalogue_.path(entry),
                              SplitOf(catalogue_.name(entry)),
                              files_below_[dir.value()]});
  }

  void AddFile(EntryId entry) {
    const absl::string_view name = catalogue_.name(entry);
    const FileKind kind = KindOfFile(name);
    if (kind == FileKind::kHidden || kind == FileKind::kDocument) return;
    if (IsSplitName(name)) {
      report_.splits.push_back({catalogue_.path(entry), SplitOf(name), 1});
    } else if (kind == FileKind::kManifest) {
      report_.manifests.push_back(catalogue_.path(entry));
    } else if (kind == FileKind::kContainer) {
      report_.containers.push_back(catalogue_.path(entry));
    }
  }

  const Catalogue& catalogue_;
  const std::vector<bool> in_split_;
  const std::vector<uint64_t> files_below_;
  CheckReport& report_;
};

void CountSamples(const Grouping& grouping, CheckReport& report) {
  report.samples = grouping.sample_count();
  for (uint32_t g = 0; g < grouping.group_count(); ++g) {
    const Grouping::Group& group = grouping.group(GroupId(g));
    if (group.columns > 1) report.paired_samples += group.samples;
  }
}

// Finds containers by the names of the source's files. Null if there are none.
absl::StatusOr<std::shared_ptr<ContainerSet>> FindContainers(
    const Catalogue& catalogue, const CheckReport& report) {
  if (report.containers.empty()) return std::shared_ptr<ContainerSet>();
  // Not owned: the dataset is destroyed before the catalogue.
  ASSIGN_OR_RETURN(std::shared_ptr<const Dataset> dataset,
                   Dataset::Make(std::shared_ptr<const Catalogue>(
                                     std::shared_ptr<void>(), &catalogue),
                                 ViewConfig(), ""));
  return ContainersOf(MountConfig(), ViewConfig(), std::move(dataset));
}

std::vector<GainsOfPolicy> GainsOf(const DatasetFacts& facts,
                                   const PolicyEntry& chosen) {
  std::vector<GainsOfPolicy> all;
  for (const PolicyEntry* entry : Policies()) {
    if (entry->advice.gains == nullptr) continue;
    std::vector<PolicyGain> gains = entry->advice.gains(facts);
    if (gains.empty()) continue;
    all.insert(entry == &chosen ? all.begin() : all.end(),
               GainsOfPolicy{std::string(entry->name), std::move(gains)});
  }
  return all;
}

std::string Expectation(const DatasetFacts& facts, const PolicyEntry& chosen,
                        const std::vector<GainsOfPolicy>& gains) {
  if (!gains.empty() && gains.front().policy == chosen.name) {
    const PolicyGain& usual = gains.front().gains.front();
    return absl::StrCat("Gain: ", AboutTimes(usual.gain()),
                        usual.record_bytes > 0 ? " the records" : " the files",
                        " per second, by ", chosen.name, ".");
  }
  if (chosen.advice.expects != nullptr) return chosen.advice.expects(facts);
  return absl::StrCat("Gain: order, by ", chosen.name, ".");
}

std::string RowsPolicy(const DatasetFacts& facts) {
  std::string policy;
  int most = 0;
  for (const PolicyEntry* entry : Policies()) {
    if (entry->advice.rows_rank == nullptr) continue;
    const int rank = entry->advice.rows_rank(facts);
    if (rank > most) policy = std::string(entry->name);
    most = std::max(most, rank);
  }
  return policy;
}

std::vector<PolicySuggestion> SuggestionsOf(const DatasetFacts& facts,
                                            const PolicyEntry& chosen) {
  std::vector<PolicySuggestion> all;
  for (const PolicyEntry* entry : Policies()) {
    if (entry == &chosen || entry->advice.suggests == nullptr) continue;
    for (PolicySuggestion& each : entry->advice.suggests(facts)) {
      all.push_back(std::move(each));
    }
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const PolicySuggestion& a, const PolicySuggestion& b) {
                     return a.rank > b.rank;
                   });
  return all;
}

void Suggest(const DatasetFacts& facts, const PolicyEntry& chosen,
             CheckReport& report) {
  const auto command = [&](absl::string_view options) {
    return absl::StrCat("shufflefs ", options.empty() ? "" : "-o ", options,
                        options.empty() ? "" : " ", ShellWord(report.path),
                        " MOUNTPOINT");
  };
  report.suggestions = {
      {command(""),
       absl::StrCat(chosen.advice.use, "; auto is ", chosen.name, " here")}};
  if (report.samples < 2 && !report.mostly_records) return;
  for (PolicySuggestion& each : SuggestionsOf(facts, chosen)) {
    report.suggestions.push_back({command(each.options), std::move(each.when)});
  }
}

absl::Status Choose(const CheckInput& input, const Grouping& grouping,
                    CheckReport& report) {
  ASSIGN_OR_RETURN(const std::shared_ptr<ContainerSet> containers,
                   FindContainers(*input.catalogue, report));
  const ViewConfig defaults;
  FactsInput facts_input;
  facts_input.catalogue = input.catalogue;
  facts_input.grouping = &grouping;
  facts_input.substitution_safety = &report.substitution_safety;
  facts_input.device = &report.device;
  facts_input.config = &defaults;
  facts_input.policies = Policies();
  facts_input.containers = containers.get();
  facts_input.machine_memory = report.memory.bytes;
  facts_input.view_memory = input.view_memory;
  const DatasetFacts facts = FactsOf(facts_input);
  report.choice = ChooseAuto(facts);
  report.mostly_records = IsMostlyContainers(facts);
  const PolicyEntry& chosen = *FindPolicy(Policies(), report.choice.policy);
  report.gains = GainsOf(facts, chosen);
  report.expectation = Expectation(facts, chosen, report.gains);
  report.rows_policy = RowsPolicy(facts);
  Suggest(facts, chosen, report);
  return absl::OkStatus();
}

}  // namespace

std::string ShellWord(const std::string& path) {
  const bool plain =
      path.find_first_not_of(
          "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
          "/._-+,:@%") == std::string::npos;
  if (plain) return path;
  return absl::StrCat("'", absl::StrReplaceAll(path, {{"'", "'\\''"}}), "'");
}

absl::StatusOr<CheckReport> MakeCheckReport(const CheckInput& input) {
  const Catalogue& catalogue = *input.catalogue;
  CheckReport report;
  report.path = input.path;
  report.files = catalogue.file_count();
  report.directories = catalogue.dir_count() - 1;
  report.bytes = catalogue.total_bytes();
  report.scan_seconds = input.scan_seconds;
  report.estimated = input.estimated;
  report.unreadable = catalogue.unreadable();
  report.substitution_safety =
      Judge(catalogue, DirId(0), SubstitutionSafetyOptions());
  report.known_layout = FindKnownLayout(catalogue);
  if (!report.substitution_safety.moves) {
    report.record_hint = FindRecordHint(catalogue);
  }
  Survey(catalogue, report).Run();
  GroupingOptions options;
  options.proven = report.substitution_safety.moves;
  ASSIGN_OR_RETURN(const Grouping grouping, Grouping::Make(catalogue, options));
  CountSamples(grouping, report);
  report.memory = input.memory;
  report.fits_in_memory =
      report.memory.bytes > 0 && report.bytes <= report.memory.bytes;
  report.device = input.device;
  RETURN_IF_ERROR(Choose(input, grouping, report));
  return report;
}

}  // namespace shufflefs
