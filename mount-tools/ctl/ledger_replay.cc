// SPDX-License-Identifier: Apache-2.0
#include "mount-tools/ctl/ledger_replay.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "core/carried.h"
#include "core/catalogue_file.h"
#include "core/plan.h"
#include "core/status.h"
#include "mount-tools/config_file.h"
#include "mount-tools/ctl/order_line.h"
#include "mount-tools/indexer.h"
#include "mount-tools/state_dir.h"

namespace shufflefs {
namespace {

// Files that the order must list: all files of all samples.
uint64_t FilesInGroups(const Grouping& grouping) {
  uint64_t files = 0;
  for (uint32_t g = 0; g < grouping.group_count(); ++g) {
    const Grouping::Group& group = grouping.group(GroupId(g));
    files += uint64_t{group.samples} * group.columns;
  }
  return files;
}

}  // namespace

absl::StatusOr<LedgerReplay> LedgerReplay::Make(const MountConfig& mount) {
  ASSIGN_OR_RETURN(SourceDir source, SourceDir::At(mount.source));
  ASSIGN_OR_RETURN(Catalogue catalogue,
                   LoadCatalogue(CataloguePath(StatePath(mount))));
  return LedgerReplay(mount, std::move(source),
                      std::make_shared<const Catalogue>(std::move(catalogue)));
}

absl::StatusOr<LedgerProof> LedgerReplay::Verify() {
  return VerifyLedger(
      LedgerPath(StatePath(mount_)),
      [this](const LedgerEpoch& epoch) { return BindingOf(epoch); });
}

absl::StatusOr<std::shared_ptr<const ViewSetup>> LedgerReplay::SetupOf(
    const ViewConfig& config) {
  std::shared_ptr<const ViewSetup>& setup =
      setups_[EffectiveToml(mount_, config)];
  if (setup == nullptr) {
    ASSIGN_OR_RETURN(setup, MakeViewSetup(config, catalogue_, source_,
                                          MakeResolver(source_), nullptr));
  }
  return setup;
}

absl::StatusOr<std::shared_ptr<const Binding>> LedgerReplay::BindingOf(
    const LedgerEpoch& epoch) {
  if (epoch.fingerprint != catalogue_->fingerprint()) {
    return absl::FailedPreconditionError("the dataset was another one then");
  }
  const auto view = std::find_if(
      mount_.views.begin(), mount_.views.end(),
      [&](const ViewConfig& each) { return each.path == epoch.view_path; });
  if (view == mount_.views.end()) {
    return absl::FailedPreconditionError("the mount has no such view now");
  }
  ViewConfig config = *view;
  config.policy = epoch.policy;
  config.seed = epoch.seed;
  config.substitute = epoch.substitute;
  if (OptionsHash(config) != epoch.options_hash) {
    return absl::FailedPreconditionError("other keys were in effect then");
  }
  ASSIGN_OR_RETURN(const std::shared_ptr<const ViewSetup> setup,
                   SetupOf(config));
  ASSIGN_OR_RETURN(CarriedNames carried, CarriedNames::Make(epoch.carried));
  return std::make_shared<const Binding>(
      std::make_shared<const Plan>(setup->dataset, setup->policy, epoch.seed,
                                   epoch.binding),
      std::move(carried), epoch.identity);
}

absl::Status LedgerReplay::CompareOrder(absl::string_view order,
                                        const Binding& binding) {
  const Dataset& dataset = binding.plan().dataset();
  const Catalogue& catalogue = dataset.catalogue();
  uint64_t lines = 0;
  RETURN_IF_ERROR(ForEachOrderLine(order, [&](const OrderLine& line) {
    ++lines;
    const absl::optional<EntryId> name = catalogue.FindPath(line.name);
    const absl::optional<EntryId> sample = catalogue.FindPath(line.sample);
    if (name && sample && binding.Shown(*name) == *sample) {
      return absl::OkStatus();
    }
    return absl::DataLossError(
        absl::StrCat("the mount shows ", line.sample, " as ", line.name,
                     name ? absl::StrCat(", the ledger says ",
                                         catalogue.path(binding.Shown(*name)))
                          : ", which the catalogue lacks"));
  }));
  const uint64_t files = FilesInGroups(dataset.grouping());
  if (lines == files) return absl::OkStatus();
  return absl::DataLossError(
      absl::StrCat("the mount's order lists ", lines, " files of ", files));
}

}  // namespace shufflefs
