// SPDX-License-Identifier: Apache-2.0
// The scripts: their syntax, and that install-deps.sh asks for exactly what
// is missing and for nothing when nothing is.
#include <cstdlib>
#include <regex>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/meta/repository.h"

namespace shufflefs::meta {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(ScriptsTest, ShellScriptsParse) {
  std::vector<std::filesystem::path> scripts = FilesWith({".sh"});
  scripts.push_back(".ci/run");
  for (const auto& file : scripts) {
    const ShellResult result = Shell("bash -n '" + file.string() + "'");
    EXPECT_EQ(result.code, 0) << file << ": " << result.output;
  }
}

TEST(ScriptsTest, PythonScriptsParse) {
  for (const auto& file : FilesWith({".py"})) {
    const ShellResult result = Shell(
        "/usr/bin/python3 -c 'import ast, sys; "
        "ast.parse(open(sys.argv[1]).read(), sys.argv[1])' '" +
        file.string() + "'");
    EXPECT_EQ(result.code, 0) << file << ": " << result.output;
  }
}

// Also the example policy and format, and what their addition touched.
TEST(ScriptsTest, NothingIsTooLarge) {
  const ShellResult result =
      Shell("/usr/bin/python3 tests/meta/house.py --check");
  EXPECT_EQ(result.code, 0) << result.output;
  const std::string all = Shell("/usr/bin/python3 tests/meta/house.py").output;
  EXPECT_THAT(all, HasSubstr("files that the example policy touched: 3;"));
  EXPECT_THAT(all, HasSubstr("files that the example format touched: 3;"));
  EXPECT_THAT(all, HasSubstr("tests/examples/registered.cc\n"));
  EXPECT_THAT(all, HasSubstr("tests/examples/format_list.cc\n"));
}

TEST(ScriptsTest, HelpNeedsNothing) {
  for (const std::string script :
       {"tests/run.sh", "examples/quickstart.sh", "examples/cluster.sh",
        "mount-tools/install-deps.sh"}) {
    const ShellResult result = Shell("bash " + script + " --help");
    EXPECT_EQ(result.code, 0) << script;
    EXPECT_THAT(result.output, HasSubstr("--")) << script;
    EXPECT_EQ(Shell("bash " + script + " --nonsense").code, 2) << script;
  }
}

TEST(ScriptsTest, ContinuousIntegrationRunsTheTestCommand) {
  EXPECT_THAT(Lines(".ci/run"),
              testing::Contains(HasSubstr("../tests/run.sh\" --all \"$@\"")));
}

// A label that no line of run.sh names belongs to tests that never run. The
// cases of `unit` and `model` are those of the sanitizers.
TEST(ScriptsTest, AllRunsEveryTest) {
  const std::regex choice("-L '?([a-z|]+)'?");
  std::string labels;
  for (const std::string& line : Lines("tests/run.sh")) {
    for (auto it = std::sregex_iterator(line.begin(), line.end(), choice);
         it != std::sregex_iterator(); ++it) {
      labels += (labels.empty() ? "" : "|") + (*it)[1].str();
    }
  }
  EXPECT_THAT(labels, HasSubstr("unit|model"));
  EXPECT_THAT(labels, HasSubstr("mount"));
  const ShellResult left =
      Shell("ctest --test-dir '" + testing_support::BuildDir() +
            "' --show-only -LE '^(" + labels + ")$'");
  EXPECT_EQ(left.code, 0);
  EXPECT_THAT(left.output, HasSubstr("Total Tests: 0\n")) << labels;
}

// A directory of stand-ins for the commands that install-deps.sh calls.
class InstallTest : public testing::Test {
 protected:
  InstallTest() {
    std::string name = testing::TempDir() + "install_test.XXXXXX";
    dir_ = mkdtemp(name.data());
    StandIn("apt-get", "echo apt-get \"$@\"");
    StandIn("apt-cache", "echo '  Candidate: 1'");
    StandIn("id", "echo 0");
    for (const std::string tool :
         {"bash", "sed", "grep", "sort", "env", "printf"}) {
      Shell("ln -s $(command -v " + tool + ") " + dir_ + "/");
    }
  }
  ~InstallTest() override { std::filesystem::remove_all(dir_); }

