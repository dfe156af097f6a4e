#include "server/observe/log_writer.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "server/observe/access_log.h"
#include "server/observe/testing/observed_run.h"

namespace millrace::server::observe {
namespace {

class Pipe {
 public:
  Pipe() { EXPECT_EQ(::pipe2(ends_, O_CLOEXEC), 0); }
  ~Pipe() {
    ::close(ends_[0]);
    close_writer();
  }
  int reader() const { return ends_[0]; }
  int writer() const { return ends_[1]; }
  int waiting() const {  // bytes
    int bytes = 0;
    EXPECT_EQ(::ioctl(ends_[0], FIONREAD, &bytes), 0);
    return bytes;
  }
  void close_writer() {
    if (ends_[1] >= 0) ::close(ends_[1]);
    ends_[1] = -1;
  }
  // All that was written; the writer's end is closed first.
  std::string read() {
    close_writer();
    std::string all;
    char piece[4096];
    for (ssize_t n; (n = ::read(ends_[0], piece, sizeof piece)) > 0;) all.append(piece, static_cast<std::size_t>(n));
    return all;
  }

 private:
  int ends_[2];
};

// Every line begins with a time, which is cut off.
std::string without_times(const std::string& text) {
  const std::size_t length = std::string("2026-01-01T00:00:00.000Z ").size();
  std::string out, line;
  for (std::istringstream in(text); std::getline(in, line);) {
    EXPECT_TRUE(line.starts_with("20") && line[10] == 'T' && line[length - 2] == 'Z') << line;
    out += line.substr(std::min(length, line.size())) + "\n";
  }
  return out;
}

RequestRecord record() {
  RequestRecord made{.model = "tiny", .route = "/v1/completions", .tenant = "red", .request_id = "id\n\x1b[31m\xff x"};
  made.path = std::string(300, 'p');
  made.trace_parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  return made;
}

TEST(LogWriter, WritesOneLineAMessageWhateverItHolds) {
  Pipe pipe;
  {
    LogWriter writer({.fd = pipe.writer()});
    log::warn("a line\nand \x1b[2J no other");
    writer.write(log::Level::kInfo, "request", access_fields(record()));
  }
  EXPECT_EQ(without_times(pipe.read()),
            "warning a line\\nand \\x1b[2J no other\n"
            "info request request_id=\"id\\\\n\\\\x1b[31m\\\\xff x\" route=/v1/completions path=" +
                std::string(200, 'p') +
                "... model=tiny tenant=red "
                "trace_id=0af7651916cd43dd8448eb211c80319c status=200 total_ms=0.00\n");
}

TEST(LogWriter, WritesJsonThatParses) {
  Pipe pipe;
  {
    LogWriter writer({.format = LogFormat::kJson, .fd = pipe.writer()});
    writer.write(log::Level::kInfo, "request", access_fields(record()));
    log::error("broken \"thing\"");
  }
  std::istringstream lines(pipe.read());
  std::string line;
  ASSERT_TRUE(std::getline(lines, line));
  const auto request = nlohmann::json::parse(line);
  EXPECT_EQ(request.at("level"), "info");
  EXPECT_EQ(request.at("status"), 200);
  EXPECT_EQ(request.at("model"), "tiny");
  EXPECT_EQ(request.at("ts").get<std::string>().size(), std::string("2026-01-01T00:00:00.000Z").size());
  ASSERT_TRUE(std::getline(lines, line));
  EXPECT_EQ(nlohmann::json::parse(line).at("msg"), "broken \"thing\"");
}

TEST(LogWriter, DropsAndCountsWhileNobodyReadsAndHoldsNobodyBack) {
  Pipe pipe;
  const std::string filler(1000, 'x');
  {
    LogWriter writer({.fd = pipe.writer(), .max_lines = 100, .last_words = std::chrono::milliseconds(10)});
    for (int i = 0; i < 5000; ++i) log::info("{}", filler);  // 64 KiB fit the pipe; nobody reads it
    EXPECT_GT(writer.dropped(), 0);
  }  // ends although the pipe is full
  SUCCEED();
}

TEST(LogWriter, HasWrittenWhatCameBeforeOnceFlushed) {
  Pipe pipe;
  LogWriter writer({.fd = pipe.writer()});
  log::error("last words");
  log::flush();
  char got[256];
  const ssize_t n = pipe.waiting() > 0 ? ::read(pipe.reader(), got, sizeof got) : 0;
  EXPECT_EQ(without_times({got, static_cast<std::size_t>(n)}), "error last words\n");
}

TEST(LogWriter, FlushesNoLongerThanItMayWhileNobodyReads) {
  Pipe pipe;
  LogWriter writer({.fd = pipe.writer(), .last_words = std::chrono::milliseconds(10)});
  for (int i = 0; i < 200; ++i) log::info("{}", std::string(1000, 'x'));
  log::flush();  // returns
  EXPECT_GT(pipe.waiting(), 0);
}

TEST(LogWriter, GoesOnWithoutWhomItWritesTo) {
  const int full = ::open("/dev/full", O_WRONLY | O_CLOEXEC);
  ASSERT_GE(full, 0);
  {
    LogWriter writer({.fd = full, .tick = std::chrono::milliseconds(1)});
    log::info("lost");
    for (int i = 0; i < 2000 && writer.dropped() == 0; ++i) ::usleep(1000);
    EXPECT_EQ(writer.dropped(), 1);
  }
  ::close(full);
}

TEST(AccessLog, SaysOfEachRequestWhatItTookAndSumsUpTraffic) {
  Pipe pipe;
  {
    LogWriter writer({.format = LogFormat::kJson, .fd = pipe.writer()});
    AccessLog access(writer, std::chrono::hours(1));
    ObservedRun run;
    run.engine->reporter().observe([&](const engine::StepReport& report) { access.step("tiny", report); });
    run.on_end = [&](const RequestRecord& ended) { access.request(ended); };
    run.submit(20, 5);
    run.submit(30, 5, 2);
    run.run();
  }
  std::istringstream lines(pipe.read());
  int requests = 0, traffic = 0;
  for (std::string line; std::getline(lines, line);) {
    const auto json = nlohmann::json::parse(line);
    if (json.at("msg") == "request") {
      ++requests;
      EXPECT_EQ(json.at("output_tokens"), 5);
      EXPECT_EQ(json.at("finish"), "length");
      EXPECT_GT(json.at("ttft_ms"), 0.0);
    } else {
      ++traffic;
      EXPECT_EQ(json.at("requests"), 2);
      EXPECT_EQ(json.at("msg"), "traffic");
    }
  }
  EXPECT_EQ(requests, 2);
  EXPECT_EQ(traffic, 1);
}

}  // namespace
}  // namespace millrace::server::observe
