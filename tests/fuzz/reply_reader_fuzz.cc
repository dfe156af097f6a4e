// Any bytes from a server, in any pieces: the record of the request is the same however the bytes were cut.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "loadtest/client/streamed_answer.h"

namespace {

using namespace millrace::loadtest;

bool alike(const RequestRecord& a, const RequestRecord& b) {
  return a.outcome == b.outcome && a.status == b.status && a.error == b.error && a.events == b.events &&
         a.text == b.text && a.id == b.id && a.finish_reason == b.finish_reason && a.prompt_tokens == b.prompt_tokens &&
         a.completion_tokens == b.completion_tokens && a.cached_tokens == b.cached_tokens;
}

}  // namespace

// The first byte says how the rest is cut, and whether the client leaves.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2 || size > (1 << 18)) return 0;
  AnswerEventParser parser;
  const std::int64_t leave_after = data[0] & 3;
  StreamedAnswer at_once({}, true, leave_after), in_pieces({}, true, leave_after);
  std::uint32_t random = data[0];
  std::string_view bytes(reinterpret_cast<const char*>(data + 1), size - 1);
  at_once.read(bytes, 1.0, parser);
  while (!bytes.empty() && !in_pieces.over()) {
    random = random * 1664525u + 1013904223u;  // Numerical Recipes
    const std::size_t n = std::min<std::size_t>(bytes.size(), 1 + (random >> 24) % (1 + data[0] % 64u));
    in_pieces.read(bytes.substr(0, n), 1.0, parser);
    bytes.remove_prefix(n);
  }
  if (at_once.over() != in_pieces.over()) std::abort();
  at_once.close(2.0, "", parser);
  in_pieces.close(2.0, "", parser);
  if (!at_once.over() || !alike(at_once.record(), in_pieces.record())) std::abort();
  const std::string& error = at_once.record().error;
  if (error.size() > 500 || std::ranges::any_of(error, [](unsigned char c) { return c < 0x20; })) std::abort();
  return 0;
}
