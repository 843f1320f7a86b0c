#include "base/redact.h"

#include "support/cmocka.h"

#define CANARY "canary"

static void expect_text(const char *text, const char *wanted) {
    RK_AUTO(rk_buf) out = {0};
    rk_redact_text(rk_span_text(text), &out);
    if (strcmp(rk_buf_text(&out), wanted) != 0)
        fail_msg("\"%s\" became \"%s\", not \"%s\"", text, rk_buf_text(&out), wanted);
}

// Redacts the arguments in `before`, separated by '|', and compares them with `after`.
static void expect_arguments(const char *before, const char *after) {
    RK_AUTO(rk_buf) out = {0};
    rk_redactor redactor = {0};
    for (const char *next = before;;) {
        size_t len = strcspn(next, "|");
        rk_redact_argument(&redactor, rk_span_of(next, len), &out);
        if (!next[len])
            break;
        rk_buf_add_byte(&out, '|');
        next += len + 1;
    }
    if (strcmp(rk_buf_text(&out), after) != 0)
        fail_msg("\"%s\" became \"%s\", not \"%s\"", before, rk_buf_text(&out), after);
}

// None of these secrets may ever be recorded.
static void no_canary_gets_through(void **state) {
    (void)state;
    static const char *const lines[] = {
        "--token|" CANARY,
        "--token=" CANARY,
        "--hf_token|" CANARY,
        "--hfToken=" CANARY,
        "--api-key|" CANARY,
        "--APIKEY=" CANARY,
        "--password=" CANARY "," CANARY,
        "--passwd|" CANARY,
        "--db-pwd=" CANARY,
        "--client_secret|" CANARY,
        "--auth=" CANARY,
        "--use-auth-token|--api-key|" CANARY,
        "--password|-" CANARY,
        "-token|" CANARY,
        "WANDB_API_KEY=" CANARY,
        "AWS_SECRET_ACCESS_KEY=" CANARY,
        "wandb.api_key=" CANARY,
        "--remote=redis://user:" CANARY "@host:6379/0",
        "redis://:" CANARY "@host",
        "redis://user:can/" CANARY "@host",
        "https://" CANARY "@host/x",
        "https://host/x?token=" CANARY "&a=1",
        "https://host/x?a=1&X-Amz-Signature=" CANARY,
        "a redis://u:" CANARY "@h b https://v:" CANARY "@h",
        "redis://u:" CANARY "@h,redis://u:" CANARY "@h",
        "{\"a\": 1, \"api_key\": \"" CANARY "\"}",
        "{'password':'" CANARY "'}",
        "-H|Authorization: Bearer " CANARY,
        "Cookie: session=" CANARY,
        "import x; x.login(key=\"" CANARY "\")",
        "import x; os.environ['HF_TOKEN'] = '" CANARY "'",
        "exec train --password " CANARY " --lr 1",
        "hf_0123456789" CANARY,
        "--passphrase|" CANARY,
        "--passphrase=" CANARY,
        "--pat|" CANARY,
        "--github-pat=" CANARY,
        "AZURE_DEVOPS_PAT=" CANARY,
        "DB_PASS=" CANARY "|train",
        "sh|-c|FOO_TOKEN=" CANARY " train",
        "https://a.blob.core.windows.net/c?sv=2024&se=2026&sig=" CANARY,
        "https://storage.googleapis.com/b/o?X-Goog-Signature=" CANARY,
        "https://b.s3.amazonaws.com/k?X-Amz-Security-Token=" CANARY "&a=1",
        "https://user:" CANARY "@github.com/a/b.git",
        "psql|postgresql://u:" CANARY "@host/db",
        "curl|-u|user:" CANARY "|https://host",
        "curl|-uuser:" CANARY "|https://host",
        "train|--user|me:" CANARY,
        "train|--user=me:" CANARY,
        "curl|--proxy-user|me:" CANARY,
        "curl|-H|Authorization: Basic " CANARY,
        "/usr/bin/mysql|-uroot|-p" CANARY "|db",
        "sh|-c|mysqldump -p" CANARY " db > x",
        "sh|-c|cd x;mysql -p" CANARY,
        "docker|login|-u|me|-p|" CANARY,
        "az|login|--service-principal|-p|" CANARY,
        "sshpass|-p|" CANARY "|ssh|host",
        "redis-cli|-a|" CANARY,
        "sh|-c|redis-cli -a " CANARY " get x",
        "openssl|enc|-passin|pass:" CANARY,
        "gpg|--batch|--passphrase|" CANARY,
        "sk-proj-0123456789" CANARY,
        "login|ghp_0123456789" CANARY,
        "eyJhbGciOiJIUzI1NiJ9." CANARY ".x",
    };
    for (size_t i = 0; i < RK_ARRAY_LEN(lines); i++) {
        RK_AUTO(rk_buf) out = {0};
        rk_redactor redactor = {0};
        for (const char *next = lines[i];; next++) {
            size_t len = strcspn(next, "|");
            rk_redact_argument(&redactor, rk_span_of(next, len), &out);
            rk_buf_add_byte(&out, ' ');
            next += len;
            if (!*next)
                break;
        }
        if (strstr(rk_buf_text(&out), CANARY))
            fail_msg("\"%s\" became \"%s\"", lines[i], rk_buf_text(&out));
        assert_non_null(strstr(rk_buf_text(&out), "***"));
    }
}

