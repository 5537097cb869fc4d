// SPDX-License-Identifier: Apache-2.0
#include "core/dataset/dataset.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "xxhash.h"

namespace shufflefs {

absl::StatusOr<std::unique_ptr<Dataset>> Dataset::Make(
    std::shared_ptr<const Catalogue> catalogue, const ViewConfig& config,
    const std::string& groups_text, const std::vector<std::string>& views,
    const SafetyByDir& verdicts) {
  const absl::optional<DirId> root = catalogue->FindDir(config.path);
  if (!root) {
    return absl::NotFoundError(
        absl::StrCat("view path '", config.path,
                     "': no such directory; give one below the source"));
  }
  const auto known = verdicts.find(*root);
  SubstitutionSafety substitution_safety =
      known != verdicts.end() ? known->second : Judge(*catalogue, *root, {});
  GroupingOptions options;
  options.root = *root;
  for (const std::string& path : views) {
    const absl::optional<DirId> other = catalogue->FindDir(path);
    if (other && *other > *root && *other < catalogue->subtree_end(*root)) {
      options.other_views.push_back(*other);
    }
  }
  options.substitute = config.substitute;
  options.proven = substitution_safety.moves;
  options.pair = config.pair;
  options.ranked = config.layout == Layout::kRanked;
  options.groups_text = groups_text;
  options.groups_name = config.groups;
  ASSIGN_OR_RETURN(Grouping grouping, Grouping::Make(*catalogue, options));
  std::string reason = substitution_safety.reason;
  if (config.substitute != Substitute::kAuto) reason = "substitute was set";
  return std::unique_ptr<Dataset>(new Dataset(
      Parts{std::move(catalogue), *root, std::move(substitution_safety),
            std::move(grouping), std::move(reason)}));
}

Dataset::Dataset(Parts parts)
    : catalogue_(std::move(parts.catalogue)),
      root_(parts.root),
      substitution_safety_(std::move(parts.substitution_safety)),
      grouping_(std::move(parts.grouping)),
      reason_(std::move(parts.reason)),
      key_([this] {
        const std::string path = catalogue_->path(root_);
        return XXH3_64bits(path.data(), path.size());
      }()) {}

void Dataset::SetAddresses(std::vector<uint64_t> addresses) {
  MutexLock lock(mu_);
  addresses_ = std::move(addresses);
}

bool Dataset::has_addresses() const {
  MutexLock lock(mu_);
  return addresses_.size() == grouping_.sample_count();
}

uint64_t Dataset::addresses_hash() const {
  MutexLock lock(mu_);
  if (addresses_.empty()) return 0;
  return XXH3_64bits(addresses_.data(),
                     addresses_.size() * sizeof(addresses_[0]));
}

const BlockMap& Dataset::Blocks(uint64_t part, uint64_t first, uint64_t count,
                                uint64_t block_bytes) const {
  MutexLock lock(mu_);
  std::unique_ptr<const BlockMap>& slot = blocks_[{part, block_bytes}];
  if (slot == nullptr) {
    absl::StatusOr<BlockMap> blocks = BlockMap::Build(
        std::vector<uint64_t>(addresses_.begin() + first,
                              addresses_.begin() + first + count),
        block_bytes);
    // Cannot fail: entry ids have 32 bits, and no policy has 0-byte blocks.
    slot = std::make_unique<const BlockMap>(std::move(blocks).value());
  }
  return *slot;
}

const BlockMap& Dataset::group_blocks(GroupId group,
                                      uint64_t block_bytes) const {
  const Grouping::Group info = grouping_.group(group);
  return Blocks(group.value(), info.first_sample, info.samples, block_bytes);
}

const BlockMap& Dataset::view_blocks(uint64_t block_bytes) const {
  return Blocks(UINT64_MAX, 0, grouping_.sample_count(), block_bytes);
}

}  // namespace shufflefs
