#include "server/batch/batch_run.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <sstream>

namespace millrace::server::batch {
namespace {

// Answers each of `total` requests with its own body, the last one first: nothing ends before `together` wait for it,
// or all have come.
class Backwards final : public http::Application {
 public:
  Backwards(std::ptrdiff_t together, int total) : together_(together), total_(total) {}
  std::optional<http::Reply> reject(const http::Request&) override { return std::nullopt; }
  std::unique_ptr<http::Responder> handle(http::Request request, http::Wake wake) override;
  http::Reply error(int status, std::string_view) override { return {.status = status}; }
  void finished(const http::Exchange&) override {}

  std::size_t max_running = 0;
  int rejections = 0;  // the next so many requests meet a full queue
  int handled = 0;

 private:
  struct Waiting {
    http::Wake wake;
    bool go = false;
  };
  class Answer;
  void let_go() {
    for (auto it = waiting_.rbegin(); it != waiting_.rend(); ++it) {
      it->second.go = true;
      it->second.wake();
    }
  }
  std::ptrdiff_t together_;
  int total_;
  int next_ = 0;
  std::map<int, Waiting> waiting_;
};

class Backwards::Answer final : public http::Responder {
 public:
  Answer(Backwards& home, int id, std::string body) : home_(home), id_(id), body_(std::move(body)) {}
  ~Answer() override { home_.waiting_.erase(id_); }
  std::optional<http::Reply> poll() override {
    if (!home_.waiting_.at(id_).go) return std::nullopt;
    http::Reply reply{.body = body_};
    reply.headers.add("x-request-id", "r" + std::to_string(id_));
    return reply;
  }

