// SPDX-License-Identifier: Apache-2.0
// Who may join: by a shared secret, by certificates, and not at all.
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <random>

#include "peers/access/greeting.h"
#include "peers/proto/peers.pb.h"
#include "peers/transport/channel.h"
#include "peers/transport/wire.h"
#include "tests/peers/flood.h"
#include "tests/peers/peer_fixture.h"

namespace shufflefs::peers {
namespace {

using testing::HasSubstr;

class SecurityTest : public TwoNodes {
 protected:
  void Start(const PeersConfig& a, const PeersConfig& b) {
    a_ = std::make_unique<Node>(a);
    b_ = std::make_unique<Node>(b);
    ASSERT_EQ(a_->Start(), absl::OkStatus());
    ASSERT_EQ(b_->Start(), absl::OkStatus());
  }
  PeersConfig WithSecret(const std::string& own, const std::string& secret) {
    PeersConfig config = Config(own);
    if (!secret.empty()) {
      config.secret = folder_.File("secret" + secret + own, secret);
    }
    return config;
  }
  PeersConfig WithTls(const std::string& own, const std::string& tls) {
    PeersConfig config = Config(own);
    config.tls = tls;
    return config;
  }
  bool BothJoin() {
    return Eventually(
        [&] { return a_->HasJoined(b_name_) && b_->HasJoined(a_name_); });
  }
  // Waits until both say why not.
  std::string WhyNot() {
    EXPECT_TRUE(Eventually([&] {
      // The first try may be too early for the other to listen.
      return a_->Member(b_name_).why.rfind("no answer", 0) != 0 &&
             b_->Member(a_name_).why.rfind("no answer: ", 0) != 0;
    }));
    EXPECT_FALSE(a_->HasJoined(b_name_));
    return a_->Member(b_name_).why;
  }
  std::string Certificate(const std::string& folder, const std::string& ca,
                          const std::string& name) {
    return MakeCertificate(folder_, {folder, ca, name});
  }

