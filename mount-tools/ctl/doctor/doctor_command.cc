// SPDX-License-Identifier: Apache-2.0
#include "mount-tools/ctl/doctor/doctor_command.h"

#include <CLI/CLI.hpp>
#include <chrono>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "core/base/files/atomic_file.h"
#include "core/base/status.h"
#include "mount-tools/config/paths.h"
#include "mount-tools/ctl/doctor/doctor_text.h"
#include "mount-tools/ctl/doctor/program_output.h"
#include "mount-tools/ctl/mount_client.h"

namespace shufflefs {
namespace {

constexpr size_t kLogLines = 100;
constexpr std::chrono::milliseconds kLogTime{5000};

// The last lines of the daemons' log. "" if they cannot be read.
std::string LastLog() {
  const std::string lines = absl::StrCat(kLogLines);
  const std::string journal =
      ProgramOutput({"journalctl", "-q", "-t", "shufflefs", "-n", lines,
                     "--no-pager", "-o", "short-iso"},
                    kLogTime);
  if (!journal.empty()) return journal;
  const std::string all = ProgramOutput(
      {"grep", "-h", "shufflefs\\[", "/var/log/syslog"}, kLogTime);
  std::vector<std::string> last = absl::StrSplit(all, '\n', absl::SkipEmpty());
  if (last.size() > kLogLines) last.erase(last.begin(), last.end() - kLogLines);
  return last.empty() ? "" : absl::StrJoin(last, "\n") + "\n";
}

class DoctorCommand : public Command {
 public:
  absl::string_view name() const override { return "doctor"; }
  absl::string_view help() const override {
    return "report what a bug report needs, and what is wrong here";
  }

  void Declare(CLI::App& app) override {
    app.add_option("-o", file_, "file for the report (default: print it)")
        ->type_name("FILE");
    app.add_flag("--names", names_,
                 "include paths, names of files, and the log");
  }

  absl::Status Run(const CommandContext& context) override {
    DoctorReport report;
    report.system = FindSystemFacts();
    ASSIGN_OR_RETURN(const std::vector<MountEntry> mounts, ReadMountInfo());
    for (const MountEntry& mount : ShufflefsMounts(mounts)) {
      report.mounts.push_back(FindEvidence(mount, mounts));
    }
    report.log = LastLog();
    const std::string text = DoctorText(report, names_);
    if (file_.empty()) {
      *context.out << text;
      return absl::OkStatus();
    }
    return ReplaceFile(AbsolutePath(file_, context.cwd), {text});
  }

 private:
  std::string file_;
  bool names_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeDoctorCommand() {
  return std::make_unique<DoctorCommand>();
}

}  // namespace shufflefs
