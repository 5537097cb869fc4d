// SPDX-License-Identifier: Apache-2.0
// LedgerReplay makes the bindings of a mount's ledger again, from its saved
// catalogue and its configuration, and compares them with what the mount shows.
#ifndef SHUFFLEFS_MOUNT_TOOLS_CTL_VERIFY_LEDGER_REPLAY_H_
#define SHUFFLEFS_MOUNT_TOOLS_CTL_VERIFY_LEDGER_REPLAY_H_

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/base/files/owned_dir.h"
#include "core/binding/binding.h"
#include "core/config/config.h"
#include "core/engine/state_dir.h"
#include "core/ledger/ledger_format.h"
#include "core/policy/retained_bindings.h"
#include "core/source/source_dir.h"
#include "core/verify/verify.h"
#include "core/view/view_setup.h"

namespace shufflefs {

// Not thread-safe: it remembers the setups that it made. Needs no mount.
class LedgerReplay {
 public:
  // Takes the source, the state directory, the tier's size and all views from
  // `mount`: orders may follow from any of them. Errors: those of opening the
  // source and of LoadCatalogue.
  static absl::StatusOr<LedgerReplay> Make(const MountConfig& mount);

  // Proves the whole ledger of the mount, or that of another node, which has
  // the same dataset and keys. Errors: those of VerifyLedger.
  absl::StatusOr<LedgerProof> Verify() { return Verify(ledger()); }
  absl::StatusOr<LedgerProof> Verify(const FilePlace& ledger);

  FilePlace ledger() const { return LedgerPath(state_); }

  struct Replayed {
    std::shared_ptr<const ViewSetup> setup;
    std::shared_ptr<const Binding> binding;
  };
  // The binding of a record. FailedPrecondition if the dataset or the keys have
  // changed.
  absl::StatusOr<Replayed> Replay(const LedgerEpoch& epoch);

  // Checks that `order`, the content of the mount's control file, is the
  // binding in its order. DataLoss names the first wrong line.
  static absl::Status CompareOrder(absl::string_view order,
                                   const Replayed& replayed);
  // The same for a reactive epoch, whose order lists what is bound so far.
  // Checks that each of `bound` is listed, and that the other names show
  // samples of their groups.
  static absl::Status CompareBound(absl::string_view order,
                                   const Replayed& replayed,
                                   const std::vector<NameBinding>& bound);

 private:
  LedgerReplay(MountConfig mount, SourceDir source, std::string state,
               std::shared_ptr<const Catalogue> catalogue)
      : mount_(std::move(mount)),
        state_(std::move(state)),
        source_(std::move(source)),
        catalogue_(std::move(catalogue)) {}

  absl::StatusOr<std::shared_ptr<const ViewSetup>> SetupOf(
      const ViewConfig& config);

  // Constant after Make.
  MountConfig mount_;
  std::string state_;  // the path of its directory
  SourceDir source_;
  std::shared_ptr<const Catalogue> catalogue_;

  // By the configuration as TOML.
  std::map<std::string, std::shared_ptr<const ViewSetup>> setups_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_MOUNT_TOOLS_CTL_VERIFY_LEDGER_REPLAY_H_
