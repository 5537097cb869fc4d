// SPDX-License-Identifier: Apache-2.0
// A view over a temporary tree, without a mount.
#ifndef SHUFFLEFS_TESTS_CORE_VIEW_VIEW_FIXTURE_H_
#define SHUFFLEFS_TESTS_CORE_VIEW_VIEW_FIXTURE_H_

#include <unistd.h>

#include <chrono>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "core/readers/job_tracker.h"
#include "core/view/view.h"
#include "gtest/gtest.h"
#include "policies/registry.h"
#include "tests/core/base/temp_tree.h"

namespace shufflefs::testing_support {

inline PolicyResolver ByName() {
  return [](const ViewConfig& config,
            const Dataset&) -> absl::StatusOr<ResolvedPolicy> {
    ResolvedPolicy resolved;
    absl::StatusOr<std::unique_ptr<const Policy>> policy =
        MakePolicy(config.policy, config.policy_options);
    if (!policy.ok()) return policy.status();
    resolved.policy = *std::move(policy);
    resolved.why = "test";
    return resolved;
  };
}

// Fisher-Yates; std::shuffle differs between libraries.
template <typename Random>
void Shuffle(std::vector<EntryId>& names, Random& random) {
  for (size_t i = names.size(); i > 1; --i) {
    std::swap(names[i - 1], names[random() % i]);
  }
}

// Class folders c0, c1, … of `files` files each; with `pairs` every x.jpg has
// an x.json beside it. Names have no common sequence.
class ViewFixture {
 public:
  ViewFixture(int classes, int files, bool pairs = false) {
    for (int c = 0; c < classes; ++c) {
      for (int f = 0; f < files; ++f) {
        const std::string stem = "c" + std::to_string(c) + "/" +
                                 std::to_string((f * 7919 + c * 13) % 100003) +
                                 "_" + std::to_string(f % 3);
        tree.File(stem + ".jpg", "image " + stem);
        if (pairs) tree.File(stem + ".json", "label " + stem);
      }
    }
  }

  static ViewConfig Config(const std::string& policy) {
    ViewConfig config;
    config.policy = policy;
    config.substitute = Substitute::kDirectory;
    return config;
  }

  std::shared_ptr<const ViewSetup> Setup(const ViewConfig& config) {
    if (catalogue == nullptr) {
      catalogue = std::make_shared<const Catalogue>(tree.Scanned());
      source = std::make_unique<SourceDir>(tree.Source());
    }
    auto setup = MakeViewSetup(config, catalogue, Tools(), nullptr);
    EXPECT_TRUE(setup.ok()) << setup.status();
    return *std::move(setup);
  }

  SetupTools Tools() const {
    SetupTools tools;
    tools.policies = Policies();
    tools.addresses = [this](const Dataset& of) {
      return SampleAddresses(*source, of, PhysicalOptions());
    };
    tools.resolver = ByName();
    tools.samples = samples;
    return tools;
  }

  View::Parts Parts(const ViewConfig& config) {
    View::Parts parts;
    parts.setup = Setup(config);
    parts.tools = Tools();
    parts.job_tracker = &job_tracker;
    parts.on_rebind = [this](bool) { ++rebound; };
    return parts;
  }

  std::unique_ptr<View> MakeView(const ViewConfig& config,
                                 Ledger* ledger = nullptr,
                                 bool sees_opens = true) {
    View::Parts parts = Parts(config);
    parts.ledger = ledger;
    parts.sees_opens = sees_opens;
    return std::make_unique<View>(std::move(parts));
  }

  std::vector<EntryId> Files() const {
    std::vector<EntryId> files;
    for (uint32_t e = 0; e < catalogue->entry_count(); ++e) {
      if (catalogue->kind(EntryId(e)) == EntryKind::kFile) {
        files.push_back(EntryId(e));
      }
    }
    return files;
  }

  TempTree tree;
  std::shared_ptr<const Catalogue> catalogue;
  std::unique_ptr<SourceDir> source;
  JobTracker job_tracker;
  SampleProducerMaker samples;  // for policies that bind names on demand
  int rebound = 0;
};

// A client: looks a name up and opens what it shows, again where the open is
// stale, as the kernel does.
inline EntryId OpenName(View& view, EntryId name,
                        std::chrono::milliseconds now) {
  for (int attempt = 0; attempt < 2; ++attempt) {
    const EntryId file = view.Lookup(name).shown;
    if (view.Open(file, getpid(), now) == View::OpenVerdict::kServe) {
      return file;
    }
  }
  ADD_FAILURE() << "stale twice";
  return name;
}

// One pass in random order; gives what each name showed.
inline std::map<EntryId, EntryId> Pass(View& view, std::vector<EntryId> names,
                                       std::chrono::milliseconds& now,
                                       std::mt19937& random) {
  Shuffle(names, random);
  std::map<EntryId, EntryId> shown;
  for (const EntryId name : names) {
    now += std::chrono::milliseconds(100);
    shown[name] = OpenName(view, name, now);
  }
  return shown;
}

}  // namespace shufflefs::testing_support

#endif  // SHUFFLEFS_TESTS_CORE_VIEW_VIEW_FIXTURE_H_
