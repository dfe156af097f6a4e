#include "loadtest/client/streamed_answer.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <vector>

namespace millrace::loadtest {
namespace {

using Times = std::vector<double>;

const std::string kAnswerHead = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n";

// Chunks of one event each.
std::string stream(const std::vector<std::string>& events) {
  std::string out = kAnswerHead + "transfer-encoding: chunked\r\n\r\n";
  for (const std::string& event : events) {
    out += fmt::format("{:x}\r\ndata: {}\n\n\r\n", event.size() + 8, event);
  }
  return out + "0\r\n\r\n";
}

class Reader {
 public:
  explicit Reader(bool keep_text = true, std::int64_t leave_after = 0)
      : answer_(RequestRecord{}, keep_text, leave_after) {}
  Reader& read(std::string_view bytes, double now = 1.0) {
    answer_.read(bytes, now, parser_);
    return *this;
  }
  RequestRecord closed(double now = 9.0, std::string_view why = "") {
    answer_.close(now, why, parser_);
    return answer_.record();
  }
  StreamedAnswer& answer() { return answer_; }
  const RequestRecord& record() { return answer_.record(); }

 private:
  AnswerEventParser parser_;
  StreamedAnswer answer_;
};

RequestRecord whole(const std::vector<std::string>& events) {
  Reader reader;
  reader.read(stream(events));
  EXPECT_TRUE(reader.answer().over());
  return reader.record();
}

std::string text_event(std::string_view text) {
  return fmt::format(R"({{"id":"c1","choices":[{{"index":0,"text":"{}"}}]}})", text);
}

const std::string kUsage =
    R"({"id":"c1","choices":[],"usage":{"prompt_tokens":12,"completion_tokens":3,"prompt_tokens_details":{"cached_tokens":8}}})";

TEST(StreamedAnswer, CountsTokensBesideNumbersThatPythonWrote) {
  const RequestRecord record = whole(
      {R"({"id":"c1","created":1000000000000000019884624838656,"choices":[{"text":"a","logprobs":{"token_logprobs":[NaN]}}]})",
       R"({"choices":[{"text":"b\ud83d","logprobs":{"token_logprobs":[-Infinity]}}]})",
       R"({"choices":[{"text":"","finish_reason":"stop"}],"usage":{"prompt_tokens":12.0,"completion_tokens":2,"cost":1e400}})",
       "[DONE]"});
  EXPECT_EQ(record.events.size(), 2u);
  EXPECT_EQ(record.text, "ab\uFFFD");
  EXPECT_EQ(record.finish_reason, "stop");
  EXPECT_EQ(record.prompt_tokens, 12);
  EXPECT_EQ(record.completion_tokens, 2);
}

TEST(StreamedAnswer, FillsTheRecordOfACompletion) {
  Reader reader;
  reader.read(kAnswerHead.substr(0, 5), 1.0).read(kAnswerHead.substr(5) + "\r\ndata: " + text_event("a") + "\n\n", 2.0);
  EXPECT_FALSE(reader.answer().over());
  reader.read("data: " + text_event("b") + "\n\ndata: " + text_event("c") + "\n\n", 3.0);
  reader.read("data: {\"choices\":[{\"text\":\"\",\"finish_reason\":\"length\"}]}\n\ndata: " + kUsage + "\n\n", 4.0);
  reader.read("data: [DONE]\n\n", 5.0);
  const RequestRecord record = reader.closed(6.0);
  EXPECT_EQ(record.outcome, Outcome::kWhole) << record.error;
  EXPECT_EQ(record.status, 200);
  EXPECT_EQ(record.first_byte, 1.0);
  EXPECT_EQ(record.events, (Times{2.0, 3.0, 3.0}));
  EXPECT_EQ(record.ended, 6.0);
  EXPECT_EQ(record.text, "abc");
  EXPECT_EQ(record.id, "c1");
  EXPECT_EQ(record.finish_reason, "length");
  EXPECT_EQ(record.prompt_tokens, 12);
  EXPECT_EQ(record.completion_tokens, 3);
  EXPECT_EQ(record.cached_tokens, 8);
  EXPECT_TRUE(record.good());
  EXPECT_FALSE(reader.answer().keeps_alive());
}

TEST(StreamedAnswer, TakesWhatTheServerSaysOfItsTime) {
  const RequestRecord record = whole(
      {text_event("a"),
       R"({"id":"c1","choices":[],"usage":{"prompt_tokens":2,"completion_tokens":1},)"
       R"("timings":{"queue_ms":1,"prefill_ms":2.5,"decode_ms":4,"mbu":null},)"
       R"("why_slow":[{"cause":"decode","ms":4,"share":0.5},{"cause":7},3,{"cause":"x","ms":-1},{"cause":"queue","ms":1.25}]})",
       "[DONE]"});
  EXPECT_TRUE(record.server.known());
  EXPECT_EQ(record.server.prefill_ms, 2.5);
  ASSERT_EQ(record.server.causes.size(), 2u);
  EXPECT_EQ(record.server.causes[1].name, "queue");
  EXPECT_EQ(record.server.causes[1].ms, 1.25);
  EXPECT_FALSE(whole({text_event("a"), kUsage, "[DONE]"}).server.known());
}

TEST(StreamedAnswer, IsTheSameHoweverItIsCut) {
  const std::string text = stream({text_event("a"), text_event("b"), kUsage, "[DONE]"});
  for (std::size_t i = 1; i < text.size(); ++i) {
    Reader reader;
    reader.read(text.substr(0, i)).read(text.substr(i));
    ASSERT_TRUE(reader.answer().over()) << i;
    ASSERT_EQ(reader.record().outcome, Outcome::kWhole) << i << reader.record().error;
    ASSERT_EQ(reader.record().text, "ab") << i;
    ASSERT_EQ(reader.record().events.size(), 2u) << i;
    ASSERT_TRUE(reader.answer().keeps_alive()) << i;
  }
}

TEST(StreamedAnswer, CountsWhatTheModelMade) {
  const auto events = [](const std::string& event) { return whole({event, "[DONE]"}).events.size(); };
  EXPECT_EQ(events(text_event("x")), 1u);
  EXPECT_EQ(events(text_event("")), 1u);  // the first bytes of a character
  EXPECT_EQ(events(R"({"choices":[{"text":"x","finish_reason":"stop"}]})"), 1u);
  EXPECT_EQ(events(R"({"choices":[{"text":"","finish_reason":null}],"usage":{"prompt_tokens":1}})"), 0u);
  EXPECT_EQ(events(R"({"choices":[{"text":"","finish_reason":null}],"usage":null})"), 1u);
  EXPECT_EQ(events(R"({"choices":[]})"), 0u);
  EXPECT_EQ(events(R"({"choices":[{"delta":{"role":"assistant","content":""}}]})"), 0u);
  EXPECT_EQ(events(R"({"choices":[{"delta":{"role":"assistant"}}]})"), 0u);
  EXPECT_EQ(events(R"({"choices":[{"delta":{"role":"assistant","content":"Hi"}}]})"), 1u);
  EXPECT_EQ(events(R"({"choices":[{"delta":{"content":""}}]})"), 1u);
  EXPECT_EQ(events(R"({"choices":[{"delta":{}}]})"), 0u);
  EXPECT_EQ(events(R"({"choices":[{"delta":{"reasoning_content":"so"}}]})"), 1u);
  EXPECT_EQ(events(R"({"choices":[{"delta":{"reasoning":"so"}}]})"), 1u);
  EXPECT_EQ(events(R"({"choices":[{"delta":{"tool_calls":[{"index":0}]}}]})"), 1u);
  EXPECT_EQ(events(R"({"choices":[{"delta":{"tool_calls":[]}}]})"), 0u);
}

TEST(StreamedAnswer, WithoutTextIsHeardOfByItsEnd) {
  const std::string end = R"({"choices":[{"text":"","finish_reason":"length"}]})";
  Reader reader;
  reader.read(kAnswerHead + "\r\n", 1.0)
      .read("data: " + end + "\n\n", 2.0)
      .read("data: " + kUsage + "\n\ndata: [DONE]\n\n", 3.0);
  EXPECT_EQ(reader.closed(4.0).events, Times{2.0});
  EXPECT_TRUE(reader.record().good());
  EXPECT_EQ(whole({text_event("x"), end, "[DONE]"}).events.size(), 1u);
}

TEST(StreamedAnswer, KeepsOnlyTheAnswersOwnText) {
  EXPECT_EQ(
      whole({R"({"choices":[{"delta":{"reasoning":"so"}}]})", R"({"choices":[{"delta":{"content":"yes"}}]})", "[DONE]"})
          .text,
      "yes");
  Reader reader(false);
  reader.read(stream({text_event("a"), "[DONE]"}));
  EXPECT_EQ(reader.record().text, "");
}

TEST(StreamedAnswer, TakesARefusal) {
  const auto rejected = [](const std::string& body) {
    Reader reader;
    reader.read(fmt::format("HTTP/1.1 429 Too Many Requests\r\ncontent-length: {}\r\n\r\n{}", body.size(), body));
    EXPECT_EQ(reader.record().outcome, Outcome::kRejected);
    EXPECT_EQ(reader.record().status, 429);
    EXPECT_TRUE(reader.answer().keeps_alive());
    return reader.record().error;
  };
  EXPECT_EQ(rejected(R"({"error":{"message":"too\nbusy\u001b[31m","code":1}})"), "too\\nbusy\\x1b[31m");
  EXPECT_EQ(rejected(R"({"error":"flat"})"), "flat");
  EXPECT_EQ(rejected(R"({"detail":"of another kind"})"), "of another kind");
  EXPECT_EQ(rejected("plain text"), "plain text");
  EXPECT_EQ(rejected(""), "");
  EXPECT_EQ(rejected(std::string(1000, 'x')), std::string(300, 'x'));
  EXPECT_EQ(rejected(std::string(299, 'x') + "\u00e9"), std::string(299, 'x'));
  EXPECT_EQ(rejected(std::string(298, 'x') + "\u00e9"), std::string(298, 'x') + "\u00e9");
  EXPECT_EQ(rejected("a\xc2\x9b"
                     "31m"),
            "a\\x9b31m");
}

TEST(StreamedAnswer, ReadsNoMoreOfARefusalThanItShows) {
  Reader reader;
  reader.read("HTTP/1.1 500 x\r\n\r\n");
  for (int i = 0; i < 64 && !reader.answer().over(); ++i) reader.read(std::string(4096, 'e'));
  EXPECT_TRUE(reader.answer().over());
  EXPECT_FALSE(reader.answer().keeps_alive());
  EXPECT_EQ(reader.record().outcome, Outcome::kRejected);
}

TEST(StreamedAnswer, FailsByAnErrorInTheStream) {
  RequestRecord record = whole({text_event("a"), R"({"error":{"message":"lost a rank"}})", "[DONE]"});
  EXPECT_EQ(record.outcome, Outcome::kFailed);
  EXPECT_EQ(record.error, "lost a rank");
  EXPECT_EQ(record.events.size(), 1u);
  EXPECT_FALSE(record.good());
  EXPECT_EQ(whole({text_event("a"), "{no json}"}).outcome, Outcome::kFailed);
  EXPECT_EQ(whole({"[1]"}).outcome, Outcome::kFailed);
  EXPECT_EQ(whole({R"({"error":null,"choices":[{"text":"x"}]})", "[DONE]"}).outcome, Outcome::kWhole);
  Reader reader;
  reader.read("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}");
  EXPECT_EQ(reader.record().outcome, Outcome::kFailed);
  EXPECT_EQ(reader.record().error, "the reply holds no events (content-type 'application/json')");
}

TEST(StreamedAnswer, IsCutByAnEndBeforeItsOwn) {
  const std::string text = stream({text_event("a"), text_event("b"), "[DONE]"});
  const std::size_t done = text.find("[DONE]\n\n") + 8;
  for (std::size_t i = 0; i < text.size(); ++i) {
    Reader reader;
    if (i > 0) reader.read(text.substr(0, i));
    const RequestRecord record = reader.closed();
    ASSERT_EQ(record.outcome, i < done ? Outcome::kCut : Outcome::kWhole) << i;
    ASSERT_EQ(record.error.empty(), i >= done) << i;
  }
  EXPECT_EQ(Reader().closed(1.0, "Connection reset by peer").error, "Connection reset by peer");
  // Without [DONE] a reason to finish is an end, if the body ended as it should.
  const std::string last = R"({"choices":[{"text":"b","finish_reason":"stop"}]})";
  EXPECT_EQ(whole({text_event("a"), last}).outcome, Outcome::kWhole);
  EXPECT_EQ(whole({text_event("a")}).outcome, Outcome::kCut);
  std::string unfinished = stream({last});
  unfinished.resize(unfinished.size() - 5);
  EXPECT_EQ(Reader().read(unfinished).closed().outcome, Outcome::kCut);
}

TEST(StreamedAnswer, LeavesAfterSoManyEvents) {
  Reader reader(true, 2);
  reader.read(stream({text_event("a"), text_event("b"), text_event("c"), "[DONE]"}));
  EXPECT_EQ(reader.record().outcome, Outcome::kDisconnected);
  EXPECT_EQ(reader.record().events.size(), 2u);
  EXPECT_FALSE(reader.answer().keeps_alive());
}

TEST(StreamedAnswer, MayBeGivenUp) {
  Reader reader;
  reader.read(kAnswerHead + "\r\ndata: " + text_event("a") + "\n\n");
  reader.answer().give_up(Outcome::kTimeout, 3.0, "late");
  EXPECT_EQ(reader.record().outcome, Outcome::kTimeout);
  EXPECT_EQ(reader.record().error, "late");
  EXPECT_EQ(reader.record().ended, 3.0);
  // After [DONE] nothing is missing.
  Reader said;
  said.read(kAnswerHead + "\r\ndata: " + text_event("a") + "\n\ndata: [DONE]\n\n");
  EXPECT_FALSE(said.answer().over());
  said.answer().give_up(Outcome::kTimeout, 3.0, "late");
  EXPECT_EQ(said.record().outcome, Outcome::kWhole);
}

TEST(StreamedAnswer, UsesNoConnectionThatSaysMoreThanItsReply) {
  Reader reader;
  reader.read(stream({text_event("a"), "[DONE]"}) + "HTTP/1.1 408 x\r\n\r\n");
  EXPECT_EQ(reader.record().outcome, Outcome::kWhole);
  EXPECT_FALSE(reader.answer().keeps_alive());
}

}  // namespace
}  // namespace millrace::loadtest
