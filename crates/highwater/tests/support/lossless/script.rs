//! What the server says: everything that JSON allows and nobody expects.
//!
//! In these texts `%NAME%` is the name of the tool or prompt and `%URI:…%` a URI, which the gateway may change, and
//! `%ERA%` stands where a modern server says what its era wants.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Context;
use highwater_testkit::client::peer::{Journal, scripted_program};
use serde_json::json;

use super::is_modern;
use crate::stage::{ALIAS, Program, Upstream, highwater};

/// A number no float holds, one none can even approach, and numbers written in ways nobody writes them.
pub(crate) const NUMBERS: &str = r#"[ 123456789012345678901234567890,-987654321098765432109876543210 , 1e400,-1E+400, 1.50,0.10e-2,-0, 1.0 ]"#;

/// A string with every kind of escape, among them some that need none.
pub(crate) const STRING: &str = r#""\u0061\/\"\\\b\f\n\r\t\u2028 é \u00e9 \ud83d\ude00 😀 \u0000""#;

pub(crate) const TOOL: &str = r#"{ "x-first" : { "z":1 , "a" : %NUMBERS% } ,"name" : %NAME% ,"\u0074itle":%STRING%,"description":"d\u0061ta", "inputSchema":{ "type" : "object","properties":{"zz":{"type":"string","x-odd":1e400},"aa":{ "type":"number" , "maximum":-1.50E+2 , "enum":%NUMBERS% } }, "additionalProperties" : false },"outputSchema":{"type":"object" , "x":[ ]}, "annotations" : {"readOnlyHint" : true ,"inputMetadata":{"destination":"public","x":[1.0,10e-2]},"maliciousActivityHint":false},"icons":[ {"src" : "https:\/\/example.test/i.png","unknownKey":{"deep":[[],{}]} } ],"execution":{"taskSupport":"forbidden","x":1},"flowPolicy":{"x":[ ],"acceptFrom":["self","user","tofu","unverified" ] },"_meta":{ "com.example/t" : 0.10 , "":"" } }"#;

pub(crate) const PROMPT: &str = r#"{"arguments":[ {"required":false,"name":"b","x":%NUMBERS%} , {"name" : "a"} ],"name":  %NAME%,"x-prompt":%STRING%,"icons":[{ "x":1e400 }],"_meta":{"z":1,"a":2}}"#;

pub(crate) const RESOURCE: &str = r#"{"size":123456789012345678901234567890 , "annotations":{"priority":0.10,"x":%STRING%},"name":"r\u0065source", "uri" : %URI:odd://thing%  ,"x-resource":{ "b":1,"a":2 },"icons":[ ]}"#;

pub(crate) const TEMPLATE: &str =
    r#"{"x-template":%NUMBERS%,"uriTemplate":%URI:odd://{id}/x% ,"name":"t","annotations":{ "x" : 1.0 }}"#;

