"""`millrace run --url` on servers of other makes, played here: what they are sent, and what a chat does when they fail."""
import json
import os
import re
import subprocess
import threading
import time
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from chat_terminal import CTRL_C, ENTER, PASTE, PASTED, Chat, messages, user_messages

WORDS = ["Red", ", green", " and blue."]


class Other(ThreadingHTTPServer):
    """A server with OpenAI's API and no more. `behave` is how it treats the next question."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked, self.behave, self.left, self.owner = [], "answer", threading.Event(), "somebody else"
        threading.Thread(target=self.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def reply(self, status, body, kind="application/json"):
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self):
        if self.server.behave == "page":
            return self.reply(200, b"<html>Welcome</html>", "text/html")
        if self.path != "/v1/models":
            return self.reply(404, {"detail": "Not Found"})
        self.reply(200, {"object": "list", "data": [{"id": "other", "object": "model", "owned_by": self.server.owner}, {"id": "larger"}]})

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path != "/v1/chat/completions":
            return self.reply(404, {"detail": "Not Found"})
        self.server.asked.append(body)
        if self.server.behave == "reject":
            return self.reply(400, {"error": {"message": "the prompt is\x1b[31m odd", "type": "invalid"}})
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        try:
            self.answer()
        except OSError:
            self.server.left.set()

    def event(self, **choice):
        self.wfile.write(b"data: " + json.dumps({"id": "x", "choices": [{"index": 0, **choice}]}).encode() + b"\r\n\r\n")
        self.wfile.flush()

    def answer(self):
        behave = self.server.behave
        self.event(delta={"role": "assistant", "content": ""})
        if behave == "think":
            self.event(delta={"reasoning_content": "Colours, let me see."})
        for word in WORDS:
            self.event(delta={"content": word})
            if behave == "leave":
                return
        while behave == "go on":
            self.event(delta={"content": " and more"})
            self.server.left.wait(0.02)
        self.event(delta={}, finish_reason="stop")
        self.wfile.write(b"data: " + json.dumps({"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 3}}).encode() + b"\n\ndata: [DONE]\n\n")


@pytest.fixture
def other():
    server = Other()
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture
def chat(program, other, tmp_path):
    chats = []

    def start(*arguments):
        chats.append(Chat(program, tmp_path, ["--url", other.url, *arguments]))
        chats[-1].expect("other on http://127.0.0.1:\\d+\r\n/help lists the commands\r\n.*> $")
        return chats[-1]

    yield start
    for one in chats:
        one.close()


@pytest.fixture
def own(program, real_model, tmp_path):
    """The URL of a millrace whose context is soon full."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("MILLRACE_")} | {"XDG_RUNTIME_DIR": str(tmp_path)}
    process = subprocess.Popen([program, "serve", real_model, "--port", "0", "--max-model-len", "200", "--kv-cache-tokens", "1024"],
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment)
    url = re.search(r"http://\S+", process.stdout.readline())[0]
    while True:
        try:
            urllib.request.urlopen(url + "/ready")
            break
        except OSError:
            assert process.poll() is None
            time.sleep(0.05)
    yield url
    process.terminate()
    process.wait()


def ask(chat, line):
    """What is shown up to the next prompt."""
    chat.send(line + ENTER)
    return chat.expect(r"\r\n(.*?)\r\n> $")[1]


def test_other_servers_are_sent_what_openai_knows_and_what_was_asked_for(other, millrace):
    assert millrace("run", "--url", other.url, "Three colours?", "--seed", "7").out == "Red, green and blue.\n"
    assert other.asked[0] == {"model": "other", "messages": [{"role": "user", "content": "Three colours?"}], "stream": True,
                              "stream_options": {"include_usage": True}, "seed": 7, "max_tokens": 2048, "temperature": 0.7, "top_p": 0.95}
    done = millrace("run", "--url", other.url + "/v1/", "larger", "-p", "x", "--system", "Be brief.", "--top-k", "5", "-n", "4", "--stop", "z", "--stats")
    assert re.fullmatch(r"prompt 9 tokens, answer 3 tokens, TTFT [\d.]+ ms(, TPOT [\d.]+ ms, [\d.]+ tok/s)?\n", done.err), done.err
    sent = other.asked[1]
    assert (sent["model"], sent["top_k"], sent["max_tokens"], sent["stop"]) == ("larger", 5, 4, ["z"])
    assert sent["messages"][0] == {"role": "system", "content": "Be brief."} and sent["seed"] >= 0


