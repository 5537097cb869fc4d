// SPDX-License-Identifier: Apache-2.0
#include "mount-tools/ctl/verify/verify_command.h"

#include <CLI/CLI.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/status.h"
#include "core/config/config.h"
#include "core/config/value_text.h"
#include "mount-tools/config/paths.h"
#include "mount-tools/ctl/mount_client.h"
#include "mount-tools/ctl/status_text.h"
#include "mount-tools/ctl/verify/ledger_replay.h"
#include "mount-tools/ctl/verify/proof_text.h"

namespace shufflefs {
namespace {

class VerifyCommand : public Command {
 public:
  absl::string_view name() const override { return "verify"; }
  absl::string_view help() const override {
    return "prove that each sample was shown once an epoch";
  }

  void Declare(CLI::App& app) override {
    DeclareMountPath(app, /*positional=*/true, choice_.path);
    app.add_flag("--json", json_, "print JSON");
    app.add_option("--with", others_,
                   "the ledger of another node of the job, copied here")
        ->type_name("FILE");
  }

  absl::Status Run(const CommandContext& context) override {
    ASSIGN_OR_RETURN(const MountClient mount,
                     MountClient::Find(choice_, context.cwd));
    std::vector<std::string> others;
    for (const std::string& path : others_) {
      others.push_back(AbsolutePath(path, context.cwd));
    }
    ASSIGN_OR_RETURN(VerifyResult result, Verify(mount, others));
    // The mount may have begun the next epoch in between, but not twice.
    if (result.broken()) {
      ASSIGN_OR_RETURN(result, Verify(mount, others));
    }
    *context.out << (json_ ? ProofJson(result) : ProofText(result));
    if (!result.broken()) return absl::OkStatus();
    return absl::DataLossError(
        "the ledger contradicts what was promised; report it with the output "
        "of: shufflectl doctor");
  }

 private:
  static absl::StatusOr<VerifyResult> Verify(
      const MountClient& mount, const std::vector<std::string>& others);
  // Compares the current epochs with what the mount shows.
  static absl::Status CompareLive(const MountClient& mount,
                                  const std::vector<ViewConfig>& views,
                                  LedgerReplay& replay, VerifyResult& result);
  // Proves the ledgers of other nodes, and all together.
  static absl::Status AddOthers(LedgerReplay& replay,
                                const std::vector<std::string>& others,
                                VerifyResult& result);

  MountChoice choice_;
  bool json_ = false;
  std::vector<std::string> others_;
};

absl::Status VerifyCommand::AddOthers(LedgerReplay& replay,
                                      const std::vector<std::string>& others,
                                      VerifyResult& result) {
  if (others.empty()) return absl::OkStatus();
  std::vector<FilePlace> ledgers = {replay.ledger()};
  for (const std::string& path : others) {
    ledgers.emplace_back(path);
    absl::StatusOr<LedgerProof> proof = replay.Verify(ledgers.back());
    if (absl::IsFailedPrecondition(proof.status())) {
      return absl::FailedPreconditionError(absl::StrCat(
          "--with ", path,
          ": is no ledger of this version; copy the file ledger from the state "
          "directory of the other node"));
    }
    RETURN_IF_ERROR(proof.status());
    result.others.push_back({path, *std::move(proof)});
  }
  ASSIGN_OR_RETURN(result.joint, JoinLedgers(ledgers));
  return absl::OkStatus();
}

absl::StatusOr<VerifyResult> VerifyCommand::Verify(
    const MountClient& mount, const std::vector<std::string>& others) {
  ASSIGN_OR_RETURN(const MountConfig config, mount.ReadConfig());
  // Before there is a catalogue a view has no files, and this says so.
  const MountClient first(mount.mountpoint(),
                          ViewName(config.views.front().path));
  RETURN_IF_ERROR(first.Read("control").status());
  ASSIGN_OR_RETURN(LedgerReplay replay, LedgerReplay::Make(config));
  VerifyResult result;
  ASSIGN_OR_RETURN(result.proof, replay.Verify());
  RETURN_IF_ERROR(AddOthers(replay, others, result));
  RETURN_IF_ERROR(CompareLive(mount, config.views, replay, result));
  return result;
}

absl::Status VerifyCommand::CompareLive(const MountClient& mount,
                                        const std::vector<ViewConfig>& views,
                                        LedgerReplay& replay,
                                        VerifyResult& result) {
  for (const EpochProof& epoch : result.proof.epochs) {
    if (!epoch.running || !epoch.bijection.ok()) continue;
    for (const ViewConfig& view : views) {
      if (view.path != epoch.begin.view_path) continue;
      const std::string name = ViewName(view.path);
      const MountClient client(mount.mountpoint(), name);
      ASSIGN_OR_RETURN(const std::string order, client.Read("order"));
      // Asked after the order: an epoch that begins without a record is not
      // shown before its view warns.
      ASSIGN_OR_RETURN(const std::string status, client.Read("status"));
      ASSIGN_OR_RETURN(std::string late, LedgerWarning(status, name));
      if (!late.empty()) {
        result.not_compared[view.path] = std::move(late);
        continue;
      }
      ASSIGN_OR_RETURN(const LedgerReplay::Replayed replayed,
                       replay.Replay(epoch.begin));
      result.live[view.path] =
          epoch.begin.reactive
              ? LedgerReplay::CompareBound(order, replayed, epoch.bound)
              : LedgerReplay::CompareOrder(order, replayed);
    }
  }
  return absl::OkStatus();
}

}  // namespace

std::unique_ptr<Command> MakeVerifyCommand() {
  return std::make_unique<VerifyCommand>();
}

}  // namespace shufflefs