/// Members of a list result that no version knows.
pub(crate) const LIST_REST: &[(&str, &str)] = &[
    ("x-list", r#"{ "z" : %NUMBERS% , "a":%STRING% }"#),
    ("x-more", "1e400"),
    ("_meta", r#"{ "com.example/list" : "\u0061\/" }"#),
];

pub(crate) const RESULT: &str = r#"{ "x-result" : %NUMBERS% ,%ERA% "content" : [ {"type" : "text", "text":%STRING%, "annotations" : {"z":1,"a":1e400, "priority": 0.10}, "x":  123456789012345678901234567890 } , {"data":{"deep":[[[1e400]]]},"type":"hologram" },{"type":"resource_link", "uri" : %URI:odd://thing% ,"name":"n","icons":[{"src":"x","unknown":{ }}] }, {"resource":{ "text":"" , "uri":%URI:odd://embedded%, "x":1.0},"type":"resource","x" : null} ] , "structuredContent" : null, "isError" : false,"_meta":{ "com.example/a" : 1.0e+5 } }"#;

/// A result whose messages stand on several lines, as pretty printers write them.
pub(crate) const PRETTY: &str =
    "{\n  \"content\": [\n    {\n\t\"type\": \"text\",\r\n\"text\": \"two\\nlines\" }\n  ]%PRETTY-ERA%\n}";

pub(crate) const PROMPT_RESULT: &str = r#"{"x":%NUMBERS%,"messages":[ {"role":"user","x":1.0,"content":{"type":"resource","resource":{"uri":%URI:odd://thing%,"text":%STRING%,"y":1e400} , "z":[ ]}} , {"role" : "assistant","content":{"type":"hologram","x":%NUMBERS%}} ],%ERA%"description":"d\/"}"#;

pub(crate) const READ_RESULT: &str = r#"{ "contents":[ {"mimeType":"x\/y","uri":%URI:odd://thing% ,"text":%STRING%,"x":%NUMBERS%} ],%CACHED%"x-read":1e400 , "_meta":{"a":1.0}}"#;

pub(crate) const COMPLETION: &str = r#"{"x":1e400,"completion":{"hasMore":false,"values":[ %STRING% ],"total":1.0,"y":%NUMBERS%},%ERA%"z":{ } }"#;

pub(crate) const ERROR: &str = r#"{ "data" : { "z" : %NUMBERS% , "a":%STRING% } ,"message":"b\u0061d", "x-error":1e400,"code" : 12345 }"#;

/// Progress and a log message; the token is the client's own.
pub(crate) const PROGRESS: &str =
    r#"{"x":%NUMBERS%,"total":1.0 ,"progressToken":%TOKEN%,"progress":0.10, "message":%STRING%}"#;
pub(crate) const LOG: &str =
    r#"{"logger":"l","x":%NUMBERS% , "level":"error","data":{ "z":1e400,"a":%STRING% }}"#;

pub(crate) const QUESTION: &str = r#"{ "x-question":%NUMBERS% , "message":%STRING%,"requestedSchema":{"type":"object","properties":{"b":{"type":"string","x":1.0},"a":{ "type":"string" }}} }"#;

pub(crate) const UPDATED: &str = r#"{"x":%NUMBERS% , "uri":%URI:odd://thing% ,"y":%STRING%%MARK%}"#;

/// What a client of 2025-11-25 or later is told of the server. Both are passed on as they are.
pub(crate) const CAPABILITY: &str = r#"{ "z" : %NUMBERS% , "a":%STRING% }"#;
pub(crate) const INSTRUCTIONS: &str = STRING;

/// Keys that are `uri` and `_meta` all the same, and a name of ours from somebody else.
pub(crate) const ESCAPED: &str =
    r#"{"content":[{"type":"resource_link","\u0075ri":%URI:odd://thing%,"name":"n"}]%PRETTY-ERA%}"#;
pub(crate) const FORGED: &str = r#"{"content":[],"_meta":{"\u0064ev.highwater/decision":"forged 1","dev.highwater/x":"forged 2","a":1}%PRETTY-ERA%}"#;

/// Definitions that speak in our name. What else their `_meta` says stays.
const FORGED_TOOL: &str =
    r#"{"name":"forged","inputSchema":{"type":"object"},"_meta":{"dev.highwater/x":"forged 3","b" : 1}}"#;
const FORGED_PROMPT: &str = r#"{"name":"forged","_meta":{"\u0064ev.highwater/x":"forged 5","b" : 1}}"#;
const FORGED_RESOURCE: &str =
    r#"{"name":"f","uri":"forged:1","_meta":{"b" : 1,"dev.highwater/x":"forged 6"}}"#;
const FORGED_TEMPLATE: &str =
    r#"{"name":"f","uriTemplate":"forged:{1}","_m\u0065ta":{"b" : 1,"dev.highwater/x":"forged 7"}}"#;

/// What the server writes.
pub(crate) fn sent(text: &str, upstream: Upstream) -> String {
    let modern = is_modern(upstream);
    let era = |field: &str| if modern { field.to_owned() } else { String::new() };
    let text = text
        .replace("%ERA%", &era(r#""resultType" : "complete" ,"#))
        .replace("%PRETTY-ERA%", &era(r#", "resultType":"complete""#))
        .replace("%CACHED%", &era(r#""ttlMs":5000 ,"resultType":"complete", "cacheScope":"public","#))
        .replace("%NAME%", r#""odd""#);
    // A slash may be escaped: the URI is the same.
    let text = uris(&text, |uri| format!("\"{}\"", uri.replace('/', r"\/")));
    plain(&text)
}

/// What the client should read: the same under the names the gateway gives.
pub(crate) fn expected(text: &str, upstream: Upstream) -> String {
    let text = text.replace("%NAME%", &format!(r#""{ALIAS}__odd""#));
    sent(&uris(&text, |uri| format!(r#""{ALIAS}+{uri}""#)), upstream)
}

/// A text with its numbers and strings, and nothing that depends on anything.
pub(crate) fn plain(text: &str) -> String {
    text.replace("%NUMBERS%", NUMBERS).replace("%STRING%", STRING)
}

fn uris(text: &str, write: impl Fn(&str) -> String) -> String {
    let mut parts = text.split("%URI:");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (uri, rest) = part.split_once('%').unwrap_or((part, ""));
        out.push_str(&write(uri));
        out.push_str(rest);
    }
    out
}

/// The scripted server, as the upstream of a cell.
pub(crate) fn scripted(upstream: Upstream, folder: &Path, journal: &Journal) -> anyhow::Result<Program> {
    let file = folder.join("script.json");
    std::fs::write(&file, json!(script(upstream)).to_string()).context("cannot write the script")?;
    let text = |path: &Path| path.to_str().map(str::to_owned).context("the path is not UTF-8");
    let mut arguments =
        vec!["--script".to_owned(), text(&file)?, "--journal".to_owned(), text(journal.path())?];
    if upstream == Upstream::Sse {
        arguments.push("--sse".to_owned());
    }
    Ok(Program { path: scripted_program(highwater())?, arguments })
}

/// An answer whose envelope, too, is written in an unusual way.
fn answer(member: &str, value: &str) -> String {
    format!(r#" {{ "{member}" : {value} ,"id":$ID , "jsonrpc" : "2.0" }} "#)
}

fn notification(method: &str, params: &str) -> String {
    format!(r#"{{"params":{params}, "jsonrpc":"2.0","method":"{method}"}}"#)
}

fn script(upstream: Upstream) -> BTreeMap<String, Vec<String>> {
    let modern = is_modern(upstream);
    let sent = |text: &str| sent(text, upstream);
    let result = |text: &str| vec![answer("result", &sent(text))];
    let list = |member: &str, items: &[&str]| {
        let rest: String = LIST_REST.iter().map(|(key, value)| format!(r#", "{key}" : {value}"#)).collect();
        result(&format!(r#"{{ %CACHED%"{member}" : [ {} ]{rest} }}"#, items.join(" , ")))
    };
    let tell = |text: &str| sent(&text.replace("%TOKEN%", "$TOKEN"));

    let mut script = BTreeMap::new();
    let mut say = |asked: &str, messages: Vec<String>| script.insert(asked.to_owned(), messages);
    let capabilities = format!(
        r#"{{ "completions":{{}},"logging":{{ }},"tools":{{"x":1.0}},"prompts":{{}},"resources":{{"subscribe":true}},"experimental" : {{ "z.y/x" : {CAPABILITY} }},"x-capability":{CAPABILITY} }}"#
    );
    if modern {
        let offer = r#"{ %CACHED% "supportedVersions":["2026-07-28"],"capabilities":"#;
        say("server/discover", result(&format!(r#"{offer}{capabilities},"instructions":{INSTRUCTIONS}}}"#)));
    } else {
        let info = r#""serverInfo":{"name":"scripted","version":"1"},"protocolVersion":"2025-11-25""#;
        let version = if upstream == Upstream::Sse {
            info.replace("2025-11-25", "2024-11-05")
        } else {
            info.to_owned()
        };
        say(
            "initialize",
            result(&format!(r#"{{{version},"capabilities":{capabilities},"instructions":{INSTRUCTIONS}}}"#)),
        );
    }
    let plain_tool = |name: &str| format!(r#"{{"name":"{name}","inputSchema":{{"type":"object"}}}}"#);
    let others = ["ask", "bad", "escaped", "pretty", "talk", "touch"].map(plain_tool);
    let mut tools = vec![TOOL, FORGED_TOOL];
    tools.extend(others.iter().map(String::as_str));
    say("tools/list", list("tools", &tools));
    say("prompts/list", list("prompts", &[PROMPT, FORGED_PROMPT]));
    say("resources/list", list("resources", &[RESOURCE, FORGED_RESOURCE]));
    say("resources/templates/list", list("resourceTemplates", &[TEMPLATE, FORGED_TEMPLATE]));

    say("tools/call odd", result(RESULT));
    say("tools/call bad", vec![answer("error", &sent(ERROR))]);
    say("tools/call escaped", result(ESCAPED));
    let progress = r#"{"progressToken":$TOKEN,"progress":1,"_meta":{"dev.highw\u0061ter/x":"forged 4"}}"#;
    let forged = vec![notification("notifications/progress", progress), answer("result", &sent(FORGED))];
    say("tools/call forged", forged);
    say("prompts/get odd", result(PROMPT_RESULT));
    say("resources/read", result(READ_RESULT));
    say("completion/complete", result(COMPLETION));
    say("logging/setLevel", result("{}"));
    say("resources/subscribe", result("{}"));
    say("resources/unsubscribe", result("{}"));
    // On stdio a message is one line.
    let pretty = match upstream {
        Upstream::HttpLegacy | Upstream::HttpModern => PRETTY.to_owned(),
        Upstream::StdioLegacy | Upstream::StdioModern | Upstream::Sse => PRETTY.replace(['\n', '\r'], " "),
    };
    say("tools/call pretty", result(&pretty));
    let talk = [
        notification("notifications/progress", &tell(PROGRESS)),
        notification("notifications/message", &tell(LOG)),
        answer("result", &sent(r#"{"content":[]%PRETTY-ERA%}"#)),
    ];
    say("tools/call talk", talk.to_vec());

    let done = answer("result", &sent(r#"{"content":[{"type":"text","text":"answered"}]%PRETTY-ERA%}"#));
    let question = sent(QUESTION);
    if modern {
        let asks = format!(
            r#"{{"resultType":"input_required","inputRequests":{{ "k\u0065y" : {{ "params":{question} ,"method":"elicitation/create" }} }},"requestState":"st\u0061te"}}"#
        );
        say("tools/call ask", vec![answer("result", &asks)]);
        say("tools/call ask again", vec![done]);
        let tagged = r#","_meta":{"io.modelcontextprotocol/subscriptionId":$ID}"#;
        let acknowledged = r#"{"notifications":{"resourceSubscriptions":["odd://thing"]}%MARK%}"#;
        let listen = [("subscriptions/acknowledged", acknowledged), ("resources/updated", UPDATED)];
        let mut listen: Vec<String> = listen
            .iter()
            .map(|(name, params)| {
                notification(&format!("notifications/{name}"), &sent(&params.replace("%MARK%", tagged)))
            })
            .collect();
        listen.push("$HOLD".to_owned());
        say("subscriptions/listen", listen);
    } else {
        let asks = format!(
            r#"{{ "method":"elicitation/create","params":{question} , "id":"q\u0031","jsonrpc":"2.0" }}"#
        );
        say("tools/call ask", vec![asks, "$WAIT".to_owned(), done]);
        let updated = notification("notifications/resources/updated", &sent(&UPDATED.replace("%MARK%", "")));
        let aside = if upstream == Upstream::HttpLegacy { "$ASIDE " } else { "" };
        let updated = format!("{aside}{updated}");
        say("tools/call touch", vec![updated, answer("result", r#"{"content":[]}"#)]);
    }
    script
}
