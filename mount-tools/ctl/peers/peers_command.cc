// SPDX-License-Identifier: Apache-2.0
#include "mount-tools/ctl/peers/peers_command.h"

#include <CLI/CLI.hpp>
#include <string>

#include "absl/status/statusor.h"
#include "core/base/status.h"
#include "mount-tools/ctl/mount_client.h"
#include "mount-tools/ctl/peers/peers_text.h"

namespace shufflefs {
namespace {

class PeersCommand : public Command {
 public:
  absl::string_view name() const override { return "peers"; }
  absl::string_view help() const override {
    return "show the other nodes of the job, and what they exchange";
  }

  void Declare(CLI::App& app) override {
    DeclareMountChoice(app, /*positional=*/true, choice_);
    app.add_flag("--json", json_, "print a JSON object");
  }

  absl::Status Run(const CommandContext& context) override {
    ASSIGN_OR_RETURN(const MountClient mount,
                     MountClient::Find(choice_, context.cwd));
    ASSIGN_OR_RETURN(const std::string status, mount.Read("status"));
    ASSIGN_OR_RETURN(const std::string text,
                     json_ ? PeersJsonLine(status) : PeersTable(status));
    *context.out << text;
    return absl::OkStatus();
  }

 private:
  MountChoice choice_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> MakePeersCommand() {
  return std::make_unique<PeersCommand>();
}

}  // namespace shufflefs