  const TempFolder folder_;
};

TEST_F(SecurityTest, ASharedSecretJoins) {
  const std::string secret = "the same secret on both";
  Start(WithSecret(a_name_, secret), WithSecret(b_name_, secret));
  ASSERT_TRUE(BothJoin()) << a_->Member(b_name_).why;
  const PeerExtent extent = WholeFile("f", 50000);
  const Node::Result result = a_->Read(b_name_, extent);
  EXPECT_EQ(result.status, absl::OkStatus());
  EXPECT_TRUE(result.bytes == ContentOf(extent));
  // Pings carry a proof, too.
  std::this_thread::sleep_for(milliseconds(600));
  EXPECT_TRUE(a_->HasJoined(b_name_));
  EXPECT_EQ(a_->lines().size(), 1u);
}

TEST_F(SecurityTest, AnotherSecretIsRefusedOnBothSides) {
  Start(WithSecret(a_name_, "one secret of the job"),
        WithSecret(b_name_, "another secret of it"));
  EXPECT_EQ(WhyNot(), "refused: peers.secret is not the same on both nodes");
  EXPECT_TRUE(Eventually([&] {
    return b_->Logged("peers: refused " + a_name_) &&
           a_->Logged(" is not used");
  }));
}

TEST_F(SecurityTest, ASecretOnOneSideIsRefused) {
  Start(WithSecret(a_name_, "one secret of the job"), Config(b_name_));
  EXPECT_EQ(WhyNot(), "refused: peers.secret is not the same on both nodes");
}

TEST_F(SecurityTest, CertificatesJoin) {
  Start(WithTls(a_name_, Certificate("a", "ca", kCertificateName)),
        WithTls(b_name_, Certificate("b", "ca", kCertificateName)));
  ASSERT_TRUE(BothJoin()) << a_->Member(b_name_).why;
  const PeerExtent extent = WholeFile("f", 2000000);
  const Node::Result result = a_->Read(b_name_, extent);
  EXPECT_EQ(result.status, absl::OkStatus());
  EXPECT_TRUE(result.bytes == ContentOf(extent));
}

TEST_F(SecurityTest, ACertificateOfAnotherAuthorityIsRefused) {
  Start(WithTls(a_name_, Certificate("a", "ca", kCertificateName)),
        WithTls(b_name_, Certificate("b", "ca2", kCertificateName)));
  EXPECT_THAT(a_->Member(b_name_).why, HasSubstr("no answer"));
  std::this_thread::sleep_for(milliseconds(300));
  EXPECT_FALSE(a_->HasJoined(b_name_));
  EXPECT_FALSE(b_->HasJoined(a_name_));
}

TEST_F(SecurityTest, ACertificateForAnotherNameIsRefused) {
  Start(WithTls(a_name_, Certificate("a", "ca", kCertificateName)),
        WithTls(b_name_, Certificate("b", "ca", "web.example")));
  EXPECT_TRUE(Eventually([&] {
    return b_->Member(a_name_).why ==
           "refused: the certificate is not for the DNS name shufflefs-peers";
  })) << b_->Member(a_name_).why;
  EXPECT_FALSE(a_->HasJoined(b_name_));
}

TEST_F(SecurityTest, PlainAndTlsDoNotMix) {
  Start(WithTls(a_name_, Certificate("a", "ca", kCertificateName)),
        Config(b_name_));
  std::this_thread::sleep_for(milliseconds(300));
  EXPECT_FALSE(a_->HasJoined(b_name_));
  EXPECT_FALSE(b_->HasJoined(a_name_));
}

TEST_F(SecurityTest, FilesThatAreNoCertificatesAreNamed) {
  const std::string tls = Certificate("a", "ca", kCertificateName);
  folder_.File("a/cert.pem", "hello");
  const absl::Status status = Node(WithTls(a_name_, tls)).Start();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("peers.tls: " + tls + "/cert.pem: no CERTIFICATE"));
}

// Calls of one who did not join, and calls of nonsense.
class StrangerTest : public SecurityTest {
 protected:
  // Greets as one who wants to join, with the proof of this secret.
  void Greet(const Secret& secret = Secret()) {
    stub_ = StubTo(b_name_, Plain(), JoinGreeting(secret, "a stranger"));
  }
  static Security Plain() {
    Security security;
    security.channel = grpc::InsecureChannelCredentials();
    return security;
  }
  grpc::Status Call(const std::string& method, const std::string& body,
                    const std::string& session = "", std::string mac = "") {
    if (stub_ == nullptr) Greet();
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() +
                         std::chrono::seconds(20));
    if (!session.empty()) context.AddMetadata(kSessionKey, session);
    if (!mac.empty()) context.AddMetadata(kMacKey, mac);
    const grpc::ByteBuffer request = ToBuffer(body);
    std::promise<grpc::Status> ended;
    stub_->UnaryCall(&context, "/shufflefs.peers.v1.Peers/" + method,
                     grpc::StubOptions(), &request, &answer_,
                     [&](grpc::Status status) { ended.set_value(status); });
    return ended.get_future().get();
  }
  // Joins as a member does, and leaves the answer in joined_. The key of the
  // session is made of the secret.
  Secret Join(const Secret& secret = Secret()) {
    Greet(secret);
    EXPECT_TRUE(Call("Greet", "").ok());
    v1::GreetAnswer greeting;
    EXPECT_TRUE(greeting.ParseFromString(*FromBuffer(answer_)));
    join_.set_to(greeting.instance());
    join_.set_challenge(greeting.challenge());
    join_.set_nonce(std::string(16, 'n'));
    join_.set_instance(std::string(16, 'i'));
    *join_.mutable_identity() = ToMessage(b_->service.identity);
    const std::string body = join_.SerializeAsString();
    EXPECT_TRUE(Call("Join", body, "", secret.Mac("join", {body})).ok());
    EXPECT_TRUE(joined_.ParseFromString(*FromBuffer(answer_)));
    const Secret key =
        secret.Derive("session", {join_.nonce(), join_.challenge()});
    desk_ = std::exchange(
        stub_, StubsTo(b_name_, Plain(), joined_.session(), key).front());
    return key;
  }
  grpc::StatusCode AskNames(const std::string& body,
                            const std::string& mac = "") {
    return Call("BindNames", body, joined_.session(), mac).error_code();
  }
  static v1::NamesRequest Names(size_t count) {
    v1::NamesRequest request;
    request.set_dataset(42);
    ToMessage({.view = "v", .names = std::vector<uint64_t>(count, 3)}, request);
    return request;
  }
  std::string Request() {
    v1::ExtentRequest request;
    request.set_dataset(42);
    ToMessage(WholeFile("f", 10), request);
    return request.SerializeAsString();
  }
  grpc::ByteBuffer answer_;
  v1::JoinRequest join_;
  v1::JoinAnswer joined_;
  std::shared_ptr<grpc::GenericStub> stub_;  // where Call asks
  std::shared_ptr<grpc::GenericStub>
      desk_;  // after Join, where it asked before
};

