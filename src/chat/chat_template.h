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

// A chat template in the subset of Jinja that model authors use, run by an interpreter of our own: no attribute access
// beyond listed methods of dict, list and str, no includes, no I/O. Immutable and thread-safe after compile().
class ChatTemplate {
 public:
  // Parses the template. kBadFile has the line number of a syntax error, and names a construct that is not supported.
  static Result<std::shared_ptr<const ChatTemplate>> compile(std::string_view source, TemplateLimits limits = {});
  virtual ~ChatTemplate() = default;

  // Renders with `variables`, a JSON object: messages, tools, add_generation_prompt, documents and others that the
  // template uses. Pieces of the template's own text are trusted; all characters from `variables` are not, with one
  // exception: the `role` of a message if it is one of chat_roles() (chat/chat_role.h).
  virtual Result<std::vector<text::TextPiece>> render(const nlohmann::ordered_json& variables,
                                                      const TemplateContext& context) const = 0;
};

}  // namespace millrace::chat
