// SPDX-License-Identifier: Apache-2.0
#include "mount-tools/ctl/status_command.h"

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/status.h"
#include "core/config/value_text.h"
#include "mount-tools/ctl/list/mount_facts.h"
#include "mount-tools/ctl/mount_client.h"
#include "mount-tools/ctl/status_text.h"
#include "mount-tools/ctl/watch/watch_command.h"

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
    CLI::Option* json =
        app.add_flag("--json", json_, "print the mount's own JSON");
    app.add_flag("--watch", watch_, "show rates again and again, as top does")
        ->excludes(json);
    DeclareWatch(app, options_);
  }

  absl::Status Run(const CommandContext& context) override {
    if (watch_) {
      options_.choice = choice_;
      return Watch(options_, context);
    }
    ASSIGN_OR_RETURN(const std::vector<MountEntry> table, ReadMountInfo());
    ASSIGN_OR_RETURN(const std::vector<MountEntry> mounts,
                     ChooseMounts(choice_, context.cwd, table));
    if (mounts.size() > 1) return ShowAll(mounts, context);
    ASSIGN_OR_RETURN(const MountClient mount,
                     MountClient::At(mounts.front().mountpoint, choice_.view));
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
  // A mount that does not answer prevents no other one.
  absl::Status ShowAll(const std::vector<MountEntry>& mounts,
                       const CommandContext& context) const {
    for (const MountEntry& mount : mounts) {
      const MountFacts facts = AskFacts(mount, choice_.view);
      const std::string why = WhyNoStatus(facts);
      if (json_) {
        *context.out << StatusJsonLine(facts.mountpoint, facts.status, why);
        continue;
      }
      const absl::StatusOr<std::string> text = StatusText(facts.status);
      *context.out << ShownPath(facts.mountpoint)
                   << (text.ok() ? ":\n" + *text : ": " + why + "\n");
    }
    return absl::OkStatus();
  }

  MountChoice choice_;
  WatchOptions options_;
  bool json_ = false;
  bool watch_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeStatusCommand() {
  return std::make_unique<StatusCommand>();
}

}  // namespace shufflefs
