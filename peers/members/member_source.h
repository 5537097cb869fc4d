// SPDX-License-Identifier: Apache-2.0
// MemberSource tells which daemons belong to the job. There is one class for
// each form of the key `peers`.
#ifndef SHUFFLEFS_PEERS_MEMBERS_MEMBER_SOURCE_H_
#define SHUFFLEFS_PEERS_MEMBERS_MEMBER_SOURCE_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/log.h"
#include "peers/members/addresses.h"

namespace shufflefs::peers {

using LogLine = std::function<void(LogLevel, const std::string&)>;

struct Members {
  std::vector<std::string> names;  // host:port, in any order
  std::string self;                // this daemon's name, if known; else ""
};

// Start and Stop are called once each, by one thread. Refresh may be called by
// any thread.
class MemberSource {
 public:
  virtual ~MemberSource() = default;

  // Calls `changed` with all members, now and whenever they change, until Stop
  // returns. If nothing can be learnt, the last known members stay. `changed`
  // is called by one thread at a time and does not block. Start waits for
  // nobody.
  using Changed = std::function<void(Members)>;
  virtual void Start(Changed changed) = 0;

  // The members, if they never change: those of a list. Else null. All daemons
  // must have the same list then, as nothing ever makes them agree.
  virtual const Members* listed() const { return nullptr; }

  // Asks for the members soon, because some other member sees another group.
  virtual void Refresh() {}

  // Leaves the group, and returns in bounded time.
  virtual void Stop() = 0;
};

struct MemberSourceOptions {
  std::string members;   // the value of the key `peers`
  HostPort own;          // where this daemon answers
  std::string instance;  // of this daemon, for people
  LogLine log;
};

// InvalidArgument for a value that makes no sense; FailedPrecondition if it is
// `slurm` outside of a Slurm job.
absl::StatusOr<std::unique_ptr<MemberSource>> MakeMemberSource(
    const MemberSourceOptions& options);

}  // namespace shufflefs::peers

#endif  // SHUFFLEFS_PEERS_MEMBERS_MEMBER_SOURCE_H_
