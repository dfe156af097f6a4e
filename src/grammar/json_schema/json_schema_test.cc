#include "grammar/json_schema/json_schema.h"

#include <bit>

#include "grammar/json_schema/testing/schema_texts.h"

namespace millrace::grammar::json_schema {
namespace {

using WhiteSpace = GrammarSource::WhiteSpace;

TEST(JsonSchema, WritesPropertiesInTheOrderOfTheSchema) {
  SchemaTexts(R"({"type": "object", "properties": {"b": {"type": "integer"}, "a": {"type": "null"}, "c": {}},
                  "required": ["a"], "additionalProperties": false})")
      .expect({R"({"a":null})", R"({"b":1,"a":null})", R"({"a":null,"c":[1]})", R"({"b":-10,"a":null,"c":"x"})"},
              {"{}", R"({"b":1})", R"({"a":null,"b":1})", R"({"b":1.5,"a":null})", R"({"a":null,"d":1})",
               R"({"a":null,})"});
}

TEST(JsonSchema, WritesManyOptionalPropertiesInAnyChoice) {
  SchemaTexts schema(R"({"type": "object", "properties": {"a": {"const": 1}, "b": {"const": 1}, "c": {"const": 1},
                         "d": {"const": 1}, "e": {"const": 1}}, "additionalProperties": false})");
  for (unsigned chosen = 0; chosen < 32; ++chosen) {
    std::string text = "{", reversed = "}";
    for (unsigned i = 0; i < 5; ++i) {
      if ((chosen >> i & 1U) == 0) continue;
      const std::string member = std::string("\"") + static_cast<char>('a' + i) + "\":1";
      text += (text.size() > 1 ? "," : "") + member;
      reversed = member + (reversed.size() > 1 ? "," : "") + reversed;
    }
    EXPECT_TRUE(schema.fits(text + "}")) << text;
    EXPECT_EQ(schema.fits("{" + reversed), std::popcount(chosen) < 2) << reversed;
  }
}

TEST(JsonSchema, LetsOtherNamesComeLastButNoneAgain) {
  SchemaTexts(R"({"type": "object", "properties": {"a": {}}, "additionalProperties": {"type": "boolean"}})")
      .expect({R"({"a":1,"b":true})", R"({"b":true,"x":false})", R"({"\u0062":true})", R"({"aa":true,"":true})"},
              {R"({"b":true,"a":1})", R"({"a":1,"a":true})", R"({"a":1,"\u0061":true})", R"({"b":1})"});
}

TEST(JsonSchema, AsksOfANameAllThatItsPatternsSay) {
  SchemaTexts(R"({"type": "object", "properties": {"xy": {"minimum": 5}},
                  "patternProperties": {"^x": {"type": "integer"}, "y$": {"maximum": 7}}, "additionalProperties": false})")
      .expect({R"({"xy":6})", R"({"xay":3})", R"({"xa":9})", R"({"ay":1.5})"},
              {R"({"xy":4})", R"({"xy":8})", R"({"xay":8})", R"({"xa":1.5})", R"({"b":1})"});
}

TEST(JsonSchema, CountsProperties) {
  SchemaTexts(R"({"type": "object", "properties": {"a": {}, "b": {}}, "required": ["b"], "minProperties": 2,
                  "maxProperties": 3, "additionalProperties": {"const": 0}})")
      .expect({R"({"a":1,"b":1})", R"({"b":1,"x":0})", R"({"a":1,"b":1,"x":0})", R"({"b":1,"x":0,"y":0})"},
              {R"({"b":1})", R"({"a":1,"x":0})", R"({"a":1,"b":1,"x":0,"y":0})"});
}

