// SPDX-License-Identifier: Apache-2.0
// Dataset is what a view shows: a subtree of the catalogue and its groups, and
// the device addresses of the samples. It also says whether names may show
// other samples than their own, and why.
#ifndef SHUFFLEFS_CORE_DATASET_DATASET_H_
#define SHUFFLEFS_CORE_DATASET_DATASET_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "core/base/mutex.h"
#include "core/base/status.h"
#include "core/base/types.h"
#include "core/catalogue/catalogue.h"
#include "core/config/config.h"
#include "core/dataset/block_map.h"
#include "core/dataset/grouping.h"
#include "core/dataset/substitution_safety.h"

namespace shufflefs {

// Thread-safe. Immutable except for block maps, which are made at first use.
class Dataset {
 public:
  // Judges and groups the subtree `config.path`. Errors: NotFound if the path
  // is no directory of the catalogue; InvalidArgument, which names the line,
  // for a bad groups file. `groups_text` is the content of config.groups.
  // `views` are the paths of all views: files of a view below this one belong
  // to that one only. `verdicts` may have that of the subtree already.
  static absl::StatusOr<std::unique_ptr<Dataset>> Make(
      std::shared_ptr<const Catalogue> catalogue, const ViewConfig& config,
      const std::string& groups_text,
      const std::vector<std::string>& views = {},
      const SafetyByDir& verdicts = {});

  const Catalogue& catalogue() const { return *catalogue_; }
  const std::shared_ptr<const Catalogue>& shared_catalogue() const {
    return catalogue_;
  }
  const Grouping& grouping() const { return grouping_; }
  DirId root() const { return root_; }
  // True when the names of a group may show each other's samples.
  bool moves() const { return grouping_.moves(); }
  // The findings and the deciding rule, as `status` shows them.
  const SubstitutionSafety& substitution_safety() const {
    return substitution_safety_;
  }
  const std::string& substitute_reason() const { return reason_; }
  // Stable identity of the subtree, the key of view-wide orders.
  uint64_t key() const { return key_; }

  // Sets the device address of each sample's first file, in bytes, by SampleId.
  // Call it before the first order by blocks is used.
  void SetAddresses(std::vector<uint64_t> addresses);
  bool has_addresses() const;
  // A hash of these, as orders by blocks depend on them. 0 if it has none.
  uint64_t addresses_hash() const;

  // REQUIRES: has_addresses(). The references live as long as the dataset.
  const BlockMap& group_blocks(GroupId group, uint64_t block_bytes) const;
  const BlockMap& view_blocks(uint64_t block_bytes) const;

 private:
  struct Parts {
    std::shared_ptr<const Catalogue> catalogue;
    DirId root;
    SubstitutionSafety substitution_safety;
    Grouping grouping;
    std::string reason;
  };
  explicit Dataset(Parts parts);
  const BlockMap& Blocks(uint64_t part, uint64_t first, uint64_t count,
                         uint64_t block_bytes) const;

  // Constant after construction.
  const std::shared_ptr<const Catalogue> catalogue_;
  const DirId root_;
  const SubstitutionSafety substitution_safety_;
  const Grouping grouping_;
  const std::string reason_;
  const uint64_t key_;

  mutable Mutex mu_;
  std::vector<uint64_t> addresses_ ABSL_GUARDED_BY(mu_);
  mutable absl::flat_hash_map<std::pair<uint64_t, uint64_t>,
                              std::unique_ptr<const BlockMap>>
      blocks_ ABSL_GUARDED_BY(mu_);
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_DATASET_DATASET_H_
