// SPDX-License-Identifier: Apache-2.0
// A stranger without the secret answers at the address of a member.
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <map>

#include "peers/access/connection_gate.h"
#include "peers/access/greeting.h"
#include "peers/proto/peers.pb.h"
#include "peers/transport/channel.h"
#include "peers/transport/wire.h"
#include "tests/peers/peer_fixture.h"

namespace shufflefs::peers {
namespace {

// Listens at the address of a member, and passes on what it is told to another
// daemon, with all that proves something. It answers some calls by itself.
class Impostor : public grpc::CallbackGenericService {
 public:
  // What it makes of the answer of the other daemon, or of "".
  using Forge = std::function<std::string(const std::string& answer)>;

  Impostor(const std::string& own, const std::string& other)
      : own_(own), other_(other) {}
  ~Impostor() override {
    if (server_ == nullptr) return;
    gate_->Stop();
    server_->Shutdown(std::chrono::system_clock::now());
    server_->Wait();
  }
  // Asks nobody: the answer is what `forge` makes of "".
  void Invent(const std::string& call, Forge forge) {
    invents_[Method(call)] = std::move(forge);
  }
  // Alters what the other daemon answered.
  void Alter(const std::string& call, Forge forge) {
    alters_[Method(call)] = std::move(forge);
  }
  void Start() {
    auto gate = ConnectionGate::Listen(*ParseHostPort(own_));
    ASSERT_EQ(gate.status(), absl::OkStatus());
    gate_ = *std::move(gate);
    grpc::ServerBuilder builder;
    acceptor_ = builder.experimental().AddExternalConnectionAcceptor(
        grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD,
        grpc::InsecureServerCredentials());
    builder.RegisterCallbackGenericService(this);
    server_ = builder.BuildAndStart();
    ASSERT_NE(server_, nullptr);
    ConnectionGateOptions options;
    options.judge = [this](const FoundGreeting& found, const std::string&) {
      PassOn(found.greeting);
      return GateWay::kMembers;
    };
    options.to_members = [this](int fd) {
      grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters
          connection;
      connection.fd = fd;
      acceptor_->HandleNewConnection(&connection);
    };
    gate_->Start(std::move(options));
  }
  int Asked(const std::string& call) const {
    MutexLock lock(mu_);
    const auto found = asked_.find(Method(call));
    return found == asked_.end() ? 0 : found->second;
  }

 private:
  class PassedOn : public grpc::ServerGenericBidiReactor {
   public:
    PassedOn(Impostor* owner, grpc::GenericCallbackServerContext* from)
        : owner_(owner), from_(from) {
      StartRead(&request_);
    }
    void OnReadDone(bool ok) override {
      if (!ok) return Finish(grpc::Status::CANCELLED);
      const std::string method = from_->method();
      {
        MutexLock lock(owner_->mu_);
        ++owner_->asked_[method];
      }
      if (const auto forge = owner_->invents_.find(method);
          forge != owner_->invents_.end()) {
        answer_ = ToBuffer(forge->second(""));
        return StartWriteAndFinish(&answer_, {}, grpc::Status::OK);
      }
      for (const char* key : {kSessionKey, kMacKey}) {
        const auto found = from_->client_metadata().find(key);
        if (found == from_->client_metadata().end()) continue;
        to_.AddMetadata(key, {found->second.data(), found->second.size()});
      }
      to_.set_deadline(std::chrono::system_clock::now() +
                       std::chrono::seconds(5));
      stub_ = owner_->StubFor(method);
      stub_->UnaryCall(
          &to_, method, grpc::StubOptions(), &request_, &answer_,
          [this](grpc::Status status) { PassBack(std::move(status)); });
    }
    void OnDone() override { delete this; }

   private:
    void PassBack(grpc::Status status) {
      for (const auto& [key, value] : to_.GetServerTrailingMetadata()) {
        from_->AddTrailingMetadata({key.data(), key.size()},
                                   {value.data(), value.size()});
      }
      if (!status.ok()) return Finish(std::move(status));
      if (const auto forge = owner_->alters_.find(from_->method());
          forge != owner_->alters_.end()) {
        answer_ = ToBuffer(forge->second(*FromBuffer(answer_)));
      }
      StartWriteAndFinish(&answer_, {}, std::move(status));
    }

    Impostor* const owner_;
    grpc::GenericCallbackServerContext* const from_;
    std::shared_ptr<grpc::GenericStub> stub_;
    grpc::ClientContext to_;
    grpc::ByteBuffer request_;
    grpc::ByteBuffer answer_;
  };

