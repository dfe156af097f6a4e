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

// A reply that `work` makes on the prep pool: for work that may take milliseconds, or waits for the engine. 429 where
// the pool is full, 500 where `work` throws. `work` does not run if the client leaves first. `server` must outlive it.
std::unique_ptr<http::Responder> answer_in_pool(ServerContext& server, Call call,
                                                std::function<http::Reply(ServerContext&, const Call&)> work);
// The same for work that others finish: it or they call `answered` once, from any thread. `work` throws only before
// that.
using Answered = std::function<void(http::Reply)>;
std::unique_ptr<http::Responder> answer_later(ServerContext& server, Call call,
                                              std::function<void(ServerContext&, const Call&, Answered)> work);
// A reply with the JSON, or with the error in the dialect of the call's path.
http::Reply json_reply(const Call& call, const Result<Json>& out);
// A reply to a JSON body. Parses the body, gives it to `read`, which fills `notes`, and answers with the result of
// `work` if neither is rejected. X-Ignored-Params lists notes.ignored.
http::Reply body_reply(const ServerContext& server, const Call& call, const FieldNotes& notes,
                       const std::function<Result<void>(const Json& body)>& read,
                       const std::function<Result<Json>()>& work);
// With --strict-params, the error for a body with unknown fields: 400. Known fields that are ignored do no harm and are
// not rejected.
std::optional<ApiError> reject_unknown(const ServiceConfig& config, const FieldNotes& notes);
// Adds the header `header` with a list of the names. As clients choose names, those with other characters than letters,
// digits and `others` and those of more than 256 bytes are left out, and the list has at most about 1280 bytes. An
// empty list adds no header.
void add_name_list(http::Reply& reply, const char* header, const std::vector<std::string>& names,
                   std::string_view others);

// A function for Route::handle: json_reply() of kWork's result, made on the prep pool.
template <Result<Json> (*kWork)(ServerContext&, const Call&)>
std::unique_ptr<http::Responder> answer_json(ServerContext& server, Call call) {
  return answer_in_pool(server, std::move(call),
                        [](ServerContext& s, const Call& c) { return json_reply(c, kWork(s, c)); });
}

// Whether a body may be empty; an empty body has no fields.
enum class Body { kNeeded, kOptional };
// body_reply() on the prep pool, where `schema` reads the body into the fields that `work` gets. `schema` must outlive
// the reply.
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
