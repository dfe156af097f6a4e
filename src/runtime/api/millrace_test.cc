#include <gtest/gtest.h>
#include <millrace/millrace.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "model/synth/synth_plan.h"
#include "text/testing/vocabularies.h"

namespace millrace::api {
namespace {

constexpr const char* kTemplate = "{% for m in messages %}{{ m.role + ': ' + m.content }}{% endfor %}";

// A small model of random weights that speaks bytes, in a file of its own for as long as the tests run.
class MillraceTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    path_ = new std::string(testing::TempDir() + "millrace_test_" + std::to_string(::getpid()) + ".gguf");
    const text::GgufVocabulary words = text::small_byte_level_vocabulary("gpt2");
    model::SynthTokenizer tokenizer{.entries = {{"tokenizer.ggml.model", words.model},
                                                {"tokenizer.ggml.pre", words.pre},
                                                {"tokenizer.ggml.tokens", checkpoint::GgufArray{words.tokens}},
                                                {"tokenizer.ggml.token_type", checkpoint::GgufArray{words.token_types}},
                                                {"tokenizer.ggml.merges", checkpoint::GgufArray{words.merges}},
                                                {"tokenizer.ggml.bos_token_id", std::uint32_t{261}},
                                                {"tokenizer.ggml.eos_token_id", std::uint32_t{262}},
                                                {"tokenizer.chat_template", std::string(kTemplate)}},
                                    .tokens = static_cast<std::int64_t>(words.tokens.size())};
    const auto plan = model::plan_synth(*model::find_synth_shape("tiny"), checkpoint::Checkpoint::Container::kGguf,
                                        {.format = quant::find_format("q8_0"), .seed = 1, .tokenizer = tokenizer})
                          .or_throw();
    WorkerTeam team(1);
    model::write_synth(plan, *path_, team).or_throw();
  }
  static void TearDownTestSuite() {
    std::filesystem::remove(*path_);
    delete path_;
  }

  static Model loaded() {
    auto model = Model::load({.path = *path_, .threads = 1});
    EXPECT_TRUE(model.ok()) << (model ? "" : model.error().message);
    return *model;
  }
  static Engine engine_on(const Model& model, EngineConfig config = {}) {
    config.kv_cache_tokens = 2048;
    auto engine = Engine::create(model, config);
    EXPECT_TRUE(engine.ok()) << (engine ? "" : engine.error().message);
    return *engine;
  }
  static Request greedy(std::string prompt, std::int64_t tokens = 16) {
    return {.prompt = std::move(prompt), .max_tokens = tokens, .sampling = {{"temperature", 0.0}}, .ignore_eos = true};
  }

  struct Answer {
    std::string text;
    std::vector<std::int32_t> tokens;
    Output last;
    Error error;
  };
  static Answer read(Stream& stream) {
    Answer answer;
    while (!stream.done()) {
      auto output = stream.next();
      if (!output) {
        answer.error = output.error();
        break;
      }
      answer.text += output->text;
      if (output->token) answer.tokens.push_back(*output->token);
      answer.last = *output;
    }
    return answer;
  }
  static Answer answer_to(Engine& engine, const Request& request) {
    auto stream = engine.submit(request);
    if (!stream) return {.text = {}, .tokens = {}, .last = {}, .error = stream.error()};
    return read(*stream);
  }

  static std::string* path_;
};
std::string* MillraceTest::path_ = nullptr;

TEST_F(MillraceTest, SaysItsVersion) { EXPECT_STREQ(version(), MILLRACE_VERSION); }

TEST_F(MillraceTest, AnswersAreTheSameAloneAndTogether) {
  Engine engine = engine_on(loaded());
  std::vector<Answer> alone;
  for (const char* prompt : {"hello", "a longer prompt", "x"}) alone.push_back(answer_to(engine, greedy(prompt)));
  std::vector<Stream> streams;
  for (const char* prompt : {"hello", "a longer prompt", "x"}) {
    streams.push_back(std::move(*engine.submit(greedy(prompt))));
  }
  for (std::size_t i = 0; i < streams.size(); ++i) {
    const Answer answer = read(streams[i]);
    EXPECT_EQ(answer.tokens.size(), 16u);
    EXPECT_EQ(answer.tokens, alone[i].tokens);
    EXPECT_EQ(answer.text, alone[i].text);
    EXPECT_EQ(answer.last.finish, FinishReason::kLength);
    EXPECT_EQ(answer.last.output_tokens, 16);
  }
}

