// SPDX-License-Identifier: Apache-2.0
#include "mount-tools/ctl/doctor/doctor_text.h"

#include <cerrno>
#include <chrono>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "mount-tools/config/config_file.h"
#include "mount-tools/ctl/doctor/program_output.h"
#include "mount-tools/ctl/doctor/without_names.h"

namespace shufflefs {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// A machine where nothing is wrong, for an ordinary user.
SystemFacts Healthy() {
  SystemFacts facts;
  facts.user = 1000;
  facts.ctl_version = "0.2.0";
  facts.kernel_has_fuse = true;
  facts.device_exists = true;
  facts.user_allow_other = true;
  facts.shufflefs.path = "/usr/bin/shufflefs";
  facts.shufflefs.version = "shufflefs 0.2.0";
  facts.fusermount.path = "/usr/bin/fusermount3";
  facts.fusermount.mode = 04755;
  facts.open_files = 1024;
  return facts;
}

std::vector<std::string> AdviceFor(const std::function<void(SystemFacts&)>& f) {
  SystemFacts facts = Healthy();
  f(facts);
  return SystemAdvice(facts);
}

TEST(SystemAdviceTest, IsEmptyIfNothingIsWrong) {
  EXPECT_THAT(SystemAdvice(Healthy()), IsEmpty());
  // Root needs no helper.
  EXPECT_THAT(AdviceFor([](SystemFacts& facts) {
                facts.user = 0;
                facts.fusermount = ProgramFacts();
                facts.user_allow_other = false;
              }),
              IsEmpty());
}

TEST(SystemAdviceTest, SaysWhatToDo) {
  const std::string container =
      "; in a container: --device /dev/fuse --cap-add SYS_ADMIN";
  EXPECT_THAT(
      AdviceFor([](SystemFacts& facts) { facts.device_exists = false; }),
      ElementsAre("/dev/fuse is missing: modprobe fuse" + container));
  EXPECT_THAT(
      AdviceFor([](SystemFacts& facts) { facts.kernel_has_fuse = false; }),
      ElementsAre("the kernel has no FUSE: modprobe fuse" + container));
  EXPECT_THAT(AdviceFor([](SystemFacts& facts) {
                facts.user = 0;
                facts.device_error = EPERM;
              }),
              ElementsAre("root may not open /dev/fuse" + container));
  // libfuse opens the device before it asks fusermount3 to mount.
  EXPECT_THAT(
      AdviceFor([](SystemFacts& facts) { facts.device_error = EACCES; }),
      ElementsAre("you may not open /dev/fuse: as root, chmod 666 /dev/fuse" +
                  container));
  EXPECT_THAT(
      AdviceFor([](SystemFacts& facts) { facts.fusermount = ProgramFacts(); }),
      ElementsAre("fusermount3 is missing, so only root can mount: "
                  "install fuse3"));
  EXPECT_THAT(
      AdviceFor([](SystemFacts& facts) { facts.fusermount.mode = 0755; }),
      ElementsAre("/usr/bin/fusermount3 is not setuid root, so only root can "
                  "mount: as root, chown root and chmod 4755 it"));
  EXPECT_THAT(
      AdviceFor([](SystemFacts& facts) { facts.fusermount.no_suid = true; }),
      ElementsAre(HasSubstr("its file system is mounted nosuid")));
  EXPECT_THAT(
      AdviceFor([](SystemFacts& facts) { facts.user_allow_other = false; }),
      ElementsAre(HasSubstr("add the line user_allow_other")));
  EXPECT_THAT(AdviceFor([](SystemFacts& facts) { facts.open_files = 256; }),
              ElementsAre("only 256 files may be open: ulimit -n 4096"));
  EXPECT_THAT(AdviceFor([](SystemFacts& facts) { facts.shufflefs.path = ""; }),
              ElementsAre(HasSubstr("neither beside shufflectl nor in PATH")));
  EXPECT_THAT(AdviceFor([](SystemFacts& facts) {
                facts.shufflefs.version = "shufflefs 0.1.0";
              }),
              ElementsAre(HasSubstr("install both from the same build")));
}

// Whatever text a later daemon adds, it is left out.
TEST(StatusWithoutNamesTest, KeepsNumbersAndKnownWords) {
  const std::string left = StatusWithoutNames(
      R"({"version":"0.2.0","source":"/secret","warnings":["secret a"],
          "views":[{"name":"secret","policy":"lirs","epoch":3,"x":null,
          "device":"hard disk: 8 ms","later":{"secret":["secret",1.5]},
          "records":{"untouched":[{"path":"secret.tar","why":"secret"}]}}]})");
  for (const char* kept : {"\"0.2.0\"", "\"lirs\"", "3", "null", "8 ms", "1.5",
                           "\"(left out)\"", "\"path\""}) {
    EXPECT_THAT(left, HasSubstr(kept));
  }
  EXPECT_EQ(StatusWithoutNames("{\"a\":\"secret\"}"),
            "{\n  \"a\": \"(left out)\"\n}\n");
  EXPECT_EQ(StatusWithoutNames(R"({"mixing":"C:secret","x":"","y":"C: x"})"),
            "{\n  \"mixing\": \"C: (left out)\",\n  \"x\": \"\",\n"
            "  \"y\": \"(left out)\"\n}\n");
  EXPECT_EQ(StatusWithoutNames("{\"mixing\":\"secret\"}"),
            "{\n  \"mixing\": \"(left out)\"\n}\n");
  EXPECT_EQ(StatusWithoutNames("\"secret\""), "\"(left out)\"\n");
  EXPECT_EQ(StatusWithoutNames("secret"), "");
}