// Those without a proof do not even get to gRPC.
TEST_F(StrangerTest, GetsNothing) {
  const std::string secret = "a secret of this job";
  Start(Config(a_name_), WithSecret(b_name_, secret));
  for (const char* const method : {"Greet", "Join", "Ping", "ReadExtent"}) {
    const grpc::Status status = Call(method, "");
    EXPECT_TRUE(IsWrongSecret(status)) << status.error_message();
  }
  EXPECT_TRUE(
      b_->Logged("peers: refused a stranger (ipv4:127.0.0.1): "
                 "peers.secret is not the same on both nodes"));
  // Nor does one who records a greeting get any further.
  Greet(Secret(secret));
  EXPECT_TRUE(Call("Greet", "").ok());
  for (const std::string& session : {std::string(), std::string(16, 's')}) {
    for (const char* const method : {"ReadExtent", "BindNames", "Ping"}) {
      EXPECT_EQ(Call(method, Request(), session).error_code(),
                grpc::StatusCode::UNIMPLEMENTED);
    }
  }
  EXPECT_EQ(b_->service.asked.load(), 0);
}

TEST_F(StrangerTest, WhoDidNotJoinGetsNoConnectionOfAMember) {
  Start(Config(a_name_), Config(b_name_));
  Join();
  stub_ = StubsTo(b_name_, Plain(), std::string(16, 's'), Secret()).front();
  const grpc::Status status = Call("Ping", "");
  EXPECT_TRUE(IsUnknownSession(status)) << status.error_message();
  EXPECT_NE(status.error_code(), grpc::StatusCode::UNAUTHENTICATED);
}

// Who records the greeting of a member's connection opens none with it.
TEST_F(StrangerTest, AConnectionOfASessionIsOpenedOnce) {
  const std::string secret = "a secret of this job";
  Start(Config(a_name_), WithSecret(b_name_, secret));
  const Secret key = Join(Secret(secret));
  const std::string body = Names(1).SerializeAsString();
  const std::string proof = key.Mac(kNamesMethod, {body});
  EXPECT_EQ(AskNames(body, proof), grpc::StatusCode::OK);
  const auto again = StubsTo(b_name_, Plain(), joined_.session(), key);
  ASSERT_EQ(again.size(), 2u);
  const auto first = std::exchange(stub_, again[0]);
  EXPECT_TRUE(
      IsUnknownSession(Call("BindNames", body, joined_.session(), proof)));
  stub_ = again[1];
  EXPECT_EQ(AskNames(body, proof), grpc::StatusCode::OK);
  stub_ = first;
  EXPECT_EQ(AskNames(body, proof), grpc::StatusCode::OK);
  stub_ = StubsTo(b_name_, Plain(), joined_.session(), Secret("another"))[1];
  EXPECT_TRUE(IsUnknownSession(Call("Ping", "", joined_.session())));
}

