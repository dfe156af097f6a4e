#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "chat/chat_format.h"
#include "checkpoint/checkpoint.h"

namespace millrace::runtime {

// Parses the model's chat templates; null if it has none. Throws LoadError for a template that cannot be parsed.
std::shared_ptr<const chat::ChatFormat> load_chat_format(const checkpoint::Checkpoint& checkpoint);

// Renders a chat request (the JSON that ChatFormat::render() takes) through the model's template, as the server does.
// Where the template knows no tools, their definitions and calls are written into the messages. Errors are those of
// render().
Result<std::vector<text::TextPiece>> render_chat(const chat::ChatFormat& format, nlohmann::ordered_json request);

}  // namespace millrace::runtime
