// SPDX-License-Identifier: Apache-2.0
#include "core/readers/job_nodes.h"

#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "tests/core/base/temp_tree.h"

namespace shufflefs {
namespace {

using std::chrono::milliseconds;
using testing_support::TempTree;

std::string Environment(const std::vector<std::string>& variables) {
  std::string text;
  for (const std::string& variable : variables) text += variable + '\0';
  return text;
}

TEST(SeveralNodesTextTest, KnowsTheLaunchers) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{}, ""},
      {{"PATH=/bin", "LANG=C"}, ""},
      {{"WORLD_SIZE=16", "LOCAL_WORLD_SIZE=8"},
       "WORLD_SIZE=16, LOCAL_WORLD_SIZE=8"},
      {{"WORLD_SIZE=8", "LOCAL_WORLD_SIZE=8"}, ""},
      // Without its part here a number of processes says nothing of nodes.
      {{"WORLD_SIZE=16"}, ""},
      {{"GROUP_WORLD_SIZE=2"}, "GROUP_WORLD_SIZE=2"},
      {{"GROUP_WORLD_SIZE=1"}, ""},
      {{"HOROVOD_CROSS_SIZE=4"}, "HOROVOD_CROSS_SIZE=4"},
      {{"OMPI_COMM_WORLD_LOCAL_SIZE=4", "OMPI_COMM_WORLD_SIZE=8"},
       "OMPI_COMM_WORLD_SIZE=8, OMPI_COMM_WORLD_LOCAL_SIZE=4"},
      {{"MV2_COMM_WORLD_SIZE=2", "MV2_COMM_WORLD_LOCAL_SIZE=1"},
       "MV2_COMM_WORLD_SIZE=2, MV2_COMM_WORLD_LOCAL_SIZE=1"},
      {{"PMI_SIZE=6", "MPI_LOCALNRANKS=3"}, "PMI_SIZE=6, MPI_LOCALNRANKS=3"},
      {{"SLURM_NNODES=2"}, "SLURM_NNODES=2"},
      {{"SLURM_JOB_NUM_NODES=3"}, "SLURM_JOB_NUM_NODES=3"},
      {{"SLURM_NNODES=1", "SLURM_JOB_NUM_NODES=1"}, ""},
      // The innermost decides.
      {{"SLURM_NNODES=4", "SLURM_STEP_NUM_NODES=1"}, ""},
      {{"SLURM_NNODES=4", "WORLD_SIZE=2", "LOCAL_WORLD_SIZE=2"}, ""},
      {{"SLURM_NNODES=1", "WORLD_SIZE=4", "LOCAL_WORLD_SIZE=2"},
       "WORLD_SIZE=4, LOCAL_WORLD_SIZE=2"},
      // What is no number is not there.
      {{"SLURM_NNODES=", "SLURM_JOB_NUM_NODES=two", "=3", "GROUP_WORLD_SIZE"},
       ""},
      {{"WORLD_SIZE=99999999999", "LOCAL_WORLD_SIZE=1"}, ""},
  };
  for (const auto& [variables, expected] : cases) {
    EXPECT_EQ(SeveralNodesText(Environment(variables)), expected)
        << (variables.empty() ? "none" : variables[0]);
  }
}

class JobNodesTest : public ::testing::Test {
 protected:
  // Asks until the answer is not "", which one of another reader never is.
  std::string Await(uint32_t id, milliseconds now) {
    for (;;) {
      const std::string text = nodes_.Of(id, now);
      if (!text.empty()) return text;
      std::this_thread::yield();
    }
  }
  void Start(uint32_t id, const std::vector<std::string>& variables) {
    std::filesystem::remove_all(proc_.At(std::to_string(id)));
    proc_.File(std::to_string(id) + "/environ", Environment(variables));
  }

  TempTree proc_;
  JobNodes nodes_{proc_.root()};
};

TEST_F(JobNodesTest, TellsReadersApart) {
  Start(10, {"WORLD_SIZE=1", "LOCAL_WORLD_SIZE=1"});
  Start(11, {"HOME=/root", "SLURM_NNODES=2"});
  const milliseconds now(5);
  EXPECT_EQ(nodes_.Of(10, now), "");
  EXPECT_EQ(nodes_.Of(12, now), "");  // there is no such process
  EXPECT_EQ(Await(11, now), "SLURM_NNODES=2");
  // By now those that were asked for before it were looked at.
  EXPECT_EQ(nodes_.Of(10, now), "");
  EXPECT_EQ(nodes_.Of(12, now), "");
}

TEST_F(JobNodesTest, LooksAgainAfterAWhile) {
  Start(10, {"HOME=/root"});
  Start(11, {"SLURM_NNODES=2"});
  nodes_.Of(10, milliseconds(0));
  Await(11, milliseconds(0));
  Start(10, {"SLURM_NNODES=3"});
  EXPECT_EQ(nodes_.Of(10, JobNodes::kValid - milliseconds(1)), "");
  EXPECT_EQ(Await(10, JobNodes::kValid), "SLURM_NNODES=3");
}

TEST_F(JobNodesTest, ReadsEnvironmentsOfAnyLength) {
  std::vector<std::string> variables;
  for (int i = 0; i < 500; ++i) {
    variables.push_back("V" + std::to_string(i) + "=" + std::string(100, 'x'));
  }
  variables.push_back("SLURM_NNODES=7");
  Start(10, variables);
  EXPECT_EQ(Await(10, milliseconds(0)), "SLURM_NNODES=7");
}

TEST_F(JobNodesTest, MayGoWhileItIsAsked) {
  for (int round = 0; round < 100; ++round) {
    JobNodes nodes(proc_.root());
    for (uint32_t id = 1; id < 20; ++id) nodes.Of(id, milliseconds(0));
  }
}

}  // namespace
}  // namespace shufflefs
