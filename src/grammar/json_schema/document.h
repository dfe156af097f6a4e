#pragma once

#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/result.h"
#include "grammar/json_schema/facts.h"
#include "grammar/work_limits.h"

namespace millrace::grammar::json_schema {

// One JSON document with schemas: where they are, and what their references refer to. The JSON must outlive it.
class Document {
 public:
  // Finds the schemas. kInvalidArgument for nesting beyond the limit, or a schema that is neither an object nor a
  // boolean.
  static Result<Document> read(const Json& root, const WorkLimits& limits);

  const Json& root() const noexcept { return *root_; }
  // The schema that `schema`'s "$ref", "$dynamicRef" or "$recursiveRef" refers to. kUnsupported if it is not in the
  // document.
  Result<const Json*> referred(const Json& schema, std::string_view keyword) const;
  // Before draft 2019-09, "$ref" made all keywords besides it ineffective.
  bool ref_stands_alone() const noexcept { return ref_stands_alone_; }

  // JSON pointer for messages: "/properties/a/minimum".
  std::string path(const Json& schema, std::string_view keyword = {}) const;
  Error invalid(const Json& schema, std::string_view keyword, std::string_view what) const;
  Error unsupported(const Json& schema, std::string_view keyword, std::string_view what) const;

 private:
  struct Resource {
    std::string address;
    const Json* root = nullptr;
    std::map<std::string, const Json*, std::less<>> anchors;
  };
  void index();
  std::size_t enter(const Json& schema, std::size_t resource);
  Result<const Json*> resolve(const Json& schema, std::string_view keyword) const;

  const Json* root_ = nullptr;
  bool ref_stands_alone_ = false;
  std::vector<Resource> resources_;
  std::map<std::string, std::size_t, std::less<>> addresses_;  // -> resources_
  std::unordered_map<const Json*, std::size_t> resource_of_;
  std::multimap<std::string, const Json*, std::less<>> dynamic_anchors_;
  std::vector<const Json*> recursive_anchors_;
};

}  // namespace millrace::grammar::json_schema
