#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/api_error.h"
#include "server/route.h"
#include "server/schema.h"
#include "server/server_context.h"

namespace millrace::server {

// Makes a reply by calling `work` on the prep pool, for work that takes milliseconds or asks the engine.
std::unique_ptr<http::Responder> answer_in_pool(ServerContext& server, Call call,
                                                std::function<http::Reply(ServerContext&, const Call&)> work);
// A JSON reply, or an error in the form of the route's API.
http::Reply json_reply(const Call& call, const Result<Json>& out);
// Parses the body, passes it to `read`, which fills `notes`, and replies with the result of `work`, or with an error.
http::Reply body_reply(const ServerContext& server, const Call& call, const FieldNotes& notes,
                       const std::function<Result<void>(const Json& body)>& read,
                       const std::function<Result<Json>()>& work);
// With --strict-params, the error for a body with unknown fields. Known fields without effect are no error.
std::optional<ApiError> reject_unknown(const ServiceConfig& config, const FieldNotes& notes);
// Adds a header that lists names which the client sent. Names with characters other than letters, digits and `others`
// are left out.
void add_name_list(http::Reply& reply, const char* header, const std::vector<std::string>& names,
                   std::string_view others);

// A Route::handle that runs kWork on the prep pool and replies with its JSON.
template <Result<Json> (*kWork)(ServerContext&, const Call&)>
std::unique_ptr<http::Responder> answer_json(ServerContext& server, Call call) {
  return answer_in_pool(server, std::move(call),
                        [](ServerContext& s, const Call& c) { return json_reply(c, kWork(s, c)); });
}

// A reply made on the prep pool from the fields of a body. Body::kOptional allows an empty body, which sets no fields.
enum class Body { kNeeded, kOptional };
template <typename Fields>
std::unique_ptr<http::Responder> answer_fields(ServerContext& server, Call call, const Schema<Fields>& schema,
                                               Result<Json> (*work)(ServerContext&, const Call&, const Fields&),
                                               Body body = Body::kNeeded) {
  return answer_in_pool(server, std::move(call), [&schema, work, body](ServerContext& s, const Call& c) {
    Fields fields;
    FieldNotes notes;
    if (body == Body::kOptional && c.request.body.empty()) return json_reply(c, work(s, c, fields));
    return body_reply(
        s, c, notes, [&](const Json& json) { return schema.read(json, fields, notes); },
        [&] { return work(s, c, fields); });
  });
}

}  // namespace millrace::server
