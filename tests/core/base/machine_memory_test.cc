// SPDX-License-Identifier: Apache-2.0
#include "core/base/machine_memory.h"

#include <string>

#include "gtest/gtest.h"
#include "tests/mount-tools/temp_dir.h"

namespace shufflefs {
namespace {

constexpr char kMemInfo[] =
    "MemTotal:       16000000 kB\n"
    "MemFree:          500000 kB\n"
    "MemAvailable:    8000000 kB\n";
constexpr uint64_t kAvailable = uint64_t{8000000} * 1024;

TEST(MachineMemory, WithoutLimitsIsWhatIsAvailable) {
  const TempDir root;
  root.Write("proc/meminfo", kMemInfo);
  root.Write("proc/self/cgroup", "0::/user.slice/x.scope\n");
  root.Write("sys/fs/cgroup/user.slice/x.scope/memory.max", "max\n");
  const MachineMemory memory = FindMachineMemory(root.path());
  EXPECT_EQ(memory.bytes, kAvailable);
  EXPECT_EQ(memory.decided_by, "/proc/meminfo");
}

TEST(MachineMemory, TheTightestGroupAboveCounts) {
  const TempDir root;
  root.Write("proc/meminfo", kMemInfo);
  root.Write("proc/self/cgroup", "0::/a.slice/b.scope\n");
  root.Write("sys/fs/cgroup/a.slice/b.scope/memory.max", "3000000000\n");
  root.Write("sys/fs/cgroup/a.slice/b.scope/memory.high", "2500000000\n");
  root.Write("sys/fs/cgroup/a.slice/memory.max", "2000000000\n");
  const MachineMemory memory = FindMachineMemory(root.path());
  EXPECT_EQ(memory.bytes, 2000000000u);
  EXPECT_EQ(memory.decided_by, "/sys/fs/cgroup/a.slice/memory.max");
}

// In a container the group's own directory is the root of what is mounted.
TEST(MachineMemory, AContainersLimitIsAtTheRoot) {
  const TempDir root;
  root.Write("proc/meminfo", kMemInfo);
  root.Write("proc/self/cgroup", "0::/\n");
  root.Write("sys/fs/cgroup/memory.max", "1073741824\n");
  EXPECT_EQ(FindMachineMemory(root.path()).bytes, 1073741824u);
}

TEST(MachineMemory, VersionOneToo) {
  const TempDir root;
  root.Write("proc/meminfo", kMemInfo);
  root.Write("proc/self/cgroup",
             "12:cpu,cpuacct:/docker/abc\n5:memory:/docker/abc\n0::/docker\n");
  root.Write("sys/fs/cgroup/memory/docker/memory.limit_in_bytes",
             "9223372036854771712\n");
  root.Write("sys/fs/cgroup/memory/memory.limit_in_bytes", "536870912\n");
  const MachineMemory memory = FindMachineMemory(root.path());
  EXPECT_EQ(memory.bytes, 536870912u);
  EXPECT_EQ(memory.decided_by, "/sys/fs/cgroup/memory/memory.limit_in_bytes");
}

TEST(MachineMemory, AGroupWithoutMeminfoStillCounts) {
  const TempDir root;
  root.Write("proc/self/cgroup", "0::/\n");
  root.Write("sys/fs/cgroup/memory.max", "1024\n");
  EXPECT_EQ(FindMachineMemory(root.path()).bytes, 1024u);
}

TEST(MachineMemory, OddFilesLimitNothing) {
  const TempDir root;
  root.Write("proc/meminfo", "MemAvailable: many kB\n");
  root.Write("proc/self/cgroup", "nonsense\n0::\n:::\n");
  root.Write("sys/fs/cgroup/memory.max", "-5\n");
  const MachineMemory memory = FindMachineMemory(root.path());
  EXPECT_EQ(memory.bytes, 0u);
  EXPECT_EQ(memory.decided_by, "");
}

TEST(MachineMemory, ThisMachineHasSome) {
  EXPECT_GT(MachineMemoryBytes(), uint64_t{1} << 20);
}

}  // namespace
}  // namespace shufflefs
