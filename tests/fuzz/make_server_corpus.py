"""Writes the seed files of corpus/{http_request,reply_reader,request_body,grammar_matcher}."""
import json
import pathlib

FUZZ = pathlib.Path(__file__).parent
HOST = b"host: a\r\n"
HTTP = {
    "get": b"GET /v1/models?x=1 HTTP/1.1\r\n" + HOST + b"\r\n",
    "post": b"POST /v1/x HTTP/1.1\r\n" + HOST + b"content-type: application/json\r\ncontent-length: 5\r\n\r\nhello",
    "chunked": b"POST /x HTTP/1.1\r\n" + HOST + b"transfer-encoding: chunked\r\n\r\n5\r\nhello\r\n3;e=1\r\nabc\r\n0\r\n\r\n",
    "trailers": b"POST /x HTTP/1.1\r\n" + HOST + b"transfer-encoding: chunked\r\n\r\n1\r\na\r\n0\r\nx: y\r\n\r\n",
    "two": (b"POST /x HTTP/1.1\r\n" + HOST + b"content-length: 2\r\n\r\nok") * 2 + b"GET / HTTP/1.1\r\n" + HOST + b"\r\n",
    "continue": b"POST /x HTTP/1.1\r\n" + HOST + b"expect: 100-continue\r\ncontent-length: 3\r\n\r\nabc",
    "refused": b"POST /refused HTTP/1.1\r\n" + HOST + b"content-length: 3\r\n\r\nabcGET / HTTP/1.1\r\n" + HOST + b"\r\n",
    "old": b"GET / HTTP/1.0\r\nconnection: keep-alive\r\n\r\nGET / HTTP/1.0\r\n\r\n",
    "head": b"HEAD /x HTTP/1.1\r\n" + HOST + b"\r\nGET /y HTTP/1.1\r\n" + HOST + b"connection: close\r\n\r\n",
    "smuggled": b"POST /x HTTP/1.1\r\n" + HOST + b"content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\nGET /y HTTP/1.1\r\n\r\n",
    "hosts": b"".join(b"GET / HTTP/1.1\r\nhost: " + host + b"\r\n\r\n" for host in (b"[::1]:8000", b"A.b:", b"a%20b.:80")) + b"GET / HTTP/1.0\r\nhost:\r\n\r\n",
    "no_host": b"GET / HTTP/1.1\r\nhost: localhost:pw@evil\r\n\r\n",
    "too_long": b"GET / HTTP/1.1\r\n" + HOST + b"x: " + b"a" * 1100 + b"\r\n\r\n",
    "too_much": b"POST / HTTP/1.1\r\n" + HOST + b"content-length: 600\r\n\r\n" + b"a" * 600,
}

# Of reply_reader: what servers say to a client.
STREAM = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
TOKEN = b'data: {"id":"c1","choices":[{"index":0,"text":"a","finish_reason":null}]}\n\n'
USAGE = (b'data: {"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":1}}}\n\n'
         b"data: [DONE]\n\n")


def chunked(*pieces):
    return b"".join(b"%x\r\n%s\r\n" % (len(p), p) for p in (*pieces, b""))


REPLIES = {
    "stream": STREAM + chunked(TOKEN, TOKEN, USAGE),
    "chat": STREAM + chunked(b'data: {"choices":[{"delta":{"role":"assistant","content":""}}]}\r\n\r\n: so\n\n'
                             b'data: {"choices":[{"delta":{"content":"hi","tool_calls":[{}]},"finish_reason":"stop"}]}\n\n'),
    "refused": b'HTTP/1.1 429 No\r\ncontent-length: 40\r\n\r\n{"error":{"message":"too\\nmany\\u001b[0m"}}',
    "error": STREAM + chunked(TOKEN, b'data: {"error":{"message":"lost"}}\n\n'),
    "until_close": b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.0 200 OK\r\nconnection: close\r\n\r\n" + TOKEN + b"data: [DONE]\n\n",
    "trailers": STREAM + b"5;x=y\r\ndata:\r\n3\r\n{}\n\r\n1\r\n\n\r\n0\r\na: b\r\n\r\nHTTP/1.1 408 x\r\n\r\n",
}

