// SPDX-License-Identifier: Apache-2.0
#include "mount-tools/ctl/status_command.h"

#include <CLI/CLI.hpp>
#include <string>

#include "absl/status/statusor.h"
#include "core/base/status.h"
#include "mount-tools/ctl/mount_client.h"
#include "mount-tools/ctl/status_text.h"

namespace shufflefs {
namespace {

class StatusCommand : public Command {
 public:
  absl::string_view name() const override { return "status"; }
  absl::string_view help() const override {
    return "what a mount does: policy, epoch, waiting, warnings";
  }

  void Declare(CLI::App& app) override {
    DeclareMountChoice(app, /*positional=*/true, choice_);
    app.add_flag("--json", json_, "print the mount's own JSON");
  }

  absl::Status Run(const CommandContext& context) override {
    ASSIGN_OR_RETURN(const MountClient mount,
                     MountClient::Find(choice_, context.cwd));
    ASSIGN_OR_RETURN(const std::string status, mount.Read("status"));
    if (json_) {
      *context.out << status;
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(const std::string text, StatusText(status));
    *context.out << text;
    return absl::OkStatus();
  }

 private:
  MountChoice choice_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeStatusCommand() {
  return std::make_unique<StatusCommand>();
}

}  // namespace shufflefs
