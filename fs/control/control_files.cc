// SPDX-License-Identifier: Apache-2.0
#include "fs/control/control_files.h"

#include <cerrno>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "core/base/exhaustion.h"
#include "core/base/log.h"
#include "core/base/status.h"
#include "core/view/epoch_token.h"
#include "fs/control/order_text.h"
#include "fs/control/peers_text.h"
#include "fs/control/pool_metrics.h"
#include "fs/control/status_json.h"
#include "fs/model/monotonic_now.h"

namespace shufflefs {
namespace {

constexpr ControlFileInfo kFiles[] = {
    {ControlFile::kControl, "control", 0600, false},
    {ControlFile::kError, "error", 0444, false},
    {ControlFile::kToken, "token", 0600, true},
    {ControlFile::kStatus, "status", 0444, false},
    {ControlFile::kMetrics, "metrics", 0444, false},
    {ControlFile::kOrder, "order", 0444, true},
};

// A kernel splits a write that is larger than one request, which holds at least
// 128 KiB. So larger writes are refused at their first piece, as are those that
// are cut at the end of a page. No piece is ever taken for the whole.
constexpr size_t kMostWritten = size_t{64} << 10;

absl::Status TooMuch() {
  return absl::InvalidArgumentError(absl::StrCat(
      "more than ", kMostWritten, " bytes in one write; nothing was changed"));
}

absl::Status MayBeCut() {
  return absl::InvalidArgumentError(
      "the kernel may have cut this write, which does not begin at the "
      "beginning of the file; nothing was changed: open the file anew");
}

absl::StatusOr<View::Prepared> Prepare(View& view,
                                       const ControlRequest& request) {
  return OrExhausted("preparing the view",
                     [&] { return view.Prepare(request); });
}

// Before the first is installed, so that none is if one cannot be.
absl::Status CheckInstalls(const std::vector<View*>& views,
                           const std::vector<View::Prepared>& prepared) {
  for (size_t i = 0; i < views.size(); ++i) {
    RETURN_IF_ERROR(views[i]->CheckInstall(prepared[i]));
  }
  return absl::OkStatus();
}

absl::Status NotReady() {
  return ErrnoStatus(EAGAIN, "the catalogue is still being made");
}

}  // namespace

absl::Span<const ControlFileInfo> ControlFileTable() { return kFiles; }

absl::optional<ControlFile> FindControlFile(absl::string_view name) {
  for (const ControlFileInfo& info : kFiles) {
    if (name == info.name) return info.file;
  }
  return absl::nullopt;
}

ControlFiles::ControlFiles(Parts parts) : parts_(std::move(parts)) {}

void ControlFiles::SetServed(const ServedDataset* served) {
  MutexLock lock(mu_);
  served_ = served;
}

void ControlFiles::AddWarning(std::string warning) {
  MutexLock lock(mu_);
  warnings_.push_back(std::move(warning));
}

void ControlFiles::SetIndexing(std::string progress) {
  MutexLock lock(mu_);
  indexing_ = std::move(progress);
}

std::vector<View*> ControlFiles::Meant(int view) const {
  MutexLock lock(mu_);
  std::vector<View*> views;
  if (served_ == nullptr) return views;
  for (const std::unique_ptr<View>& each : served_->views()) {
    if (view < 0 || static_cast<int>(each->id()) == view) {
      views.push_back(each.get());
    }
  }
  return views;
}

absl::StatusOr<std::string> ControlFiles::Render(ControlFile file,
                                                 int view) const {
  const std::vector<View*> views = Meant(view);
  switch (file) {
    case ControlFile::kStatus:
      return RenderStatus(view);
    case ControlFile::kMetrics:
      return RenderMetrics(views);
    case ControlFile::kControl:
      return RenderControl(view);
    case ControlFile::kError: {
      MutexLock lock(mu_);
      return error_.empty() ? error_ : absl::StrCat(error_, "\n");
    }
    case ControlFile::kToken:
    case ControlFile::kOrder:
      if (views.size() != 1) {
        return absl::NotFoundError("needs one view: see .shufflefs/view/");
      }
      return file == ControlFile::kToken
                 ? RenderToken(*views[0])
                 : RenderOrder(*views[0], *views[0]->binding());
  }
  return absl::NotFoundError("no such control file");
}

std::string ControlFiles::RenderControl(int view) const {
  const std::vector<View*> views = Meant(view);
  std::vector<ViewConfig> configs;
  for (const View* each : views) configs.push_back(each->config());
  return parts_.text.render(parts_.config,
                            views.empty() ? parts_.config.views : configs);
}

std::string ControlFiles::RenderOrder(const View& view,
                                      const Binding& binding) const {
  const std::shared_ptr<const ViewSetup> setup = view.setup();
  const bool is_ranked = setup->config.layout == Layout::kRanked;
  return OrderText(binding, is_ranked ? setup->ranked.get() : nullptr);
}

absl::StatusOr<std::shared_ptr<const std::string>> ControlFiles::Share(
    ControlFile file, int view) {
  const std::vector<View*> views = Meant(view);
  TakeReports(views);
  if (file == ControlFile::kOrder && views.size() == 1) {
    return ShareOrder(*views[0]);
  }
  ASSIGN_OR_RETURN(std::string text, Render(file, view));
  return std::make_shared<const std::string>(std::move(text));
}

std::shared_ptr<const std::string> ControlFiles::ShareOrder(const View& view) {
  const std::shared_ptr<const Binding> binding = view.binding();
  MutexLock lock(order_mu_);
  SharedOrder& known = orders_[view.id()];
  std::shared_ptr<const std::string> text = known.text.lock();
  if (known.binding.lock() != binding) text = nullptr;
  // Names that are bound on demand are added to the text.
  if (text != nullptr && binding->bound_names() == nullptr) return text;
  auto fresh = std::make_shared<const std::string>(RenderOrder(view, *binding));
  if (text != nullptr && *text == *fresh) return text;
  known = {binding, fresh};
  return fresh;
}

std::string ControlFiles::RenderToken(const View& view) const {
  return TokenText(view.Token());
}

std::string ControlFiles::RenderMetrics(const std::vector<View*>& views) const {
  std::string text =
      absl::StrCat(parts_.metrics->Prometheus(), PoolMetrics(views));
  const absl::optional<PeersStatus> peers = PeersNow();
  if (peers) absl::StrAppend(&text, PeersMetrics(*peers));
  return text;
}

absl::optional<PeersStatus> ControlFiles::PeersNow() const {
  return parts_.peers ? parts_.peers() : absl::nullopt;
}

void ControlFiles::TakeReports(const std::vector<View*>& views) {
  for (View* view : views) view->TakeReports(MonotonicNow());
}

std::string ControlFiles::RenderStatus(int view) const {
  StatusParts status;
  status.version = parts_.version;
  status.source = parts_.config.source;
  status.config = &parts_.config;
  status.metrics = parts_.metrics;
  {
    MutexLock lock(mu_);
    status.served = served_;
    status.warnings = warnings_;
    status.indexing = indexing_;
  }
  if (parts_.warn && status.served != nullptr) {
    for (std::string& warning : parts_.warn()) {
      status.warnings.push_back(std::move(warning));
    }
  }
  status.peers = PeersNow();
  if (parts_.opens) status.opens = parts_.opens();
  return StatusJson(status, view);
}

absl::Status ControlFiles::Write(ControlFile file, int view,
                                 const WrittenText& written) {
  const absl::string_view text = written.text;
  MutexLock one_at_a_time(write_mu_);
  const std::vector<View*> views = Meant(view);
  TakeReports(views);
  absl::Status done;
  if (views.empty()) {
    done = NotReady();
  } else if (text.size() > kMostWritten) {
    done = TooMuch();
  } else if (written.may_be_cut()) {
    done = MayBeCut();
  } else if (file == ControlFile::kControl) {
    done = WriteControl(views, text);
  } else if (views.size() == 1) {
    ++writes_;
    done = WriteToken(*views[0], text);
  } else {
    done = absl::InvalidArgumentError("token: needs one view");
  }
  if (!views.empty()) TellWritten();
  MutexLock lock(mu_);
  error_ = done.ok() ? "" : std::string(done.message());
  for (char& c : error_) {
    if (c == '\n') c = ' ';  // one line
  }
  return done;
}

void ControlFiles::TellWritten(const WantedKeys& wanted) {
  if (!parts_.written) return;
  MutexLock lock(written_mu_);
  std::vector<ViewKeys> keys;
  for (const View* view : Meant(-1)) {
    // In this order, because a boundary in between turns wanted into running.
    ViewConfig running = view->setup()->config;
    const auto found = wanted.find(view);
    keys.push_back(ViewKeys{std::move(running), found == wanted.end()
                                                    ? view->config()
                                                    : found->second});
  }
  parts_.written(keys);
}

absl::Status ControlFiles::WriteControl(const std::vector<View*>& views,
                                        absl::string_view text) {
  std::vector<ControlRequest> requests;
  for (const View* view : views) {
    ASSIGN_OR_RETURN(ControlRequest request,
                     parts_.text.parse(text, view->config()));
    requests.push_back(std::move(request));
  }
  const bool tells = absl::c_any_of(
      requests, [](const ControlRequest& r) { return r.feedback.has_value(); });
  if (tells && absl::c_none_of(views, [](const View* view) {
        return view->takes_feedback();
      })) {
    const std::string& would = parts_.text.feedback_policies;
    return absl::InvalidArgumentError(absl::StrCat(
        "feedback: no policy that runs here uses it",
        would.empty() ? "" : absl::StrCat("; policy = \"", would, "\" would")));
  }
  // Prepares all before it installs any: all or nothing, also over the views.
  std::vector<View::Prepared> prepared;
  for (size_t i = 0; i < views.size(); ++i) {
    ASSIGN_OR_RETURN(View::Prepared each, Prepare(*views[i], requests[i]));
    prepared.push_back(std::move(each));
  }
  RETURN_IF_ERROR(CheckInstalls(views, prepared));
  asks_others_ = true;
  absl::Status others;
  for (size_t i = 0; i < views.size() && others.ok(); ++i) {
    others = views[i]->SwitchOthers(requests[i]);
  }
  asks_others_ = false;
  RETURN_IF_ERROR(others);
  const absl::Status moved = InstallAll(views, std::move(prepared));
  if (parts_.text.installed) parts_.text.installed();
  return moved;
}

absl::Status ControlFiles::InstallAll(const std::vector<View*>& views,
                                      std::vector<View::Prepared> prepared) {
  ++writes_;
  // If the daemon is killed in between, the ledger's epoch may have the old
  // keys or the new ones. The next daemon must know both.
  WantedKeys wanted;
  for (size_t i = 0; i < views.size(); ++i) {
    if (prepared[i].setup != nullptr) {
      wanted[views[i]] = prepared[i].request.config;
    }
  }
  if (!wanted.empty()) TellWritten(wanted);
  absl::Status moved;
  for (size_t i = 0; i < views.size(); ++i) {
    const absl::Status each = views[i]->Install(std::move(prepared[i]));
    if (moved.ok() && !each.ok()) {
      moved = Annotate(each, "the epoch goes on, because not all nodes follow");
    }
  }
  return moved;
}

absl::StatusOr<std::function<absl::Status()>> ControlFiles::PrepareSwitch(
    const std::string& path, const std::string& settings) {
  View* view = nullptr;
  for (View* const each : Meant(-1)) {
    if (each->setup()->config.path == path) view = each;
  }
  if (view == nullptr) return NotReady();
  if (asks_others_) {
    return absl::UnavailableError("its own control file is being written");
  }
  MutexLock one_at_a_time(write_mu_);
  ASSIGN_OR_RETURN(ControlRequest request,
                   parts_.text.parse(settings, view->config()));
  request.next_epoch = false;
  request.set_epoch.reset();
  request.feedback.reset();
  ASSIGN_OR_RETURN(View::Prepared prepared, Prepare(*view, request));
  auto kept = std::make_shared<View::Prepared>(std::move(prepared));
  return [this, view, kept, writes = writes_] {
    return InstallSwitch(*view, std::move(*kept), writes);
  };
}

absl::Status ControlFiles::InstallSwitch(View& view, View::Prepared prepared,
                                         uint64_t writes) {
  {
    MutexLock one_at_a_time(write_mu_);
    if (writes_ != writes) {
      return absl::AbortedError("its own control file was written meanwhile");
    }
    std::vector<View::Prepared> all;
    all.push_back(std::move(prepared));
    RETURN_IF_ERROR(CheckInstalls({&view}, all));
    const absl::Status installed = InstallAll({&view}, std::move(all));
    if (!installed.ok()) {
      TellWritten();
      return installed;
    }
  }
  Log(LogLevel::kInfo, "keys were written to the control file of another node");
  TellWritten();
  return absl::OkStatus();
}

absl::Status ControlFiles::WriteToken(View& view, absl::string_view text) {
  absl::optional<std::string> whole;
  {
    MutexLock lock(mu_);
    ASSIGN_OR_RETURN(whole, token_parts_.Take(text));
  }
  if (!whole) return absl::OkStatus();
  const uint64_t files = view.setup()->dataset->catalogue().file_count();
  ASSIGN_OR_RETURN(EpochToken token, ParseToken(*whole, files));
  ASSIGN_OR_RETURN(const bool live, view.GoesOnWith(token));
  if (live) return absl::OkStatus();
  ControlRequest request;
  request.config = view.config();
  request.config.policy = token.policy;
  request.config.seed = token.seed;
  request.config_changed = true;
  ASSIGN_OR_RETURN(View::Prepared prepared, Prepare(view, request));
  TellWritten({{&view, request.config}});  // as in InstallAll
  return view.Restore(std::move(prepared), token);
}

}  // namespace shufflefs