TEST(SettingsTextTest, LeavesOutTextsAndPaths) {
  MountConfig mount;
  ViewConfig view;
  view.path = "secret/train";
  view.policy = "lirs";
  view.seed = Seed(7);
  view.groups = "/secret/groups";
  view.substitute = Substitute::kDirectory;
  mount.memory = 1 << 24;
  const std::string control = EffectiveToml(mount, view);
  const std::string settings = SettingsText(control, /*names=*/false);
  EXPECT_THAT(settings, HasSubstr("policy = lirs\n"));
  EXPECT_THAT(settings, HasSubstr("seed = 7\n"));
  EXPECT_THAT(settings, HasSubstr("memory = 16MiB\n"));
  EXPECT_THAT(settings, HasSubstr("path = (left out)\n"));
  EXPECT_THAT(settings, HasSubstr("groups = (left out)\n"));
  EXPECT_THAT(settings, Not(HasSubstr("secret")));
  EXPECT_THAT(SettingsText(control, /*names=*/true),
              HasSubstr("groups = /secret/groups\n"));
  EXPECT_EQ(SettingsText("secret", true), "");
  // TOML has no such bytes.
  view.path = "secret\xff";
  EXPECT_THAT(SettingsText(EffectiveToml(mount, view), /*names=*/false),
              HasSubstr("path = (left out)\n"));
}

MountEvidence Evidence() {
  MountEvidence mount;
  mount.facts.mountpoint = "/secret/mnt";
  mount.facts.source = "/secret/data";
  mount.facts.status = R"({"version":"0.1.0","views":[],"source":"/secret"})";
  mount.error = "secret: no such key\n";
  mount.device = "ext4, rotational 1";
  return mount;
}

TEST(DoctorTextTest, HoldsNoNameUnlessAsked) {
  DoctorReport report;
  report.system = Healthy();
  report.mounts = {Evidence(), Evidence()};
  report.mounts[1].facts.status = "";
  report.mounts[1].facts.state = MountState::kDead;
  report.log = "opened secret\nread secret\n";
  const std::string text = DoctorText(report, /*names=*/false);
  EXPECT_THAT(text, Not(HasSubstr("secret")));
  for (const char* part :
       {"what to do:\n  mount 1: its daemon has version 0.1.0: unmount",
        "  mount 2: its daemon is gone: mount again, or shufflectl umount\n",
        "  source: ext4, rotational 1\n", "log: 2 lines (left out)\n",
        "  last refusal: (left out)\n"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
  const std::string full = DoctorText(report, /*names=*/true);
  for (const char* part : {"at /secret/mnt, of /secret/data\n",
                           "last refusal: secret: no such key\n",
                           "    opened secret\n    read secret\n"}) {
    EXPECT_THAT(full, HasSubstr(part));
  }
}

TEST(DoctorTextTest, SaysThatNothingIsWrong) {
  DoctorReport report;
  report.system = Healthy();
  const std::string text = DoctorText(report, /*names=*/false);
  EXPECT_THAT(text, HasSubstr("what to do:\n  nothing: no fault was found\n"));
  EXPECT_THAT(text, HasSubstr("\nmounts: none\n"));
  EXPECT_THAT(text, HasSubstr("\nlog: not found\n"));
  EXPECT_THAT(text, HasSubstr("/usr/bin/fusermount3, mode 4755, owner 0\n"));
}

TEST(SystemFactsTest, AreFoundHere) {
  const SystemFacts facts = FindSystemFacts();
  EXPECT_THAT(facts.kernel, ::testing::StartsWith("Linux "));
  EXPECT_THAT(facts.libfuse, HasSubstr("libfuse"));
  EXPECT_GT(facts.open_files, 0u);
  std::vector<std::string> names;
  for (const auto& [name, value] : facts.limits) names.push_back(name);
  EXPECT_THAT(names, Contains("RLIMIT_NOFILE"));
  EXPECT_THAT(names, Contains("memory"));
  EXPECT_THAT(names, Contains("user.max_user_namespaces"));
}

TEST(ProgramOutputTest, IsWhatItPrints) {
  const std::chrono::milliseconds long_time(60000);
  EXPECT_EQ(
      ProgramOutput({"sh", "-c", "echo a; echo b >&2; exit 3"}, long_time),
      "a\n");
  EXPECT_EQ(ProgramOutput({"/no/such"}, long_time), "");
  EXPECT_EQ(ProgramOutput({"sh", "-c", "echo a; exec sleep 1000"},
                          std::chrono::milliseconds(100)),
            "");
  EXPECT_EQ(ProgramOutput({"seq", "20000"}, long_time).size(), 108894u);
  // A log may be larger than is good to hold.
  const std::string end = ProgramOutput(
      {"sh", "-c", "head -c 40000000 /dev/zero; echo end"}, long_time);
  EXPECT_EQ(end.size(), kMostProgramOutput);
  EXPECT_EQ(end.substr(end.size() - 4), "end\n");
}

}  // namespace
}  // namespace shufflefs
