// SPDX-License-Identifier: Apache-2.0
#include "mount-tools/ctl/run/run_command.h"

#include <stdlib.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "core/base/status.h"
#include "mount-tools/config/paths.h"
#include "mount-tools/ctl/end_mount.h"
#include "mount-tools/ctl/run/passed_signals.h"
#include "mount-tools/ctl/run/private_dir.h"
#include "mount-tools/ctl/run/shufflefs_program.h"
#include "mount-tools/daemon/command_line.h"
#include "mount-tools/daemon/mount_table.h"

namespace shufflefs {
namespace {

// As env, timeout and docker have them.
constexpr int kOurFailure = 125;
constexpr int kCannotExecute = 126;
constexpr int kNotFound = 127;

bool IsMounted(const std::string& mountpoint) {
  const absl::StatusOr<std::vector<MountEntry>> mounts = ReadMountInfo();
  if (!mounts.ok()) return true;
  return std::any_of(mounts->begin(), mounts->end(), [&](const auto& mount) {
    return mount.mountpoint == mountpoint;
  });
}

// Ends the mount. If a process that the command left behind uses it, the mount
// is detached.
absl::Status Unmounted(const std::string& mountpoint,
                       const CommandContext& context) {
  EndMountOptions options;
  const absl::Status status = EndMount(mountpoint, options);
  if (status.ok() || absl::IsDeadlineExceeded(status)) return status;
  *context.err << "shufflectl: " << status.message()
               << "; detached, so it ends when they do\n";
  options.lazy = true;
  return EndMount(mountpoint, options);
}

class RunCommand : public Command {
 public:
  absl::string_view name() const override { return "run"; }
  absl::string_view help() const override {
    return "mount, run a command on the mount, unmount";
  }
  std::vector<std::string>* program() override { return &program_; }
  int ExitStatus(const absl::Status&) const override { return exit_; }

  void Declare(CLI::App& app) override {
    app.add_option("source", source_, "the directory of the dataset")
        ->type_name("SOURCE")
        ->required();
    app.add_option("-o", options_, "keys, as shufflefs takes them")
        ->type_name("KEY=VALUE,...")
        ->allow_extra_args(false);
    app.add_option("--config", config_, "a TOML file, as shufflefs takes it")
        ->type_name("FILE");
    app.add_option("-I,--replace", mark_,
                   "what stands for the mount point in COMMAND (default: {})")
        ->type_name("TEXT");
    app.footer(
        "Then -- and the command with its arguments:\n"
        "  shufflectl run -o policy=lirs DATA -- python train.py {}");
  }

  absl::Status Run(const CommandContext& context) override;

 private:
  // The words of shufflefs for a mount at `dir`.
  absl::StatusOr<std::vector<std::string>> MountWords(
      const PrivateDir& dir, const CommandContext& context) const;
  absl::Status Mount(const PrivateDir& dir, const PassedSignals& signals,
                     const CommandContext& context);
  absl::Status RunProgram(const PrivateDir& dir, const PassedSignals& signals);
  // What stays behind is said in one line.
  static absl::Status End(const PrivateDir& dir, const CommandContext& context);

  std::string source_;
  std::vector<std::string> options_;
  std::string config_;
  std::string mark_ = "{}";
  std::vector<std::string> program_;
  int exit_ = kOurFailure;
};

absl::StatusOr<std::vector<std::string>> RunCommand::MountWords(
    const PrivateDir& dir, const CommandContext& context) const {
  std::vector<std::string> words;
  if (!config_.empty()) {
    words = {"--config", AbsolutePath(config_, context.cwd)};
  }
  for (const std::string& option : options_) {
    words.insert(words.end(), {"-o", option});
  }
  words.insert(words.end(),
               {AbsolutePath(source_, context.cwd), dir.mountpoint()});
  ASSIGN_OR_RETURN(const CommandLine line,
                   ParseCommandLine(words, context.cwd));
  if (line.config.state.empty()) {
    const std::string state =
        absl::StrReplaceAll(dir.state(), {{"\\", "\\\\"}, {",", "\\,"}});
    words.insert(words.begin(), {"-o", absl::StrCat("state=", state)});
  }
  words.insert(words.begin(), ShufflefsProgram());
  return words;
}

absl::Status RunCommand::Mount(const PrivateDir& dir,
                               const PassedSignals& signals,
                               const CommandContext& context) {
  ASSIGN_OR_RETURN(const std::vector<std::string> words,
                   MountWords(dir, context));
  ASSIGN_OR_RETURN(const pid_t child, signals.Start(words, /*apart=*/true));
  int came = 0;
  const int status = signals.AwaitUnless(child, came);
  if (status == 0) return absl::OkStatus();
  if (came != 0) {
    exit_ = status;
    return absl::CancelledError(absl::StrCat("interrupted while mounting; ",
                                             program_[0], " was not started"));
  }
  return absl::UnavailableError(absl::StrCat(source_, ": not mounted; ",
                                             program_[0], " was not started"));
}

absl::Status RunCommand::RunProgram(const PrivateDir& dir,
                                    const PassedSignals& signals) {
  const std::string mountpoint = dir.mountpoint();
  if (setenv("SHUFFLEFS_MOUNT", mountpoint.c_str(), 1) != 0) {
    return ErrnoStatus(errno, "SHUFFLEFS_MOUNT");
  }
  const absl::StatusOr<pid_t> child = signals.Start(
      WithMountpoint(program_, mark_, mountpoint), /*apart=*/false);
  if (!child.ok()) {
    const int error = ErrnoOf(child.status()).value_or(0);
    if (error != EAGAIN && error != ENOMEM) {
      exit_ = error == ENOENT ? kNotFound : kCannotExecute;
    }
    return child.status();
  }
  exit_ = signals.AwaitAndPass(*child);
  return absl::OkStatus();
}

absl::Status RunCommand::End(const PrivateDir& dir,
                             const CommandContext& context) {
  absl::Status unmounted;
  absl::Status removed;
  // A daemon that was still starting may mount after the first look.
  for (int tries = 0; tries < 3; ++tries) {
    if (IsMounted(dir.mountpoint())) {
      unmounted = Unmounted(dir.mountpoint(), context);
    }
    removed = dir.Remove();
    if (ErrnoOf(removed) != EBUSY) break;
  }
  if (removed.ok()) return unmounted;
  return absl::UnavailableError(
      absl::StrCat(unmounted.ok() ? removed.message() : unmounted.message(),
                   "; end it with: shufflectl umount ", dir.mountpoint()));
}

absl::Status RunCommand::Run(const CommandContext& context) {
  if (program_.empty()) {
    return absl::InvalidArgumentError(
        "run: the command is missing: shufflectl run SOURCE -- COMMAND");
  }
  ASSIGN_OR_RETURN(const PrivateDir dir, PrivateDir::Make(PrivatePlaces()));
  const PassedSignals signals;
  absl::Status status = Mount(dir, signals, context);
  if (status.ok()) status = RunProgram(dir, signals);
  const absl::Status ended = End(dir, context);
  if (!ended.ok()) {
    *context.err << "shufflectl: " << ended.message() << "\n";
  }
  return status;
}

}  // namespace

std::unique_ptr<Command> MakeRunCommand() {
  return std::make_unique<RunCommand>();
}

std::vector<std::string> WithMountpoint(std::vector<std::string> words,
                                        const std::string& mark,
                                        const std::string& mountpoint) {
  if (mark.empty()) return words;
  for (std::string& word : words) {
    word = absl::StrReplaceAll(word, {{mark, mountpoint}});
  }
  return words;
}

}  // namespace shufflefs