TEST(JsonSchema, WritesArrays) {
  SchemaTexts(R"({"type": "array", "prefixItems": [{"const": 1}, {"const": 2}], "items": {"const": 3}, "minItems": 1,
                  "maxItems": 4})")
      .expect({"[1]", "[1,2]", "[1,2,3]", "[1,2,3,3]"}, {"[]", "[2]", "[1,3]", "[1,2,3,3,3]", "[1,]"});
  SchemaTexts(R"({"type": "array", "items": false})").expect({"[]"}, {"[1]"});
  SchemaTexts(R"({"type": "array", "contains": {"const": 1}, "maxContains": 2, "items": {"enum": [1, 2]}})")
      .expect({"[1]", "[2,1]", "[1,2,1,2]"}, {"[]", "[2]", "[1,1,1]", "[3,1]"});
  SchemaTexts(R"({"type": "array", "items": {"enum": ["a", "b", 3]}, "uniqueItems": true, "minItems": 1})")
      .expect({R"(["a"])", R"(["b","a"])", R"([3,"a","b"])"}, {"[]", R"(["a","a"])", R"([3,"a","b",3])"});
}

TEST(JsonSchema, SpellsStringsAsJsonDoes) {
  SchemaTexts(R"({"type": "string", "minLength": 1, "maxLength": 2})")
      .expect({R"("a")", R"("\u00e9é")", R"("\ud83d\ude00")", R"("😀\n")", R"("\/\"")"},
              {R"("")", R"("abc")", R"("\ud83d")", R"("\x")", "\"\n\"", R"("a)"});
  SchemaTexts(R"({"type": "string", "pattern": "^\\d{2}$"})")
      .expect({R"("12")", R"("\u0031\u0032")"}, {R"("1")", R"("123")"});
  SchemaTexts(R"({"type": "string", "pattern": "b", "minLength": 3})")
      .expect({R"("abc")", R"("bbbb")"}, {R"("b")", R"("aaaa")"});
}

TEST(JsonSchema, SpellsListedValuesInOneWay) {
  SchemaTexts(R"({"enum": ["é\n", 1, 1.0, 2.50, null, [1, {"a": true}]]})")
      .expect({R"("é\n")", "1", "1.0", "2.5", "null", R"([1,{"a":true}])"}, {R"("\u00e9\n")", "2.50", "1e0", "[1]"});
}

TEST(JsonSchema, MeetsWhatAllSchemasSay) {
  SchemaTexts(
      R"({"allOf": [{"type": ["string", "integer"]}, {"minimum": 3}, {"anyOf": [{"maximum": 5}, {"const": 7}]}]})")
      .expect({"3", "5", "7", R"("x")"}, {"2", "6", "null", "3.5"});
  SchemaTexts(R"({"oneOf": [{"type": "string"}, {"minLength": 2}]})").expect({R"("a")", "1"}, {R"("ab")"});
  SchemaTexts(R"({"not": {"enum": ["a", 1, null]}, "type": ["string", "integer", "null"]})")
      .expect({R"("b")", R"("")", "2", "10"}, {R"("a")", "1", "null"});
  SchemaTexts(R"({"type": "object", "properties": {"k": {"enum": ["x", "y"]}, "v": {}}, "required": ["k"],
                  "if": {"properties": {"k": {"const": "x"}}}, "then": {"properties": {"v": {"type": "null"}}},
                  "else": {"required": ["v"]}, "additionalProperties": false})")
      .expect({R"({"k":"x"})", R"({"k":"x","v":null})", R"({"k":"y","v":1})"}, {R"({"k":"x","v":1})", R"({"k":"y"})"});
  SchemaTexts(R"({"type": "object", "properties": {"a": {}, "b": {}}, "dependentRequired": {"a": ["b"]},
                  "additionalProperties": false})")
      .expect({"{}", R"({"b":1})", R"({"a":1,"b":1})"}, {R"({"a":1})"});
}

TEST(JsonSchema, FollowsReferences) {
  SchemaTexts(R"({"$defs": {"tree~/%": {"type": "object", "properties": {"kids": {"type": "array",
                  "items": {"$ref": "#/$defs/tree~0~1%25"}}}, "additionalProperties": false}},
                  "$ref": "#/$defs/tree~0~1%25"})")
      .expect({"{}", R"({"kids":[]})", R"({"kids":[{"kids":[{},{}]}]})"}, {"[]", R"({"kids":[1]})"});
  SchemaTexts(R"({"$id": "http://x/root.json", "properties": {"a": {"$ref": "item.json#n"}}, "$defs":
                  {"i": {"$id": "item.json", "$defs": {"n": {"$anchor": "n", "type": "null"}}}}, "type": "object"})")
      .expect({R"({"a":null})"}, {R"({"a":1})"});
  SchemaTexts(R"({"$schema": "http://json-schema.org/draft-07/schema#", "definitions": {"s": {"type": "string"}},
                  "$ref": "#/definitions/s", "maxLength": 1})")
      .expect({R"("abc")"}, {"1"});
}

