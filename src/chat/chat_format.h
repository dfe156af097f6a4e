#pragma once

#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "chat/chat_capabilities.h"
#include "chat/chat_template_set.h"

namespace millrace::chat {

// Converts a model's conversations to prompts, with its templates compiled and probed. One per model, made when it
// loads. Immutable and thread-safe.
class ChatFormat {
 public:
  // Compiles and probes the templates. kUnsupported if the set is empty; kBadFile names a template that does not
  // compile or cannot render one user message. `context` has the special tokens and the clock; its unix_time is used in
  // probes.
  static Result<std::shared_ptr<const ChatFormat>> load(ChatTemplateSet set, TemplateContext context,
                                                        TemplateLimits limits = {});

  // Renders a request, in the form that chat_variables() takes, with the template that select_template() chooses.
  Result<std::vector<text::TextPiece>> render(const nlohmann::ordered_json& request, std::int64_t unix_time,
                                              std::string_view template_name = {}) const;

  // The Jinja source for plain conversations; empty if there is none.
  std::string_view default_source() const { return set_.default_source(); }
  // The source of the template for such a request; empty if there is none.
  std::string_view source(bool has_tools, std::string_view template_name = {}) const;
  Result<TemplateCapabilities> capabilities(bool has_tools, std::string_view template_name = {}) const;

 private:
  struct Format {
    std::shared_ptr<const ChatTemplate> chat_template;
    TemplateCapabilities capabilities;
  };
  ChatFormat(ChatTemplateSet set, TemplateContext context) : set_(std::move(set)), context_(std::move(context)) {}
  Result<const Format*> select(std::string_view template_name, bool has_tools) const;

  const ChatTemplateSet set_;
  const TemplateContext context_;
  std::map<std::string, Format, std::less<>> formats_;
};

}  // namespace millrace::chat