 private:
  Backwards& home_;
  int id_;
  std::string body_;
};

std::unique_ptr<http::Responder> Backwards::handle(http::Request request, http::Wake wake) {
  ++handled;
  if (rejections > 0) {
    --rejections;
    return std::make_unique<http::ReadyReply>(http::Reply{.status = 429, .body = "{}"});
  }
  const int id = next_++;
  waiting_[id].wake = std::move(wake);
  max_running = std::max(max_running, waiting_.size());
  const auto kept = std::ranges::count_if(waiting_, [](const auto& one) { return !one.second.go; });
  if (kept >= together_ || next_ == total_) let_go();
  return std::make_unique<Answer>(*this, id, std::move(request.body));
}

struct Outcome {
  Result<BatchCounts> counts;
  std::vector<Json> lines;
};

// An open file that holds `text`, at its beginning.
std::FILE* file_of(const std::string& text) {
  std::FILE* file = std::tmpfile();
  EXPECT_EQ(std::fwrite(text.data(), 1, text.size(), file), text.size());
  EXPECT_EQ(std::fseek(file, 0, SEEK_SET), 0);
  return file;
}

Outcome run(http::Application& application, const std::string& input, const BatchConfig& config) {
  std::FILE* in = file_of(input);
  std::FILE* out = std::tmpfile();
  Outcome outcome{BatchRun(application, "b_", config).run(::fileno(in), ::fileno(out)), {}};
  EXPECT_EQ(std::fseek(out, 0, SEEK_SET), 0);
  std::string text;
  for (int c; (c = std::fgetc(out)) != EOF;) text.push_back(static_cast<char>(c));
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) outcome.lines.push_back(Json::parse(line));
  std::fclose(in);
  std::fclose(out);
  return outcome;
}

std::string line_of(int number) {
  return fmt::format(R"({{"custom_id":"c{}","method":"POST","url":"/v1/completions","body":{{"prompt":"p{}"}}}})"
                     "\n",
                     number, number);
}

std::string lines(int n) {
  std::string text;
  for (int i = 0; i < n; ++i) text += line_of(i);
  return text;
}

TEST(BatchRun, WritesInTheOrderOfTheInputWhateverEndsFirst) {
  Backwards api(8, 64);
  const Outcome outcome = run(api, lines(64), {.max_running = 8});
  ASSERT_TRUE(outcome.counts);
  EXPECT_EQ(outcome.counts->lines, 64);
  EXPECT_EQ(outcome.counts->failed, 0);
  ASSERT_EQ(outcome.lines.size(), 64U);
  for (std::size_t i = 0; i < 64; ++i) {
    EXPECT_EQ(outcome.lines[i]["custom_id"], fmt::format("c{}", i));
    EXPECT_EQ(outcome.lines[i]["response"]["body"]["prompt"], fmt::format("p{}", i));
    EXPECT_EQ(outcome.lines[i]["response"]["status_code"], 200);
    EXPECT_TRUE(outcome.lines[i]["error"].is_null());
  }
}

TEST(BatchRun, RunsNoMoreAtOnceThanItMay) {
  Backwards api(5, 50);
  const Outcome outcome = run(api, lines(50), {.max_running = 5});
  EXPECT_EQ(outcome.lines.size(), 50U);
  EXPECT_EQ(api.max_running, 5U);
}

TEST(BatchRun, TriesAgainWhatAFullQueueTurnedAway) {
  Backwards api(2, 6);
  const std::string input = lines(6);
  class FullAtFirst final : public http::Application {
   public:
    explicit FullAtFirst(Backwards& inner) : inner_(inner) {}
    std::optional<http::Reply> reject(const http::Request&) override { return std::nullopt; }
    std::unique_ptr<http::Responder> handle(http::Request request, http::Wake wake) override {
      if (inner_.handled == 1) inner_.rejections = 1;
      return inner_.handle(std::move(request), std::move(wake));
    }
    http::Reply error(int status, std::string_view) override { return {.status = status}; }
    void finished(const http::Exchange&) override {}

   private:
    Backwards& inner_;
  } full(api);
  const Outcome outcome = run(full, input, {.max_running = 3});
  ASSERT_TRUE(outcome.counts);
  EXPECT_EQ(outcome.counts->failed, 0);
  EXPECT_EQ(api.handled, 7);
}

TEST(BatchRun, TakesARefusalForTheAnswerWhereNothingElseRuns) {
  Backwards api(1, 1);
  api.rejections = 1;
  const Outcome outcome = run(api, lines(1), {});
  ASSERT_TRUE(outcome.counts);
  EXPECT_EQ(outcome.counts->failed, 1);
  EXPECT_EQ(outcome.lines.at(0)["response"]["status_code"], 429);
}

TEST(BatchRun, SaysOfEachLineWhatIsWrongWithItAndGoesOn) {
  Backwards api(1, 1);
  const std::string body = R"("method":"POST","url":"/v1/completions","body":{"prompt":"a"})";
  const std::string input = "{not json\n\n" + line_of(1) + "{" + body + "}\n" +
                            R"({"custom_id":"a","method":"GET","url":"/v1/completions","body":{}})" + "\n" +
                            R"({"custom_id":"b","method":"POST","url":"/v1/files","body":{}})" + "\n" +
                            R"({"custom_id":"c","method":"POST","url":"/v1/completions"})" + "\n" +
                            R"({"custom_id":"d","method":"POST","url":"/v1/completions","body":{"stream":true}})" +
                            "\n" + std::string(5000, 'x') + "\n" + line_of(2).substr(0, line_of(2).size() - 1);
  const Outcome outcome = run(api, input, {.line_bytes = 1000});
  ASSERT_TRUE(outcome.counts);
  EXPECT_EQ(outcome.counts->lines, 9);
  EXPECT_EQ(outcome.counts->failed, 7);
  const std::vector<std::string> codes = {"invalid_json_line",
                                          "",
                                          "missing_required_parameter",
                                          "invalid_method",
                                          "invalid_url",
                                          "missing_required_parameter",
                                          "unsupported",
                                          "line_too_long",
                                          ""};
  ASSERT_EQ(outcome.lines.size(), codes.size());
  for (std::size_t i = 0; i < codes.size(); ++i) {
    const Json& line = outcome.lines[i];
    EXPECT_EQ(line["error"].is_null(), codes[i].empty()) << i;
    EXPECT_EQ(line["response"].is_null(), !codes[i].empty()) << i;
    if (!codes[i].empty()) {
      EXPECT_EQ(line["error"]["code"], codes[i]) << i;
    }
  }
  EXPECT_EQ(outcome.lines[3]["custom_id"], "a");
  EXPECT_TRUE(outcome.lines[0]["custom_id"].is_null());
}

TEST(BatchRun, EndsWhereTheEngineHasFailed) {
  Backwards never(1000, 1000);
  const Outcome outcome = run(never, lines(3), {.gave_up = [] { return true; }});
  EXPECT_FALSE(outcome.counts);
}

TEST(BatchRun, EndsWhereTheOutputTakesNoMore) {
  Backwards api(1, 1);
  std::FILE* in = file_of(lines(3));
  const auto counts = BatchRun(api, "b_", {}).run(::fileno(in), 10'000);  // no such descriptor
  ASSERT_FALSE(counts);
  EXPECT_EQ(counts.error().code, ErrorCode::kResourceExhausted);
  std::fclose(in);
}

}  // namespace
}  // namespace millrace::server::batch
