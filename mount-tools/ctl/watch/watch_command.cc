// SPDX-License-Identifier: Apache-2.0
#include "mount-tools/ctl/watch/watch_command.h"

#include <CLI/CLI.hpp>
#include <chrono>
#include <map>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "core/base/interruptible_sleep.h"
#include "core/base/status.h"
#include "core/config/value_text.h"
#include "mount-tools/ctl/list/mount_facts.h"
#include "mount-tools/ctl/watch/rate_text.h"
#include "mount-tools/daemon/interrupt.h"

namespace shufflefs {
namespace {

constexpr char kClearScreen[] = "\x1b[H\x1b[J";

// The mounts, as they were at the last look.
class WatchedMounts {
 public:
  WatchedMounts(MountChoice choice, std::string cwd)
      : choice_(std::move(choice)), cwd_(std::move(cwd)) {}

  // The lines since the last look. Errors: those of ChooseMounts.
  absl::StatusOr<std::string> Look();

 private:
  const MountChoice choice_;
  const std::string cwd_;
  std::map<std::string, StatusSample> last_;  // by mount point
};

absl::StatusOr<std::string> WatchedMounts::Look() {
  ASSIGN_OR_RETURN(const std::vector<MountEntry> table, ReadMountInfo());
  ASSIGN_OR_RETURN(const std::vector<MountEntry> mounts,
                   ChooseMounts(choice_, cwd_, table));
  std::map<std::string, StatusSample> now;
  std::string lines;
  for (const MountEntry& mount : mounts) {
    const MountFacts facts = AskFacts(mount, choice_.view);
    const std::chrono::duration<double> time =
        std::chrono::steady_clock::now().time_since_epoch();
    const StatusSample sample = {facts.status, time.count()};
    const auto last = last_.find(mount.mountpoint);
    const absl::StatusOr<std::string> rates = RateLines(
        ShownPath(mount.mountpoint),
        last == last_.end() ? absl::nullopt : absl::make_optional(last->second),
        sample);
    absl::StrAppend(&lines, rates.ok()
                                ? *rates
                                : absl::StrCat(ShownPath(mount.mountpoint),
                                               ": ", WhyNoStatus(facts), "\n"));
    now[mount.mountpoint] = sample;
  }
  last_ = std::move(now);
  return lines;
}

class TopCommand : public Command {
 public:
  absl::string_view name() const override { return "top"; }
  absl::string_view help() const override {
    return "watch mounts: rates, waiting, end of the epoch";
  }

  void Declare(CLI::App& app) override {
    DeclareMountChoice(app, /*positional=*/true, options_.choice);
    DeclareWatch(app, options_);
  }

  absl::Status Run(const CommandContext& context) override {
    return Watch(options_, context);
  }

 private:
  WatchOptions options_;
};

}  // namespace

std::unique_ptr<Command> MakeTopCommand() {
  return std::make_unique<TopCommand>();
}

void DeclareWatch(CLI::App& app, WatchOptions& options) {
  app.add_option("--interval", options.interval,
                 "time between two tables (default: 2s)")
      ->type_name("TIME");
  app.add_option("--count", options.count,
                 "number of tables (default: until interrupted)")
      ->type_name("N");
}

absl::Status Watch(const WatchOptions& options, const CommandContext& context) {
  const auto interval = ParseDuration(options.interval);
  if (!interval || interval->count() <= 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("--interval ", options.interval,
                     ": must be a time such as 500ms or 10s"));
  }
  const Interrupt interrupt;
  WatchedMounts mounts(options.choice, context.cwd);
  absl::StatusOr<std::string> lines = mounts.Look();
  if (!lines.ok()) return lines.status();
  const auto show = [&] {
    if (context.out_terminal) *context.out << kClearScreen << RateTitles();
    *context.out << *lines << std::flush;
  };
  if (context.out_terminal) {
    show();  // an epoch and its share are known at once
  } else {
    *context.out << RateTitles() << std::flush;
  }
  for (uint64_t shown = 0; options.count == 0 || shown < options.count;
       ++shown) {
    if (!WaitUnlessStopped(interrupt.token(), *interval)) break;
    lines = mounts.Look();
    if (!lines.ok()) {
      *context.err << "shufflectl: " << lines.status().message() << "\n";
      break;
    }
    show();
    if (!*context.out) break;
  }
  return absl::OkStatus();
}

}  // namespace shufflefs
