// SPDX-License-Identifier: Apache-2.0
#include "core/view/effect.h"

#include "absl/strings/str_cat.h"
#include "core/config/value_text.h"
#include "core/view/opens_seen.h"

namespace shufflefs {
namespace {

// Returns whether the policy is one that shows, orders or holds samples in its
// own way, as `native` is not.
bool WantsFiles(const Policy& policy) {
  return policy.consumption() != Consumption::kSource;
}

// What the names of files show.
std::string NamesLine(const ViewSetup& setup) {
  const Dataset& dataset = *setup.dataset;
  if (setup.config.layout == Layout::kRanked) {
    return setup.policy->consumption() == Consumption::kSource
               ? "file names are sorted as in the source"
               : "file names are sorted by their rank in the epoch";
  }
  if (!setup.rebinds()) return "file names keep their samples";
  const bool in_tree = setup.config.substitute == Substitute::kTree;
  return absl::StrCat("file names may show other samples of ",
                      in_tree                        ? "the whole view"
                      : !setup.config.groups.empty() ? "their group"
                      : dataset.grouping().group_count() == 1
                          ? "their directory"
                          : "their class");
}

// Returns whether there are containers, and all turned out to stay as they are.
bool NoneIsShuffled(const ViewSetup& setup) {
  const ContainerSet* const containers = setup.records.containers.get();
  return setup.config.layout == Layout::kTree && !setup.rebinds() &&
         setup.policy->shuffles_records() && containers != nullptr &&
         containers->count() == 0 && !containers->Report().untouched.empty();
}

}  // namespace

std::string ShownLine(const ViewSetup& setup) {
  const std::string start = absl::StrCat("policy ", setup.policy->name(), "; ");
  const ContainerSet* const containers = setup.records.containers.get();
  if (setup.records.producer == nullptr || containers == nullptr ||
      !ShufflesRecords(*setup.policy, setup.config, *setup.dataset)) {
    return start + NamesLine(setup);
  }
  return absl::StrCat(start, "records of ",
                      Counted(containers->count(), "container", "containers"),
                      " are shuffled; ", NamesLine(setup));
}

std::string HeldLine(absl::string_view reason) {
  return absl::StrCat("epoch held (", reason,
                      "): a pass ended, but the names keep their samples; "
                      "write epoch = \"next\" or set epoch.length");
}

std::string BegunLine(const ViewSetup& setup, Epoch epoch) {
  const std::string& path = setup.config.path;
  return absl::StrCat(path, path.empty() ? "" : ": ", "epoch ", epoch.value(),
                      " begins, policy ", setup.policy->name());
}

bool ProgramOrders(const ViewSetup& setup) {
  return setup.config.layout == Layout::kTree && !setup.rebinds() &&
         setup.records.producer == nullptr;
}

std::string PassWarning(const ViewSetup& setup, ReadBefore waits_for) {
  if (waits_for != ReadBefore::kUnknown || !PassesOfRecordsCount(setup)) {
    return "";
  }
  return "containers keep the source's order, because nobody knows what was "
         "read of them before the catalogue was ready; write epoch = \"next\" "
         "between two passes";
}

std::string OpensWarning(const ViewSetup& setup, bool records,
                         bool sees_opens) {
  if (sees_opens || !EndsByOpens(setup, records)) return "";
  return "this mount does not see opens, so only the control file advances the "
         "epoch; for epoch.advance = auto, mount with -o open=seen";
}

std::string SharingWarning(const ViewSetup& setup, const NameSharing& sharing) {
  if (setup.shared == nullptr || !sharing.members.empty()) return "";
  return "peers: names show their own samples: not all nodes have joined, or "
         "they joined after something was read and share the next epoch; see "
         "shufflectl peers";
}

std::string SwitchWarning(const ViewSetup& now, const ViewSetup& next,
                          bool returns) {
  std::string effect = EffectWarning(next);
  if (!effect.empty()) return effect;
  const std::string start =
      absl::StrCat("policy = ", next.policy->name(), " waits ");
  if (returns) {
    return absl::StrCat(
        start,
        "until the names that a reader opens first in a pass show their own "
        "samples; epoch = \"next\" between two passes ends that");
  }
  // With epoch.advance = manual the user knows it.
  if (now.config.epoch_advance != Advance::kAuto ||
      EndsByOpens(now, ShowsEpochs(now))) {
    return "";
  }
  return absl::StrCat(start,
                      "for epoch = \"next\" in the control file: no open "
                      "shows where a pass ends");
}

std::string EffectWarning(const ViewSetup& setup) {
  const Policy& policy = *setup.policy;
  // Whoever asks for ranks wants an order, also if nobody named a policy.
  if (setup.config.layout == Layout::kRanked &&
      policy.consumption() == Consumption::kSource) {
    return absl::StrCat("layout = ranked: policy = ", policy.name(),
                        " sorts names as in the source, in every epoch; name a "
                        "policy that shuffles");
  }
  // With substitute = never the user knows it.
  const bool expects = setup.config.policy == policy.name() &&
                       setup.config.substitute != Substitute::kNever;
  const std::string start = absl::StrCat("policy = ", policy.name());
  if (expects && NoneIsShuffled(setup)) {
    const UntouchedFile first =
        setup.records.containers->Report().untouched.front();
    return absl::StrCat(start, " shuffles no container. The first of those ",
                        "that stay as they are: ", first.path, ": ", first.why);
  }
  if (!expects || !ProgramOrders(setup)) return "";
  if (WantsFiles(policy)) {
    return absl::StrCat(
        start, " does not shuffle: names keep their samples (",
        setup.dataset->substitute_reason(),
        "). Only the order of listings changes. Use layout=ranked, or "
        "substitute=directory if each directory is a class; `shufflectl check` "
        "names a policy that suits");
  }
  if (policy.shuffles_records()) {
    return absl::StrCat(
        start,
        " changes nothing: it shuffles records, and no file here is a "
        "container. ",
        setup.config.record.as.empty() ? "Name the format in"
                                       : "Correct the patterns of",
        " record.as, or use the policy that `shufflectl check` names");
  }
  return "";
}

}  // namespace shufflefs