TEST_F(MillraceTest, ManyThreadsSubmit) {
  Engine engine = engine_on(loaded());
  const Answer expected = answer_to(engine, greedy("hello"));
  std::vector<std::thread> threads;
  std::vector<Answer> answers(4);
  for (Answer& answer : answers) {
    threads.emplace_back([&, handle = engine]() mutable { answer = answer_to(handle, greedy("hello")); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Answer& answer : answers) EXPECT_EQ(answer.tokens, expected.tokens);
}

TEST_F(MillraceTest, AChatIsWhatTheTemplateMakesOfIt) {
  const Model model = loaded();
  Engine engine = engine_on(model);
  ASSERT_TRUE(model.has_chat_template());
  Request chat = greedy("");
  chat.prompt = Chat{{.role = "user", .content = "hello"}};
  Request tokens = greedy("");
  tokens.prompt = *model.tokenize(Chat{{.role = "user", .content = "hello"}});
  EXPECT_EQ(answer_to(engine, chat).tokens, answer_to(engine, tokens).tokens);
  EXPECT_EQ(std::get<std::vector<std::int32_t>>(tokens.prompt), *model.tokenize("user: hello"));
}

TEST_F(MillraceTest, TheSameSeedGivesTheSameAnswer) {
  Engine engine = engine_on(loaded());
  Request request = greedy("hello");
  request.sampling = {{"temperature", 2.0}};
  request.seed = 7;
  const Answer first = answer_to(engine, request), again = answer_to(engine, request);
  EXPECT_EQ(first.tokens, again.tokens);
  request.seed = 8;
  EXPECT_NE(answer_to(engine, request).tokens, first.tokens);
}

TEST_F(MillraceTest, AnAnswerFitsItsGrammar) {
  Engine engine = engine_on(loaded());
  Request request = greedy("hello");
  request.ignore_eos = false;
  request.grammar = Grammar{.language = "regex", .text = "[0-9]{3}"};
  const Answer answer = answer_to(engine, request);
  EXPECT_EQ(answer.text.size(), 3u);
  EXPECT_EQ(answer.text.find_first_not_of("0123456789"), std::string::npos);
  EXPECT_EQ(answer.last.finish, FinishReason::kStop);
  request.grammar = Grammar{.language = "regex", .text = "[0-9"};
  EXPECT_EQ(answer_to(engine, request).error.field, "grammar");
  request.grammar = Grammar{.language = "runes", .text = ""};
  EXPECT_NE(answer_to(engine, request).error.message.find("\"runes\""), std::string::npos);
}

TEST_F(MillraceTest, AStopTextEndsTheAnswerBeforeIt) {
  Engine engine = engine_on(loaded());
  const Answer whole = answer_to(engine, greedy("hello", 64));
  Request request = greedy("hello", 64);
  request.stop = {whole.text.substr(whole.text.size() / 2, 4)};
  const Answer answer = answer_to(engine, request);
  EXPECT_EQ(answer.last.finish, FinishReason::kStop);
  EXPECT_EQ(answer.text, whole.text.substr(0, whole.text.find(request.stop.front())));
}

TEST_F(MillraceTest, ACancelledStreamStillEnds) {
  Engine engine = engine_on(loaded());
  auto stream = engine.submit(greedy("hello", 2000));
  ASSERT_TRUE(stream->next().ok());
  stream->cancel();
  EXPECT_EQ(read(*stream).last.finish, FinishReason::kCancelled);
  EXPECT_EQ(stream->next().error().message, "the stream has ended");
}

TEST_F(MillraceTest, AStreamOutlivesItsHandles) {
  std::optional<Stream> stream;
  {
    Engine engine = engine_on(loaded());
    stream = std::move(*engine.submit(greedy("hello")));
  }
  EXPECT_EQ(read(*stream).tokens.size(), 16u);
}

TEST_F(MillraceTest, AModelHasOneEngineAtATime) {
  const Model model = loaded();
  {
    const Engine engine = engine_on(model);
    const auto second = Engine::create(model);
    ASSERT_FALSE(second.ok());
    EXPECT_EQ(second.error().code, ErrorCode::kUnavailable);
  }
  auto another = Engine::create(model, {.kv_cache_tokens = 2048});
  ASSERT_TRUE(another.ok());
  EXPECT_EQ(answer_to(*another, greedy("hello")).tokens.size(), 16u);
}

TEST_F(MillraceTest, ErrorsOfLoadingNameThePathAndTheField) {
  const auto absent = Model::load({.path = "/nowhere/model.gguf"});
  EXPECT_EQ(absent.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(absent.error().field, "path");
  EXPECT_NE(absent.error().message.find("/nowhere/model.gguf"), std::string::npos);
  const auto layout = Model::load({.path = *path_, .block_size = 33});
  EXPECT_EQ(layout.error().field, "block_size");
  EXPECT_EQ(layout.error().message,
            "block_size is 33: pages of kv-layout paged32 have a multiple of 32 tokens, 1024 at most");
  const auto small = Engine::create(loaded(), {.kv_cache_memory_bytes = 5});
  EXPECT_EQ(small.error().field, "kv_cache_memory_bytes");
  EXPECT_TRUE(small.error().message.starts_with("kv_cache_memory_bytes is 5: a page of 32 tokens takes "));
}

TEST_F(MillraceTest, ErrorsOfARequestNameTheFieldTheValueAndTheLimit) {
  Engine engine = engine_on(loaded());
  const auto message = [&](Request request) {
    const Error error = answer_to(engine, request).error;
    return error.field + " | " + error.message;
  };
  EXPECT_EQ(message(greedy("")), "prompt | prompt is empty");
  EXPECT_EQ(message(greedy("hello", 0)), "max_tokens | max_tokens is 0: must be at least 1");
  EXPECT_EQ(message(greedy("hello", 4000)),
            "max_tokens | max_tokens is 4000 after a prompt of 1: the limit of both is 2048");
  EXPECT_EQ(message({.prompt = "hello", .sampling = {{"top_p", 1.5}}}),
            "top_p | top_p is 1.5: must be above 0 and at most 1");
  EXPECT_EQ(message({.prompt = "hello", .sampling = {{"top_k", 1.5}}}), "top_k | top_k is 1.5: must be a whole number");
  EXPECT_EQ(message({.prompt = "hello", .sampling = {{"luck", 1.0}}}),
            "sampling | sampling has 'luck': no sampler has an option of that name");
  EXPECT_EQ(message({.prompt = std::vector<std::int32_t>{100, 9999}}),
            "prompt | token id 9999 is outside the vocabulary of 264");
  EXPECT_EQ(message({.prompt = "hello", .timeout_ms = 0.0}),
            "timeout_ms | timeout_ms is 0: must be above 0 and at most 1000000000");
  EXPECT_EQ(message({.prompt = "hello", .stop = {""}}).substr(0, 4), "stop");
}

}  // namespace
}  // namespace millrace::api
