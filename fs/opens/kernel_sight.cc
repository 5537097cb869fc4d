// SPDX-License-Identifier: Apache-2.0
#include "fs/opens/kernel_sight.h"

#include <cstdlib>
#include <stop_token>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "core/base/status.h"

namespace shufflefs {

absl::StatusOr<KernelSight> KernelSight::Make(const MountConfig& config) {
  KernelSight sight;
  int group = -1;
  if (config.open == OpenMode::kObserved || config.open == OpenMode::kAuto) {
    OpenListener::Options options;
    // Lets you test what happens when the kernel's queue overflows.
    const char* const lose = std::getenv("SHUFFLEFS_LOSE_OPEN");
    if (lose != nullptr) options.lose = std::strtoull(lose, nullptr, 10);
    // Lets you test on a new kernel the behaviour of kernels before 6.8.
    const char* const reports = std::getenv("SHUFFLEFS_KERNEL_REPORTS");
    options.marks = reports == nullptr || absl::string_view(reports) != "no";
    sight.listener_ = OpenListener::Make(options);
    if (sight.listener_.ok()) group = (*sight.listener_)->group();
  }
  ASSIGN_OR_RETURN(sight.lister_, MountLister::Start(group));
  return sight;
}

std::string KernelSight::NoReports() const {
  const absl::Status& listens = listener_.status();
  if (listens.ok()) return "";
  if (absl::IsPermissionDenied(listens)) {
    return "the kernel reports opens to root only (CAP_SYS_ADMIN)";
  }
  return absl::StrCat("the kernel does not report opens: ", listens.message());
}

CachedFinder KernelSight::FinderFor(
    std::string mountpoint,
    std::function<const ServedDataset*()> served) const {
  return [lister = lister_.get(), mountpoint = std::move(mountpoint),
          served = std::move(served)](const std::vector<EntryId>& files,
                                      std::stop_token stop) {
    const ServedDataset* const dataset = served();
    if (dataset == nullptr) return std::vector<bool>();
    std::vector<std::string> paths;
    paths.reserve(files.size());
    for (const EntryId file : files) {
      paths.push_back(
          absl::StrCat(mountpoint, "/", dataset->catalogue().path(file)));
    }
    return lister->AreCached(paths, std::move(stop));
  };
}

}  // namespace shufflefs
