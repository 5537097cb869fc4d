// SPDX-License-Identifier: Apache-2.0
// A member that reads another dataset, or shows other views, is not welcome.
#include <memory>
#include <utility>

#include "core/peers/peers.h"
#include "gtest/gtest.h"
#include "tests/core/base/file_bytes.h"
#include "tests/core/io/reader_fixture.h"
#include "tests/core/peers/fake_network.h"

namespace shufflefs {
namespace {

using testing_support::FakeNetwork;
using testing_support::TempTree;

// Keeps what it gets as its service, to welcome others.
class WelcomeTest : public ::testing::Test {
 protected:
  absl::Status Welcome(PeerIdentity theirs) {
    PeerService* service = nullptr;
    FakeNetwork network(1);
    Peers::Parts parts;
    parts.identity = Ours();
    parts.make_transport = [&](PeerTransportParts made) {
      service = made.service;
      return network.Maker(0)(std::move(made));
    };
    const SourceDir source = tree_.Source();
    parts.source = &source;
    parts.catalogue =
        std::make_shared<const Catalogue>(*Scan(source, ScanOptions()));
    parts.share = *BufferPool::Make({.bytes = uint64_t{1} << 20})
                       ->Open({.name = "", .guarantee = 0});
    const auto peers = *Peers::Start(std::move(parts));
    return service->Welcome(theirs);
  }
  static PeerIdentity Ours() {
    PeerIdentity ours;
    ours.version = "0.2.0";
    ours.dataset = 5;
    ours.files = 100;
    ours.keys = {{"policy", "lirs"}, {"seed", "0"}};
    return ours;
  }

  TempTree tree_;
};

TEST_F(WelcomeTest, SaysWhatDiffers) {
  EXPECT_EQ(Welcome(Ours()), absl::OkStatus());
  PeerIdentity other = Ours();
  other.files = 99;
  other.dataset = 6;
  EXPECT_EQ(Welcome(other).message(),
            "another dataset: 100 files here and 99 there");
  other = Ours();
  other.dataset = 6;
  EXPECT_EQ(Welcome(other).message(),
            "another dataset: names, sizes or times of its files differ");
  other = Ours();
  other.keys[1].second = "3";
  EXPECT_EQ(Welcome(other).message(), "seed = 0 here and 3 there");
  other = Ours();
  other.version = "0.3.0";
  EXPECT_EQ(Welcome(other).message(), "version 0.2.0 here and 0.3.0 there");
  other = Ours();
  other.keys.pop_back();
  EXPECT_EQ(Welcome(other).message(), "other views");
}

}  // namespace
}  // namespace shufflefs
