// SPDX-License-Identifier: Apache-2.0
#include "mount-tools/ctl/token_command.h"

#include <CLI/CLI.hpp>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "core/base/files/atomic_file.h"
#include "core/base/status.h"
#include "core/config/config.h"
#include "core/engine/state_dir.h"
#include "core/ledger/ledger_history.h"
#include "core/view/epoch_token.h"
#include "fs/control/token_parts.h"
#include "mount-tools/config/config_file.h"
#include "mount-tools/config/paths.h"
#include "mount-tools/ctl/mount_client.h"
#include "mount-tools/ctl/status_text.h"
#include "mount-tools/ctl/whole_token.h"

namespace shufflefs {
namespace {

// The next epoch may begin between two reads of the mount, but hardly ever
// twice.
constexpr int kTries = 5;

std::string FileIn(const std::string& dir) { return dir + "/token"; }

// WholeToken with what the ledger at `path` says of the view.
absl::StatusOr<absl::optional<EpochToken>> FromLedger(const std::string& path,
                                                      const ViewConfig& view,
                                                      const EpochToken& token) {
  LedgerHistory history(LedgerKeep{});
  RETURN_IF_ERROR(ReplayLedger(path, history));
  const absl::optional<LedgerState> state =
      history.Find(view.path, [](const LedgerPass&) { return true; });
  if (!state) return absl::optional<EpochToken>();
  return WholeToken(token, *state);
}

// The mount's token with everything that belongs to it; the line itself may
// lack some of it.
absl::StatusOr<std::string> ReadWholeToken(const MountClient& mount) {
  absl::Status last = absl::UnavailableError(
      "the mount moves from epoch to epoch; save again when it reads one");
  for (int tries = 0; tries < kTries; ++tries) {
    ASSIGN_OR_RETURN(const std::string line, mount.Read("token"));
    ASSIGN_OR_RETURN(const EpochToken token, ParseToken(line));
    const bool whole = token.reactive()
                           ? token.pairs.has_value()
                           : token.read.size() >= token.position.value_or(0);
    if (whole) return line;
    ASSIGN_OR_RETURN(const std::string control, mount.Read("control"));
    ASSIGN_OR_RETURN(MountConfig config,
                     ParseConfig(control, mount.PathOf("control"), "/"));
    ASSIGN_OR_RETURN(const std::string status, mount.Read("status"));
    ASSIGN_OR_RETURN(const StatusNames names, NamesInStatus(status));
    config.source = names.source;
    config.mountpoint = mount.mountpoint();
    ASSIGN_OR_RETURN(const std::string state, StatePath(config));
    const absl::StatusOr<absl::optional<EpochToken>> whole_token =
        FromLedger(LedgerPath(state), config.views.front(), token);
    if (absl::IsFailedPrecondition(whole_token.status())) {
      last = whole_token.status();  // another epoch may have begun in between
      continue;
    }
    RETURN_IF_ERROR(whole_token.status());
    if (*whole_token) return TokenText(**whole_token);
  }
  return last;
}

class TokenCommand : public Command {
 public:
  absl::string_view name() const override { return "token"; }
  absl::string_view help() const override {
    return "save the epoch with a checkpoint, or go on with a saved one";
  }

  void Declare(CLI::App& app) override {
    DeclareMountChoice(app, /*positional=*/true, choice_);
    CLI::Option* save =
        app.add_option("--save", save_,
                       "write the epoch, and what was read of it, to DIR/token")
            ->type_name("DIR");
    app.add_option("--restore", restore_,
                   "go on with the epoch that was saved in DIR")
        ->type_name("DIR")
        ->excludes(save);
  }

  absl::Status Run(const CommandContext& context) override {
    ASSIGN_OR_RETURN(const MountClient mount,
                     MountClient::Find(choice_, context.cwd));
    if (!restore_.empty()) {
      RETURN_IF_ERROR(Restore(mount, AbsolutePath(restore_, context.cwd)));
      ASSIGN_OR_RETURN(const std::string status, mount.Read("status"));
      ASSIGN_OR_RETURN(const std::string text, EpochText(status, choice_.view));
      *context.out << text;
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(const std::string token, ReadWholeToken(mount));
    if (save_.empty()) {
      *context.out << token;
      return absl::OkStatus();
    }
    return Save(token, AbsolutePath(save_, context.cwd));
  }

 private:
  static absl::Status Save(const std::string& token, const std::string& dir) {
    std::error_code error;
    std::filesystem::create_directories(dir, error);
    if (error) return ErrnoStatus(error.value(), dir);
    return ReplaceFile(FileIn(dir), {token});
  }

  static absl::Status Restore(const MountClient& mount,
                              const std::string& dir) {
    ASSIGN_OR_RETURN(const std::string token,
                     ReadWholeFile(FileIn(dir), TokenParts::kMostBytes));
    RETURN_IF_ERROR(ParseToken(token).status());
    const uint64_t count = TokenParts::Count(token);
    if (count == 1) return mount.WriteToken(token);
    for (uint64_t number = 1; number <= count; ++number) {
      RETURN_IF_ERROR(mount.WriteToken(TokenParts::Part(token, number)));
    }
    return absl::OkStatus();
  }

  MountChoice choice_;
  std::string save_;
  std::string restore_;
};

}  // namespace

std::unique_ptr<Command> MakeTokenCommand() {
  return std::make_unique<TokenCommand>();
}

}  // namespace shufflefs