static void what_is_no_secret_stays(void **state) {
    (void)state;
    static const char *const lines[] = {
        "python|train.py|--lr|1e-3|--batch=32",
        "--max_tokens|4096|--tokenizer=gpt2|--num-tokens=5",
        "--author|me|--authors=a,b",
        "https://host:8080/path?a=1#b",
        "s3://bucket/prefix",
        "/a/b@c/d.py",
        "me@host",
        "a://b",
        "hf_model",
        "--",
        "-",
        "",
        "for key in keys",
        "python|-u|train.py|-p|8080|--pattern|x|--patience=3|--sigma=1|--signal|9",
        "docker|run|-p|8080:80|-u|1000:1000|image",
        "train|-p8080|-a|x|-P|4",
        "mysql|-p|db",
        "--pathology=a|--compass=n|--multi-pass|2|--user|me",
        "running pass: fold 3",
    };
    for (size_t i = 0; i < RK_ARRAY_LEN(lines); i++)
        expect_arguments(lines[i], lines[i]);
}

static void a_plain_value_for_several_keys_is_kept(void **state) {
    (void)state;
    expect_arguments("job.py|--keys|both|--lr|1", "job.py|--keys|both|--lr|1");
    expect_arguments("--num-keys=16|--keys|8", "--num-keys=16|--keys|8");
    expect_arguments("--keys|Both|x", "--keys|***|x");
    expect_arguments("--keys|abcdefg", "--keys|***");
    expect_arguments("--keys|a1b2", "--keys|***");
    expect_arguments("--keys|12345", "--keys|***");
    expect_arguments("--keys=abc,def", "--keys=***");
    expect_arguments("--api-keys|both|--key|both", "--api-keys|***|--key|***");
    expect_arguments("--keys|--token|both", "--keys|***|***");
}

static void what_is_hidden_is_marked_where_it_stood(void **state) {
    (void)state;
    expect_arguments("--token|x|y", "--token|***|y");
    expect_arguments("--password=x y|z", "--password=***|z");
    expect_arguments("--keys|--lr|1", "--keys|***|1");
    expect_arguments("curl|-u|me:pw|x", "curl|-u|me:***|x");
    expect_arguments("mysql|-ppw|db", "mysql|-p***|db");
    expect_arguments("sh|-c|mysql -ppw  db", "sh|-c|mysql -p***  db");
    expect_text("redis://user:pw@host:6379/0", "redis://***@host:6379/0");
    expect_text("cannot reach https://u:p@h/x: \"password\": \"a b\" end",
                "cannot reach https://***@h/x: \"password\": \"***\" end");
    expect_text("https://h/x?token=abc&b=1", "https://h/x?token=***&b=1");
    expect_text("://@", "://@");
    expect_text("password=", "password=");
    expect_text("password", "password");
}

static void any_bytes_are_taken(void **state) {
    (void)state;
    char text[3];
    for (unsigned i = 0; i < 65536; i++) {
        text[0] = (char)(i & 0xFF);
        text[1] = (char)(i >> 8);
        RK_AUTO(rk_buf) out = {0};
        rk_redactor redactor = {0};
        rk_redact_argument(&redactor, rk_span_of(text, 2), &out);
        assert_int_equal(out.len, 2);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_canary_gets_through),
        cmocka_unit_test(what_is_no_secret_stays),
        cmocka_unit_test(a_plain_value_for_several_keys_is_kept),
        cmocka_unit_test(what_is_hidden_is_marked_where_it_stood),
        cmocka_unit_test(any_bytes_are_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