TEST(JsonSchema, LeavesOutPropertiesThatNothingFits) {
  SchemaTexts(R"({"type": "object", "properties": {"a": {"type": "integer", "minimum": 2, "maximum": 1}, "b": {}}})")
      .expect({"{}", R"({"b":1})"}, {R"({"a":1})"});
  SchemaTexts(R"({"type": "object", "properties": {"next": {"$ref": "#/$defs/endless"}},
                  "$defs": {"endless": {"type": "object", "required": ["x"], "properties": {"x": {"$ref": "#/$defs/endless"}}}}})")
      .expect({"{}"}, {R"({"next":{}})"});
}

TEST(JsonSchema, SeesWhatIsUnevaluated) {
  SchemaTexts(R"({"type": "object", "allOf": [{"properties": {"a": {}}}], "anyOf": [{"properties": {"b": {"const": 1}},
                  "required": ["b"]}, {"properties": {"c": {}}}], "unevaluatedProperties": false})")
      .expect({"{}", R"({"a":1,"b":1})", R"({"a":1,"c":1})", R"({"b":1,"c":1})"}, {R"({"d":1})", R"({"a":1,"b":2})"});
  SchemaTexts(R"({"type": "array", "allOf": [{"prefixItems": [{}, {}]}], "unevaluatedItems": {"type": "null"}})")
      .expect({"[]", "[1,2]", "[1,2,null]"}, {"[1,2,3]"});
}

TEST(JsonSchema, LaysOutWhiteSpaceAsAsked) {
  const std::string schema = R"({"type": "object", "properties": {"a": {"type": "array"}, "b": {}}})";
  SchemaTexts(GrammarSource{.text = schema, .white_space = WhiteSpace::kSpaced})
      .expect({R"({"a": [1, 2], "b": {}})"}, {R"({"a":[1,2]})", R"({ "a": []})"});
  SchemaTexts(GrammarSource{.text = schema, .white_space = WhiteSpace::kCompact})
      .expect({R"({"a":[1,2],"b":{}})"}, {R"({"a": [1, 2]})"});
  SchemaTexts(GrammarSource{.text = schema})
      .expect({R"({"a":[1,2],"b":{}})", "{\n  \"a\" : [ 1 ,\t2 ]\r\n}", "{ }"},
              {"{" + std::string(21, ' ') + "}", " {}", "{} "});
}

struct Rejected {
  std::string schema, where;
  ErrorCode code = ErrorCode::kUnsupported;
};

