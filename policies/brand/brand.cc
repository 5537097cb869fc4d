// SPDX-License-Identifier: Apache-2.0
#include "policies/brand/brand.h"

#include "core/policy/binder.h"
#include "policies/brand/brand_advice.h"
#include "policies/brand/group_binder.h"
#include "policies/brand/location_binder.h"
#include "policies/brand/nodes/brand_model.h"
#include "policies/reimu.h"

namespace shufflefs {
namespace {

constexpr absl::string_view kBrandChunks[] = {"auto", "random", "physical"};
constexpr absl::string_view kBrandBindings[] = {"group", "location"};
constexpr PolicyOption kBrandKeys[] = {
    {.key = "brand.chunk_files",
     .default_text = "64",
     .values = "a number of files from 1 to 65536",
     .help = "maximum number of files that brand reads together",
     .initial = 64,
     .min = 1,
     .max = 65536,
     .formerly = "brand.chunk",
     .binds = true,
     .place = 6},
    {.key = "brand.chunk_layout",
     .default_text = "auto",
     .values = "auto, random or physical",
     .help = "files that brand reads together: random, or neighbours",
     .kind = PolicyOption::Kind::kWord,
     .words = kBrandChunks,
     .formerly = "brand.chunks",
     .binds = true,
     .place = 8},
    {.key = "brand.binding",
     .default_text = "group",
     .values = "group or location",
     .help = "samples that a name may show: its group's, or the paper's",
     .kind = PolicyOption::Kind::kWord,
     .words = kBrandBindings,
     .binds = true,
     .place = 7},
    {.key = "brand.locality",
     .default_text = "0",
     .values = "a number from 0 to 1",
     .help = "share of names that show samples of the asking node",
     .kind = PolicyOption::Kind::kFraction,
     .binds = true},
    {.key = "brand.packed",
     .default_text = "none",
     .values = "the path of a directory",
     .help = "directory of chunk files that shufflectl pack wrote",
     .kind = PolicyOption::Kind::kPath,
     .run_time = false,
     .binds = true,
     .place = 9},
};

std::string BrandHeldBack(const PolicyOptions& options, DeviceKind device) {
  const PoolFacet pool = BrandOptions::Of(options).pool;
  return device == DeviceKind::kSeekBound &&
                 pool.chunks == PoolFacet::Chunks::kRandom &&
                 pool.packed.empty()
             ? "brand.chunk_layout = random, which costs a seek a file"
             : "";
}

}  // namespace

constinit const PolicyEntry kBrandEntry = {
    .name = "brand",
    .help = "your program's order; names show samples that are in memory",
    .keys = kBrandKeys,
    .make = [](const PolicyOptions& options,
               const StagedView*) -> std::unique_ptr<const Policy> {
      return std::make_unique<BrandPolicy>(BrandOptions::Of(options));
    },
    .advice = {.suits = BrandSuits,
               .advises = BrandAdvises,
               .gains = BrandGains,
               .suggests = BrandSuggests,
               .held_back = BrandHeldBack,
               .use = "for clients that draw files at random",
               .benched = {.classes = true}},
    .model = {.options = kBrandModelOptions,
              .over_data = SimulateBrandNodes,
              .binder = MakeRefilledBinder},
};

BrandOptions BrandOptions::Of(const PolicyOptions& options) {
  BrandOptions brand;
  brand.pool.chunk_files = static_cast<uint32_t>(options.number(kBrandKeys[0]));
  brand.pool.chunks = options.word<PoolFacet::Chunks>(kBrandKeys[1]);
  brand.binding = options.word<Binding>(kBrandKeys[2]);
  brand.locality = options.fraction(kBrandKeys[3]);
  brand.pool.packed = options.text(kBrandKeys[4]);
  brand.blocks = ReimuBlocks(options);
  return brand;
}

std::unique_ptr<Binder> BrandPolicy::MakeBinder(
    const BinderInput& input) const {
  if (options_.binding == BrandOptions::Binding::kLocation) {
    return std::make_unique<LocationBinder>(input);
  }
  return std::make_unique<GroupBinder>(input);
}

}  // namespace shufflefs
