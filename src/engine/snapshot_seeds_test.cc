// The seeds of snapshot_fuzz are what engines write today: MILLRACE_WRITE_DOCS=1 engine_test writes them anew.

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "engine/snapshot_bytes.h"
#include "engine/snapshot_fields.h"
#include "engine/testing/engine_fixture.h"
#include "engine/testing/made_adapters.h"

namespace millrace::engine {
namespace {

const std::filesystem::path kSnapshotSeeds = MILLRACE_TEST_DATA "/../fuzz/corpus/snapshot";
constexpr std::size_t kSnapshotHead = 32;  // without which the fuzzer reads them too

class SnapshotSeeds : public EngineTest {
 protected:
  SequenceSnapshot exported(const Request& request, int steps, std::optional<SessionSnapshot>* session = nullptr) {
    const auto engine = make();
    Request asked = request;
    if (session != nullptr) asked.session = engine->sessions().open();
    const RequestId id = engine->submit(asked).or_throw();
    for (int i = 0; i < steps; ++i) engine->step();
    if (session != nullptr) {
      drain(*engine);
      session->emplace(engine->transfers().export_session(*asked.session).or_throw());
      return {};
    }
    std::vector<Output> outputs;
    return engine->transfers().export_sequence(id, outputs).or_throw();
  }
  Request beams() {
    Request r = request(6, 8, 12);
    r.beams = decode::BeamOptions{.width = 4};
    r.n = 3;
    r.sampling.logprobs = 1;
    return r;
  }
  Request sampled() {
    Request r = request(6, 2, 12);
    r.sampling.temperature = 0.8f;
    r.sampling.seed = 3;
    r.sampling.stop = {"stop"};
    r.sampling.dry_multiplier = 0.7f;
    r.sampling.logit_bias = {{5, 1.0f}};
    return r;
  }
  // A blend of an adapter and one that begins amid the prompt.
  Request adapted() {
    Request r = request(40, 5, 8);
    for (const auto& invocation : {std::vector<std::int32_t>{}, {r.tokens[20], r.tokens[21]}}) {
      const auto adapter = made_adapter(transformer_, *backend_, 1, 4, invocation);
      r.adapters.push_back({adapter->key(), 0.5f, adapter});
      adapters_->put(adapter->key(), "", adapter);
    }
    return r;
  }
  static std::vector<std::byte> read(const std::string& name) {
    std::ifstream file(kSnapshotSeeds / name, std::ios::binary);
    const std::string text(std::istreambuf_iterator<char>(file), {});
    const auto bytes = std::as_bytes(std::span(text));
    return {bytes.begin(), bytes.end()};
  }
  static void write(const std::string& name, std::span<const std::byte> bytes) {
    std::ofstream(kSnapshotSeeds / name, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), std::ssize(bytes));
  }
  void write_all() {
    std::optional<SessionSnapshot> session;
    exported(request(6, 4, 3), 2, &session);
    write("session-whole", to_bytes(*session));
    write("sampled-whole", to_bytes(exported(sampled(), 4)));
    for (const auto& [name, asked] : {std::pair("beams", beams()), {"sampled", sampled()}, {"adapted", adapted()}}) {
      write(name, std::span<const std::byte>(to_bytes(exported(asked, 4))).subspan(kSnapshotHead));
    }
  }
};

TEST_F(SnapshotSeeds, AreOfThisVersion) {
  if (std::getenv("MILLRACE_WRITE_DOCS") != nullptr) write_all();
  EXPECT_TRUE(sequence_from_bytes(read("sampled-whole")));
  EXPECT_TRUE(session_from_bytes(read("session-whole")));
  for (const char* name : {"beams", "sampled", "adapted"}) {
    const std::vector<std::byte> bytes = read(name);
    ByteReader reader(bytes);
    SequenceSnapshot snapshot;
    reader(snapshot);
    EXPECT_TRUE(reader.ok() && !snapshot.answers.empty()) << name;
    EXPECT_EQ(snapshot.request.adapters.size(), std::string_view(name) == "adapted" ? 2u : 0u);
  }
}

}  // namespace
}  // namespace millrace::engine
