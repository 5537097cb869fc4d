// SPDX-License-Identifier: Apache-2.0
#include "peers/access/secret.h"

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/slice.h>

#include "absl/strings/escaping.h"
#include "peers/transport/answer_proof.h"
#include "peers/transport/wire.h"
#include "tests/peers/peer_fixture.h"

namespace shufflefs::peers {
namespace {

using testing::HasSubstr;

TEST(SecretTest, IsReadWithoutItsLineEnd) {
  const TempFolder folder;
  const auto one = Secret::Read(folder.File("a", "sixteen bytes ..\n"));
  const auto two = Secret::Read(folder.File("b", "sixteen bytes .."));
  ASSERT_TRUE(one.ok()) << one.status();
  ASSERT_TRUE(two.ok()) << two.status();
  EXPECT_EQ(one->Mac("p", {"x"}), two->Mac("p", {"x"}));
}

TEST(SecretTest, FilesThatAreNoSecretAreRefused) {
  const TempFolder folder;
  const std::string good = "a secret that is long enough";
  const std::vector<std::pair<std::string, std::string>> cases = {
      {folder.File("others", good, 0604), "other users may use it"},
      {folder.File("group", good, 0640), "run chmod go= on it"},
      {folder.File("short", "short"), "16 to 4096 bytes, not 5"},
      {folder.File("long", std::string(5000, 'x')), "not 5000"},
      {folder.File("huge", std::string(100000, 'x')), "too large"},
      {folder.At("absent"), "No such file"},
      {folder.At(""), "not a file"},
  };
  for (const auto& [file, why] : cases) {
    const absl::Status status = Secret::Read(file).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << file;
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("peers.secret: " + file));
    EXPECT_THAT(std::string(status.message()), HasSubstr(why));
  }
}

TEST(SecretTest, ProofsDependOnEachPart) {
  const Secret secret("key");
  const std::string mac = secret.Mac("p", {"ab", "c"});
  EXPECT_EQ(mac.size(), 32u);
  EXPECT_EQ(mac, secret.Mac("p", {"ab", "c"}));
  EXPECT_NE(mac, secret.Mac("p", {"a", "bc"}));
  EXPECT_NE(mac, secret.Mac("q", {"ab", "c"}));
  EXPECT_NE(mac, Secret("kez").Mac("p", {"ab", "c"}));
  EXPECT_NE(mac, secret.Derive("p", {"ab"}).Mac("p", {"ab", "c"}));
  EXPECT_EQ(Secret().Mac("p", {"ab"}), "");
  EXPECT_TRUE(Secret().Derive("p", {}).none());
  EXPECT_EQ(absl::BytesToHexString(Secret("key").Mac("", {})),
            // printf '\0\0\0\0\0\0\0\0' | openssl dgst -sha256 -hmac key
            "156c691c91078c7b54a2cc7edb4ca93495d8084ddaa8532c8ed18693517bacaf");
}

TEST(SecretTest, BytesAreCompared) {
  EXPECT_TRUE(SameBytes("abc", "abc"));
  EXPECT_FALSE(SameBytes("abc", "abd"));
  EXPECT_FALSE(SameBytes("abc", "ab"));
  EXPECT_TRUE(SameBytes("", ""));
  EXPECT_NE(RandomBytes(16), RandomBytes(16));
}

TEST(AnswerProofTest, IsForOneAnswerToOneRequest) {
  const Secret key("the key of a session");
  const grpc::ByteBuffer body = ToBuffer(std::string(70000, 'b'));
  const AnsweredWith answer{.body = &body};
  const std::string proof = AnswerProof(key, "request", answer);
  EXPECT_TRUE(IsAnswerProof(key, "request", answer, proof));
  // No two proofs are alike, though all else is.
  EXPECT_NE(AnswerProof(key, "request", answer), proof);

  std::string altered(70000, 'b');
  altered.back() ^= 1;
  const grpc::ByteBuffer other = ToBuffer(altered);
  EXPECT_FALSE(IsAnswerProof(key, "request", {.body = &other}, proof));
  EXPECT_FALSE(IsAnswerProof(key, "request", {}, proof));
  EXPECT_FALSE(IsAnswerProof(key, "another", answer, proof));
  EXPECT_FALSE(IsAnswerProof(Secret("another key"), "request", answer, proof));
  EXPECT_FALSE(IsAnswerProof(
      key, "request", {.code = grpc::StatusCode::NOT_FOUND, .body = &body},
      proof));
  EXPECT_FALSE(IsAnswerProof(key, "request",
                             {.by_service = true, .body = &body}, proof));
  for (size_t i = 0; i < proof.size(); ++i) {
    std::string wrong = proof;
    wrong[i] ^= 1;
    EXPECT_FALSE(IsAnswerProof(key, "request", answer, wrong)) << i;
  }
  EXPECT_FALSE(IsAnswerProof(key, "request", answer, proof.substr(1)));
  EXPECT_FALSE(IsAnswerProof(key, "request", answer, ""));
}

TEST(AnswerProofTest, TheBytesMayBeInAnyPieces) {
  const Secret key("the key of a session");
  const std::string text(5000, 't');
  const grpc::Slice pieces[] = {grpc::Slice(text.substr(0, 4999)),
                                grpc::Slice(std::string()),
                                grpc::Slice(text.substr(4999))};
  const grpc::ByteBuffer in_pieces(pieces, 3);
  const grpc::ByteBuffer whole = ToBuffer(text);
  const std::string proof = AnswerProof(key, "", {.body = &in_pieces});
  EXPECT_TRUE(IsAnswerProof(key, "", {.body = &whole}, proof));
  // No bytes are as good as none at all.
  const grpc::ByteBuffer none;
  EXPECT_TRUE(
      IsAnswerProof(key, "", {.body = &none}, AnswerProof(key, "", {})));
}

TEST(AnswerProofTest, WithoutASecretNothingIsProven) {
  EXPECT_EQ(AnswerProof(Secret(), "request", {}), "");
  EXPECT_TRUE(IsAnswerProof(Secret(), "request", {}, ""));
}

}  // namespace
}  // namespace shufflefs::peers
