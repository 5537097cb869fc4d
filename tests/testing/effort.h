// SPDX-License-Identifier: Apache-2.0
// How often a test repeats what it does. A sanitizer makes everything several
// times slower and finds what it can find in the first rounds; the release
// build does all of them.
#ifndef SHUFFLEFS_TESTS_TESTING_EFFORT_H_
#define SHUFFLEFS_TESTS_TESTING_EFFORT_H_

#include <algorithm>
#include <cstdlib>

namespace shufflefs::testing_support {

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
inline constexpr bool kSanitized = true;
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif
#else
inline constexpr bool kSanitized = false;
#endif

// `all` rounds, or an eighth of them, at least `least`, under a sanitizer.
template <typename Int>
constexpr Int Rounds(Int all, Int least = 1) {
  return kSanitized ? std::max<Int>(all / 8, least) : all;
}

// `some` rounds; `many` if SHUFFLEFS_SOAK is set in the environment, for those
// who change what the test is about.
template <typename Int>
Int SoakRounds(Int some, Int many) {
  return std::getenv("SHUFFLEFS_SOAK") != nullptr ? many : some;
}

}  // namespace shufflefs::testing_support

#endif  // SHUFFLEFS_TESTS_TESTING_EFFORT_H_
