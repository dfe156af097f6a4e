#include "server/openapi.h"

#include "server/route.h"

namespace millrace::server {
namespace {

Json error_schema(bool anthropic) {
  const Json text = {{"type", "string"}};
  if (anthropic) {
    return {{"type", "object"},
            {"required", {"type", "error"}},
            {"properties",
             {{"type", {{"const", "error"}}},
              {"error",
               {{"type", "object"},
                {"required", {"type", "message"}},
                {"properties", {{"type", text}, {"message", text}}}}}}}};
  }
  return {{"type", "object"},
          {"required", {"error"}},
          {"properties",
           {{"error",
             {{"type", "object"},
              {"required", {"message", "type", "param", "code"}},
              {"properties",
               {{"message", text},
                {"type", text},
                {"param", {{"type", {"string", "null"}}}},
                {"code", {{"type", {"string", "null"}}}}}}}}}}};
}

Json operation(const Route& route, bool has_keys) {
  Json ok = {{"description", "Successful response"}, {"content", {{std::string(route.reply_type), Json::object()}}}};
  if (route.streams) ok["content"]["text/event-stream"] = Json::object();
  const char* name = route.anthropic_errors ? "AnthropicError" : "Error";
  Json responses = {{"200", std::move(ok)}};
  // One for each status there is, so that a client generated from this knows them all.
  for (const char* status :
       {"400", "401", "403", "404", "405", "408", "409", "413", "415", "429", "431", "500", "503", "504"}) {
    responses[status] = {
        {"description", "Rejected or failed"},
        {"content", {{"application/json", {{"schema", {{"$ref", std::string("#/components/schemas/") + name}}}}}}}};
  }
  Json out = {{"summary", route.summary}, {"responses", std::move(responses)}};
  if (route.path == "/ready" || route.path == "/health") {
    out["responses"]["503"] = {{"description", "Not now"}, {"content", {{"application/json", Json::object()}}}};
  }
  if (route.body_schema != nullptr) {
    out["requestBody"] = {{"required", !route.body_optional},
                          {"content", {{"application/json", {{"schema", route.body_schema()}}}}}};
  }
  if (route.path.find("{}") != std::string_view::npos) {
    out["parameters"] = {
        {{"name", "id"}, {"in", "path"}, {"required", true}, {"schema", {{"type", "string"}, {"minLength", 1}}}}};
  }
  if (has_keys && route.scope != Scope::kNone) out["security"] = {{{"key", Json::array()}}};
  return out;
}

}  // namespace

Json openapi(const std::string& version, bool has_keys) {
  Json paths = Json::object();
  for (const Route& route : all_routes()) {
    std::string path(route.path);
    if (const std::size_t hole = path.find("{}"); hole != std::string::npos) path.replace(hole, 2, "{id}");
    std::string method(route.method);
    for (char& c : method) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    paths[path][method] = operation(route, has_keys);
  }
  return {{"openapi", "3.1.0"},
          {"info", {{"title", "millrace"}, {"version", version}}},
          {"paths", std::move(paths)},
          {"components",
           {{"schemas", {{"Error", error_schema(false)}, {"AnthropicError", error_schema(true)}}},
            {"securitySchemes", {{"key", {{"type", "http"}, {"scheme", "bearer"}}}}}}}};
}

}  // namespace millrace::server
