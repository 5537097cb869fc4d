// SPDX-License-Identifier: Apache-2.0
// KeySwitch has the keys of a view change on all nodes of a job when they are
// written on one.
//
// First all other members that have joined prepare the keys. Only if all of
// them can, they install them, and so does the node on which they were written.
// Everywhere they take effect as if they had been written there: at the next
// boundary, unless nothing of the epoch was read.
#ifndef SHUFFLEFS_CORE_JOB_EPOCHS_KEY_SWITCH_H_
#define SHUFFLEFS_CORE_JOB_EPOCHS_KEY_SWITCH_H_

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "core/base/mutex.h"
#include "core/peers/epoch_message.h"

namespace shufflefs {

// One per view of a daemon. The thread of JobEpochs calls all but the
// constructor; Stop may come from another thread, as the last call. Nothing but
// Stop blocks. The thread `sfs-keys` prepares what others ask for; it starts
// with the first request.
class KeySwitch {
 public:
  using Time = std::chrono::milliseconds;  // monotonic
  using Send = std::function<void(const std::string& to, EpochMessage)>;
  using Install = std::function<absl::Status()>;
  // Prepares the settings, one `key = value` a line, and returns what installs
  // them. Both may take seconds. Errors: why this node cannot.
  using Prepare =
      std::function<absl::StatusOr<Install>(const std::string& settings)>;

  // Members have so long to prepare, and then to install.
  static constexpr Time kToPrepare{20000};
  static constexpr Time kToInstall{5000};

  struct Parts {
    std::string path;     // of the view
    uint64_t stream = 0;  // differs at each start of the daemon
    Prepare prepare;
    Send send;
    std::function<void()> wake;  // has Tick called soon; any thread calls it
  };
  explicit KeySwitch(Parts parts) : parts_(std::move(parts)) {}
  ~KeySwitch() { Stop(); }
  KeySwitch(const KeySwitch&) = delete;
  KeySwitch& operator=(const KeySwitch&) = delete;

  // The members that have joined, without this node, whose name is `self`.
  void SetOthers(const std::string& self, const std::set<std::string>& others);
  // Settings were written here. REQUIRES: no switch is under way.
  void Begin(const std::string& settings, Time now);
  // How the switch went, once. Unavailable names a member that cannot prepare;
  // then nothing changes on any node.
  absl::optional<absl::Status> TakeResult();
  // Messages of other kinds, or of strangers, are ignored.
  void Hear(const EpochMessage& message, Time now);
  // Sends what is due. Call it every few milliseconds.
  void Tick(Time now);
  // Ends the thread, after what it prepares now.
  void Stop();

 private:
  enum Step : uint64_t { kPrepare = 0, kInstall = 1, kDrop = 2 };
  // A switch that began here.
  struct Own {
    std::string settings;
    Step step = kPrepare;
    std::set<std::string> waits_for;
    Time since{0};
    Time sent{0};
  };
  // What a member asks for.
  struct Asked {
    std::string from;
    uint64_t stream = 0;
    uint64_t round = 0;
    uint64_t step = kPrepare;
    std::string settings;
    bool IsOf(const Asked& other) const {
      return from == other.from && stream == other.stream &&
             round == other.round;
    }
  };
  // The last that a stream of requests asked for. One for each stream: requests
  // may come again, and late, after those of other members. Then they must not
  // bring their keys back.
  struct Heard {
    uint64_t round = 0;
    uint64_t step = kPrepare;
    absl::optional<std::string> answer;  // once it is known
    uint64_t turn = 0;                   // when it was asked for
    bool IsOf(const Asked& asked) const {
      return round == asked.round && step == asked.step;
    }
    bool IsAfter(const Asked& asked) const {
      return round > asked.round || (round == asked.round && step > asked.step);
    }
  };

  EpochMessage Message(EpochMessage::Kind kind, uint64_t step) const;
  void SendOwn(Time now);
  // Takes the next step if all have answered.
  void Proceed(Time now);
  void End(const absl::Status& how);
  void HearAnswer(const EpochMessage& message, Time now);
  void HearAsked(const EpochMessage& message);
  // Null if nothing was heard of that stream.
  Heard* Find(const Asked& asked);
  // Forgets the stream that was silent for longest if there are too many.
  Heard& Remember(const Asked& asked);
  void Run(const std::stop_token& stop);
  // Does what is asked, on sfs-keys. Returns why it cannot, or "".
  std::string Do(const Asked& asked);
  void Answer(const Asked& asked, const std::string& why);

  // Constant after construction.
  const Parts parts_;

  // Of the thread of JobEpochs.
  std::string self_;
  std::set<std::string> others_;
  uint64_t round_ = 0;
  absl::optional<Own> own_;
  absl::optional<absl::Status> result_;
  // By the member and its stream; at most kMostEpochMembers.
  std::map<std::pair<std::string, uint64_t>, Heard> heard_;
  uint64_t turn_ = 0;

  // Of sfs-keys.
  absl::optional<Asked> prepared_;
  Install install_;

  Mutex mu_;
  CondVar changed_;
  bool stopped_ ABSL_GUARDED_BY(mu_) = false;
  std::deque<Asked> to_do_ ABSL_GUARDED_BY(mu_);
  struct Done {
    Asked asked;
    std::string why;
  };
  std::vector<Done> done_ ABSL_GUARDED_BY(mu_);

  std::jthread thread_;  // last: it uses all of the above
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_JOB_EPOCHS_KEY_SWITCH_H_
