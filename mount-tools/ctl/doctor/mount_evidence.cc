// SPDX-License-Identifier: Apache-2.0
#include "mount-tools/ctl/doctor/mount_evidence.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <fstream>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/types/optional.h"
#include "fs/fuse/run_apart.h"
#include "mount-tools/ctl/mount_client.h"

namespace shufflefs {
namespace {

// A figure of the disk's queue. "" if the device is no disk. A partition has it
// one directory above.
std::string QueueFigure(dev_t device, const std::string& name) {
  const std::string disk =
      absl::StrCat("/sys/dev/block/", major(device), ":", minor(device));
  for (const char* place : {"/queue/", "/../queue/"}) {
    std::string line;
    if (std::getline(std::ifstream(disk + place + name), line)) return line;
  }
  return "";
}

// Of the file system at `path`, which may hang.
std::string DeviceOf(const std::string& path,
                     const std::vector<MountEntry>& mounts) {
  const absl::optional<MountEntry> mount = MountAt(path, mounts);
  std::string text = mount ? mount->type : "unknown file system";
  struct stat st;
  if (stat(path.c_str(), &st) != 0) return text;
  for (const char* name : {"rotational", "read_ahead_kb", "scheduler"}) {
    const std::string value = QueueFigure(st.st_dev, name);
    if (!value.empty()) absl::StrAppend(&text, ", ", name, " ", value);
  }
  return text;
}

// The error file and the control file of each view, each ended by a zero byte.
std::string ReadControls(const MountFacts& facts) {
  std::string text =
      MountClient(facts.mountpoint, "").Read("error").value_or("");
  text.push_back('\0');
  // The status has no names that are not UTF-8.
  const absl::StatusOr<MountConfig> config =
      MountClient(facts.mountpoint, "").ReadConfig();
  if (!config.ok()) return text;
  for (const ViewConfig& view : config->views) {
    const MountClient client(facts.mountpoint, ViewName(view.path));
    absl::StrAppend(&text, client.Read("control").value_or(""));
    text.push_back('\0');
  }
  return text;
}

}  // namespace

MountEvidence FindEvidence(const MountEntry& mount,
                           const std::vector<MountEntry>& mounts) {
  MountEvidence evidence;
  evidence.facts = AskFacts(mount, /*view=*/"");
  FindDaemon(evidence.facts);
  evidence.device =
      RunApart([&] { return DeviceOf(mount.source, mounts); }, kPatience)
          .value_or("the source does not answer");
  if (evidence.facts.status.empty()) return evidence;
  const auto controls =
      RunApart([&] { return ReadControls(evidence.facts); }, kPatience);
  if (!controls) return evidence;
  evidence.controls = absl::StrSplit(*controls, '\0');
  evidence.controls.pop_back();  // after the last zero byte
  evidence.error = evidence.controls.front();
  evidence.controls.erase(evidence.controls.begin());
  return evidence;
}

}  // namespace shufflefs
