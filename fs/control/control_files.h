// SPDX-License-Identifier: Apache-2.0
// The text of the control files, and the effect of writing to them.
#ifndef SHUFFLEFS_FS_CONTROL_CONTROL_FILES_H_
#define SHUFFLEFS_FS_CONTROL_CONTROL_FILES_H_

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "core/base/metrics.h"
#include "core/base/mutex.h"
#include "core/config/config.h"
#include "core/engine/served_dataset.h"
#include "core/peers/peers.h"
#include "fs/control/token_parts.h"
#include "fs/model/reply_types.h"

namespace shufflefs {

enum class ControlFile { kControl, kError, kToken, kStatus, kMetrics, kOrder };

struct ControlFileInfo {
  ControlFile file;
  const char* name;
  mode_t mode;
  bool per_view;  // exists only if one view is meant
};

absl::Span<const ControlFileInfo> ControlFileTable();
absl::optional<ControlFile> FindControlFile(absl::string_view name);

// Converts configurations to text and back. mount-tools knows the keys.
struct ControlText {
  std::function<absl::StatusOr<ControlRequest>(absl::string_view text,
                                               const ViewConfig& current)>
      parse;
  // Of these views of the mount, as one document.
  std::function<std::string(const MountConfig&, const std::vector<ViewConfig>&)>
      render;
  // What the last text that was parsed asked of the mount takes effect: each
  // view has installed its own. One call at a time. May be empty.
  std::function<void()> installed;
  // The policies that use feedback, for the refusal if none of them runs.
  std::string feedback_policies;
};

// The configuration that a view runs, and the one that it is to run from the
// next boundary on.
struct ViewKeys {
  ViewConfig running;
  ViewConfig wanted;
};

// Thread-safe. Render and Write may take as long as making the policy's tables
// or regrouping the dataset.
class ControlFiles {
 public:
  struct Parts {
    MountConfig config;
    std::string version;
    ControlText text;
    const Metrics* metrics = nullptr;  // outlives the object
    // Called after each accepted write, before it is answered, with all views,
    // one call at a time. May be empty.
    std::function<void(const std::vector<ViewKeys>&)> written;
    // Warnings that are determined when `status` is read, once there is a
    // catalogue. May be empty.
    std::function<std::vector<std::string>()> warn;
    // What the peers do now. May be empty, and return nothing.
    std::function<absl::optional<PeersStatus>()> peers;
    // How opens are seen now. May be empty.
    std::function<OpensSeen()> opens;
  };
  explicit ControlFiles(Parts parts);

  void SetServed(const ServedDataset* served);  // outlives the object
  void AddWarning(std::string warning);
  // The catalogue failed: `status` and `error` show why.
  void SetIndexing(std::string progress);

  // `view` -1 is the whole mount. NotFound if the file needs one view.
  absl::StatusOr<std::string> Render(ControlFile file, int view) const;
  // The same for callers that keep the text. An order is large. While it does
  // not change, all callers share one text, which is freed with the last of
  // them.
  absl::StatusOr<std::shared_ptr<const std::string>> Share(ControlFile file,
                                                           int view);
  // All or nothing over the affected views. A refusal is kept as the text of
  // `error`. One write at a time.
  absl::Status Write(ControlFile file, int view, const WrittenText& written);
  // Another node of the job has written `settings` to the view at `path`.
  // Prepares them and returns what installs them, which fails if there was a
  // write in between. Unavailable while a write here waits for other nodes.
  absl::StatusOr<std::function<absl::Status()>> PrepareSwitch(
      const std::string& path, const std::string& settings)
      ABSL_LOCKS_EXCLUDED(write_mu_);

 private:
  std::vector<View*> Meant(int view) const;
  // Has the views count what was opened until now.
  static void TakeReports(const std::vector<View*>& views);
  absl::Status WriteControl(const std::vector<View*>& views,
                            absl::string_view text)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_mu_);
  absl::Status InstallAll(const std::vector<View*>& views,
                          std::vector<View::Prepared> prepared)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_mu_);
  absl::Status InstallSwitch(View& view, View::Prepared prepared,
                             uint64_t writes) ABSL_LOCKS_EXCLUDED(write_mu_);
  absl::Status WriteToken(View& view, absl::string_view text);
  // The keys that views are about to get. Others have what they have.
  using WantedKeys = absl::flat_hash_map<const View*, ViewConfig>;
  void TellWritten(const WantedKeys& wanted = {})
      ABSL_LOCKS_EXCLUDED(written_mu_, mu_);
  std::string RenderControl(int view) const;
  std::string RenderOrder(const View& view, const Binding& binding) const;
  std::shared_ptr<const std::string> ShareOrder(const View& view)
      ABSL_LOCKS_EXCLUDED(order_mu_);
  std::string RenderToken(const View& view) const;
  std::string RenderStatus(int view) const;
  std::string RenderMetrics(const std::vector<View*>& views) const;
  absl::optional<PeersStatus> PeersNow() const;

  // Constant after construction.
  const Parts parts_;

  // Keeps calls of `written` in the order of their content. Taken before mu_.
  Mutex written_mu_;

  // Held by one write from reading the old keys to installing the new ones, so
  // that no other write comes in between. Taken first. Held for as long as a
  // view takes to prepare.
  Mutex write_mu_;
  uint64_t writes_ ABSL_GUARDED_BY(write_mu_) = 0;  // of keys or tokens
  // A write waits for other nodes. Two nodes that are written to at once would
  // otherwise wait for each other.
  std::atomic<bool> asks_others_{false};

  struct SharedOrder {
    std::weak_ptr<const Binding> binding;
    std::weak_ptr<const std::string> text;
  };
  // Held while an order is made. Callers that ask meanwhile share it.
  Mutex order_mu_;
  absl::flat_hash_map<uint64_t, SharedOrder> orders_  // by view
      ABSL_GUARDED_BY(order_mu_);

  mutable Mutex mu_;
  const ServedDataset* served_ ABSL_GUARDED_BY(mu_) = nullptr;
  std::string error_ ABSL_GUARDED_BY(mu_);
  std::string indexing_ ABSL_GUARDED_BY(mu_);
  std::vector<std::string> warnings_ ABSL_GUARDED_BY(mu_);
  TokenParts token_parts_ ABSL_GUARDED_BY(mu_);
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_FS_CONTROL_CONTROL_FILES_H_
