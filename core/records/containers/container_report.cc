// SPDX-License-Identifier: Apache-2.0
// What a set of containers tells about itself.
#include <map>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/records/containers/container_set.h"

namespace shufflefs {
namespace {

// Files that have one group of rows each.
struct Unmixed {
  uint64_t files = 0;
  std::string first;
};

std::string WarningOf(RecordFormat format, const Unmixed& unmixed) {
  const bool parquet = format == RecordFormat::kParquet;
  const char* group = parquet ? "row group" : "record batch";
  const std::string which =
      unmixed.files == 1 ? absl::StrCat(unmixed.first, " has")
                         : absl::StrCat(unmixed.files, " files, the first ",
                                        unmixed.first, ", have");
  return absl::StrCat(which, " one ", group, unmixed.files == 1 ? "" : " each",
                      ", and nothing in it moves: write smaller ",
                      parquet ? "row groups" : "record batches");
}

}  // namespace

ContainerReport ContainerSet::Report() const {
  ContainerReport report;
  report.untouched = objections_;
  std::map<RecordFormat, Unmixed> unmixed;
  MutexLock lock(mu_);
  for (const Container& container : containers_) {
    if (!container.why_not.empty()) {
      report.untouched.push_back(
          {dataset_->catalogue().path(container.file), container.why_not});
      continue;
    }
    if (container.padded != nullptr) ++report.padded;
    if (container.keeps_order) continue;
    ++report.containers;
    if (!container.shape || container.shape->records == nullptr) continue;
    ++report.indexed;
    if (container.read > 0) ++report.read_through;
    report.records += container.shape->records->count();
    report.index_bytes += container.shape->records->memory_bytes();
    if (container.shape->placed != nullptr) {
      report.index_bytes += container.shape->placed->memory_bytes();
    }
    if (container.shape->columnar != nullptr) {
      report.index_bytes += container.shape->columnar->memory_bytes();
    }
    const absl::string_view level = RecordLevelName(container.format);
    ++report.levels[std::string(level)];
    if (IsColumnar(container.format) &&
        container.shape->records->count() == 1) {
      Unmixed& one = unmixed[container.format];
      if (one.files++ == 0) {
        one.first = dataset_->catalogue().path(container.file);
      }
    }
  }
  if (!parted_.empty()) report.warnings.push_back(parted_);
  for (const auto& [format, files] : unmixed) {
    report.warnings.push_back(WarningOf(format, files));
  }
  return report;
}

}  // namespace shufflefs