// Who records a request to join, and sends it again, changes nothing.
TEST_F(StrangerTest, ARequestToJoinIsUsedOnce) {
  const Secret secret("a secret of this job");
  Start(Config(a_name_), WithSecret(b_name_, "a secret of this job"));
  const Secret key = Join(secret);
  const std::string body = Names(1).SerializeAsString();
  const std::string proof = key.Mac(kNamesMethod, {body});
  EXPECT_EQ(AskNames(body, proof), grpc::StatusCode::OK);
  const auto member = stub_;
  Greet(secret);
  const std::string join = join_.SerializeAsString();
  EXPECT_EQ(Call("Join", join, "", secret.Mac("join", {join})).error_code(),
            grpc::StatusCode::UNAUTHENTICATED);
  stub_ = member;
  EXPECT_EQ(AskNames(body, proof), grpc::StatusCode::OK);
  EXPECT_TRUE(b_->Logged("the challenge was used before"));
}

// As a daemon of an earlier version, which knows no greeting.
TEST_F(StrangerTest, WithoutAGreetingOnlyJoinIsAnswered) {
  Start(Config(a_name_), Config(b_name_));
  stub_ = std::make_shared<grpc::GenericStub>(
      grpc::CreateChannel(b_name_, grpc::InsecureChannelCredentials()));
  b_->service.identity.dataset = 43;
  EXPECT_TRUE(Call("Greet", "").ok());
  v1::GreetAnswer greeting;
  ASSERT_TRUE(greeting.ParseFromString(*FromBuffer(answer_)));
  join_.set_to(greeting.instance());
  join_.set_challenge(greeting.challenge());
  join_.set_nonce(std::string(16, 'n'));
  join_.set_instance(std::string(16, 'i'));
  join_.set_name("an old one");
  *join_.mutable_identity() = ToMessage(a_->service.identity);
  EXPECT_EQ(Call("Join", join_.SerializeAsString()).error_message(),
            "the dataset differs");
  EXPECT_TRUE(b_->Logged(
      "peers: refused an old one (ipv4:127.0.0.1): the dataset differs"));
  EXPECT_EQ(Call("ReadExtent", Request()).error_code(),
            grpc::StatusCode::UNIMPLEMENTED);
}

TEST_F(StrangerTest, WithoutAGreetingASecretIsNotAskedFor) {
  Start(Config(a_name_), WithSecret(b_name_, "a secret of this job"));
  stub_ = std::make_shared<grpc::GenericStub>(
      grpc::CreateChannel(b_name_, grpc::InsecureChannelCredentials()));
  EXPECT_FALSE(Call("Greet", "").ok());
  EXPECT_TRUE(
      b_->Logged("peers: refused a caller (ipv4:127.0.0.1): it is no "
                 "shufflefs of this version"));
}