TEST(JsonSchema, NamesWhatItRefuses) {
  const auto invalid = ErrorCode::kInvalidArgument;
  const std::vector<Rejected> rejected = {
      {R"({"properties": {"a": {"type": "array", "uniqueItems": true}}})", "/properties/a/uniqueItems"},
      {R"({"$ref": "http://other/schema"})", "/$ref"},
      {R"({"items": {"multipleOf": 123456.789}})", "/items/multipleOf"},
      {R"({"not": {"const": [1]}})", "/not/const"},
      {R"~({"pattern": "(?=a)"})~", "/pattern"},
      {R"({"not": {"format": "email"}})", "/not/format"},
      {R"({"oneOf": [{"uniqueItems": true}, {"minItems": 1}]})", "/oneOf/0/uniqueItems"},
      {R"({"properties": {"a/b": {"type": "strin"}}})", "/properties/a~1b/type", invalid},
      {R"({"properties": {"a": 3}})", "/properties/a", invalid},
      {R"({"minLength": -1})", "/minLength", invalid},
      {R"({"required": "a"})", "/required", invalid},
      {R"({"anyOf": []})", "/anyOf", invalid},
      {R"({"$ref": "#/$defs/none"})", "/$ref", invalid},
      {R"({"$ref": "#"})", "refers to itself", invalid},
      {R"({"pattern": "(a"})", "/pattern", invalid},
      {R"({"type": "string", "type": "null"})", "\"type\" twice", invalid},
      {R"({"type")", "not JSON", invalid},
      {"[]", "must be a schema", invalid},
      {R"({"type": "string", "minLength": 3, "maxLength": 2})", "nothing fits", invalid},
      {R"({"type": "object", "required": ["n"], "properties": {"n": {"$ref": "#"}}})", "nothing fits", invalid},
      {"false", "nothing fits", invalid},
  };
  for (const auto& [schema, where, code] : rejected) {
    const SchemaTexts texts{std::string(schema)};
    EXPECT_NE(texts.error().message.find(where), std::string::npos) << schema << ": " << texts.error().message;
    EXPECT_EQ(texts.error().code, code) << schema;
    EXPECT_EQ(texts.error().param, "grammar");
  }
}

TEST(JsonSchema, ListsWhatItLeavesOutWhereThatIsAsked) {
  const SchemaTexts texts(GrammarSource{
      .text =
          R"~({"type": "array", "uniqueItems": true, "items": {"type": "string", "pattern": "(?=a)", "maxLength": 1}})~",
      .white_space = WhiteSpace::kCompact,
      .ignore_unsupported = true});
  texts.expect({R"(["b","b"])"}, {R"(["bb"])"});
  EXPECT_EQ(texts.ignored(), (std::vector<std::string>{"/items/pattern", "/uniqueItems"}));
}

std::string nested(int depth) {
  std::string schema = R"({"type": "null"})";
  for (int i = 0; i < depth; ++i) schema = R"({"properties": {"a": )" + schema + "}}";
  return schema;
}

TEST(JsonSchema, KeepsItsLimits) {
  EXPECT_EQ(SchemaTexts(nested(60)).error().message, "");
  EXPECT_NE(SchemaTexts(nested(70)).error().message.find("nested deeper"), std::string::npos);
  EXPECT_NE(SchemaTexts(std::string(50'000, '[')).error().message, "");
  std::string clauses;  // 4^12 combinations
  for (int i = 0; i < 12; ++i) {
    std::string options;
    for (int k = 0; k < 4; ++k) {
      options += std::string(k > 0 ? "," : "") + R"({"properties": {"p)" + std::to_string(i) + R"(": {"const": )" +
                 std::to_string(k) + R"(}}, "required": ["p)" + std::to_string(i) + "\"]}";
    }
    clauses += std::string(i > 0 ? "," : "") + R"({"anyOf": [)" + options + "]}";
  }
  EXPECT_EQ(SchemaTexts(R"({"allOf": [)" + clauses + "]}").error().code, ErrorCode::kResourceExhausted);
}

TEST(JsonSchema, TakesManyListedValues) {
  std::string list;
  for (int i = 0; i < 8000; ++i) list += (i > 0 ? "," : "") + std::to_string(i);
  SchemaTexts(R"({"enum": [)" + list + "]}").expect({"0", "7999"}, {"8000", "-1"});
}

TEST(JsonObject, IsAnyObject) {
  WorkMeter meter;
  const auto grammar = read_grammar({.language = "json_object", .text = ""}, meter);
  ASSERT_TRUE(grammar.ok());
  ReferenceMatcher matcher(*grammar);
  EXPECT_TRUE(matcher.matches("{}"));
  EXPECT_TRUE(matcher.matches(R"({"a": [1, 2.5e-3, {"b": null}], "c": "\u00e9"})"));
  EXPECT_FALSE(matcher.matches("[]"));
  EXPECT_FALSE(matcher.matches(R"({"a": 01})"));
  EXPECT_FALSE(matcher.matches(R"({"a": 1,})"));
}

}  // namespace
}  // namespace millrace::grammar::json_schema
