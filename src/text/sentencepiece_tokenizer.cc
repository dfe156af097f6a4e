#include "text/tokenizer.h"
namespace millrace::text {
Result<std::shared_ptr<const Tokenizer>> load_sentencepiece_model(std::string_view, std::string_view) {
  return make_error(ErrorCode::kUnsupported, "", "no");
}
}