  void StandIn(const std::string& name, const std::string& body) {
    std::ofstream(dir_ + "/" + name) << "#!/bin/bash\n" << body << "\n";
    Shell("chmod +x " + dir_ + "/" + name);
  }
  // dpkg-query knows every package but those matching the shell pattern.
  void Missing(const std::string& pattern) {
    StandIn("dpkg-query",
            "case \"$4\" in " + pattern + ") exit 1;; esac; echo installed");
  }
  ShellResult Install(const std::string& arguments) {
    return Shell("PATH=" + dir_ + " bash mount-tools/install-deps.sh " +
                 arguments);
  }

  std::string dir_;
};

TEST_F(InstallTest, DoesNothingWhenAllIsThere) {
  Missing("-");
  for (int run = 0; run < 2; ++run) {
    const ShellResult result = Install("--build --test --examples");
    EXPECT_EQ(result.code, 0);
    EXPECT_EQ(result.output, "install-deps.sh: nothing to install\n");
  }
}

TEST_F(InstallTest, AsksForExactlyWhatIsMissing) {
  Missing("libfuse3-dev|fio");
  const ShellResult build = Install("");
  EXPECT_EQ(build.code, 0);
  EXPECT_THAT(build.output,
              HasSubstr("apt-get install -q -y --no-install-recommends "
                        "libfuse3-dev\n"));
  EXPECT_THAT(build.output, Not(HasSubstr("update")));
  EXPECT_THAT(Install("--build --test").output, HasSubstr("fio libfuse3-dev"));
}

TEST_F(InstallTest, UpdatesTheListsWhenAptKnowsNoCandidate) {
  Missing("libfuse3-dev");
  StandIn("apt-cache", "echo '  Candidate: (none)'");
  const ShellResult result = Install("--build");
  EXPECT_EQ(result.code, 0);
  EXPECT_LT(result.output.find("apt-get update"),
            result.output.find("apt-get install"));
}

TEST_F(InstallTest, UpdatesTheListsAndTriesAgainWhenFetchingFails) {
  Missing("libfuse3-dev");
  StandIn("apt-get", "echo apt-get \"$@\"; [ $1 != install ] || [ -e " + dir_ +
                         "/again ] || { : >" + dir_ + "/again; exit 100; }");
  const ShellResult result = Install("--build");
  EXPECT_EQ(result.code, 0);
  EXPECT_LT(result.output.find("apt-get install"),
            result.output.find("apt-get update"));
}

TEST_F(InstallTest, LeavesEtcdsServiceUnmaskedWhenAptFails) {
  Missing("etcd-server");
  StandIn("systemctl", "echo systemctl \"$@\"");
  StandIn("apt-get", "exit 100");
  // As if systemd ran here.
  const std::string script = dir_ + "/script";
  Shell("sed 's|/run/systemd/system|/|' mount-tools/install-deps.sh >" +
        script);
  const ShellResult result =
      Shell("PATH=" + dir_ + " bash " + script + " --test");
  EXPECT_EQ(result.code, 100);
  EXPECT_THAT(result.output,
              HasSubstr("systemctl mask --runtime --quiet etcd.service\n"));
  EXPECT_THAT(
      result.output,
      testing::EndsWith("systemctl unmask --runtime --quiet etcd.service\n"));
}

TEST_F(InstallTest, UsesSudoWhenNotRoot) {
  Missing("fuse3");
  StandIn("id", "echo 1000");
  StandIn("sudo", "echo sudo; exec \"$@\"");
  const ShellResult result = Install("--build");
  EXPECT_EQ(result.code, 0);
  EXPECT_THAT(result.output, HasSubstr("sudo\napt-get install"));
}

TEST_F(InstallTest, SaysWhatToInstallWithoutRootAndSudo) {
  Missing("fuse3");
  StandIn("id", "echo 1000");
  const ShellResult result = Install("--build");
  EXPECT_EQ(result.code, 1);
  EXPECT_EQ(result.output,
            "install-deps.sh: neither root nor sudo; as root run: apt-get "
            "install fuse3\n");
}

}  // namespace
}  // namespace shufflefs::meta
