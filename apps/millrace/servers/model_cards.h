#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "servers/server_link.h"

namespace millrace::app {

// Models as servers list them (GET /v1/models). Whatever another server sends is read as far as it has the right form.

// A text of an object; empty where it has none of that name.
std::string text_of(const nlohmann::json& object, const char* key);
// The objects of a list's `data`; none for an error.
std::vector<nlohmann::json> data_of(const Result<nlohmann::json>& list);
// The card of the model of that name or alias; of the first one without a name. kNotFound with the names that there
// are.
Result<nlohmann::json> model_card(ServerLink& link, const std::string& model);

}  // namespace millrace::app
