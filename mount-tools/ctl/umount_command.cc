// SPDX-License-Identifier: Apache-2.0
#include "mount-tools/ctl/umount_command.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "core/config/value_text.h"
#include "fs/fuse/mount_point.h"
#include "mount-tools/ctl/daemon_end.h"
#include "mount-tools/ctl/mount_client.h"
#include "mount-tools/daemon/mount_table.h"
#include "mount-tools/daemon/unmount.h"

namespace shufflefs {
namespace {

class UmountCommand : public Command {
 public:
  absl::string_view name() const override { return "umount"; }
  absl::string_view help() const override {
    return "unmount, also a mount whose daemon is gone";
  }

  void Declare(CLI::App& app) override {
    DeclareMountPath(app, /*positional=*/true, choice_.path);
    app.add_flag("-l,--lazy", lazy_,
                 "detach now, even if files are open there");
    app.add_option("--wait", wait_,
                   "how long to try while the mount is busy, and then to wait "
                   "for its daemon to end (default: 5s)")
        ->type_name("TIME");
  }

  absl::Status Run(const CommandContext& context) override {
    UnmountOptions options;
    const auto wait = ParseDuration(wait_);
    if (!wait) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--wait ", wait_, ": must be a time such as 500ms or 10s"));
    }
    options.wait = *wait;
    ASSIGN_OR_RETURN(const std::vector<MountEntry> mounts, ReadMountInfo());
    ASSIGN_OR_RETURN(const MountEntry mount,
                     ChooseMount(choice_, context.cwd, mounts));
    // Our own working directory must not keep the mount busy.
    if (chdir("/") != 0) return ErrnoStatus(errno, "/");
    const MountState state = AskMount(mount.mountpoint, kPatience);
    options.lazy = lazy_ || state == MountState::kDead;
    // Otherwise readers there would wait for ever.
    if (lazy_ && state == MountState::kSilent) {
      RETURN_IF_ERROR(AbortMount(mount.mountpoint));
    }
    const bool waits = state == MountState::kAnswers && !lazy_ &&
                       options.wait > std::chrono::milliseconds(0);
    return waits ? UnmountAndAwait(mount.mountpoint, options)
                 : Detached(mount.mountpoint, options);
  }

 private:
  // Also waits until its daemon has ended.
  static absl::Status UnmountAndAwait(const std::string& mountpoint,
                                      const UnmountOptions& options) {
    DaemonEnd daemon(mountpoint, kPatience);
    RETURN_IF_ERROR(Detached(mountpoint, options));
    if (daemon.Await(std::chrono::steady_clock::now() + options.wait)) {
      return absl::OkStatus();
    }
    return absl::DeadlineExceededError(absl::StrCat(
        mountpoint, ": unmounted, but its daemon has not ended yet"));
  }

  static absl::Status Detached(const std::string& mountpoint,
                               const UnmountOptions& options) {
    const absl::Status status = Unmount(mountpoint, options);
    if (!absl::IsUnavailable(status)) return status;
    return absl::UnavailableError(absl::StrCat(
        status.message(), "; end them, or detach with: shufflectl umount -l ",
        mountpoint));
  }

  MountChoice choice_;
  bool lazy_ = false;
  std::string wait_ = "5s";
};

}  // namespace

std::unique_ptr<Command> MakeUmountCommand() {
  return std::make_unique<UmountCommand>();
}

}  // namespace shufflefs