SCHEMA = {"type": "object"}
STRICT = {"type": "json_schema", "json_schema": {"name": "answer", "strict": True, "schema": SCHEMA}}


def test_schemas_go_in_the_field_of_openai(other, millrace, tmp_path):
    (tmp_path / "schema.json").write_text(json.dumps(SCHEMA))
    for flags, value in ((["--json-schema", json.dumps(SCHEMA)], STRICT), (["--json-schema-file", tmp_path / "schema.json"], STRICT),
                         (["--json-object"], {"type": "json_object"})):
        millrace("run", "--url", other.url, "-p", "x", *flags)
        assert other.asked.pop()["response_format"] == value
    refused = millrace("run", "--url", other.url, "-p", "x", "--json-schema", "{", ok=False)
    assert refused.code == 2 and "--json-schema" in refused.err and not other.asked


@pytest.mark.parametrize("owner, flag, sent", [
    ("vllm", "--regex", {"structured_outputs": {"regex": "a+"}}), ("vllm", "--grammar", {"structured_outputs": {"grammar": "a+"}}),
    ("sglang", "--regex", {"regex": "a+"}), ("sglang", "--grammar", {"ebnf": "a+"}), ("llamacpp", "--grammar", {"grammar": "a+"}),
    ("llamacpp", "--regex", None), ("somebody else", "--grammar", None), ("", "--regex", None),
])
def test_a_grammar_goes_in_the_servers_own_field_or_nowhere(other, millrace, owner, flag, sent):
    """llama-server, for one, answers without a word what it does not know: the text would be free."""
    other.owner = owner
    done = millrace("run", "--url", other.url, "-p", "x", flag, "a+", ok=sent is not None)
    if sent is None:
        assert done.code == 3 and flag in done.err and (owner in done.err) and not other.asked
    else:
        assert other.asked[0].items() >= sent.items()


def test_samplers_have_the_names_of_the_server(other, millrace):
    millrace("run", "--url", other.url, "-p", "x", "--repetition-penalty", "1.5")
    other.owner = "llamacpp"
    millrace("run", "--url", other.url, "-p", "x", "--repetition-penalty", "1.5")
    assert (other.asked[0]["repetition_penalty"], other.asked[1]["repeat_penalty"]) == (1.5, 1.5)
    assert "repetition_penalty" not in other.asked[1]


def test_a_chat_sends_all_of_the_conversation_each_time(other, chat, tmp_path):
    talk = chat()
    assert ask(talk, "Three colours?") == "Red, green and blue."
    assert ask(talk, "Again?") == "Red, green and blue."
    assert [message["content"] for message in other.asked[1]["messages"]] == ["Three colours?", "Red, green and blue.", "Again?"]
    talk.command("/undo")
    ask(talk, "And now?")
    assert [message["content"] for message in other.asked[2]["messages"]] == ["Three colours?", "Red, green and blue.", "And now?"]
    assert "larger on http" in talk.command("/model larger")
    ask(talk, "You?")
    assert other.asked[3]["model"] == "larger" and len(other.asked[3]["messages"]) == 5
    assert "has no model nosuch: it has other, larger; the model stays larger" in talk.command("/model nosuch")
    assert talk.command("/set top_k 3") == "top_k is 3\r\n"
    ask(talk, "You?")
    assert other.asked[4]["top_k"] == 3
    talk.send("/exit" + ENTER)
    assert talk.wait() == 0


