// SPDX-License-Identifier: Apache-2.0
#include "mount-tools/ctl/verify/ledger_replay.h"

#include <algorithm>
#include <cerrno>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "core/base/status.h"
#include "core/catalogue/catalogue_file.h"
#include "core/engine/device_address_finder.h"
#include "core/engine/policy_resolver.h"
#include "core/policy/plan.h"
#include "core/policy/retained_bindings.h"
#include "mount-tools/config/config_file.h"
#include "mount-tools/config/tier_capacity.h"
#include "mount-tools/ctl/check/order_line.h"
#include "policies/registry.h"

namespace shufflefs {
namespace {

// Number of files that the order must list: all files of its samples. A sample
// may occur several times, or not at all.
uint64_t FilesInOrder(const Order& order, const Grouping& grouping) {
  uint64_t files = 0;
  for (uint64_t rank = 0; rank < order.size(); ++rank) {
    files += grouping.columns(SampleId(order.SampleAt(rank)));
  }
  return files;
}

// The file that a line's name shows. Empty if it is no name of the view.
absl::optional<EntryId> ShownBy(const OrderLine& line,
                                const LedgerReplay::Replayed& replayed) {
  if (replayed.setup->config.layout == Layout::kRanked) {
    return replayed.setup->ranked->Find(line.name);
  }
  const absl::optional<EntryId> name =
      replayed.setup->dataset->catalogue().FindPath(line.name);
  if (!name) return absl::nullopt;
  return replayed.binding->Shown(*name);
}

absl::optional<Grouping::Place> PlaceOf(const std::string& path,
                                        const Dataset& dataset) {
  const absl::optional<EntryId> entry = dataset.catalogue().FindPath(path);
  if (!entry) return absl::nullopt;
  return dataset.grouping().place(*entry);
}

// Returns whether the order has the sample of `file` at `rank`.
bool HasRank(uint64_t rank, EntryId file,
             const LedgerReplay::Replayed& replayed) {
  const Grouping& grouping = replayed.setup->dataset->grouping();
  const Order& order = replayed.binding->plan().view_order();
  return grouping.place(file) && rank < order.size() &&
         order.SampleAt(rank) == grouping.sample(file).value();
}

// The first rank of the file's sample, for errors.
std::string RankText(EntryId file, const LedgerReplay::Replayed& replayed) {
  const Grouping& grouping = replayed.setup->dataset->grouping();
  if (!grouping.place(file)) return "no rank";
  const Order& order = replayed.binding->plan().view_order();
  const uint64_t rank = order.PositionOf(grouping.sample(file).value());
  return rank < order.size() ? absl::StrCat("rank ", rank) : "no rank";
}

absl::Status UnreadCatalogue(const absl::Status& status) {
  const absl::optional<int> error = ErrnoOf(status);
  if (error == ENOENT) {
    return WithNext(status, "wait until shufflectl status shows an epoch");
  }
  if (error) return status;  // its errno says what to do
  return WithNext(status, "unmount, and mount again with the same command");
}

}  // namespace

absl::StatusOr<LedgerReplay> LedgerReplay::Make(const MountConfig& mount) {
  ASSIGN_OR_RETURN(SourceDir source, SourceDir::At(mount.source));
  ASSIGN_OR_RETURN(std::string state, StatePath(mount));
  absl::StatusOr<Catalogue> catalogue = LoadCatalogue(CataloguePath(state));
  if (!catalogue.ok()) return UnreadCatalogue(catalogue.status());
  MountConfig with_sizes = mount;
  // If the size is not known, what follows from it is not proven: the hash of
  // its keys is another one.
  FindTierCapacity(with_sizes).IgnoreError();
  return LedgerReplay(std::move(with_sizes), std::move(source),
                      std::move(state),
                      std::make_shared<const Catalogue>(*std::move(catalogue)));
}

absl::StatusOr<LedgerProof> LedgerReplay::Verify(const FilePlace& ledger) {
  return VerifyLedger(ledger,
                      [this](const LedgerEpoch& epoch)
                          -> absl::StatusOr<std::shared_ptr<const Binding>> {
                        ASSIGN_OR_RETURN(Replayed replayed, Replay(epoch));
                        return std::move(replayed.binding);
                      });
}

absl::StatusOr<std::shared_ptr<const ViewSetup>> LedgerReplay::SetupOf(
    const ViewConfig& config) {
  std::shared_ptr<const ViewSetup>& setup =
      setups_[EffectiveToml(mount_, config)];
  if (setup == nullptr) {
    // With the mount, because its views share the tier, and a file belongs to
    // the innermost one alone.
    SetupTools tools = ToolsWithoutMount(source_, AllPolicies(), &mount_);
    // The mount's orders are by the places that it found.
    tools.addresses = [this](const Dataset& dataset) {
      return DeviceAddressFinder(source_, FilePlace(state_ + "/" + kPlacesFile),
                                 DeviceAddressFinder::Keep::kNo)
          .Find(dataset);
    };
    ASSIGN_OR_RETURN(setup, MakeViewSetup(config, catalogue_, tools, nullptr));
  }
  return setup;
}

absl::StatusOr<LedgerReplay::Replayed> LedgerReplay::Replay(
    const LedgerEpoch& epoch) {
  if (epoch.fingerprint != catalogue_->samples_fingerprint()) {
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
  Replayed replayed;
  ASSIGN_OR_RETURN(replayed.setup, SetupOf(config));
  if (replayed.setup->options_hash != epoch.options_hash) {
    return absl::FailedPreconditionError(
        "other keys, other groups or other places of files on the device were "
        "in effect then");
  }
  ASSIGN_OR_RETURN(RetainedBindings retained,
                   epoch.repeats
                       ? RetainedBindings::MakeRepeating(epoch.retained)
                       : RetainedBindings::Make(epoch.retained));
  replayed.binding = std::make_shared<const Binding>(
      std::make_shared<const Plan>(replayed.setup->dataset,
                                   replayed.setup->policy, epoch.seed,
                                   epoch.binding),
      std::move(retained), epoch.identity);
  return replayed;
}

absl::Status LedgerReplay::CompareOrder(absl::string_view order,
                                        const Replayed& replayed) {
  const Catalogue& catalogue = replayed.setup->dataset->catalogue();
  uint64_t lines = 0;
  RETURN_IF_ERROR(ForEachOrderLine(order, [&](const OrderLine& line) {
    ++lines;
    const absl::optional<EntryId> sample = catalogue.FindPath(line.sample);
    const absl::optional<EntryId> shown = ShownBy(line, replayed);
    if (sample && shown == sample && HasRank(line.rank, *sample, replayed)) {
      return absl::OkStatus();
    }
    return absl::DataLossError(
        absl::StrCat("the mount shows ", line.sample, " as ", line.name,
                     " at rank ", line.rank, ", the ledger says ",
                     shown ? absl::StrCat(catalogue.path(*shown), " at ",
                                          RankText(*shown, replayed))
                           : "that there is no such name"));
  }));
  const uint64_t files = FilesInOrder(replayed.binding->plan().view_order(),
                                      replayed.setup->dataset->grouping());
  if (lines == files) return absl::OkStatus();
  return absl::DataLossError(
      absl::StrCat("the mount's order lists ", lines, " files of ", files));
}

absl::Status LedgerReplay::CompareBound(absl::string_view order,
                                        const Replayed& replayed,
                                        const std::vector<NameBinding>& bound) {
  const Dataset& dataset = *replayed.setup->dataset;
  const Grouping& grouping = dataset.grouping();
  absl::flat_hash_map<uint64_t, uint64_t> listed;  // name -> sample
  RETURN_IF_ERROR(ForEachOrderLine(order, [&](const OrderLine& line) {
    const auto name = PlaceOf(line.name, dataset);
    const auto sample = PlaceOf(line.sample, dataset);
    if (!name || !sample || name->group != sample->group ||
        name->column != sample->column) {
      return absl::DataLossError(absl::StrCat("the mount shows ", line.sample,
                                              " as ", line.name,
                                              ", which is not of its group"));
    }
    const uint64_t first = grouping.group(name->group).first_sample;
    const auto [it, added] =
        listed.try_emplace(first + name->index, first + sample->index);
    if (added || it->second == first + sample->index) return absl::OkStatus();
    return absl::DataLossError(absl::StrCat(
        "the mount shows files of two samples as those of ", line.name));
  }));
  const auto path = [&](uint64_t sample) {
    return dataset.catalogue().path(grouping.first_member(SampleId(sample)));
  };
  for (const NameBinding& pair : bound) {
    const auto it = listed.find(pair.name);
    if (it != listed.end() && it->second == pair.sample) continue;
    return absl::DataLossError(absl::StrCat(
        "the mount shows ",
        it == listed.end() ? "nothing yet" : path(it->second), " as ",
        path(pair.name), ", the ledger says ", path(pair.sample)));
  }
  return absl::OkStatus();
}

}  // namespace shufflefs
