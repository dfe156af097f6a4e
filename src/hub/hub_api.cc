#include "hub/hub_api.h"

#include <charconv>
#include <optional>
#include <set>

#include "checkpoint/json_fields.h"
#include "checkpoint/quote_name.h"
#include "hub/reference.h"

namespace millrace::hub {
namespace {

using checkpoint::JsonFields;
using checkpoint::quote_name;

constexpr std::uint64_t kMaxListingBytes = 64 << 20;
constexpr std::size_t kMaxFiles = 200'000;
constexpr std::uint64_t kMaxFileBytes = std::uint64_t{1} << 50;

bool is_hex(std::string_view text, std::size_t digits) {
  return text.size() == digits && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

std::optional<std::uint64_t> size_field(const JsonFields& fields) {
  const auto size = fields.integer("size");
  if (!size) return std::nullopt;
  if (*size < 0 || static_cast<std::uint64_t>(*size) > kMaxFileBytes) fields.wrong_type("size", "a file's size");
  return static_cast<std::uint64_t>(*size);
}

// Throws LoadError.
RepositoryFile parse_file(const std::string& where, const nlohmann::json& item) {
  if (!item.is_object()) throw_load_error(ErrorCode::kBadFile, "siblings", "{}: siblings: objects expected", where);
  const JsonFields fields(where, item, "siblings.");
  RepositoryFile file;
  file.name = fields.text("rfilename").value_or("");
  if (!is_safe_file_name(file.name)) {
    throw_load_error(ErrorCode::kBadFile, "rfilename", "{}: the server names a file {}: refused", where,
                     quote_name(file.name));
  }
  const auto size = size_field(fields);
  const auto blob = fields.text("blobId");
  if (size && blob && is_hex(*blob, 40)) {
    file.size = *size;
    file.etag = *blob;
    file.digest = RepositoryFile::Digest::kGitSha1;
  }
  if (const auto lfs = fields.object("lfs")) {
    const auto hash = lfs->text("sha256");
    const auto large = size_field(*lfs);
    file.etag.clear();  // the pointer's, not the content's
    file.digest = RepositoryFile::Digest::kNone;
    if (hash && is_hex(*hash, 64) && (large || size)) {
      file.size = large.value_or(size.value_or(0));
      file.etag = *hash;
      file.digest = RepositoryFile::Digest::kSha256;
    }
  }
  return file;
}

std::string token_text(const Answer& answer, const HubSettings& settings) {
  if (answer.token_sent) return fmt::format("the token of {} was sent", settings.token_source);
  if (!settings.token.empty()) return "no token was sent to this address";
  return "no token was sent: set HF_TOKEN, or log in with `hf auth login`";
}

std::optional<std::uint64_t> number(const std::string* text) {
  if (text == nullptr) return std::nullopt;
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (error != std::errc() || end != text->data() + text->size() || value > kMaxFileBytes) return std::nullopt;
  return value;
}

Error not_found(const Answer& answer, const HubSettings& settings, const std::string& repository,
                const std::string& revision, const std::string& file) {
  const std::string* code = answer.response()->headers.find("x-error-code");
  if (code != nullptr && *code == "RevisionNotFound") {
    return make_error(ErrorCode::kNotFound, "revision", "{}: no revision {} on {}", repository, quote_name(revision),
                      settings.endpoint);
  }
  if (!file.empty()) {
    return make_error(ErrorCode::kNotFound, "file", "{}: no file {} at revision {} ({})", repository, quote_name(file),
                      quote_name(revision), describe(answer));
  }
  return make_error(ErrorCode::kNotFound, "model", "{}: no such repository on {}{} ({})", repository, settings.endpoint,
                    code == nullptr && revision != kDefaultRevision
                        ? fmt::format(", or it has no revision {}", quote_name(revision))
                        : "",
                    token_text(answer, settings));
}

Error no_access(const Answer& answer, const HubSettings& settings, const std::string& repository) {
  const http::HttpResponse& response = *answer.response();
  const std::string* code = response.headers.find("x-error-code");
  if (code != nullptr && *code == "GatedRepo") {
    return make_error(ErrorCode::kNotFound, "model",
                      "{}: a gated model: its licence must be accepted at {}/{} (HTTP {}; {})", repository,
                      settings.endpoint, repository, response.status, token_text(answer, settings));
  }
  return make_error(ErrorCode::kNotFound, "model",
                    "{}: no access on {}: there is no such repository, or it is private or gated (HTTP {}; {})",
                    repository, settings.endpoint, response.status, token_text(answer, settings));
}

}  // namespace

Error hub_error(const Answer& answer, const HubSettings& settings, const std::string& repository,
                const std::string& revision, const std::string& file) {
  const std::string what = file.empty() ? repository : fmt::format("{}: {}", repository, quote_name(file));
  if (const http::HttpFailure* failure = answer.failure()) {
    if (failure->kind == http::HttpFailure::Kind::kCancelled) {
      return make_error(ErrorCode::kCancelled, "model", "{}: interrupted", what);
    }
    return make_error(ErrorCode::kInternal, "model", "{}: {}", what, describe(answer));
  }
  const int status = answer.response()->status;
  if (status == 404) return not_found(answer, settings, repository, revision, file);
  if (status == 401 || status == 403) return no_access(answer, settings, repository);
  return make_error(ErrorCode::kInternal, "model", "{}: {}", what, describe(answer));
}

Result<RepositoryInfo> parse_repository(const std::string& where, const std::string& text) {
  try {
    const nlohmann::json listing = checkpoint::parse_json_object(where, text);
    const JsonFields fields(where, listing);
    RepositoryInfo info;
    info.commit = fields.text("sha").value_or("");
    if (!is_commit(info.commit)) fields.wrong_type("sha", "a commit of 40 hexadecimal digits");
    const nlohmann::json* siblings = fields.find("siblings");
    if (siblings == nullptr || !siblings->is_array()) fields.wrong_type("siblings", "an array");
    if (siblings->size() > kMaxFiles) {
      return make_error(ErrorCode::kBadFile, "siblings", "{}: {} files, at most {} expected", where, siblings->size(),
                        kMaxFiles);
    }
    std::set<std::string> names;
    for (const nlohmann::json& item : *siblings) {
      info.files.push_back(parse_file(where, item));
      if (!names.insert(info.files.back().name).second) {
        return make_error(ErrorCode::kBadFile, "siblings", "{}: the server names {} twice", where,
                          quote_name(info.files.back().name));
      }
    }
    return info;
  } catch (const LoadError& failure) {
    return failure.error();
  }
}

Result<RepositoryInfo> fetch_repository(HubTransport& transport, const std::string& name, const std::string& revision) {
  const HubSettings& settings = transport.settings();
  const std::string url = fmt::format("{}/api/models/{}/revision/{}?blobs=true", settings.endpoint,
                                      percent_encode(name, Slashes::kKeep), percent_encode(revision, Slashes::kEncode));
  const HubTransport::Text text = transport.get_text(url, kMaxListingBytes);
  if (text.answer.response() == nullptr || text.answer.response()->status != 200) {
    return hub_error(text.answer, settings, name, revision, "");
  }
  auto info = parse_repository(text.answer.url.shown, text.body);
  if (info) info->name = name;
  return info;
}

Result<void> complete_file(HubTransport& transport, const RepositoryInfo& repository, RepositoryFile& file) {
  if (!file.etag.empty()) return {};
  const HubSettings& settings = transport.settings();
  const Answer answer = transport.head(file_url(settings, repository, file.name));
  const http::HttpResponse* response = answer.response();
  if (response == nullptr || response->status >= 400) {
    return hub_error(answer, settings, repository.name, repository.commit, file.name);
  }
  const std::string* linked = response->headers.find("x-linked-etag");
  const std::string* own = response->headers.find("etag");
  const bool redirected = response->status >= 300;
  auto size = number(response->headers.find("x-linked-size"));
  if (!size && !redirected) size = number(response->headers.find("content-length"));
  const std::string* etag = linked != nullptr ? linked : own;
  if (etag == nullptr || !size || !is_safe_etag(normalized_etag(*etag))) {
    return make_error(ErrorCode::kBadFile, "etag", "{}: {}: the server tells no size and tag of the file: not a hub",
                      answer.url.shown, quote_name(file.name));
  }
  file.etag = normalized_etag(*etag);
  file.size = *size;
  // A tag of this length is the content's hash on a hub; those of 40 digits mean different things on mirrors.
  file.digest = is_hex(file.etag, 64) ? RepositoryFile::Digest::kSha256 : RepositoryFile::Digest::kNone;
  return {};
}

std::string file_url(const HubSettings& settings, const RepositoryInfo& repository, const std::string& file) {
  return fmt::format("{}/{}/resolve/{}/{}", settings.endpoint, percent_encode(repository.name, Slashes::kKeep),
                     repository.commit, percent_encode(file, Slashes::kKeep));
}

}  // namespace millrace::hub
