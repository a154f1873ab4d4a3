//! One thing under many spellings: what a rule, a case, a waiver and a label make of each.

use highwater_core::action::{Action, ActionKind};
use highwater_core::id::UpstreamId;
use highwater_core::policy::*;
use highwater_notation::spelling::canonical;
use highwater_notation::{Arguments, Glob};
use proptest::prelude::*;

use super::support::{Call, blocking, condition, rules};
use crate::compile_case;

const FALSE: Truth = Truth::False;
const TRUE: Truth = Truth::True;
const UNKNOWN: Truth = Truth::Unknown;

fn test(operator: &str, value: &str) -> String {
    format!(r#"{{"fact":"arguments.path","{operator}":{value}}}"#)
}

fn argument(path: &str) -> String {
    serde_json::json!({ "path": path }).to_string()
}

/// What a case, whose word may loosen, is worth for this path.
fn case(pattern: &str, path: &str) -> Truth {
    let pattern = serde_json::Value::from(pattern).to_string();
    let case = compile_case(&condition(&test("matches", &pattern))).unwrap();
    case.truth(Arguments::Known(&argument(path)))
}

/// What a rule is worth, and the same rule turned round.
fn rule(test: &str, path: &str) -> (Truth, Truth) {
    let call = Call::of("read").arguing(&argument(path));
    let plain = call.truth(&blocking(test), Phase::Call);
    (plain, call.truth(&blocking(&format!(r#"{{"not":{test}}}"#)), Phase::Call))
}

/// Spellings of `private/a` that look like something in `public`, and others that look like nothing known.
const MEANS_PRIVATE: [(&str, &str); 7] = [
    ("..", "public/../private/a"),
    ("./", "public/./../private/a"),
    ("//", "public//..//private/a"),
    ("an escape", "public/%2e%2e/private/a"),
    ("an escaped escape", "public/%252E%252e/private/a"),
    ("backslashes", r"public\..\private\a"),
    ("an escaped slash", "public%2F..%2Fprivate/a"),
];

const ALSO_PRIVATE: [(&str, &str); 13] = [
    ("..", "other/../private/a"),
    ("above the root", "../../private/a"),
    ("./", "./private/a"),
    ("//", "other//..//private/a"),
    ("an escape", "%70rivate/a"),
    ("an escaped escape", "%2570rivate/a"),
    ("backslashes", r"private\a"),
    ("letter case", "PRIVATE/a"),
    ("blanks", " private/a"),
    ("absolute", "/srv/files/private/a"),
    ("at home", "~/private/a"),
    ("a drive", r"C:\files\private\a"),
    ("a URI", "file:///srv/private/a"),
];

#[test]
fn what_loosens_does_not_hold_for_a_spelling_that_may_mean_something_else() {
    for (what, path) in MEANS_PRIVATE {
        if path.starts_with("public/") {
            assert_eq!(case("public/*", path), UNKNOWN, "{what}: {path}");
        }
        // Nor does what says that it is not private.
        let not_private = format!(r#"{{"not":{}}}"#, test("matches", r#""private/*""#));
        let case = compile_case(&condition(&not_private)).unwrap();
        assert_eq!(case.truth(Arguments::Known(&argument(path))), UNKNOWN, "{what}: {path}");
    }
    for (what, path) in ALSO_PRIVATE {
        // The other way: an odd spelling of what is meant is not certain either.
        assert_eq!(case("private/*", path), UNKNOWN, "{what}: {path}");
    }
    assert_eq!(case("public/*", "public/a"), TRUE);
    assert_eq!(case("public/*", "private/a"), FALSE);
}

#[test]
fn what_tightens_fires_for_every_spelling() {
    for (what, path) in MEANS_PRIVATE.into_iter().chain(ALSO_PRIVATE) {
        for (operator, value) in [("matches", r#""private/*""#), ("equals", r#""private/a""#)] {
            let (plain, turned) = rule(&test(operator, value), path);
            assert!(plain.restricts(), "{what}: {path} {operator}");
            assert!(turned.restricts(), "{what}: not {path} {operator}");
        }
        // A rule that lets only `public` through does not let it through.
        let (_, turned) = rule(&test("matches", r#""public/*""#), path);
        assert!(turned.restricts(), "{what}: {path}");
    }
    // What is spelled plainly is what it is.
    let private = test("matches", r#""private/*""#);
    assert_eq!(rule(&private, "private/a"), (TRUE, FALSE));
    assert_eq!(rule(&private, "public/a"), (FALSE, TRUE));
    assert_eq!(rule(&private, "public/private/a"), (FALSE, TRUE));
    assert_eq!(rule(&private, "privat/a"), (FALSE, TRUE));
}

#[test]
fn a_relative_path_may_be_what_an_absolute_pattern_names() {
    let under = |pattern: &str, path: &str| case(pattern, path);
    for path in
        ["private/a", "files/private/a", "srv/files/private/a", "~/private/a", "PRIVATE/a", "./private/a"]
    {
        assert_eq!(under("/srv/files/private/*", path), UNKNOWN, "{path}");
    }
    for path in ["a", "notes/private", "etc/passwd", "/private/a", "/srv/private/a", ""] {
        assert_eq!(under("/srv/files/private/*", path), FALSE, "{path}");
    }
    // What is all wildcard below its root would be every path there is.
    assert_eq!(under("/etc/*", "notes.txt"), FALSE);
    assert_eq!(under("/etc/*", "etc/passwd"), UNKNOWN);
    assert_eq!(under("/srv/keys/*.key", "server.key"), UNKNOWN);
    assert_eq!(under("/srv/keys/*.key", "/tmp/server.key"), FALSE);
    assert_eq!(under("https://host.example/*", "/etc/passwd"), FALSE);
    assert_eq!(under("https://host.example/*", "https://other.example/a"), FALSE);
    assert_eq!(under("/home/ada/.ssh/*", "~/.ssh/id"), UNKNOWN);
    assert_eq!(under("/etc/*", "file:///etc/passwd"), UNKNOWN);
    let listed = test("in", r#"["/etc/passwd","notes/plan"]"#);
    assert_eq!(rule(&listed, "passwd").0, UNKNOWN);
    assert_eq!(rule(&listed, "etc/passwd").0, UNKNOWN);
    assert_eq!(rule(&listed, "sswd").0, FALSE);
    assert_eq!(rule(&listed, "/home/ada/notes/plan").0, UNKNOWN);
    assert_eq!(rule(&listed, "my/notes/plan").0, FALSE);
}

#[test]
fn a_pattern_may_be_spelled_oddly_as_well() {
    for (pattern, path, expected) in [
        ("./private/*", "private/a", UNKNOWN),
        ("./private/*", "./private/a", TRUE),
        (r"private\*", "private/a", UNKNOWN),
        (r"private\*", r"private\a", TRUE),
        ("Reports/*", "Reports/a", TRUE),
        ("Reports/*", "reports/a", UNKNOWN),
        ("my%20files/*", "my%20files/a", TRUE),
        ("my%20files/*", "my files/a", UNKNOWN),
        ("my files/*", "my%20files/a", UNKNOWN),
        ("public/*", "public/", TRUE),
        ("public/*", "public", FALSE),
        ("../*", "../a", UNKNOWN),
        ("../*", "a", FALSE),
        ("*/../*", "x/../a", UNKNOWN),
        ("*", "x/../a", TRUE),
        ("*.txt", "a/b.txt", TRUE),
        ("*://host.example/*", "https://host.example/a", TRUE),
        ("*https://host*", "see https://host.example/a", TRUE),
        ("https://host.example/*", "https://host.example/", TRUE),
        ("https://host.example/*", "https://host.example/a?b=c%2Fd", TRUE),
        ("https://host.example/*", r"https:\\host.example\a", UNKNOWN),
        ("https://host.example/*", "HTTPS://Host.Example/a", UNKNOWN),
        ("kim@a.example", "Kim@A.example", UNKNOWN),
        ("ls /tmp*", "ls /tmp", TRUE),
        // Nobody means what is escaped four times.
        ("*", "%2525252e", UNKNOWN),
    ] {
        assert_eq!(case(pattern, path), expected, "{pattern} on {path}");
    }
}

#[test]
fn a_waiver_takes_no_odd_spelling() {
    let set = rules(
        r#"{"rules":[{"name":"no-sending","effect":"block","when":{"tool.name":"read"}}],
            "waivers":[{"waive":["rule.no-sending"],"when":{"arguments.path":{"matches":"public/*"}},
                "until":"2999-01-01","reason":"it is public"}]}"#,
    );
    let effect = |path: &str| Call::of("read").arguing(&argument(path)).hits(&set, Phase::Call)[0].1;
    assert_eq!(effect("public/a"), Effect::Confirm);
    for (what, path) in MEANS_PRIVATE {
        assert_eq!(effect(path), Effect::Block, "{what}: {path}");
    }
}

#[test]
fn a_resource_goes_by_all_spellings_of_its_uri() {
    let read = |uri: &str| {
        Call::action(Action::new(
            ActionKind::ReadResource,
            UpstreamId::new("files"),
            "resources/read",
            uri,
            "{}",
        ))
    };
    let private = blocking(r#"{"fact":"resource.uri","matches":"file:///srv/private/*"}"#);
    let only_public = blocking(r#"{"not":{"fact":"resource.uri","matches":"file:///srv/public/*"}}"#);
    for uri in [
        "file:///srv/public/../private/a",
        "file:///srv/public/./../private/a",
        "file:///srv/public/..//private/a",
        "file:///srv/public/%2e%2e/private/a",
        "file:///srv/public/%252e%252e/private/a",
        r"file:///srv/public\..\private/a",
        "FILE:///srv/Private/a",
        "private/a",
    ] {
        assert!(read(uri).truth(&private, Phase::Resource).restricts(), "{uri}");
        assert!(read(uri).truth(&only_public, Phase::Resource).restricts(), "{uri}");
    }
    assert_eq!(read("file:///srv/public/a").truth(&private, Phase::Resource), FALSE);
    assert_eq!(read("file:///srv/public/a").truth(&only_public, Phase::Resource), FALSE);
    assert_eq!(read("file:///srv/private/a").truth(&private, Phase::Resource), TRUE);
    let facts = read("file:///srv/public/../private/a");
    let facts = facts.facts();
    let mut reading = private.read(Phase::Resource, &facts, FlowViolations::EMPTY);
    let hit = reading.hits()[0];
    assert_eq!(reading.explain(&hit)[0].because, Some(Because::SpelledOtherwise));
}

#[test]
fn names_are_no_paths() {
    let named = blocking(r#"{"fact":"tool.name","equals":"send"}"#);
    assert_eq!(Call::of("Send").truth(&named, Phase::Call), FALSE);
    assert_eq!(Call::of("./send").truth(&named, Phase::Call), FALSE);
}

#[test]
fn a_long_pattern_and_a_long_text_are_judged_in_time() {
    let deep = format!("/{}*", "a/".repeat(127));
    assert_eq!(case(&deep, "b"), UNKNOWN, "it has more ends than are tried");
    let text = "a%2F../".repeat(200_000);
    assert_eq!(case("private/*", &text), FALSE);
    assert_eq!(case("*.?*.?*.?*x", &format!("/{text}")), FALSE);
}

/// Texts that have one spelling only, and patterns of them.
fn plain() -> impl Strategy<Value = String> {
    "[ab]{1,3}(/[ab]{1,3}){0,2}"
}

fn pattern() -> impl Strategy<Value = String> {
    "[ab*?]{1,3}(/[ab*?]{1,3}){0,2}"
}

proptest! {
    #[test]
    fn what_is_spelled_plainly_is_judged_as_it_stands(pattern in pattern(), text in plain(), root in 0_usize..4) {
        let root = ["", "/", "~/", "https://h/"][root];
        let (pattern, text) = (format!("{root}{pattern}"), format!("{root}{text}"));
        prop_assert_eq!(canonical(&text), text.as_str());
        let glob = Glob::new(&pattern).unwrap();
        prop_assert_eq!(PathGlob::new(&pattern).unwrap().truth(&text), glob.matches(&text).into());
        let exact = rule(&test("equals", &serde_json::Value::from(pattern.as_str()).to_string()), &text).0;
        prop_assert_eq!(exact, (pattern == text).into());
    }

    #[test]
    fn a_rule_that_fires_on_the_text_as_it_stands_still_fires(
        pattern in r"[aA./\\*%2e~ ]{0,10}",
        text in r"[aA./\\%2e~ ]{0,12}",
    ) {
        let glob = Glob::new(&pattern).unwrap();
        let truth = PathGlob::new(&pattern).unwrap().truth(&text);
        let expected = [Truth::from(glob.matches(&text)), UNKNOWN];
        prop_assert!(expected.contains(&truth), "{truth:?}");
    }

    #[test]
    fn every_odd_spelling_of_what_is_meant_fires(
        steps in proptest::collection::vec("[ab]{1,3}", 1..4),
        odd in 0_usize..9,
        shape in 0_usize..4,
    ) {
        let text = steps.join("/");
        let pattern = match shape {
            0 => text.clone(),
            1 => format!("{}*", steps[0]),
            2 => format!("*{}", steps[steps.len() - 1]),
            _ => text.chars().enumerate().map(|(at, c)| if at == 0 { '?' } else { c }).collect(),
        };
        let spelled = match odd {
            0 => format!("x/../{text}"),
            1 => format!("./{text}"),
            2 => text.replace('/', "//"),
            3 => text.replace('/', "\\"),
            4 => text.to_uppercase(),
            5 => text.replace('a', "%61"),
            6 => text.replace('/', "%252F"),
            7 => format!("/srv/{text}"),
            _ => format!("../{text} "),
        };
        // What is all wildcard names nothing that could be met below a root.
        let names_nothing = odd == 7 && !pattern.contains(['a', 'b']);
        let truth = PathGlob::new(&pattern).unwrap().truth(&spelled);
        prop_assert!(truth.restricts() || names_nothing, "{spelled} {pattern}");
    }

    #[test]
    fn a_test_may_hold_for_a_canonical_text_where_it_is_alike(
        // Without `?`: behind `file://` it could also be the slash.
        pattern in "(/|~/|c:/|https://h/|file:///|)[aAb*.]{1,3}(/[aAb*.]{1,3}){0,2}",
        text in "(/|~/|c:/|https://h/|file:///|)[aAb.]{1,3}(/[aAb.]{1,3}){0,2}",
        literal: bool,
    ) {
        let text = canonical(&text);
        let quoted = serde_json::Value::from(pattern.as_str()).to_string();
        let set = blocking(&test(if literal { "equals" } else { "matches" }, &quoted));
        let tests = set.rules()[0].condition().tests();
        let spellings = tests[0].spellings().unwrap();
        let glob = |pattern: &str, text: &str| Glob::new(pattern).unwrap().matches(text);
        let folded = text.to_lowercase();
        let rooted = Likeness::ROOTED.iter().any(|root| glob(root, &folded));
        let alike = spellings.likenesses().into_iter().flatten().filter(|like| !(like.relative && rooted)).any(|like| {
            let Likeness { before, pattern, literal, .. } = like;
            if literal {
                folded.strip_suffix(&*pattern).is_some_and(|start| glob(before, start))
            } else {
                glob(&format!("{before}{pattern}"), &folded)
            }
        });
        let truth = Call::of("read").arguing(&argument(&text)).truth(&set, Phase::Call);
        prop_assert_eq!(truth.restricts(), alike);
    }
}
