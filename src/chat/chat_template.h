#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "chat/template_context.h"
#include "text/tokenizer.h"

namespace millrace::chat {

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
