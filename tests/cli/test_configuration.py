"""Settings of serve and run-batch from files and variables: the command line beats a variable, that beats the file."""


def settings(outcome):
    return dict(line.split(" = ", 1) for line in outcome.out.splitlines() if " = " in line and not line.startswith("#"))


def test_the_command_line_beats_a_variable_and_that_the_file(millrace, tmp_path):
    path = tmp_path / "millrace.toml"
    path.write_text("""# shared
max-num-seqs = 7
[serve]
port = 1111
host = "127.0.0.2"
no-prefix-caching = true
goodput = ["ttft:500", "tpot:50"]
model_reference = "a.gguf"
[run-batch]
max-concurrency = 3
""")
    flags = ["serve", "--config", path, "--print-config"]
    assert settings(millrace(*flags)) == {"max-num-seqs": "7", "port": "1111", "host": '"127.0.0.2"', "prefix-caching": "false",
                                          "goodput": '["ttft:500", "tpot:50"]', "model_reference": '"a.gguf"'}
    set_to = settings(millrace(*flags, "--port", "3333", env={"MILLRACE_PORT": "2222", "MILLRACE_HOST": "127.0.0.3"}))
    assert set_to["port"] == "3333" and set_to["host"] == '"127.0.0.3"'


def test_what_is_printed_is_a_file_again(millrace, tmp_path):
    flags = ["--port", "0", "--no-prefix-caching", "--allowed-hosts", "a,b", "--swap-space", "4GB", "--log-format", "json"]
    path = tmp_path / "printed.toml"
    first = millrace("serve", *flags, "--print-config")
    path.write_text(first.out)
    assert settings(first) == settings(millrace("serve", "--config", path, "--print-config"))


def test_every_flag_has_its_variable(millrace):
    out = millrace("serve", "--print-config", env={"MILLRACE_MAX_NUM_SEQS": "9", "MILLRACE_OPEN_METRICS": "true", "MILLRACE_TRACE_FILE": "t"})
    assert settings(out) == {"max-num-seqs": "9", "open-metrics": "true", "trace-file": '"t"'}


def test_a_key_is_not_printed(millrace):
    out = millrace("serve", "--print-config", env={"MILLRACE_API_KEY": "secret-key-00"})
    assert "secret-key" not in out.out and "api-key is set" in out.out


def test_what_is_wrong_in_a_file_is_named(millrace, tmp_path):
    path = tmp_path / "bad.toml"
    for text, words in [("prot = 1\n", ["bad.toml", "prot"]), ("port = 99999\n", ["bad.toml", "port"]),
                        ("[serve]\nlog-format = xml\n", ["bad.toml", "log-format"])]:
        path.write_text(text)
        done = millrace("serve", "--config", path, "--print-config", ok=False)
        assert done.code == 2 and done.out == "" and all(word in done.err for word in words), done.err
    path.write_text("prt = 1\n")
    assert "did you mean 'port'?" in millrace("serve", "--config", path, "--print-config", ok=False).err
    path.write_text("swap-space = 4\n")
    done = millrace("serve", "--config", path, "--print-config", ok=False)
    assert done.code == 2 and "bad.toml: swap-space" in done.err and "write 4GiB" in done.err
    done = millrace("serve", "--config", tmp_path / "absent.toml", "--print-config", ok=False)
    assert done.code == 3 and "absent.toml" in done.err


def test_keys_have_dashes_or_underscores(millrace, tmp_path):
    path = tmp_path / "millrace.toml"
    path.write_text('max_num_seqs = 7\nno_prefix_caching = true\nmodel-reference = "a.gguf"\n')
    assert settings(millrace("serve", "--config", path, "--print-config")) == {
        "max-num-seqs": "7", "prefix-caching": "false", "model_reference": '"a.gguf"'}


def test_run_batch_has_them_too(millrace, tmp_path):
    path = tmp_path / "millrace.toml"
    path.write_text("[serve]\nport = 1\n[run-batch]\nmax-concurrency = 3\n")
    printed = settings(millrace("run-batch", "-i", "a", "-o", "b", "--config", path, "--print-config"))
    assert printed == {"input-file": '"a"', "output-file": '"b"', "max-concurrency": "3"}
