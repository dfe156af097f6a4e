#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/env.h"
#include "base/result.h"
#include "text/tokenizer.h"

namespace millrace::chat {

// Bounds on one rendering; a template or conversation that exceeds one gets kInvalidArgument naming it.
struct TemplateLimits {
  std::int64_t steps = 500'000;  // nodes evaluated and items touched by filters
  std::int64_t output_bytes = 8 << 20;
  std::int64_t string_bytes = 1 << 20;  // any one string made by an operation
  std::int64_t range_items = 100'000;
  int depth = 64;                       // nesting of source, calls and data
  int time_ms = 100;                    // of TemplateContext::clock; looked at every 1,024 steps
  std::int64_t source_bytes = 1 << 20;  // of the template itself; kBadFile
};

// What a rendering sees besides the variables of the caller.
struct TemplateContext {
  std::string bos_token, eos_token;
  std::string date_string = "";  // for strftime_now; the caller's clock, formatted per call by the format given
  std::int64_t unix_time = 0;    // seconds; what strftime_now formats (UTC)
  const Env* clock = nullptr;    // whose now() bounds the time of a rendering; null: Env::system()
};

// A chat template in the Jinja subset that model authors use, interpreted by our own engine: no attribute access beyond
// dict, list and str methods of an allow-list, no includes, no I/O. Immutable and thread-safe after compile.
class ChatTemplate {
 public:
  // Parses; kBadFile with line number on a syntax error, naming the construct when it is not supported.
  static Result<std::shared_ptr<const ChatTemplate>> compile(std::string_view source, TemplateLimits limits = {});
  virtual ~ChatTemplate() = default;

  // Renders with `variables`, a JSON object: messages, tools, add_generation_prompt, documents and whatever the
  // template takes. Pieces that come from the template's own text are trusted; every character that comes out of
  // `variables` is not, but for one exception: the `role` of a message that is one of chat_roles() (chat/chat_role.h).
  virtual Result<std::vector<text::TextPiece>> render(const nlohmann::ordered_json& variables,
                                                      const TemplateContext& context) const = 0;
};

}  // namespace millrace::chat