  static std::string Method(const std::string& call) {
    return "/shufflefs.peers.v1.Peers/" + call;
  }
  // What is called over a connection that begins with this greeting, is passed
  // on over one that begins alike.
  void PassOn(const Greeting& greeting) {
    Security plain;
    plain.channel = grpc::InsecureChannelCredentials();
    auto stub = StubTo(other_, plain, HeadersOf(greeting));
    MutexLock lock(mu_);
    (greeting.token.empty() ? desk_ : members_) = std::move(stub);
  }
  std::shared_ptr<grpc::GenericStub> StubFor(const std::string& method) const {
    MutexLock lock(mu_);
    return method == kGreetMethod || method == kJoinMethod ? desk_ : members_;
  }
  grpc::ServerGenericBidiReactor* CreateReactor(
      grpc::GenericCallbackServerContext* context) override {
    return new PassedOn(this, context);
  }

  const std::string own_;
  const std::string other_;
  std::map<std::string, Forge> invents_;
  std::map<std::string, Forge> alters_;
  mutable Mutex mu_;
  std::map<std::string, int> asked_ ABSL_GUARDED_BY(mu_);
  std::shared_ptr<grpc::GenericStub> desk_ ABSL_GUARDED_BY(mu_);
  std::shared_ptr<grpc::GenericStub> members_ ABSL_GUARDED_BY(mu_);
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> acceptor_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<ConnectionGate> gate_;
};

// An ExtentAnswer of bytes that are not those of the file.
std::string WrongAnswer(uint64_t length) {
  v1::ExtentAnswer answer;
  answer.set_data(std::string(length, 'x'));
  return answer.SerializeAsString();
}

class ImpostorTest : public TwoNodes {
 protected:
  PeersConfig WithTheSecret(const std::string& own) {
    PeersConfig config = Config(own);
    config.members = members_.empty() ? config.members : members_;
    config.secret =
        folder_.File("secret" + own, "a secret that only members have");
    return config;
  }
  void StartA() {
    a_ = std::make_unique<Node>(WithTheSecret(a_name_));
    ASSERT_EQ(a_->Start(), absl::OkStatus());
  }
  void StartB() {
    b_ = std::make_unique<Node>(WithTheSecret(b_name_));
    ASSERT_EQ(b_->Start(), absl::OkStatus());
  }
  // An honest member beside the two. A does not reach it by its own name.
  void StartC() {
    members_ = a_name_ + ";" + b_name_ + ";" + Loopback(FreePorts(1)[0]);
    c_ = std::make_unique<Node>(WithTheSecret(c_name_));
    ASSERT_EQ(c_->Start(), absl::OkStatus());
  }
  const TempFolder folder_;
  std::string members_;  // "": the two
  const std::string c_name_ = Loopback(FreePorts(1)[0]);
  std::unique_ptr<Node> c_;
};

// Who passes a request to join on to its own author learns the proof that the
// author would accept.
TEST_F(ImpostorTest, WhatADaemonProvesToItselfProvesNothingToIt) {
  StartA();
  Impostor impostor(b_name_, a_name_);
  impostor.Alter("Greet", [](const std::string& answer) {
    v1::GreetAnswer greeting;
    greeting.ParseFromString(answer);
    greeting.set_instance(std::string(kIdBytes, 'm'));
    return greeting.SerializeAsString();
  });
  impostor.Invent("ReadExtent",
                  [](const std::string&) { return WrongAnswer(10); });
  impostor.Start();
  ASSERT_TRUE(Eventually([&] { return impostor.Asked("Join") >= 3; }));
  EXPECT_FALSE(a_->HasJoined(b_name_));
  EXPECT_FALSE(a_->Logged("joined " + b_name_));
  EXPECT_TRUE(
      absl::IsUnavailable(a_->Read(b_name_, WholeFile("f", 10)).status));
  EXPECT_EQ(impostor.Asked("ReadExtent"), 0);
}

// [S-24.1f] With a secret, no bytes of one who does not know it reach a reader,
// whatever address it answers at.
// It can pass on all that an honest member says, and so pass for that one. But
// it cannot make an answer.
TEST_F(ImpostorTest, AnAnswerThatNoMemberMadeIsNotUsed) {
  StartC();
  Impostor impostor(b_name_, c_name_);
  impostor.Invent("ReadExtent",
                  [](const std::string&) { return WrongAnswer(10); });
  v1::NamesAnswer names;
  names.add_samples(99);
  impostor.Alter("BindNames", [text = names.SerializeAsString()](
                                  const std::string&) { return text; });
  impostor.Start();
  StartA();
  ASSERT_TRUE(Eventually([&] { return a_->HasJoined(b_name_); }));
  const Node::Result forged = a_->Read(b_name_, WholeFile("f", 10));
  EXPECT_TRUE(absl::IsUnavailable(forged.status)) << forged.status;
  // The proof of C's answer does not fit what was made of it.
  ASSERT_TRUE(Eventually([&] {
    const auto bound = a_->AskNames(b_name_, {.view = "v", .names = {3}}).get();
    EXPECT_TRUE(absl::IsUnavailable(bound.status())) << bound.status();
    return impostor.Asked("BindNames") > 0;
  }));
  EXPECT_EQ(impostor.Asked("ReadExtent"), 1);
}

TEST_F(ImpostorTest, WhoProvesNoSignOfLifeIsNotAskedAnyMore) {
  StartC();
  Impostor impostor(b_name_, c_name_);
  impostor.Invent("Ping", [](const std::string&) { return std::string(); });
  impostor.Start();
  StartA();
  EXPECT_TRUE(Eventually([&] {
    return a_->Member(b_name_).why ==
           "refused: an answer without a proof of peers.secret";
  })) << a_->Member(b_name_).why;
}

TEST_F(ImpostorTest, WhoClaimsToBeTheDaemonItselfDoesNotBlockTheRealMember) {
  auto impostor = std::make_unique<Impostor>(b_name_, a_name_);
  impostor->Invent("Join", [](const std::string&) { return std::string(); });
  impostor->Start();
  StartA();
  ASSERT_TRUE(Eventually([&] { return impostor->Asked("Greet") > 0; }));
  std::this_thread::sleep_for(milliseconds(50));
  EXPECT_FALSE(a_->Member(b_name_).self);
  impostor.reset();
  StartB();
  EXPECT_TRUE(Eventually([&] { return a_->HasJoined(b_name_); }))
      << a_->Member(b_name_).why;
}

// As a port that is forwarded to the daemon itself.
TEST_F(ImpostorTest, WhoPassesAllOnToTheDaemonItselfDoesNotBlockTheRealMember) {
  auto impostor = std::make_unique<Impostor>(b_name_, a_name_);
  impostor->Start();
  StartA();
  ASSERT_TRUE(Eventually([&] {
    return a_->Member(b_name_).why == "the same daemon as " + a_name_;
  })) << a_->Member(b_name_).why;
  EXPECT_TRUE(a_->Member(a_name_).self);
  EXPECT_FALSE(a_->Member(b_name_).self);
  impostor.reset();
  StartB();
  EXPECT_TRUE(Eventually([&] { return a_->HasJoined(b_name_); }))
      << a_->Member(b_name_).why;
  EXPECT_TRUE(a_->Member(a_name_).self);
}

TEST_F(ImpostorTest, WithASecretAllAnswersOfAMemberAreUsed) {
  StartA();
  StartB();
  ASSERT_TRUE(Eventually([&] { return a_->HasJoined(b_name_); }));
  const PeerExtent extent = WholeFile("f", 3000000);
  EXPECT_TRUE(a_->Read(b_name_, extent).bytes == ContentOf(extent));
  const absl::Status absent = a_->Read(b_name_, WholeFile("absent", 9)).status;
  EXPECT_EQ(absent.message(), "not kept: absent");
  const auto bound =
      a_->AskNames(b_name_, {.view = "bytes", .names = {3}, .room = 70000})
          .get();
  ASSERT_EQ(bound.status(), absl::OkStatus());
  EXPECT_EQ(bound->samples[0], SampleOf(3));
  EXPECT_EQ(bound->length, 70000u);
  const auto other =
      a_->AskNames(b_name_, {.view = "other", .names = {3}}).get();
  EXPECT_TRUE(absl::IsFailedPrecondition(other.status())) << other.status();
  const std::shared_ptr<const PeerGroup> group = a_->transport->group();
  const size_t index = group->members[0].name == b_name_ ? 0 : 1;
  std::promise<absl::Status> told;
  a_->transport->Tell(group, index, {}, milliseconds(20000),
                      [&](const absl::Status& how) { told.set_value(how); });
  EXPECT_EQ(told.get_future().get(), absl::OkStatus());
  EXPECT_TRUE(a_->HasJoined(b_name_));
}

}  // namespace
}  // namespace shufflefs::peers
