// SPDX-License-Identifier: Apache-2.0
#include "core/binding/binding.h"

#include <set>

#include "core/binding/listing.h"
#include "gmock/gmock.h"
#include "tests/core/view/view_fixture.h"

namespace shufflefs {
namespace {

using testing_support::ViewFixture;

std::shared_ptr<const Binding> BindingOf(const ViewSetup& setup, Epoch epoch,
                                         RetainedBindings retained = {},
                                         bool identity = false) {
  return std::make_shared<const Binding>(
      std::make_shared<const Plan>(setup.dataset, setup.policy,
                                   setup.config.seed, epoch),
      std::move(retained), identity);
}

class BindingTest : public ::testing::TestWithParam<std::string> {};

TEST_P(BindingTest, IsABijectionInsideEachDirectoryInEveryEpoch) {
  ViewFixture fixture(3, 50);
  const auto setup = fixture.Setup(ViewFixture::Config(GetParam()));
  for (uint64_t epoch = 0; epoch < 5; ++epoch) {
    const auto binding = BindingOf(*setup, Epoch(epoch));
    std::set<EntryId> shown;
    for (const EntryId name : fixture.Files()) {
      const EntryId file = binding->Shown(name);
      EXPECT_EQ(fixture.catalogue->parent(file),
                fixture.catalogue->parent(name));
      EXPECT_EQ(binding->NameOf(file), name);
      shown.insert(file);
    }
    EXPECT_EQ(shown.size(), fixture.Files().size());
  }
}

// [S-3.4f] Files that share a stem move together.
TEST_P(BindingTest, MovesTheFilesOfAPairTogether) {
  ViewFixture fixture(2, 40, /*pairs=*/true);
  const auto setup = fixture.Setup(ViewFixture::Config(GetParam()));
  const auto binding = BindingOf(*setup, Epoch(1));
  const Catalogue& catalogue = *fixture.catalogue;
  for (const EntryId name : fixture.Files()) {
    const std::string path = catalogue.path(name);
    if (path.substr(path.size() - 4) != ".jpg") continue;
    const std::string stem = path.substr(0, path.size() - 4);
    const std::string image = catalogue.path(binding->Shown(name));
    const std::string label = catalogue.path(
        binding->Shown(*catalogue.FindPath(stem + ".json")));
    EXPECT_EQ(image.substr(0, image.size() - 4) + ".json", label);
  }
}

TEST_P(BindingTest, KeepsRetainedNamesAndStaysABijection) {
  ViewFixture fixture(2, 30);
  const auto setup = fixture.Setup(ViewFixture::Config(GetParam()));
  const auto before = BindingOf(*setup, Epoch(0));
  std::vector<NameBinding> pairs;
  for (const uint64_t name : {0, 3, 29, 30, 31, 59}) {
    pairs.push_back({name, before->ShownSample(SampleId(name)).value()});
  }
  auto retained = RetainedBindings::Make(pairs);
  ASSERT_TRUE(retained.ok());
  const auto after = BindingOf(*setup, Epoch(1), *std::move(retained));
  for (const NameBinding& pair : pairs) {
    EXPECT_EQ(after->ShownSample(SampleId(pair.name)).value(), pair.sample);
  }
  std::set<uint64_t> shown;
  for (uint64_t name = 0; name < 60; ++name) {
    const SampleId sample = after->ShownSample(SampleId(name));
    EXPECT_EQ(after->NameOfSample(sample).value(), name);
    shown.insert(sample.value());
  }
  EXPECT_EQ(shown.size(), 60u);
}

// Where substitution is suspended at a boundary, the names that were opened
// already keep the samples that they showed.
TEST_P(BindingTest, AnIdentityKeepsRetainedNamesToo) {
  ViewFixture fixture(2, 30);
  const auto setup = fixture.Setup(ViewFixture::Config(GetParam()));
  const auto before = BindingOf(*setup, Epoch(0));
  std::vector<NameBinding> pairs;
  for (const uint64_t name : {1, 4, 28, 33, 59}) {
    pairs.push_back({name, before->ShownSample(SampleId(name)).value()});
  }
  auto retained = RetainedBindings::Make(pairs);
  ASSERT_TRUE(retained.ok());
  const auto after = BindingOf(*setup, Epoch(1), *std::move(retained), true);
  std::set<uint64_t> shown;
  size_t own = 0;
  for (uint64_t name = 0; name < 60; ++name) {
    const SampleId sample = after->ShownSample(SampleId(name));
    EXPECT_EQ(after->NameOfSample(sample).value(), name);
    shown.insert(sample.value());
    own += sample.value() == name;
  }
  EXPECT_EQ(shown.size(), 60u);
  EXPECT_GE(own, 60u - 2 * pairs.size());
  for (const NameBinding& pair : pairs) {
    EXPECT_EQ(after->ShownSample(SampleId(pair.name)).value(), pair.sample);
  }
  for (const EntryId name : fixture.Files()) {
    EXPECT_EQ(after->NameOf(after->Shown(name)), name);
  }
}

TEST_P(BindingTest, ListsEveryNameOnceInAnOrderOfTheEpoch) {
  ViewFixture fixture(1, 60, /*pairs=*/true);
  fixture.tree.File("c0/.hidden");
  fixture.tree.File("c0/empty.jpg", "");
  const auto setup = fixture.Setup(ViewFixture::Config(GetParam()));
  const DirId dir = *fixture.catalogue->FindDir("c0");
  std::vector<EntryId> last;
  for (uint64_t epoch = 0; epoch < 4; ++epoch) {
    const Listing listing(BindingOf(*setup, Epoch(epoch)), dir);
    std::vector<EntryId> order;
    for (uint32_t k = 0; k < listing.size(); ++k) {
      order.push_back(listing.At(k));
    }
    EXPECT_EQ(std::set<EntryId>(order.begin(), order.end()).size(), 122u);
    EXPECT_NE(order, last);
    last = order;
  }
}

INSTANTIATE_TEST_SUITE_P(Policies, BindingTest,
                         ::testing::Values("lirs", "window"));

TEST(BindingNativeTest, ShowsEveryNameItsOwnFileInTheSourcesOrder) {
  ViewFixture fixture(2, 20);
  const auto setup = fixture.Setup(ViewFixture::Config("native"));
  const auto binding = BindingOf(*setup, Epoch(3));
  for (const EntryId name : fixture.Files()) {
    EXPECT_EQ(binding->Shown(name), name);
  }
  const DirId dir = *fixture.catalogue->FindDir("c1");
  const Listing listing(binding, dir);
  for (uint32_t k = 0; k < listing.size(); ++k) {
    EXPECT_EQ(listing.At(k), fixture.catalogue->in_source_order(dir, k));
  }
}

// [S-3.4c] With substitute = never a name always shows its own file.
TEST(BindingNeverTest, KeepsNamesAndListsThePlan) {
  ViewFixture fixture(2, 20);
  ViewConfig config = ViewFixture::Config("lirs");
  config.substitute = Substitute::kNever;
  const auto setup = fixture.Setup(config);
  EXPECT_FALSE(setup->rebinds());
  const auto binding = BindingOf(*setup, Epoch(3));
  const DirId dir = *fixture.catalogue->FindDir("c1");
  const Listing listing(binding, dir);
  const Grouping& grouping = setup->dataset->grouping();
  const GroupId group = grouping.place(listing.At(0))->group;
  for (uint32_t k = 0; k < listing.size(); ++k) {
    EXPECT_EQ(binding->Shown(listing.At(k)), listing.At(k));
    EXPECT_EQ(grouping.place(listing.At(k))->index,
              binding->plan().group_order(group).SampleAt(k));
  }
}

}  // namespace
}  // namespace shufflefs
