// SPDX-License-Identifier: Apache-2.0
// GeneratorTrail follows the position of a job's default generator from epoch
// to epoch. From it follow the seeds that the job's RandomSampler will draw.
//
// A search returns places where the seed of one epoch may have been drawn. The
// seed of a later epoch shows which place is right, because it is further on in
// the same stream. Few numbers are drawn between two epochs, and usually the
// same count: the seeds of the workers, those of a validation loader.
//
// Plain values. Use it from one thread.
#ifndef SHUFFLEFS_CORE_SAMPLER_SEARCH_GENERATOR_TRAIL_H_
#define SHUFFLEFS_CORE_SAMPLER_SEARCH_GENERATOR_TRAIL_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "core/sampler/search/generator_search.h"
#include "core/sampler/search/torch_random.h"

namespace shufflefs {

// The low half of an epoch's seed. Epochs count from 0. Some of the counted
// epochs may not have drawn a seed.
struct DrawnSeed {
  uint64_t epoch = 0;
  uint32_t seed = 0;

  friend bool operator==(const DrawnSeed&, const DrawnSeed&) = default;
};

class GeneratorTrail {
 public:
  // The seed of an epoch was found. The first one is what to search for. A
  // later one keeps the places that draw it soon. If a place was known and does
  // not draw it, this seed becomes the first again.
  void Learn(const DrawnSeed& drawn);

  // Returns what to search for in the streams of generators. Returns nothing
  // before the first seed, or once the place is known.
  std::optional<DrawnSeed> Wanted() const;

  // Adds a place where Wanted() was found. Returns false if later seeds rule it
  // out, or if enough places are kept.
  bool Add(const GeneratorPlace& place);

  bool has_places() const { return !places_.empty(); }
  // Returns whether the seeds of two epochs confirm the place.
  bool is_known() const { return has_places() && is_borne_out_; }

  // Returns the possible seeds of this epoch, the likely ones first. One
  // function uses all places, the other the place that was added last.
  std::vector<uint32_t> Seeds(uint64_t epoch) const;
  std::vector<uint32_t> SeedsOfLastPlace(uint64_t epoch) const;

 private:
  struct Place {
    TorchGenerator generator;  // is just past the last seed that was learnt
    uint64_t distance = 0;     // outputs from epoch to epoch; 0: not known
  };
  static bool Advance(Place& place, const DrawnSeed& from, const DrawnSeed& to);
  void AppendSeeds(const Place& place, uint64_t epoch,
                   std::vector<uint32_t>& seeds) const;

  // The first is searched for. Once a place is known, only the last is kept.
  std::vector<DrawnSeed> drawn_;
  std::vector<Place> places_;
  bool is_borne_out_ = false;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_SAMPLER_SEARCH_GENERATOR_TRAIL_H_
