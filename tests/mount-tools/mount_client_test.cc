// SPDX-License-Identifier: Apache-2.0
// With a plain directory in the place of a mount: the control directory is
// plain files to its clients.
#include "mount-tools/ctl/mount_client.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "mount-tools/ctl/umount/umount_command.h"
#include "tests/mount-tools/temp_dir.h"

namespace shufflefs {
namespace {

std::vector<MountEntry> Table(const std::string& lines) {
  return ParseMountInfo("1 0 0:1 / / rw - ext4 /dev/vda1 rw\n" + lines);
}

constexpr char kFirst[] = "2 1 0:2 / /no/a rw - fuse.shufflefs /d rw\n";
constexpr char kSecond[] = "3 1 0:3 / /no/b rw - fuse.shufflefs /d rw\n";

std::string Chosen(const MountChoice& choice, const std::string& cwd,
                   const std::string& table) {
  const absl::StatusOr<MountEntry> mount =
      ChooseMount(choice, cwd, Table(table));
  return mount.ok() ? mount->mountpoint : mount.status().ToString();
}

TEST(ChooseMount, ByPathByDirectoryOrTheOnlyOne) {
  const std::string both = std::string(kFirst) + kSecond;
  EXPECT_EQ(Chosen({"/no/b/train", ""}, "/no/home", both), "/no/b");
  EXPECT_EQ(Chosen({"../a", ""}, "/no/home", both), "/no/a");
  EXPECT_EQ(Chosen({}, "/no/a/train", both), "/no/a");
  EXPECT_EQ(Chosen({}, "/no/home", kSecond), "/no/b");
}

TEST(ChooseMount, SaysWhatThereIs) {
  const std::string both = std::string(kSecond) + kFirst;
  EXPECT_EQ(Chosen({}, "/no/home", both),
            "INVALID_ARGUMENT: several mounts; choose one with -m; mounted: "
            "/no/a, /no/b");
  EXPECT_EQ(Chosen({}, "/no/home", ""),
            "NOT_FOUND: nothing is mounted by shufflefs; mount with: shufflefs "
            "DATA MOUNTPOINT");
  EXPECT_EQ(
      Chosen({"/no/c", ""}, "/no/home", kFirst),
      "NOT_FOUND: /no/c: is not inside a shufflefs mount; mounted: /no/a");
}

TEST(MountToEnd, DoesNotSayHowToMount) {
  const auto error = [](const MountChoice& choice, const std::string& table) {
    return MountToEnd(choice, "/no/home", Table(table)).status().ToString();
  };
  EXPECT_EQ(error({}, ""),
            "NOT_FOUND: nothing is mounted by shufflefs; there is nothing to "
            "unmount");
  EXPECT_EQ(error({"/no/c", ""}, ""),
            "NOT_FOUND: /no/c: is not inside a shufflefs mount; there is "
            "nothing to unmount");
  EXPECT_EQ(
      error({"/no/c", ""}, kFirst),
      "NOT_FOUND: /no/c: is not inside a shufflefs mount; mounted: /no/a");
  EXPECT_TRUE(MountToEnd({}, "/no/home", Table(kFirst)).ok());
}

std::vector<std::string> AllChosen(const MountChoice& choice,
                                   const std::string& table) {
  const auto mounts = ChooseMounts(choice, "/no/home", Table(table));
  if (!mounts.ok()) return {mounts.status().ToString()};
  std::vector<std::string> paths;
  for (const MountEntry& mount : *mounts) paths.push_back(mount.mountpoint);
  return paths;
}

TEST(ChooseMounts, AreAllIfNoneIsChosen) {
  const std::string both = std::string(kSecond) + kFirst;
  EXPECT_THAT(AllChosen({}, both), ::testing::ElementsAre("/no/a", "/no/b"));
  EXPECT_THAT(AllChosen({"/no/b", ""}, both), ::testing::ElementsAre("/no/b"));
  EXPECT_THAT(
      AllChosen({}, ""),
      ::testing::ElementsAre(
          "NOT_FOUND: nothing is mounted by shufflefs; mount with: shufflefs "
          "DATA MOUNTPOINT"));
}

TEST(ShufflefsMountsTest, AreThoseThatAreVisible) {
  const std::vector<MountEntry> mounts =
      ShufflefsMounts(Table(std::string(kFirst) + kSecond +
                            "4 2 0:4 / /no/a rw - fuse.shufflefs /over rw\n"
                            "5 3 0:5 / /no/b rw - tmpfs none rw\n"));
  ASSERT_EQ(mounts.size(), 1u);
  EXPECT_EQ(mounts[0].source, "/over");
}

TEST(MountClient, ReadsAndCopies) {
  const TempDir dir;
  dir.Write(".shufflefs/status", "{}\n");
  dir.Write(".shufflefs/view/train/order", std::string(1 << 20, 'x'));
  const MountClient first(dir.path(), "");
  EXPECT_EQ(first.PathOf("status"), dir.path() + "/.shufflefs/status");
  EXPECT_EQ(*first.Read("status"), "{}\n");
  const MountClient train(dir.path(), "train");
  EXPECT_EQ(train.Read("order")->size(), size_t{1} << 20);
  EXPECT_EQ(MountClient("/", "").PathOf("status"), "/.shufflefs/status");
}

// What another user mounted may pretend to be a mount of shufflefs.
TEST(MountClient, AStatusWithoutEndIsRefused) {
  const TempDir dir;
  dir.Write(".shufflefs/status", "");
  std::filesystem::resize_file(dir.path() + "/.shufflefs/status",
                               (uint64_t{64} << 20) + 1);
  const absl::Status refused =
      MountClient(dir.path(), "").Read("status").status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(refused.message(),
            dir.path() +
                "/.shufflefs/status: has more than 64MiB, so it is "
                "none of shufflefs");
}

TEST(MountClient, NamesWhatIsMissing) {
  const TempDir dir;
  const MountClient client(dir.path(), "");
  EXPECT_EQ(ErrnoOf(client.Read("status").status()), ENOENT);
  EXPECT_THAT(std::string(client.Read("status").status().message()),
              ::testing::HasSubstr(dir.path() + "/.shufflefs/status"));
  dir.Write(".shufflefs/status", "{}\n");
  EXPECT_EQ(client.Read("order").status().message(),
            dir.path() + ": has several views; choose one with --view");
  const MountClient other(dir.path(), "other");
  EXPECT_EQ(other.Read("status").status().message(),
            dir.path() +
                ": there is no view \"other\"; shufflectl status lists the "
                "views");
  EXPECT_EQ(other.WriteControl("seed = 1\n").message(),
            other.Read("status").status().message());
}

TEST(MountClient, WritesControlAtOnce) {
  const TempDir dir;
  dir.Write(".shufflefs/control", "");
  const MountClient client(dir.path(), "");
  EXPECT_TRUE(client.WriteControl("seed = 1\n").ok());
  EXPECT_EQ(dir.Read(".shufflefs/control"), "seed = 1\n");
}

TEST(MountClient, PassesOnWhyAWriteFailed) {
  const TempDir dir;
  dir.Write(".shufflefs/control", "");
  // No file may grow.
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = signal(SIGXFSZ, SIG_IGN);
  const rlimit none = {0, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &none), 0);
  const absl::Status status =
      MountClient(dir.path(), "").WriteControl("seed = 1\n");
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  signal(SIGXFSZ, handler);
  EXPECT_EQ(ErrnoOf(status), EFBIG) << status;
}

// A user's own program can pass for a mount, and root may run shufflectl on it.
TEST(MountClient, FollowsNoLink) {
  const TempDir dir;
  const std::string target = dir.Write("victim", "as it was");
  dir.Write(".shufflefs/error", "");
  for (const char* name : {"control", "token", "status"}) {
    std::filesystem::create_symlink(target, dir.path() + "/.shufflefs/" + name);
  }
  const MountClient client(dir.path(), "");
  EXPECT_EQ(ErrnoOf(client.WriteControl("seed = 1\n")), ELOOP);
  EXPECT_EQ(ErrnoOf(client.WriteToken("token")), ELOOP);
  const absl::Status read = client.Read("status").status();
  EXPECT_EQ(ErrnoOf(read), ELOOP);
  EXPECT_THAT(read.message(), testing::HasSubstr("no mount of shufflefs"));
  EXPECT_EQ(dir.Read("victim"), "as it was");
}

TEST(MountClient, FollowsNoLinkAboveAFile) {
  const TempDir dir;
  dir.Write("elsewhere/control", "as it was");
  std::filesystem::create_directory_symlink(dir.path() + "/elsewhere",
                                            dir.path() + "/.shufflefs");
  const MountClient client(dir.path(), "");
  EXPECT_EQ(ErrnoOf(client.WriteControl("seed = 1\n")), ELOOP);
  EXPECT_EQ(ErrnoOf(client.Read("control").status()), ELOOP);
  EXPECT_EQ(dir.Read("elsewhere/control"), "as it was");
  const MountClient leaves(dir.path(), "../../../../../../etc");
  EXPECT_EQ(ErrnoOf(leaves.Read("passwd").status()), ELOOP);
}

TEST(MountClient, OpensNothingThatHangs) {
  const TempDir dir;
  dir.Write(".shufflefs/error", "");
  ASSERT_EQ(mkfifo((dir.path() + "/.shufflefs/control").c_str(), 0600), 0);
  std::filesystem::create_directory(dir.path() + "/.shufflefs/token");
  const MountClient client(dir.path(), "");
  EXPECT_EQ(client.Read("control").status().code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(ErrnoOf(client.WriteControl("seed = 1\n")), ENXIO);
  EXPECT_EQ(client.Read("token").status().code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(ErrnoOf(client.WriteToken("token")), EISDIR);
}

}  // namespace
}  // namespace shufflefs
