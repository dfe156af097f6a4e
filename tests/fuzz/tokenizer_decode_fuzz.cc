// A decoder of tokenizer.json (the first line) over any tokens (the bytes after it, as ids): loading fails with an
// error or gives a decoder whose stream hands out whole characters that join to what decoding the whole gives.
#include <fmt/format.h>
#include <cstdint>

#include "streaming_check.h"

namespace {

using namespace millrace::text;

// Every byte as <0xXX> and as a character of the byte alphabet would be, and words with the affixes that decoders know.
std::string vocabulary() {
  std::string out;
  int id = 0;
  for (; id < 128; ++id) out += fmt::format("\"<0x{:02X}>\": {}, ", id < 64 ? id : id + 128, id);
  for (const char* word : {"\\u2581", "\\u2581a", "a\\u2581b", "##b",     "c",
                           "c</w>",   "</w>",     "\\u0120d",  "\\u00c3", "\\u00a9",
                           "|",       "<pad>",    " ",         "  x ",    "n't",
                           "'s",      ".",        " ?",        "do",      "not",
                           "\\u4f60", "ab",       "aab",       "abab",    "\\u00f0\\u0141\\u013a"}) {
    out += fmt::format("\"{}\": {}, ", word, id++);
  }
  return out + fmt::format("\"<last>\": {}", id);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t line = input.find('\n');
  if (line == input.npos) return 0;
  static const std::string vocab = vocabulary();
  const auto loaded = load_tokenizer_json(
      fmt::format("{{\"model\": {{\"type\": \"BPE\", \"vocab\": {{{}}}, \"merges\": []}}, \"decoder\": {}}}", vocab,
                  input.substr(0, line)),
      "");
  if (!loaded) {
    require(!loaded.error().message.empty());
    return 0;
  }
  std::vector<TokenId> ids;
  for (const char c : input.substr(line + 1)) ids.push_back(static_cast<unsigned char>(c));
  for (const bool skip : {false, true}) check_streaming(*loaded, ids, skip);
  for (const TokenId id : ids) (*loaded)->token_bytes(id);
  return 0;
}
