#include "loadtest/client/reply_reader.h"

#include <gtest/gtest.h>

#include <vector>

namespace millrace::loadtest {
namespace {

struct Read {
  ReplyReader reader;
  std::string body, rest;
};

// The pieces one after the other; what is left of the last one is `rest`.
Read read_reply(const std::vector<std::string_view>& pieces) {
  Read out;
  for (std::string_view piece : pieces) {
    while (!piece.empty() && !out.reader.over()) out.body += out.reader.take(piece);
    out.rest += piece;
  }
  return out;
}

// Whole, cut in two at every place, and byte by byte: all must be alike.
void expect(std::string_view text, ReplyReader::State state, std::string_view body, bool keeps_alive, int status = 200,
            std::string_view rest = "") {
  std::vector<std::vector<std::string_view>> cuts = {{text}, {}};
  for (std::size_t i = 0; i < text.size(); ++i) cuts[1].push_back(text.substr(i, 1));
  for (std::size_t i = 1; i < text.size(); ++i) cuts.push_back({text.substr(0, i), text.substr(i)});
  for (std::size_t i = 0; i < cuts.size(); ++i) {
    const Read got = read_reply(cuts[i]);
    ASSERT_EQ(got.reader.state(), state) << i << " of " << text << ": " << got.reader.problem();
    ASSERT_EQ(got.body, body) << i << " of " << text;
    ASSERT_EQ(got.reader.status(), status) << i << " of " << text;
    ASSERT_EQ(got.reader.keeps_alive(), keeps_alive) << i << " of " << text;
    if (state == ReplyReader::State::kWhole) {
      ASSERT_EQ(got.rest, rest) << i << " of " << text;
    }
  }
}

constexpr auto kWhole = ReplyReader::State::kWhole, kBody = ReplyReader::State::kBody;
constexpr auto kHead = ReplyReader::State::kHead, kBroken = ReplyReader::State::kBroken;

TEST(ReplyReader, TakesABodyWithALength) {
  expect("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", kWhole, "hello", true);
  expect("HTTP/1.1 200 \r\ncontent-length:5 \r\n\r\nhelloHTTP", kWhole, "hello", true, 200, "HTTP");
  expect("HTTP/1.1 429 Too Many\r\nContent-Length: 0\r\n\r\n", kWhole, "", true, 429);
  expect("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhello", kBody, "hello", false);
  expect("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nok", kWhole, "ok", true);
  expect("HTTP/1.1 204 No Content\r\n\r\n", kWhole, "", true, 204);
  expect("HTTP/1.1 304 Not Modified\r\ncontent-length: 9\r\n\r\n", kWhole, "", true, 304);
}

TEST(ReplyReader, TakesChunksAndTrailers) {
  expect("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nA;x=\"y\"\r\n0123456789\r\n0\r\n\r\n",
         kWhole, "hello0123456789", true);
  expect("HTTP/1.1 200 OK\r\ntransfer-encoding: Chunked\r\n\r\n1\r\n\n\r\n0\r\nx: y\r\nz: w\r\n\r\nmore", kWhole, "\n",
         true, 200, "more");
  expect("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n", kBody, "hello", false);
  expect("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0005;a;b=c\r\nhello\r\n000\r\n\r\n", kWhole, "hello",
         true);
}

TEST(ReplyReader, SaysWhetherTheConnectionMayBeUsedAgain) {
  expect("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nConnection: close\r\n\r\nx", kWhole, "x", false);
  expect("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nConnection: x, CLOSE\r\n\r\nx", kWhole, "x", false);
  expect("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nConnection: keep-alive\r\n\r\nx", kWhole, "x", true);
  expect("HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\nx", kWhole, "x", false);
  expect("HTTP/1.0 200 OK\r\nContent-Length: 1\r\nConnection: keep-alive\r\n\r\nx", kWhole, "x", true);
}

TEST(ReplyReader, PassesOverInterimReplies) {
  expect(
      "HTTP/1.1 100 Continue\r\nContent-Length: 7\r\n\r\nHTTP/1.1 103 Hints\r\nlink: a\r\n\r\nHTTP/1.1 200 OK\r\n"
      "Content-Length: 2\r\n\r\nok",
      kWhole, "ok", true);
  expect("HTTP/1.1 100 Continue\r\n\r\n", kHead, "", false, 0);
}

TEST(ReplyReader, IsBrokenByWhatIsNoReply) {
  // At once, since nothing more may come.
  for (const char* text : {"SSH-2.0-x\r\n", "HTTP/2 200\r\n", "\r\n", "http/1.1"}) {
    expect(text, kBroken, "", false, 0);
  }
  for (const char* line : {"HTTP/1.1 20 OK", "HTTP/1.1 2000", "HTTP/1.1 200", "HTTP/1.1 2", "HTTP/1.2 200 OK"}) {
    expect(std::string(line) + "\r\n\r\n", kBroken, "", false, 0);
  }
  expect("HTTP/1.1 099 x\r\n\r\n", kBroken, "", false, 99);
  expect("HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\n\r\n", kBroken, "", false, 101);
  const std::string ok = "HTTP/1.1 200 OK\r\n";
  for (const char* field :
       {"no colon", ": x", "a : x", "a: \x01", "content-length: -1", "content-length:", "content-length: 1, 2",
        "content-length: 1\r\ncontent-length: 2", "content-length: 99999999999999999999",
        "transfer-encoding: gzip, chunked", "transfer-encoding: gzip", "transfer-encoding: chunked, chunked",
        "transfer-encoding: chunked\r\ntransfer-encoding: chunked",
        // Whose length counts, a smuggler chooses (RFC 9112, 6.3).
        "content-length: 3\r\ntransfer-encoding: chunked", "transfer-encoding: chunked\r\ncontent-length: 3"}) {
    expect(ok + field + "\r\n\r\n", kBroken, "", false);
  }
  const std::string chunked = ok + "transfer-encoding: chunked\r\n\r\n";
  for (const char* line :
       {"x", "", "-1", "11111111111111111", "1 ", " 1", "1;", "1;a=", "1;a=\"b\r\n\"", "0;=", "1\r2"}) {
    expect(chunked + line + "\r\n\r\n", kBroken, "", false);
  }
  expect(chunked + "1\r\nab\r\n0\r\n", kBroken, "a", false);
}

TEST(ReplyReader, TakesNoLinesThatEndWithLineFeedsAlone) {  // it may (RFC 9112, 2.2), but does not have to
  expect("HTTP/1.1 200 OK\nContent-Length: 2\n\n", kBroken, "", false, 0);
  expect("HTTP/1.1 200 OK\r\nContent-Length: 2\n\r\n", kBroken, "", false);
  expect("HTTP/1.1 200 OK\r\n\n", kBroken, "", false);
  expect("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\n0\r\n\r\n", kBroken, "a", false);
}

TEST(ReplyReader, HoldsNoMoreThanAHead) {
  const std::string start = "HTTP/1.1 200 OK\r\nx: ", end = "\r\ncontent-length: 1\r\n\r\nx";
  const std::size_t room = ReplyReader::kHeadBytes - start.size() - end.size() + 1;
  EXPECT_EQ(read_reply({start + std::string(room, 'a') + end}).reader.state(), kWhole);
  EXPECT_EQ(read_reply({start + std::string(room + 1, 'a') + end}).reader.state(), kBroken);
  // Trailers and the line of a chunk's size count too.
  const std::string chunked = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
  const std::string extension = "1;" + std::string(ReplyReader::kHeadBytes, 'x');
  EXPECT_EQ(read_reply({chunked, extension}).reader.state(), kBroken);
  std::string trailers = chunked + "0\r\n";
  while (trailers.size() < 2 * ReplyReader::kHeadBytes) trailers += "a: b\r\n";
  EXPECT_EQ(read_reply({trailers}).reader.state(), kBroken);
  EXPECT_EQ(read_reply({trailers + "\r\n"}).reader.state(), kBroken);
  // Many chunks are no long head.
  std::string chunks = chunked;
  while (chunks.size() < 3 * ReplyReader::kHeadBytes) chunks += "1\r\na\r\n";
  EXPECT_EQ(read_reply({chunks + "0\r\n\r\n"}).reader.state(), kWhole);
}

TEST(ReplyReader, KnowsAnEndThatComesTooEarly) {
  const auto closed = [](std::string_view text) {
    Read got = read_reply({text});
    got.reader.close();
    return got;
  };
  EXPECT_EQ(closed("HTTP/1.1 200 OK\r\n\r\nall of it").reader.state(), kWhole);
  EXPECT_EQ(closed("HTTP/1.1 200 OK\r\n\r\nall of it").body, "all of it");
  EXPECT_FALSE(closed("HTTP/1.1 200 OK\r\n\r\nall of it").reader.keeps_alive());
  EXPECT_EQ(closed("").reader.problem(), "the connection ended without a reply");
  EXPECT_EQ(closed("HTTP/1.1 100 Continue\r\n\r\n").reader.problem(), "the connection ended without a reply");
  EXPECT_EQ(closed("HTTP/1.1 200 O").reader.problem(), "the connection ended inside the reply");
  EXPECT_EQ(closed("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhell").reader.state(), kBroken);
  EXPECT_EQ(closed("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n").reader.problem(),
            "the connection ended inside the reply");
}

}  // namespace
}  // namespace millrace::loadtest
