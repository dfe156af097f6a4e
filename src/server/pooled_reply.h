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

// A reply made by `work` on the prep pool: for what may take milliseconds, or asks the engine.
std::unique_ptr<http::Responder> answer_in_pool(ServerContext& server, Call call,
                                                std::function<http::Reply(ServerContext&, const Call&)> work);
// Errors are spelled as the route's API has it.
http::Reply json_reply(const Call& call, const Result<Json>& out);
// The same for a body: parsed, given to `read`, which fills `notes`, and answered by `work` unless it is refused.
http::Reply body_reply(const ServerContext& server, const Call& call, const FieldNotes& notes,
                       const std::function<Result<void>(const Json& body)>& read,
                       const std::function<Result<Json>()>& work);
// --strict-params: a body with unknown fields is rejected. Those that are known and do no harm are not.
std::optional<ApiError> reject_unknown(const ServiceConfig& config, const FieldNotes& notes);
// A header that lists those of the names that are letters, digits and `others`: the client chose them.
void add_name_list(http::Reply& reply, const char* header, const std::vector<std::string>& names,
                   std::string_view others);

// json_reply() in the pool, for a function that makes the object.
template <Result<Json> (*kWork)(ServerContext&, const Call&)>
std::unique_ptr<http::Responder> answer_json(ServerContext& server, Call call) {
  return answer_in_pool(server, std::move(call),
                        [](ServerContext& s, const Call& c) { return json_reply(c, kWork(s, c)); });
}

// body_reply() in the pool, for one that makes it from the fields of a schema. An empty body: no fields, where they are
// optional.
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
