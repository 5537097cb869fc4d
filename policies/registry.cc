// SPDX-License-Identifier: Apache-2.0
#include "policies/registry.h"

#include <array>
#include <bit>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "policies/auto/auto_choice.h"
#include "policies/brand/brand.h"
#include "policies/clairvoyant.h"
#include "policies/lirs.h"
#include "policies/met/met.h"
#include "policies/native.h"
#include "policies/reimu.h"
#include "policies/static_policy.h"
#include "policies/window.h"

namespace shufflefs {
namespace {

constexpr uint64_t kMinPage = uint64_t{4} << 10;
constexpr uint64_t kMaxPage = uint64_t{16} << 20;
constexpr uint64_t kMaxBlock = uint64_t{1} << 30;
constexpr uint64_t kMaxChunk = 65536;

struct Entry {
  absl::string_view name;
  absl::string_view help;
  std::unique_ptr<const Policy> (*make)(const PolicyOptions& options);
};

constexpr std::array<Entry, 8> kEntries = {{
    {"native", "names, bytes and listing order as in the source",
     [](const PolicyOptions&) -> std::unique_ptr<const Policy> {
       return std::make_unique<NativePolicy>();
     }},
    {"lirs",
     "full random shuffle each epoch: of samples (lirs.unit=instance), or of "
     "pages of the device (lirs.unit=page)",
     [](const PolicyOptions& options) -> std::unique_ptr<const Policy> {
       return std::make_unique<LirsPolicy>(options);
     }},
    {"brand",
     "names show what is in memory of their group, read in chunks of "
     "brand.chunk files",
     [](const PolicyOptions& options) -> std::unique_ptr<const Policy> {
       return std::make_unique<BrandPolicy>(options);
     }},
    {"met",
     "parts of the dataset one after the other, from a faster tier, each shown "
     "met.repeat times while the next is copied",
     [](const PolicyOptions& options) -> std::unique_ptr<const Policy> {
       return std::make_unique<MetPolicy>(options);
     }},
    {"reimu",
     "records of container files in blocks of reimu.block, mixed within "
     "reimu.window of them",
     [](const PolicyOptions& options) -> std::unique_ptr<const Policy> {
       return std::make_unique<ReimuPolicy>(options);
     }},
    {"clairvoyant",
     "names and bytes as in the source; the order that a stock PyTorch sampler "
     "draws is found out from its opens, and read ahead",
     [](const PolicyOptions&) -> std::unique_ptr<const Policy> {
       return std::make_unique<ClairvoyantPolicy>();
     }},
    {"window",
     "baseline: a shuffle queue of window.samples over the source's order",
     [](const PolicyOptions& options) -> std::unique_ptr<const Policy> {
       return std::make_unique<WindowPolicy>(options);
     }},
    {"static", "baseline: names untouched, memory keeps what is read first",
     [](const PolicyOptions&) -> std::unique_ptr<const Policy> {
       return std::make_unique<StaticPolicy>();
     }},
}};

}  // namespace

absl::StatusOr<std::unique_ptr<const Policy>> MakePolicy(
    absl::string_view name, const PolicyOptions& options) {
  const absl::Status checked = CheckPolicyOptions(options);
  if (!checked.ok()) return checked;
  for (const Entry& entry : kEntries) {
    if (entry.name == name) return entry.make(options);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("policy: there is no \"", name, "\"; the policies are ",
                   absl::StrJoin(PolicyNames(), ", ")));
}

absl::Status CheckPolicyOptions(const PolicyOptions& options) {
  const uint64_t page = options.lirs_page;
  if (!std::has_single_bit(page) || page < kMinPage || page > kMaxPage) {
    return absl::InvalidArgumentError(
        absl::StrCat("lirs.page: ", page, " is not a power of two from ",
                     kMinPage, " (4 KiB) to ", kMaxPage, " (16 MiB)"));
  }
  if (options.reimu_block < kMinPage || options.reimu_block > kMaxBlock) {
    return absl::InvalidArgumentError(
        absl::StrCat("reimu.block: ", options.reimu_block,
                     " is not a size from ", kMinPage, " (4 KiB) to ",
                     kMaxBlock, " (1 GiB)"));
  }
  if (options.reimu_window < 1) {
    return absl::InvalidArgumentError(
        "reimu.window: 0 is less than 1, the smallest number of blocks");
  }
  if (options.window_samples < 1) {
    return absl::InvalidArgumentError(
        "window.samples: 0 is less than 1, the smallest queue");
  }
  if (options.brand_chunk < 1 || options.brand_chunk > kMaxChunk) {
    return absl::InvalidArgumentError(
        absl::StrCat("brand.chunk: ", options.brand_chunk,
                     " is not a number of files from 1 to ", kMaxChunk));
  }
  return absl::OkStatus();
}

PolicySet AllPolicies() { return {MakePolicy, ChooseAuto}; }

std::vector<absl::string_view> PolicyNames() {
  std::vector<absl::string_view> names;
  for (const Entry& entry : kEntries) names.push_back(entry.name);
  return names;
}

absl::string_view PolicyHelp(absl::string_view name) {
  for (const Entry& entry : kEntries) {
    if (entry.name == name) return entry.help;
  }
  return "";
}

}  // namespace shufflefs
