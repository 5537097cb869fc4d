// SPDX-License-Identifier: Apache-2.0
// The commands of shufflectl, in the order of its help.
#include "mount-tools/ctl/bench/bench_command.h"
#include "mount-tools/ctl/check/check_command.h"
#include "mount-tools/ctl/check/simulate_command.h"
#include "mount-tools/ctl/command.h"
#include "mount-tools/ctl/control_commands.h"
#include "mount-tools/ctl/doctor/doctor_command.h"
#include "mount-tools/ctl/list/list_command.h"
#include "mount-tools/ctl/order_command.h"
#include "mount-tools/ctl/pack/index_command.h"
#include "mount-tools/ctl/pack/pack_command.h"
#include "mount-tools/ctl/peers/peers_command.h"
#include "mount-tools/ctl/run/run_command.h"
#include "mount-tools/ctl/status_command.h"
#include "mount-tools/ctl/token_command.h"
#include "mount-tools/ctl/umount/umount_command.h"
#include "mount-tools/ctl/verify/verify_command.h"
#include "mount-tools/ctl/warmup/warmup_command.h"
#include "mount-tools/ctl/watch/watch_command.h"

namespace shufflefs {

std::vector<std::unique_ptr<Command>> MakeCommands() {
  std::vector<std::unique_ptr<Command>> commands;
  commands.push_back(MakeCheckCommand());
  commands.push_back(MakeBenchCommand());
  commands.push_back(MakeWarmupCommand());
  commands.push_back(MakeRunCommand());
  commands.push_back(MakeListCommand());
  commands.push_back(MakeStatusCommand());
  commands.push_back(MakeTopCommand());
  commands.push_back(MakePeersCommand());
  commands.push_back(MakeEpochCommand());
  commands.push_back(MakePolicyCommand());
  commands.push_back(MakeFeedbackCommand());
  commands.push_back(MakeOrderCommand());
  commands.push_back(MakeTokenCommand());
  commands.push_back(MakeVerifyCommand());
  commands.push_back(MakeSimulateCommand());
  commands.push_back(MakeIndexCommand());
  commands.push_back(MakePackCommand());
  commands.push_back(MakeUmountCommand());
  commands.push_back(MakeDoctorCommand());
  return commands;
}

}  // namespace shufflefs
