// SPDX-License-Identifier: Apache-2.0
// fs/SEMANTICS.md and the tests that prove it: each numbered sentence is
// quoted, number and words, by at least one test, in a comment of the form
// `# [number] Sentence.` (or `// …`), and each number that a test names exists.
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/meta/repository.h"

namespace shufflefs {
namespace {

constexpr char kPage[] = "fs/SEMANTICS.md";
constexpr char kThisFile[] = "tests/docs/semantics_test.cc";

std::string OneSpace(const std::string& text) {
  return std::regex_replace(text, std::regex("\\s+"), " ");
}

// Number -> sentence. A number that is given twice is an error.
std::map<std::string, std::string> Claims() {
  std::string page;
  for (const std::string& line : meta::Lines(kPage)) page += line + "\n";
  const std::regex claim("\\*\\*\\[(S-[0-9]+\\.[0-9]+[a-z])\\] ([^*]+)\\*\\*");
  std::map<std::string, std::string> claims;
  for (std::sregex_iterator it(page.begin(), page.end(), claim), end; it != end;
       ++it) {
    const std::string number = (*it)[1].str();
    EXPECT_TRUE(claims.emplace(number, OneSpace((*it)[2].str())).second)
        << number << " stands twice in " << kPage;
  }
  return claims;
}

struct Quote {
  std::string where;  // file:line
  std::string number;
  std::string sentence;
};

// The sentence that begins in lines[at] behind `number`, up to its period,
// over as many comment lines as it takes.
std::string SentenceAt(const std::vector<std::string>& lines, size_t at) {
  static const std::regex comment("^ *(?://|#) (.*)$");
  std::string sentence;
  std::smatch match;
  for (; at < lines.size() && std::regex_match(lines[at], match, comment);
       ++at) {
    sentence += (sentence.empty() ? "" : " ") + match[1].str();
    if (sentence.back() == '.') break;
  }
  const size_t words = sentence.find("] ");
  return words == std::string::npos ? "" : OneSpace(sentence.substr(words + 2));
}

std::vector<Quote> Quotes() {
  const std::regex begin("^ *(?://|#) \\[(S-[^\\]]*)\\] .*$");
  std::vector<Quote> quotes;
  for (const auto& file : meta::FilesWith({".h", ".cc", ".py"})) {
    if (file.string().rfind("tests/", 0) != 0 || file == kThisFile) continue;
    const std::vector<std::string> lines = meta::Lines(file);
    for (size_t i = 0; i < lines.size(); ++i) {
      std::smatch match;
      if (!std::regex_match(lines[i], match, begin)) continue;
      quotes.push_back({file.string() + ":" + std::to_string(i + 1),
                        match[1].str(), SentenceAt(lines, i)});
    }
  }
  return quotes;
}

TEST(Semantics, EverySentenceIsQuotedByATest) {
  const auto claims = Claims();
  EXPECT_GT(claims.size(), 50u);
  std::set<std::string> quoted;
  for (const Quote& quote : Quotes()) quoted.insert(quote.number);
  for (const auto& [number, sentence] : claims) {
    EXPECT_TRUE(quoted.count(number) > 0)
        << "no test quotes [" << number << "] " << sentence;
  }
}

TEST(Semantics, EveryQuoteIsWhatThePageSays) {
  const auto claims = Claims();
  for (const Quote& quote : Quotes()) {
    const auto claim = claims.find(quote.number);
    if (claim == claims.end()) {
      ADD_FAILURE() << quote.where << ": " << kPage << " has no ["
                    << quote.number << "]";
      continue;
    }
    EXPECT_EQ(quote.sentence, claim->second) << quote.where;
  }
}

// A number in another form than a quote would escape the tests above.
TEST(Semantics, TestsNameNumbersInQuotesOnly) {
  const std::regex number("S-[0-9]+\\.[0-9]+[a-z]?");
  size_t named = 0;
  for (const auto& file : meta::FilesWith({".h", ".cc", ".py"})) {
    if (file.string().rfind("tests/", 0) != 0 || file == kThisFile) continue;
    for (const std::string& line : meta::Lines(file)) {
      named +=
          std::distance(std::sregex_iterator(line.begin(), line.end(), number),
                        std::sregex_iterator());
    }
  }
  EXPECT_EQ(named, Quotes().size());
}

}  // namespace
}  // namespace shufflefs
