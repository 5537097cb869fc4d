// SPDX-License-Identifier: Apache-2.0
#include "core/view_setup.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "xxhash.h"

namespace shufflefs {
namespace {

bool SameDataset(const ViewConfig& a, const ViewConfig& b) {
  return a.path == b.path && a.substitute == b.substitute &&
         a.pair == b.pair && a.groups == b.groups;
}

absl::StatusOr<std::string> ReadGroups(const std::string& path) {
  if (path.empty()) return std::string();
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  if (!file) {
    return absl::InvalidArgumentError(
        absl::StrCat("groups = ", path, ": cannot be read"));
  }
  return text.str();
}

// Files in inode order, laid end to end.
void SetInodeOrder(Dataset& dataset) {
  const Grouping& grouping = dataset.grouping();
  std::vector<std::pair<uint64_t, uint64_t>> by_inode;
  for (uint64_t s = 0; s < grouping.sample_count(); ++s) {
    const EntryId file = grouping.first_member(SampleId(s));
    by_inode.push_back({dataset.catalogue().attributes(file).ino, s});
  }
  std::sort(by_inode.begin(), by_inode.end());
  std::vector<uint64_t> addresses(by_inode.size());
  uint64_t at = 0;
  for (const auto& [ino, s] : by_inode) {
    addresses[s] = at;
    const EntryId file = grouping.first_member(SampleId(s));
    at += (dataset.catalogue().attributes(file).size + 4095) / 4096 * 4096;
  }
  dataset.SetAddresses(std::move(addresses));
}

}  // namespace

uint64_t OptionsHash(const ViewConfig& config) {
  const PolicyOptions& options = config.policy_options;
  const std::string text = absl::StrCat(
      static_cast<int>(config.layout), " ", static_cast<int>(config.pair), " ",
      static_cast<int>(options.lirs_unit), " ", options.lirs_page, " ",
      options.lirs_batch, " ", options.window_samples, " ", config.groups);
  return XXH3_64bits(text.data(), text.size());
}

absl::StatusOr<std::shared_ptr<const ViewSetup>> MakeViewSetup(
    const ViewConfig& config, std::shared_ptr<const Catalogue> catalogue,
    const SourceDir&, const PolicyResolver& resolver,
    const ViewSetup* reuse) {
  auto setup = std::make_shared<ViewSetup>();
  setup->config = config;
  if (reuse != nullptr && SameDataset(config, reuse->config)) {
    ASSIGN_OR_RETURN(ResolvedPolicy resolved,
                     resolver(config, *reuse->dataset));
    if (!resolved.policy->wants_blocks() || reuse->dataset->has_addresses()) {
      setup->dataset = reuse->dataset;
      setup->ranked = reuse->ranked;
      setup->device = reuse->device;
      setup->policy = std::move(resolved.policy);
      setup->why = std::move(resolved.why);
      return std::shared_ptr<const ViewSetup>(std::move(setup));
    }
  }
  ASSIGN_OR_RETURN(std::string groups, ReadGroups(config.groups));
  ASSIGN_OR_RETURN(std::unique_ptr<Dataset> dataset,
                   Dataset::Make(std::move(catalogue), config, groups));
  ASSIGN_OR_RETURN(ResolvedPolicy resolved, resolver(config, *dataset));
  setup->policy = std::move(resolved.policy);
  setup->why = std::move(resolved.why);
  if (setup->policy->wants_blocks()) {
    SetInodeOrder(*dataset);
    setup->device = "inode order";
  }
  setup->dataset = std::move(dataset);
  setup->ranked = std::make_shared<RankedNames>(setup->dataset);
  return std::shared_ptr<const ViewSetup>(std::move(setup));
}

}  // namespace shufflefs
