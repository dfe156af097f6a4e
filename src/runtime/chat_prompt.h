#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "chat/chat_format.h"
#include "checkpoint/checkpoint.h"

namespace millrace::runtime {

// The model's chat templates, ready; null if it has none. Throws LoadError if one does not work.
std::shared_ptr<const chat::ChatFormat> load_chat_format(const checkpoint::Checkpoint& checkpoint);

// A request as ChatFormat::render() takes it, through the model's template as the server renders one: what the template
// cannot say, definitions of tools and calls among it, is spelled out in its messages.
Result<std::vector<text::TextPiece>> render_chat(const chat::ChatFormat& format, nlohmann::ordered_json request);

}  // namespace millrace::runtime
