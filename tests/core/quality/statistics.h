// SPDX-License-Identifier: Apache-2.0
// How far counted things are from what chance gives, in standard deviations.
// All tests use fixed seeds, so a bound of 5 either always holds or never.
#ifndef SHUFFLEFS_TESTS_CORE_QUALITY_STATISTICS_H_
#define SHUFFLEFS_TESTS_CORE_QUALITY_STATISTICS_H_

#include <cmath>
#include <cstdint>
#include <vector>

namespace shufflefs {

inline constexpr double kMaxDeviations = 5;

// Chi-square of `counts` against equal expectation, by Wilson and Hilferty's
// cube root as a standard normal deviate. Cells with `skip` set are left out.
inline double ChiSquareDeviations(const std::vector<uint64_t>& counts,
                                  const std::vector<bool>& skip = {}) {
  double total = 0;
  double cells = 0;
  for (size_t i = 0; i < counts.size(); ++i) {
    if (!skip.empty() && skip[i]) continue;
    total += static_cast<double>(counts[i]);
    ++cells;
  }
  const double expected = total / cells;
  double chi = 0;
  for (size_t i = 0; i < counts.size(); ++i) {
    if (!skip.empty() && skip[i]) continue;
    const double d = static_cast<double>(counts[i]) - expected;
    chi += d * d / expected;
  }
  const double freedom = cells - 1;
  const double spread = 2 / (9 * freedom);
  return (std::cbrt(chi / freedom) - (1 - spread)) / std::sqrt(spread);
}

// Deviations of a mean of `count` observations from its expectation.
inline double MeanDeviations(double mean, double expected, double variance,
                             double count) {
  return (mean - expected) / std::sqrt(variance / count);
}

}  // namespace shufflefs

#endif  // SHUFFLEFS_TESTS_CORE_QUALITY_STATISTICS_H_
