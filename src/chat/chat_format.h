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

// How a model's conversations become prompts: its templates compiled and probed. One per model, made when it loads;
// immutable and thread-safe. What the server and the command line use.
class ChatFormat {
 public:
  // kUnsupported if the set is empty; kBadFile names a template that does not compile or cannot render one user
  // message. `context` has the special tokens and the clock; its unix_time is that of the probes.
  static Result<std::shared_ptr<const ChatFormat>> load(ChatTemplateSet set, TemplateContext context,
                                                        TemplateLimits limits = {});

  // A request as chat_variables() takes it, through the template that select_template() chooses.
  Result<std::vector<text::TextPiece>> render(const nlohmann::ordered_json& request, std::int64_t unix_time,
                                              std::string_view template_name = {}) const;

  // The Jinja source that renders a plain conversation; empty if there is none.
  std::string_view default_source() const { return set_.default_source(); }
  // The source of the template that would render such a request; empty if there is none.
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
