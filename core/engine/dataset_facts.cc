// SPDX-License-Identifier: Apache-2.0
#include "core/engine/dataset_facts.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "core/catalogue/file_totals.h"
#include "core/config/value_text.h"
#include "core/pool/read_ahead.h"
#include "core/pool/sample_producer.h"

namespace shufflefs {
namespace {

// Returns the mean size of the files that are parts of samples.
uint64_t MeanFileBytes(const Catalogue& catalogue, const Grouping& grouping) {
  uint64_t bytes = 0;
  uint64_t files = 0;
  for (uint32_t g = 0; g < grouping.group_count(); ++g) {
    const Grouping::Group& group = grouping.group(GroupId(g));
    for (uint32_t i = 0; i < group.samples; ++i) {
      for (uint32_t c = 0; c < group.columns; ++c) {
        bytes += catalogue.file_size(grouping.member(GroupId(g), i, c));
        ++files;
      }
    }
  }
  return files == 0 ? 0 : bytes / files;
}

// Returns the key that gives a view less memory than `least`. Returns "" if it
// has enough.
std::string TooLittleMemory(const FactsInput& input, uint64_t least) {
  if (input.view_memory >= least) return "";
  return absl::StrCat("memory, which gives a view ",
                      FormatBytes(input.view_memory), " and must give ",
                      FormatBytes(least));
}

// Returns the key that prevents prediction in time. Opens need not be seen,
// because the first reads of files are enough.
std::string NotForeseen(const FactsInput& input) {
  if (input.config->layout == Layout::kRanked) return "layout = ranked";
  return TooLittleMemory(input, ReadAhead::kLeastMemory);
}

bool HasSeveralNodes(const ViewConfig& config) {
  return config.nodes && config.nodes->count > 1;
}

// Returns the key that prevents names from being bound on demand.
std::string HeldBack(const FactsInput& input) {
  if (input.config->layout == Layout::kRanked) return "layout = ranked";
  if (input.open == OpenMode::kUnseen) return "open = unseen";
  for (const PolicyEntry* entry : input.policies) {
    if (entry->advice.held_back == nullptr) continue;
    std::string key = entry->advice.held_back(input.config->policy_options,
                                              input.device->device);
    if (!key.empty()) return key;
  }
  if (HasSeveralNodes(*input.config)) {
    return absl::StrCat("nodes = ", FormatNodes(input.config->nodes));
  }
  return TooLittleMemory(input, SampleProducer::kLeastMemory);
}

}  // namespace

DatasetFacts FactsOf(const FactsInput& input) {
  const SubstitutionSafety& substitution_safety = *input.substitution_safety;
  DatasetFacts facts;
  const FileTotals totals = TotalsBelow(*input.catalogue, input.root);
  facts.files = totals.files;
  facts.bytes = totals.bytes;
  facts.memory_bytes = input.machine_memory;
  facts.device = input.device->device;
  facts.speed = input.device->speed();
  facts.file_bytes = MeanFileBytes(*input.catalogue, *input.grouping);
  facts.held_back = HeldBack(input);
  facts.not_foreseen = NotForeseen(input);
  facts.under_way = input.under_way;
  if (facts.held_back.empty()) {
    facts.pool_bytes = input.view_memory;
  }
  if (input.containers != nullptr) {
    facts.record_files = input.containers->count();
    facts.record_bytes = input.containers->total_bytes();
  }
  facts.record_memory = input.view_memory;
  facts.several_nodes = input.has_peers || HasSeveralNodes(*input.config);
  facts.options = input.config->policy_options;
  facts.passes_are_seen = input.open != OpenMode::kUnseen ||
                          input.config->epoch_advance != Advance::kAuto;
  facts.names_may_move = substitution_safety.moves && input.grouping->moves();
  facts.has_validation_split = substitution_safety.has_validation_split;
  facts.classes = substitution_safety.classes;
  facts.layout = substitution_safety.layout;
  return facts;
}

}  // namespace shufflefs
