#pragma once

#include <millrace/millrace.h>

#include "base/result.h"
#include "chat/chat_format.h"
#include "engine/request.h"
#include "runtime/loaded_model.h"

namespace millrace::runtime {

// The tokens of a text prompt, or of a chat rendered by the model's template. kUnsupported for a chat if `format` is
// null; otherwise errors of the template.
std::vector<std::int32_t> prompt_tokens(const LoadedModel& loaded, std::string_view text);
Result<std::vector<std::int32_t>> prompt_tokens(const LoadedModel& loaded, const chat::ChatFormat* format,
                                                const api::Chat& chat);

// Converts a public request, without its grammar, to the engine's. Sampling options that it does not set are the
// model's defaults. `max_length`: tokens of a sequence. kInvalidArgument and kContextLength name the field, the value
// and the limit. The engine makes further checks.
Result<engine::Request> read_request(const api::Request& request, const LoadedModel& loaded,
                                     const chat::ChatFormat* format, std::int64_t max_length);

}  // namespace millrace::runtime