# Of request_body: by the number of the route, as request_body_fuzz.cc lists them.
CHAT, TEXT, RESPONSES, MESSAGES, EMBEDDINGS, TOKENIZE, COUNT = range(7)
SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
FUNCTION = {"name": "f", "description": "does", "parameters": SCHEMA, "strict": True}
ASK = [{"role": "user", "content": "hello"}]
CALLED = {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": "{\"a\": \"x\"}"}}
SAMPLING = {"temperature": 0.5, "top_p": 0.9, "top_k": 4, "min_p": 0.1, "repetition_penalty": 1.1, "presence_penalty": 1, "frequency_penalty": -1,
            "seed": 7, "logit_bias": {"5": 1.5}, "allowed_token_ids": [1, 2, 3], "bad_words": ["bad"], "stop": ["end", "\n"], "stop_token_ids": [9],
            "min_tokens": 1, "n": 2, "ignore_eos": True, "dry_multiplier": 1, "dry_sequence_breakers": ["\n", "end"], "mirostat": 0,
            "typical_p": 0.5, "xtc_probability": 0.1, "samplers": ["top_k", "temperature"], "no_repeat_ngram_size": 3}
SERVING = {"model": "m", "stream": True, "stream_options": {"include_usage": True}, "priority": 1, "cache_salt": "s", "timeout": 5,
           "ttft_target_ms": 9, "spec_tokens": 2, "timings": True, "explain": True, "prompt_logprobs": 1, "truncate_prompt_tokens": 8}
BODIES = {
    "chat": (CHAT, {"messages": [{"role": "system", "content": "be"}] + ASK, "max_tokens": 8} | SERVING),
    "chat_parts": (CHAT, {"messages": [{"role": "user", "content": [{"type": "text", "text": "hello"}]}], "logprobs": True, "top_logprobs": 2}),
    "chat_sampling": (CHAT, {"messages": ASK} | SAMPLING),
    "chat_tools": (CHAT, {"messages": ASK + [{"role": "assistant", "content": None, "tool_calls": [CALLED]},
                                             {"role": "tool", "tool_call_id": "call_1", "content": "17"}],
                          "tools": [{"type": "function", "function": FUNCTION}], "tool_choice": "auto", "parallel_tool_calls": False}),
    "chat_choice": (CHAT, {"messages": ASK, "tools": [{"type": "function", "function": FUNCTION}],
                           "tool_choice": {"type": "function", "function": {"name": "f"}}}),
    "chat_schema": (CHAT, {"messages": ASK, "reasoning_effort": "low", "thinking_token_budget": 4, "response_format":
                           {"type": "json_schema", "json_schema": {"name": "s", "strict": True, "schema": SCHEMA}}}),
    "chat_continue": (CHAT, {"messages": ASK + [{"role": "assistant", "content": "so"}], "add_generation_prompt": False,
                             "continue_final_message": True, "chat_template_kwargs": {"enable_thinking": False}}),
    "text": (TEXT, {"prompt": "hello", "max_tokens": 4, "echo": True, "logprobs": 2} | SERVING),
    "text_ids": (TEXT, {"prompt": [[1, 2], [3]], "best_of": 3} | SAMPLING),
    "text_beams": (TEXT, {"prompt": ["hello", "you"], "use_beam_search": True, "n": 2, "length_penalty": 1}),
    "text_grammar": (TEXT, {"prompt": "hello", "structured_outputs": {"regex": "[a-z]+"}}),
    "text_choice": (TEXT, {"prompt": "hello", "guided_choice": ["yes", "no"], "suffix": "x"}),
    "text_ebnf": (TEXT, {"prompt": "hello", "grammar": "root ::= \"a\" root | \"b\""}),
    "responses": (RESPONSES, {"input": "hello", "instructions": "be", "max_output_tokens": 4, "temperature": 0} | {"stream": True}),
    "responses_items": (RESPONSES, {"input": [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hello"}]},
                                              {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
                                              {"type": "function_call_output", "call_id": "c", "output": "17"}],
                                    "tools": [{"type": "function"} | FUNCTION], "tool_choice": "required", "truncation": "auto", "include": ["reasoning.encrypted_content"]}),
    "responses_format": (RESPONSES, {"input": "hello", "reasoning": {"effort": "high"},
                                     "text": {"format": {"type": "json_schema", "name": "s", "schema": SCHEMA}}}),
    "messages": (MESSAGES, {"model": "m", "messages": ASK, "max_tokens": 4, "output_config": {"effort": "max", "format": {"type": "json_schema", "schema": SCHEMA}},
                            "system": [{"type": "text", "text": "x-anthropic-billing-header: cch=1;"}, {"type": "text", "text": "be"}], "stop_sequences": ["x"],
                            "temperature": 0.5, "top_k": 3, "thinking": {"type": "enabled", "budget_tokens": 5}}),
    "messages_tools": (MESSAGES, {"max_tokens": 4, "tools": [{"name": "f", "input_schema": SCHEMA}], "tool_choice": {"type": "any"}, "messages": ASK + [
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm"}, {"type": "tool_use", "id": "t", "name": "f", "input": {"a": "x"}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": "17"}]}]}]}),
    "embeddings": (EMBEDDINGS, {"input": ["hello", "you"], "encoding_format": "base64", "dimensions": 8, "pooling": "mean"}),
    "embeddings_ids": (EMBEDDINGS, {"input": [[1, 2], [3]], "model": "m"}),
    "tokenize": (TOKENIZE, {"prompt": "hello", "add_special_tokens": True, "return_token_strs": True}),
    "tokenize_content": (TOKENIZE, {"content": "hello", "add_special": True, "with_pieces": True, "parse_special": False}),
    "tokenize_chat": (TOKENIZE, {"messages": ASK, "tools": [{"type": "function", "function": FUNCTION}]}),
    "count": (COUNT, {"messages": ASK, "system": "be", "tools": [{"name": "f", "input_schema": SCHEMA}]}),
}