def test_a_chat_on_millrace_fills_its_context_as_one_of_its_own(own, program, tmp_path):
    talk = Chat(program, tmp_path, ["--url", own, "--temperature", "0", "--on-context-full", "shift"])
    try:
        talk.expect("context 200 tokens\r\n.*> $")
        shares = []
        while "forgotten" not in (shown := ask_metered(talk, "Tell me a fact about the sea.", shares)):
            assert len(shares) < 10, shown
        assert "the oldest round is forgotten" in shown or re.search(r"the oldest \d rounds are forgotten", shown)
        full = shares[:-1]
        assert full == sorted(full) and full[0] > 0
        assert re.search(r"\d+ of 200 tokens used", talk.command("/context"))
    finally:
        talk.close()


def ask_metered(talk, line, shares):
    talk.send(line + ENTER)
    found = talk.expect(r"(.*)\[(\d+)%\] > $")
    shares.append(int(found[2]))
    return found[1]


def test_what_the_server_does_not_tell_is_not_made_up(other, chat):
    talk = chat()
    assert "0 tokens used; the server does not tell" in talk.command("/context")
    ask(talk, "Three colours?")
    shown = talk.command("/context").splitlines()
    assert [line.split()[:2] for line in shown[:2]] == [["-", "user"], ["-", "assistant"]]
    assert shown[2] == "12 tokens used; the server does not tell how many there can be"


def test_reasoning_is_not_the_answer(other, chat, tmp_path):
    other.behave = "think"
    talk = chat("--thinking", "fold")
    assert "thought 4 words" in ask(talk, "Three colours?")
    assert talk.command("/show thinking").startswith("Colours, let me see.")
    assert messages(talk, tmp_path)[-1] == {"role": "assistant", "content": "Red, green and blue.", "reasoning_content": "Colours, let me see."}


def test_a_server_that_goes_away_is_said_in_one_line_and_the_chat_goes_on(other, chat, tmp_path):
    talk = chat()
    other.behave = "leave"
    shown = ask(talk, "Three colours?")
    assert shown.startswith("Red") and f"{other.url}: the answer ended early" in shown.splitlines()[-1]
    assert user_messages(talk, tmp_path) == []
    other.behave = "reject"
    assert ask(talk, "Three colours?") == f"{other.url}: the prompt is\\x1b[31m odd"
    other.behave = "answer"
    assert ask(talk, "Three colours?") == "Red, green and blue."
    other.shutdown()
    other.server_close()
    shown = ask(talk, "Again?")
    assert shown.startswith(f"{other.url}: ") and len(shown.splitlines()) == 1
    assert user_messages(talk, tmp_path) == ["Three colours?"]
    talk.send("bye" + ENTER)
    assert talk.wait() == 0


def test_an_interrupted_answer_is_kept_and_the_server_is_left(other, chat, tmp_path):
    other.behave = "go on"
    talk = chat()
    talk.send("Three colours?" + ENTER)
    talk.expect("and more and more")
    talk.send(CTRL_C)
    talk.expect(r"\[stopped\]\s+> $")
    assert other.left.wait(30)
    assert messages(talk, tmp_path)[-1]["content"].startswith("Red, green and blue. and more and more")


def test_a_paste_that_is_no_utf8_reaches_the_server_as_text(other, chat):
    talk = chat()
    talk.send(PASTE.encode() + b"caf\xe9 \xff\xfe\nsecond" + PASTED.encode() + ENTER.encode())
    talk.expect("blue.\r\n> $")
    (sent,) = other.asked[0]["messages"]
    assert sent["content"].startswith("caf") and sent["content"].endswith("\nsecond")


def test_what_is_no_server_of_models_is_said(other, millrace):
    other.behave = "page"
    refused = millrace("run", "--url", other.url, "-p", "x", ok=False)
    assert (refused.code, refused.err) == (1, f"millrace: {other.url}: the reply is no JSON: is this a server of models?\n")
    for url in ("http://", "ftp://127.0.0.1", "http://[::1", "a b"):
        refused = millrace("run", "--url", url, "-p", "x", ok=False)
        assert refused.code in (1, 2) and len(refused.err.splitlines()) == 1, refused.err
