// SPDX-License-Identifier: Apache-2.0
#include "tests/examples/reverse_policy.h"
namespace shufflefs {
namespace {
constexpr PolicyOption kReverseKeys[] = {
    {.key = "reverse.skip",
     .default_text = "0",
     .values = "a number of samples from 0 to 1000",
     .help = "samples at the end that reverse shows last",
     .max = 1000,
     .binds = true}};

struct ReverseOrder : Order {
  ReverseOrder(uint64_t samples, uint64_t skip) : n(samples), skip(skip) {}
  uint64_t size() const override { return n; }
  uint64_t SampleAt(uint64_t position) const override {
    return (2 * n - 1 - position - skip % n) % n;
  }
  uint64_t PositionOf(uint64_t s) const override { return SampleAt(s); }
  const uint64_t n, skip;
};
struct ReversePolicy : Policy {
  explicit ReversePolicy(uint64_t skip) : skip(skip) {}
  absl::string_view name() const override { return "reverse"; }
  Consumption consumption() const override { return Consumption::kPlanned; }
  std::unique_ptr<const Order> MakeOrder(const Stratum& of, Seed,
                                         Epoch) const override {
    return std::make_unique<ReverseOrder>(of.size, skip);
  }
  std::unique_ptr<const Order> MakeListing(const Stratum& of, Seed,
                                           Epoch epoch) const override {
    return std::make_unique<ReverseOrder>(of.size, epoch.value());
  }
  const uint64_t skip;
};
}  // namespace

constinit const PolicyEntry kReverseEntry = {
    .name = "reverse",
    .help = "from the end to the beginning",
    .keys = kReverseKeys,
    .make = [](const PolicyOptions& options,
               const StagedView*) -> std::unique_ptr<const Policy> {
      return std::make_unique<ReversePolicy>(options.number(kReverseKeys[0]));
    },
    .advice = {.suggests = [](const DatasetFacts&) {
      return std::vector<PolicySuggestion>{
          {.options = "policy=reverse", .when = "for the last names first"}};
    }}};
}  // namespace shufflefs
