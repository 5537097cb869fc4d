// SPDX-License-Identifier: Apache-2.0
#include "mount-tools/ctl/run/run_command.h"

#include <stdlib.h>

#include <CLI/CLI.hpp>
#include <cerrno>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "core/base/status.h"
#include "mount-tools/ctl/run/passed_signals.h"
#include "mount-tools/ctl/run/temporary_mount.h"

namespace shufflefs {
namespace {

// As env, timeout and docker have them.
constexpr int kOurFailure = 125;
constexpr int kCannotExecute = 126;
constexpr int kNotFound = 127;

class RunCommand : public Command {
 public:
  absl::string_view name() const override { return "run"; }
  absl::string_view help() const override {
    return "mount, run a command on the mount, unmount";
  }
  std::vector<std::string>* program() override { return &program_; }
  int ExitStatus(const absl::Status&) const override { return exit_; }

  void Declare(CLI::App& app) override {
    app.add_option("source", request_.source, "the directory of the dataset")
        ->type_name("SOURCE")
        ->required();
    app.add_option("-o", request_.options, "keys, as shufflefs takes them")
        ->type_name("KEY=VALUE,...")
        ->allow_extra_args(false);
    app.add_option("--config", request_.config,
                   "a TOML file, as shufflefs takes it")
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
  absl::Status Mount(const TemporaryMount& mount, const PassedSignals& signals,
                     const CommandContext& context);
  absl::Status RunProgram(const std::string& mountpoint,
                          const PassedSignals& signals);

  MountRequest request_;
  std::string mark_ = "{}";
  std::vector<std::string> program_;
  int exit_ = kOurFailure;
};

absl::Status RunCommand::Mount(const TemporaryMount& mount,
                               const PassedSignals& signals,
                               const CommandContext& context) {
  int came = 0;
  const absl::Status status = mount.Start(request_, signals, context, came);
  if (status.ok() || absl::IsInvalidArgument(status)) return status;
  if (came != 0) exit_ = 128 + came;
  return absl::UnavailableError(
      absl::StrCat(status.message(), "; ", program_[0], " was not started"));
}

absl::Status RunCommand::RunProgram(const std::string& mountpoint,
                                    const PassedSignals& signals) {
  if (setenv("SHUFFLEFS_MOUNT", mountpoint.c_str(), 1) != 0) {
    return ErrnoStatus(errno, "SHUFFLEFS_MOUNT");
  }
  const absl::StatusOr<pid_t> child =
      signals.Start(WithMountpoint(program_, mark_, mountpoint), {});
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

absl::Status RunCommand::Run(const CommandContext& context) {
  if (program_.empty()) {
    return absl::InvalidArgumentError(
        "run: the command is missing: shufflectl run SOURCE -- COMMAND");
  }
  ASSIGN_OR_RETURN(const TemporaryMount mount, TemporaryMount::Make());
  const PassedSignals signals;
  absl::Status status = Mount(mount, signals, context);
  if (status.ok()) status = RunProgram(mount.mountpoint(), signals);
  const absl::Status ended = mount.End(context);
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
