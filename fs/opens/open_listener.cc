// SPDX-License-Identifier: Apache-2.0
#include "fs/opens/open_listener.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/fanotify.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "core/base/thread.h"
#include "core/view/opens_seen.h"
#include "fs/model/monotonic_now.h"
#include "fs/model/node_id.h"

namespace shufflefs {
namespace {

constexpr size_t kBufferBytes = 64 * 1024;  // some 1,100 reports
// How long reports may collect while readers open files one after the other. If
// this thread slept until the next report, each open would have to wake it,
// which costs the reader more than the report.
constexpr std::chrono::microseconds kCollect(300);
// The same if no epoch depends on it.
constexpr std::chrono::microseconds kCollectToLearn(4000);
// After so many collections without a report it sleeps.
constexpr int kEmptyReads = 10;

// Directories of the mount that show files. A ranked view has one, whatever the
// source has below it.
std::vector<DirId> DirsWithFiles(const ServedDataset& served) {
  const Catalogue& catalogue = served.catalogue();
  std::vector<DirId> dirs;
  for (uint32_t d = 0; d < catalogue.dir_count(); ++d) {
    const DirId dir(d);
    const View* const view = served.view_of(dir);
    if (view == nullptr) continue;
    const std::shared_ptr<const ViewSetup> setup = view->setup();
    const bool shows = setup->config.layout == Layout::kRanked
                           ? dir == setup->dataset->root()
                           : catalogue.has_files(dir);
    if (shows) dirs.push_back(dir);
  }
  return dirs;
}

}  // namespace

absl::StatusOr<std::unique_ptr<OpenListener>> OpenListener::Make(
    const Options& options) {
  UniqueFd group(fanotify_init(FAN_CLASS_NOTIF | FAN_CLOEXEC | FAN_NONBLOCK |
                                   FAN_REPORT_FID | FAN_REPORT_TID |
                                   FAN_UNLIMITED_QUEUE | FAN_UNLIMITED_MARKS,
                               O_RDONLY | O_CLOEXEC));
  if (group.get() < 0) return ErrnoStatus(errno, "fanotify");
  UniqueFd stop(eventfd(0, EFD_CLOEXEC));
  if (stop.get() < 0) return ErrnoStatus(errno, "eventfd");
  return absl::WrapUnique(
      new OpenListener(std::move(group), std::move(stop), options));
}

OpenListener::OpenListener(UniqueFd group, UniqueFd stop,
                           const Options& options)
    : options_(options),
      group_(std::move(group)),
      stop_fd_(std::move(stop)),
      buffer_(kBufferBytes) {}

absl::Status OpenListener::Mark(const ServedDataset& served,
                                MountLister& lister,
                                const std::string& mountpoint) {
  if (!options_.marks) return ErrnoStatus(ENODEV, mountpoint);
  {
    MutexLock lock(mu_);
    looker_ = static_cast<uint32_t>(lister.pid());
  }
  const std::vector<DirId> dirs = DirsWithFiles(served);
  if (!served.opens().counts && dirs.size() > kMostWatched) {
    return absl::FailedPreconditionError(
        absl::StrCat(dirs.size(), " directories are too many to watch"));
  }
  for (const DirId dir : dirs) {
    RETURN_IF_ERROR(lister.Watch(
        absl::StrCat(mountpoint, "/", served.catalogue().path(dir))));
  }
  return absl::OkStatus();
}

void OpenListener::Forget() {
  fanotify_mark(group_.get(), FAN_MARK_FLUSH, 0, AT_FDCWD, nullptr);
  MutexLock lock(mu_);
  for (;;) {
    const ssize_t got = read(group_.get(), buffer_.data(), buffer_.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return;
  }
}

bool OpenListener::Begin(const ServedDataset& served) {
  {
    MutexLock lock(mu_);
    served_ = &served;
    taken_.resize(served.views().size());
    Fetch();
    for (Taken& taken : taken_) taken = {};
  }
  auto thread =
      TryStartThread("sfs-opens", [this](std::stop_token stop) { Run(stop); });
  if (!thread) return false;
  thread_ = *std::move(thread);
  return true;
}

void OpenListener::Stop() {
  if (!thread_.joinable()) return;
  thread_.request_stop();
  const uint64_t one = 1;
  while (write(stop_fd_.get(), &one, sizeof(one)) < 0 && errno == EINTR) {
  }
  thread_.join();
}

OpenReports::Taken OpenListener::Take(uint32_t view) {
  MutexLock lock(mu_);
  if (view >= taken_.size()) return {};
  Fetch();
  return std::exchange(taken_[view], {});
}

void OpenListener::Collect() {
  MutexLock lock(mu_);
  if (served_ != nullptr) Fetch();
}

void OpenListener::Fetch() {
  OpenEvents events;
  for (;;) {
    const ssize_t got = read(group_.get(), buffer_.data(), buffer_.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    AppendOpenEvents(
        absl::MakeConstSpan(buffer_.data(), static_cast<size_t>(got)), events);
  }
  for (const OpenEvents::Open& open : events.opens) {
    events.lost = events.lost || ++fetched_ == options_.lose;
    const Node node = UnpackNode(open.nodeid);
    if (node.kind != NodeKind::kLiveFile || open.reader == looker_) continue;
    const EntryId file(node.id);
    const View* const view =
        served_->view_of(served_->catalogue().parent(file));
    if (view == nullptr) continue;
    taken_[view->id()].opens.push_back({file, node.slot, open.reader});
  }
  for (Taken& taken : taken_) taken.lost = taken.lost || events.lost;
}

void OpenListener::PassOn() {
  const ServedDataset* served = nullptr;
  {
    MutexLock lock(mu_);
    served = served_;
  }
  for (const auto& view : served->views()) view->TakeReports(MonotonicNow());
}

bool OpenListener::Counts() {
  MutexLock lock(mu_);
  return served_->opens().counts;
}

void OpenListener::Run(std::stop_token stop) {
  std::array<pollfd, 2> ready{
      {{group_.get(), POLLIN, 0}, {stop_fd_.get(), POLLIN, 0}}};
  const std::chrono::microseconds collect =
      Counts() ? kCollect : kCollectToLearn;
  int idle = 0;
  while (!stop.stop_requested()) {
    const int timeout = idle < kEmptyReads ? 0 : -1;
    const bool some = poll(ready.data(), ready.size(), timeout) > 0;
    idle = some ? 0 : idle + 1;
    if (some) PassOn();
    if (!stop.stop_requested()) std::this_thread::sleep_for(collect);
  }
  PassOn();
}

}  // namespace shufflefs
