// Any bytes as tokenizer.json: loading fails with an error or gives a tokenizer that encodes and decodes.
#include <cstdint>
#include <cstdlib>

#include "text/tokenizer.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace millrace::text;
  const std::string_view json(reinterpret_cast<const char*>(data), size);
  const auto tokenizer = load_tokenizer_json(json, R"({"bos_token": "<s>", "eos_token": {"content": "</s>"}})");
  if (!tokenizer) {
    if (tokenizer.error().message.empty()) std::abort();
    return 0;
  }
  for (const char* text : {"", "Hello, world 123  \n\n x", "<s> \xc3\xa9\xf0\x9f\x98\x80\xff a\xcc\x81'LL"}) {
    for (const bool trusted : {false, true}) {
      const std::vector<TokenId> ids = (*tokenizer)->encode(text, true, trusted);
      for (const TokenId id : ids) {
        if (id < 0 || id >= (*tokenizer)->vocab_size()) std::abort();
      }
      (*tokenizer)->decode(ids, true);
    }
  }
  return 0;
}
