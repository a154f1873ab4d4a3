//! The messages that a strict scan refuses, by the rows of its table.

use highwater_testkit::client::Era;

use crate::fronts::{call, meta};
use crate::stage::NEVER;

const PARSE_ERROR: i64 = -32700;
const INVALID_REQUEST: i64 = -32600;
const INVALID_PARAMS: i64 = -32602;

/// The depth that is allowed where nothing is configured.
const MAX_DEPTH: usize = 64;
/// How many values a message may hold.
const MAX_VALUES: usize = 1_000_000;

/// A message that must be refused.
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) bytes: Vec<u8>,
    pub(crate) code: i64,
    pub(crate) path: String,
    /// Whether the refusal can name the request: its id was read, and is not what is wrong.
    pub(crate) answers_its_id: bool,
}

/// All of them, in the words of an era.
pub(crate) fn cases(era: Era) -> Vec<Case> {
    let mut cases = Vec::new();
    let groups = [text, bounds, duplicate_keys, surrogates, spelling, envelope, parameters, names];
    for group in groups {
        group(era, &mut cases);
    }
    for case in &cases {
        let shown = String::from_utf8_lossy(&case.bytes);
        assert!(shown.contains(NEVER), "{}: {shown}", case.name);
    }
    cases
}

/// Row 1: valid UTF-8, no byte-order mark, exactly one JSON value.
fn text(era: Era, cases: &mut Vec<Case>) {
    let good = echo(era, r#"{"a":"@"}"#);
    for (name, bytes) in [
        ("a byte that is no UTF-8", &b"\xFF"[..]),
        ("an overlong slash", b"\xC0\xAF"),
        ("a surrogate in UTF-8", b"\xED\xA0\x80"),
        ("a character cut off", b"\xE2\x82"),
    ] {
        let (before, after) = good.split_once('@').unwrap();
        let bytes = [before.as_bytes(), bytes, after.as_bytes()].concat();
        cases.push(Case { bytes, ..case(name, "", PARSE_ERROR, "").nameless() });
    }
    cases.push(case("a byte-order mark", &format!("\u{FEFF}{good}"), PARSE_ERROR, "").nameless());
    cases.push(case("a second message behind the first", &format!("{good}{good}"), PARSE_ERROR, ""));
    cases.push(case("a word behind the message", &format!("{good} x"), PARSE_ERROR, ""));
    cases.push(case("a zero byte behind the message", &format!("{good}\0"), PARSE_ERROR, ""));
    cases.push(case("nothing but a word", NEVER, PARSE_ERROR, "").nameless());
    let place = "/params/arguments/a";
    for (name, value) in [
        ("a literal that is none", "nul"),
        ("not a number", "NaN"),
        ("a leading zero", "01"),
        ("a number that stops at its point", "1."),
        ("a sign too many", "+1"),
        ("single quotes", "'x'"),
        ("a comment", "/* x */ 1"),
        ("an unknown escape", r#""\x41""#),
        ("a control character in a string", "\"\u{1}\""),
    ] {
        cases.push(case(name, &echo(era, &format!(r#"{{"a":{value}}}"#)), PARSE_ERROR, place));
    }
    cases.push(case("a comma too many", &echo(era, r#"{"a":1,}"#), PARSE_ERROR, "/params/arguments"));
    cases.push(case("a key without quotes", &echo(era, "{a:1}"), PARSE_ERROR, "/params/arguments"));
    let cut = good.strip_suffix("\"}}}").unwrap();
    cases.push(case("a message cut off", cut, PARSE_ERROR, place));
}

/// Row 2: bounds on depth and on the number of values. Size is another story: see `oversized`.
fn bounds(era: Era, cases: &mut Vec<Case>) {
    // The message, `params` and `arguments` are three levels already.
    let too_many = MAX_DEPTH - 3 + 1;
    let deep = format!("{{\"a\":{}1{}}}", "[".repeat(too_many), "]".repeat(too_many));
    let place = format!("/params/arguments/a{}", "/0".repeat(too_many - 1));
    cases.push(case("nested too deeply in arrays", &echo(era, &deep), INVALID_REQUEST, &place));
    let deep = format!("{}1{}", "{\"a\":".repeat(too_many + 1), "}".repeat(too_many + 1));
    let place = format!("/params/arguments{}", "/a".repeat(too_many));
    cases.push(case("nested too deeply in objects", &echo(era, &deep), INVALID_REQUEST, &place));
    let bottomless = "[".repeat(1_000_000);
    let place = format!("/params/arguments{}", "/0".repeat(MAX_DEPTH - 2));
    cases.push(case("a million brackets", &echo(era, &bottomless), INVALID_REQUEST, &place));
    let many = format!("{{\"a\":[{}1]}}", "1,".repeat(MAX_VALUES));
    let text = echo(era, &many);
    // Every value before the array counts too, and the first one too many is named.
    let before = text.split("[1").next().unwrap().matches(':').count() + 1;
    let place = format!("/params/arguments/a/{}", MAX_VALUES - before);
    cases.push(case("too many values", &text, INVALID_REQUEST, &place));
}

/// Row 3: no key twice, however it is spelled.
fn duplicate_keys(era: Era, cases: &mut Vec<Case>) {
    let mut push = |name: &str, text: &str, path: &str| {
        cases.push(case(name, text, INVALID_REQUEST, path));
    };
    let top = |members: &str| {
        let params = format!(r#"{{{}"name":"{NEVER}"}}"#, meta(era));
        format!(r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{params},{members}}}"#)
    };
    push("a method twice", &top(r#""method":"tools/list""#), "/method");
    push("params twice", &top(r#""params":{}"#), "/params");
    push("a version twice", &top(r#""jsonrpc":"2.0""#), "/jsonrpc");
    push("an unknown envelope key twice", &top(r#""x":1,"x":1"#), "/x");
    push("a method twice, once escaped", &top(r#""metho\u0064":"tools/list""#), "/method");
    let named = |members: &str| call(era, &format!(r#""name":"{NEVER}",{members}"#));
    push("a name twice", &named(r#""name":"up__echo""#), "/params/name");
    push("a name twice, once escaped", &named(r#""\u006eame":"up__echo""#), "/params/name");
    push("arguments twice", &named(r#""arguments":{},"arguments":{}"#), "/params/arguments");
    push("an argument twice", &echo(era, r#"{"a":1,"a":1}"#), "/params/arguments/a");
    push("an argument twice, once escaped", &echo(era, r#"{"a":1,"\u0061":2}"#), "/params/arguments/a");
    push(
        "a key twice in the depth",
        &echo(era, r#"{"x":[0,{"y":{"k":1,"l":2,"k":3}}]}"#),
        "/params/arguments/x/1/y/k",
    );
    push("an empty key twice", &echo(era, r#"{"":1,"":2}"#), "/params/arguments/");
    push("a key with a slash twice", &echo(era, r#"{"a/b~":1,"a\/b~":2}"#), "/params/arguments/a~1b~0");
    let many: String = (0..200).map(|number| format!(r#""k{number}":0,"#)).collect();
    push("a key twice among many", &echo(era, &format!(r#"{{{many}"k3":1}}"#)), "/params/arguments/k3");
    push(
        "a metadata key twice",
        &format!(
            r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{"name":"{NEVER}","_meta":{{"progressToken":1,"progressToken":2}}}}}}"#
        ),
        "/params/_meta/progressToken",
    );
    push(
        "a key that readers of ours keep for themselves",
        &echo(era, r#"{"$serde_json::private::RawValue":"{}"}"#),
        "/params/arguments/$serde_json::private::RawValue",
    );
    cases.push(case("an id twice", &top(r#""id":8"#), INVALID_REQUEST, "/id").nameless());
}

/// Row 4: half a character.
fn surrogates(era: Era, cases: &mut Vec<Case>) {
    for (name, value) in [
        ("the first half of a pair", r"\ud83d"),
        ("the second half of a pair", r"\ude00"),
        ("a pair the wrong way round", r"\ude00\ud83d"),
        ("a half before a whole character", r"\uD83Dx"),
    ] {
        let place = "/params/arguments/a";
        cases.push(case(name, &echo(era, &format!(r#"{{"a":"{value}"}}"#)), INVALID_REQUEST, place));
    }
    let key = echo(era, r#"{"\ud83d":1}"#);
    cases.push(case("half a pair in a key", &key, INVALID_REQUEST, "/params/arguments"));
    let name = call(era, &format!(r#""name":"{NEVER}\udfff""#));
    cases.push(case("half a pair in a name", &name, INVALID_REQUEST, "/params/name"));
}

/// Row 5: keys that a lenient reader would take for others.
fn spelling(era: Era, cases: &mut Vec<Case>) {
    let name = |key: &str| format!("the key `{key}`");
    for key in ["ID", "Id", "iD", "Method", "PARAMS", "Params", "jsonRPC", "Result", "ERROR"] {
        let text = format!(r#"{{"jsonrpc":"2.0","id":7,"{key}":"{NEVER}","method":"tools/call"}}"#);
        cases.push(case(&name(key), &text, INVALID_REQUEST, &format!("/{key}")));
    }
    // U+017F folds to `s`, U+212A to `k`; escapes do not hide them.
    for (spelled, key) in [
        ("param\u{17F}", "param\u{17F}"),
        (r"param\u017f", "param\u{17F}"),
        ("j\u{17F}onrpc", "j\u{17F}onrpc"),
        (r"Re\u017fult", "Re\u{17F}ult"),
        (r"\u004dethod", "Method"),
    ] {
        let text = format!(r#"{{"jsonrpc":"2.0","id":7,"{spelled}":"{NEVER}","method":"tools/call"}}"#);
        cases.push(case(&name(spelled), &text, INVALID_REQUEST, &format!("/{key}")));
    }
    for (spelled, key) in [
        ("Name", "Name"),
        ("NAME", "NAME"),
        ("_META", "_META"),
        ("_Meta", "_Meta"),
        ("Arguments", "Arguments"),
        ("argument\u{17F}", "argument\u{17F}"),
        (r"argument\u017f", "argument\u{17F}"),
        ("URI", "URI"),
        ("Cursor", "Cursor"),
        ("tas\u{212A}", "tas\u{212A}"),
        (r"ta\u017fkId", "ta\u{17F}kId"),
        (r"tas\u212aId", "tas\u{212A}Id"),
        ("taskid", "taskid"),
        ("requeststate", "requeststate"),
        ("InputResponses", "InputResponses"),
        ("progre\u{17F}sToken", "progre\u{17F}sToken"),
        ("Level", "Level"),
        ("ProtocolVersion", "ProtocolVersion"),
    ] {
        let text = call(era, &format!(r#""name":"{NEVER}","{spelled}":"x","arguments":{{}}"#));
        cases.push(case(&name(spelled), &text, INVALID_REQUEST, &format!("/params/{key}")));
    }
}

/// Rows 6 and 7: one message at a time, and one that is one.
fn envelope(era: Era, cases: &mut Vec<Case>) {
    let mut push = |name: &str, text: &str, path: &str| {
        cases.push(case(name, text, INVALID_REQUEST, path));
    };
    let params = format!(r#"{{{}"name":"{NEVER}"}}"#, meta(era));
    let with = |head: &str| format!(r#"{{{head}"method":"tools/call","params":{params}}}"#);
    push("another JSON-RPC", &with(r#""jsonrpc":"1.0","id":7,"#), "/jsonrpc");
    push("a JSON-RPC that is a number", &with(r#""jsonrpc":2.0,"id":7,"#), "/jsonrpc");
    push("no JSON-RPC", &with(r#""id":7,"#), "");
    push(
        "a method that is no text",
        &format!(r#"{{"jsonrpc":"2.0","id":7,"method":1,"params":{params}}}"#),
        "/method",
    );
    push("no method", &format!(r#"{{"jsonrpc":"2.0","id":7,"params":{params}}}"#), "");
    for (name, id) in [
        ("an id of null", "null"),
        ("a fractional id", "7.5"),
        ("an id with an exponent", "7e0"),
        ("an id that is true", "true"),
        ("an id that is an object", "{}"),
        ("an id that is a list", "[7]"),
    ] {
        let text = with(&format!(r#""jsonrpc":"2.0","id":{id},"#));
        cases.push(case(name, &text, INVALID_REQUEST, "/id").nameless());
    }
    let good = echo(era, "{}");
    for (name, text) in [
        ("a batch", format!("[{good}]")),
        ("a batch of two", format!("[{good},{good}]")),
        ("a batch of nothing", format!(r#"["{NEVER}"]"#)),
        ("a text", format!(r#""{NEVER}""#)),
        (
            "result and error",
            format!(r#"{{"jsonrpc":"2.0","id":7,"result":{{}},"error":{{"code":1,"message":"{NEVER}"}}}}"#),
        ),
        ("method and result", format!(r#"{{"jsonrpc":"2.0","id":7,"method":"{NEVER}","result":{{}}}}"#)),
        (
            "method and error",
            format!(r#"{{"jsonrpc":"2.0","id":7,"method":"{NEVER}","error":{{"code":1,"message":""}}}}"#),
        ),
        ("a result for nobody", format!(r#"{{"jsonrpc":"2.0","result":"{NEVER}"}}"#)),
        ("an error for nobody", format!(r#"{{"jsonrpc":"2.0","error":{{"code":1,"message":"{NEVER}"}}}}"#)),
    ] {
        cases.push(case(name, &text, INVALID_REQUEST, "").nameless());
    }
}

/// Row 7, last part: what must be an object is one.
fn parameters(era: Era, cases: &mut Vec<Case>) {
    for value in [format!(r#"["{NEVER}"]"#), format!(r#""{NEVER}""#)] {
        let text = format!(r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{value}}}"#);
        cases.push(case("parameters that are no object", &text, INVALID_PARAMS, "/params"));
        let text = call(era, &format!(r#""name":"up__echo","arguments":{value}"#));
        cases.push(case("arguments that are no object", &text, INVALID_PARAMS, "/params/arguments"));
        let text = format!(
            r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{"name":"up__echo","_meta":{value}}}}}"#
        );
        cases.push(case("metadata that is no object", &text, INVALID_PARAMS, "/params/_meta"));
    }
    let text = format!(r#"{{"jsonrpc":"2.0","id":7,"method":"{NEVER}","params":null}}"#);
    cases.push(case("parameters of null", &text, INVALID_PARAMS, "/params"));
    for value in ["null", "0", "true"] {
        let text = call(era, &format!(r#""name":"{NEVER}","arguments":{value}"#));
        cases.push(case("arguments that are no object", &text, INVALID_PARAMS, "/params/arguments"));
    }
    let text = format!(r#"{{"jsonrpc":"2.0","method":"notifications/{NEVER}","params":[]}}"#);
    cases.push(case("a notification with a list", &text, INVALID_PARAMS, "/params").nameless());
}

/// Row 10: names hold no control characters.
fn names(era: Era, cases: &mut Vec<Case>) {
    for control in [r"\u0000", r"\n", r"\u001b[2J", r"\u007f", r"\u0085", "\u{7F}", "\u{9B}"] {
        let shown = control.escape_default();
        let text = call(era, &format!(r#""name":"{NEVER}{control}","arguments":{{}}"#));
        cases.push(case(&format!("`{shown}` in a name"), &text, INVALID_PARAMS, "/params/name"));
        let text =
            call(era, &format!(r#""uri":"test://{NEVER}{control}""#)).replace("tools/call", "resources/read");
        cases.push(case(&format!("`{shown}` in a URI"), &text, INVALID_PARAMS, "/params/uri"));
        let text = format!(r#"{{"jsonrpc":"2.0","id":7,"method":"{NEVER}{control}"}}"#);
        cases.push(case(&format!("`{shown}` in a method"), &text, INVALID_PARAMS, "/method"));
    }
}

/// A call of `echo` with these arguments, marked as one that never arrives.
fn echo(era: Era, arguments: &str) -> String {
    call(era, &format!(r#""name":"up__echo","x":"{NEVER}","arguments":{arguments}"#))
}

fn case(name: &str, text: &str, code: i64, path: &str) -> Case {
    Case { name: name.to_owned(), bytes: text.into(), code, path: path.to_owned(), answers_its_id: true }
}

impl Case {
    /// The refusal cannot say whom it answers.
    fn nameless(self) -> Self {
        Self { answers_its_id: false, ..self }
    }
}
