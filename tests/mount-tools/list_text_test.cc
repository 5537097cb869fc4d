// SPDX-License-Identifier: Apache-2.0
#include "mount-tools/ctl/list/list_text.h"

#include <stdlib.h>
#include <time.h>

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "mount-tools/ctl/status_text.h"

namespace shufflefs {
namespace {

constexpr char kOneView[] =
    R"({"views":[{"name":"root","policy":"lirs","epoch":3,
        "epoch_state":"running","why":"asked for"}]})";
constexpr char kTwoViews[] =
    R"({"views":[{"name":"a","policy":"brand","epoch":3},
        {"name":"b","policy":"brand","epoch":12},{"name":"c"}]})";

MountFacts Facts(const std::string& mountpoint, const std::string& status) {
  MountFacts facts;
  facts.mountpoint = mountpoint;
  facts.source = "/data";
  facts.status = status;
  return facts;
}

TEST(ListText, IsATable) {
  setenv("TZ", "UTC", 1);
  tzset();
  MountFacts known = Facts("/mnt/long name\n", kOneView);
  known.pid = 4711;
  known.since = 1764072781;
  MountFacts dead = Facts("/mnt/d", "");
  dead.state = MountState::kDead;
  EXPECT_EQ(ListText({known, Facts("/mnt/b", kTwoViews), dead}),
            "MOUNT            SOURCE  POLICY         EPOCH   PID   SINCE\n"
            "/mnt/long name?  /data   lirs           3       4711  "
            "2025-11-25 12:13\n"
            "/mnt/b           /data   brand,brand,-  3,12,-  -     -\n"
            "/mnt/d           /data   -              -       -     its daemon "
            "is gone; remove it with: shufflectl umount /mnt/d\n");
  EXPECT_EQ(ListText({}), "");
}

TEST(ListText, AMountCannotWriteToTheTerminal) {
  const std::string text = ListText(
      {Facts("/mnt",
             R"({"views":[{"name":"a","policy":"\u001b[2J\nx","epoch":3}]})")});
  EXPECT_THAT(text, ::testing::HasSubstr("?[2J?x"));
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
}

TEST(ListJson, IsOneObjectALine) {
  MountFacts known = Facts("/mnt/\xff", kOneView);
  known.pid = 4711;
  known.since = 1764072781;
  MountFacts silent = Facts("/mnt/d", "");
  silent.state = MountState::kSilent;
  EXPECT_EQ(ListJson({known, silent}),
            "{\"mountpoint\":\"/mnt/\xef\xbf\xbd\",\"source\":\"/data\","
            "\"state\":\"serves\",\"pid\":4711,"
            "\"since\":\"2025-11-25T12:13:01Z\",\"views\":[{\"name\":\"root\","
            "\"policy\":\"lirs\",\"epoch\":3,\"epoch_state\":\"running\"}]}\n"
            "{\"mountpoint\":\"/mnt/d\",\"source\":\"/data\",\"state\":"
            "\"silent\",\"pid\":null,\"since\":null,\"views\":[]}\n");
}

TEST(WhyNoStatusTest, SaysWhatToDo) {
  MountFacts facts = Facts("/m", "");
  EXPECT_EQ(WhyNoStatus(facts), "its status cannot be read");
  facts.state = MountState::kSilent;
  EXPECT_EQ(WhyNoStatus(facts),
            "its daemon does not answer; end it with: shufflectl umount -l /m");
  facts.state = MountState::kRefuses;
  EXPECT_EQ(WhyNoStatus(facts), "it is another user's");
}

TEST(StatusJsonLineTest, NamesTheMount) {
  EXPECT_EQ(StatusJsonLine("/m", "{\"views\": [], \"x\": 1}", "why"),
            "{\"mountpoint\":\"/m\",\"views\":[],\"x\":1}\n");
  EXPECT_EQ(StatusJsonLine("/m", "", "why"),
            "{\"mountpoint\":\"/m\",\"error\":\"why\"}\n");
}

}  // namespace
}  // namespace shufflefs