// One who joined an open daemon asks wrongly.
TEST_F(StrangerTest, WrongRequestsOfAMemberAreRefused) {
  Start(Config(a_name_), Config(b_name_));
  Join();
  EXPECT_TRUE(Call("ReadExtent", Request(), joined_.session()).ok());
  v1::ExtentRequest other;
  other.ParseFromString(Request());
  other.set_dataset(43);
  EXPECT_EQ(Call("ReadExtent", other.SerializeAsString(), joined_.session())
                .error_code(),
            grpc::StatusCode::FAILED_PRECONDITION);
  other.set_dataset(42);
  other.set_length(uint64_t{1} << 62);
  EXPECT_EQ(Call("ReadExtent", other.SerializeAsString(), joined_.session())
                .error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(b_->service.asked.load(), 1);
  EXPECT_EQ(Call("ReadExtent", Request()).error_code(),
            grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(Call("ReadExtent", std::string(kMostRequest + 1, 'x')).error_code(),
            grpc::StatusCode::RESOURCE_EXHAUSTED);
  stub_ = desk_;
  join_.mutable_challenge()->back() ^= 1;
  EXPECT_EQ(Call("Join", join_.SerializeAsString()).error_code(),
            grpc::StatusCode::UNAUTHENTICATED);
}

TEST_F(StrangerTest, WrongQuestionsOfAMemberAreRefused) {
  Start(Config(a_name_), Config(b_name_));
  Join();
  EXPECT_EQ(AskNames(Names(kMostAskedNames).SerializeAsString()),
            grpc::StatusCode::OK);
  for (const size_t count : {size_t{0}, kMostAskedNames + 1, size_t{200000}}) {
    EXPECT_EQ(AskNames(Names(count).SerializeAsString()),
              grpc::StatusCode::INVALID_ARGUMENT);
  }
  EXPECT_EQ(AskNames("\x2a\x7f"), grpc::StatusCode::INVALID_ARGUMENT);
  v1::NamesRequest other = Names(1);
  other.set_view(std::string(5000, 'v'));
  EXPECT_EQ(AskNames(other.SerializeAsString()),
            grpc::StatusCode::INVALID_ARGUMENT);
  other = Names(1);
  other.set_dataset(43);
  EXPECT_EQ(AskNames(other.SerializeAsString()),
            grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(AskNames(std::string(kMostRequest + 1, 'x')),
            grpc::StatusCode::RESOURCE_EXHAUSTED);
  joined_.mutable_session()->back() ^= 1;
  EXPECT_EQ(AskNames(Names(1).SerializeAsString()),
            grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(b_->service.asked.load(), 1);
}

TEST_F(StrangerTest, AQuestionNeedsAProofOfItsOwn) {
  const std::string secret = "a secret of this job";
  Start(Config(a_name_), WithSecret(b_name_, secret));
  const Secret key = Join(Secret(secret));
  const std::string body = Names(1).SerializeAsString();
  const std::string proof = key.Mac(kNamesMethod, {body});
  EXPECT_EQ(AskNames(body, proof), grpc::StatusCode::OK);
  EXPECT_EQ(b_->service.asked.load(), 1);
  for (const std::string& wrong :
       {std::string(), std::string(proof.size(), 'p'), proof.substr(1),
        key.Mac(kTellMethod, {body}), Secret(secret).Mac(kNamesMethod, {body}),
        key.Mac(kNamesMethod, {Names(2).SerializeAsString()})}) {
    EXPECT_EQ(AskNames(body, wrong), grpc::StatusCode::UNAUTHENTICATED);
  }
  EXPECT_EQ(b_->service.asked.load(), 1);
}

TEST_F(StrangerTest, GarbageIsSurvived) {
  const std::string secret = "a secret of this job";
  Start(Config(a_name_), WithSecret(b_name_, secret));
  Greet(Secret(secret));
  std::mt19937 random(11);
  const std::vector<std::string> methods = {"Greet",      "Join", "Ping",
                                            "ReadExtent", "Tell", "BindNames"};
  for (int round = 0; round < 300; ++round) {
    std::string body(random() % 300, '\0');
    for (char& c : body) c = static_cast<char>(random());
    std::string word(random() % 40, '\0');
    for (char& c : word) c = static_cast<char>(random());
    Call(methods[random() % methods.size()], body, word, word);
  }
  // Bytes that are not HTTP/2 at all.
  for (int round = 0; round < 20; ++round) {
    const int fd = ConnectTo(b_name_);
    ASSERT_GE(fd, 0);
    std::string text = round % 2 == 0 ? "" : "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    for (int i = 0; i < 5000; ++i) text.push_back(static_cast<char>(random()));
    send(fd, text.data(), text.size(), MSG_NOSIGNAL);
    close(fd);
  }
  EXPECT_EQ(b_->service.asked.load(), 0);
  Greet(Secret(secret));
  EXPECT_TRUE(Call("Greet", "").ok());
}

}  // namespace
}  // namespace shufflefs::peers