# Of grammar_matcher: the number of the grammar and a text of it, offered in pieces of one to three bytes.
TEXTS = {
    "arithmetic": (0, "1+(2*34)+5"),
    "hidden": (1, "xxzyy"),
    "ambiguous": (2, "abababbabb"),
    "counted": (3, "\"1é\\naa\"abab"),
    "spelled": (4, "\\u00e9\\n\"\\ud83d\\ude00]"),
    "free_text": (5, "the en, end,12!"),
    "schema": (6, "{\"a\": \"aé\", \"b\": \"\\n\"}"),
    "lists": (7, "[[], [[]]]"),
    "regex": (8, "aababbbéend"),
    "ebnf": (9, "abba(())()ab"),
}


def offered(text):
    """Steps: pieces, and between them forks, returns, masks and what is forced."""
    out, others, n = b"", [1, 4, 3, 2], 0
    data = text.encode()
    while data:
        size = 1 + n % 3
        out += bytes([5 + 8 * (size - 1)]) + data[:size].ljust(size, b"\0")
        data = data[size:]
        if n % 2 == 1:
            out += bytes([others[n // 2 % 4]])
        n += 1
    return out


def write(folder, name, data):
    path = FUZZ / "corpus" / folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def main():
    for name, text in HTTP.items():
        write("http_request", name, bytes([7]) + text)
    for name, text in REPLIES.items():
        write("reply_reader", name, bytes([28]) + text)
    for number, (name, (route, body)) in enumerate(BODIES.items()):
        write("request_body", name, bytes([route, number % 4]) + json.dumps(body, ensure_ascii=False).encode())
    for name, (grammar, text) in TEXTS.items():
        write("grammar_matcher", name, bytes([grammar]) + offered(text))


if __name__ == "__main__":
    main()
