//! What a mandate allows, and what it does not.

use highwater_notation::ArgumentType;
use serde_json::json;

use super::*;
use crate::annotation::DataClass;
use crate::trust::TrustLevel;

const BEGIN: Timestamp = Timestamp(1_794_744_000_000);

fn mandate(change: impl FnOnce(&mut Value)) -> Result<Mandate, Unmandated> {
    let mut value = json!({
        "tools": ["files__write"],
        "arguments": {
            "path": { "prefix": "build/" }, "content": { "const": "abcd" }, "mode": { "enum": ["new", "append"] },
            "owner": { "const": { "id": 1 } }, "count": { "max": 7 },
        },
        "max_calls": 20,
        "not_before": "2026-11-15T12:00:00.000Z",
        "expires": "2026-11-15T20:00:00.000Z",
        "agent": "agent",
        "max_sensitivity": ["user"],
    });
    change(&mut value);
    Mandate::read(&CanonicalArguments::read(Some(&value.to_string())).unwrap())
}

const WITHIN: &str = r#"{"path":"build/a","content":"abcd","mode":"new","owner":{"id":1.0},"count":7}"#;

/// What the tool's definition says.
fn types() -> ArgumentTypes {
    let text = ["path", "content", "mode"].map(|name| (name, ArgumentType::Text));
    let [path, content, mode] = text;
    [path, content, mode, ("owner", ArgumentType::Object), ("count", ArgumentType::Number)].into()
}

/// A call within the mandate, before it is changed.
struct Use {
    principal: &'static str,
    tool: &'static str,
    delegable: bool,
    aims: Option<&'static [&'static str]>,
    label: Label,
    now: Timestamp,
}

fn used(mandate: &Mandate, arguments: &str, change: impl FnOnce(&mut Use)) -> Result<(), Unmandated> {
    let mut call = Use {
        principal: "agent",
        tool: "files__write",
        delegable: true,
        aims: Some(&["path"]),
        label: Label::bottom(),
        now: BEGIN,
    };
    change(&mut call);
    mandate.permits(&MandateUse {
        principal: &Principal::new(call.principal),
        tool: &ToolName::exposed(call.tool).unwrap(),
        delegable: call.delegable,
        arguments: &CanonicalArguments::read(Some(arguments)).unwrap(),
        types: &types(),
        aims: call.aims,
        label: &call.label,
        now: call.now,
    })
}

#[test]
fn a_call_within_a_mandate_is_permitted_and_any_argument_beyond_it_is_not() {
    let mandate = mandate(|_| ()).unwrap();
    assert_eq!(mandate.max_calls(), 20);
    assert_eq!(used(&mandate, WITHIN, |_| ()), Ok(()));
    let with = |from: &str, to: &str| used(&mandate, &WITHIN.replace(from, to), |_| ());
    for (from, to) in [
        (r#""abcd""#, r#""abcde""#),
        (r#""abcd""#, "[]"),
        (":7", ":8"),
        (":7", ":7.5"),
        (r#""new""#, r#""delete""#),
        ("1.0", "2"),
        // Left out: what the server puts in their place nobody signed.
        (r#","mode":"new""#, ""),
        (r#""path":"build/a","#, ""),
        (r#""content":"abcd","#, ""),
        (r#","count":7"#, ""),
        // Not in the mandate.
        (r#","mode""#, r#","force":false,"mode""#),
    ] {
        assert_eq!(with(from, to), Err(Unmandated::Argument), "{to}");
    }
}

/// A server may read `"999"` as 999, so a text that is short enough would be a number that is too great.
#[test]
fn a_greatest_number_admits_numbers_alone() {
    let mandate = mandate(|_| ()).unwrap();
    let with = |count: &str| used(&mandate, &WITHIN.replace(":7", &format!(":{count}")), |_| ());
    for count in ["7", "7.0", "0.5", "0"] {
        assert_eq!(with(count), Ok(()), "{count}");
    }
    for count in [r#""999""#, r#""7""#, r#""""#, "null", "true", "[]", "[7]", "{}"] {
        assert_eq!(with(count), Err(Unmandated::Argument), "{count}");
    }
}

/// Of the value's type the definition is asked, and not the constraint alone.
#[test]
fn limits_are_of_the_type_that_the_definition_names() {
    let limited = |may: Value| mandate(|value| value["arguments"] = json!({ "x": may })).unwrap();
    let admits = |mandate: &Mandate, types: &[(&str, ArgumentType)], x: &str| {
        let types = match types {
            [(name, kind)] => ArgumentTypes::from([(*name, *kind)]),
            _ => ArgumentTypes::default(),
        };
        let arguments = CanonicalArguments::read(Some(&format!(r#"{{"x":{x}}}"#))).unwrap();
        let call = MandateUse {
            principal: &Principal::new("agent"),
            tool: &ToolName::exposed("files__write").unwrap(),
            delegable: true,
            arguments: &arguments,
            types: &types,
            aims: Some(&[]),
            label: &Label::bottom(),
            now: BEGIN,
        };
        mandate.permits(&call).is_ok()
    };
    let (number, whole) = ([("x", ArgumentType::Number)], [("x", ArgumentType::Integer)]);
    let amount = limited(json!({ "min": 0, "max": 50 }));
    for (x, as_number, as_whole) in [
        ("50", true, true),
        ("50.0", true, true),
        ("0.5", true, false),
        ("5e1", true, true),
        ("51", false, false),
        ("-1", false, false),
        ("-5000000", false, false),
        (r#""50""#, false, false),
        (r#""999""#, false, false),
    ] {
        assert_eq!(admits(&amount, &number, x), as_number, "{x}");
        assert_eq!(admits(&amount, &whole, x), as_whole, "{x}");
        assert!(!admits(&amount, &[], x), "{x}: of no type");
        assert!(!admits(&amount, &[("x", ArgumentType::Text)], x), "{x}: of another type");
    }
    let note = limited(json!({ "max_length": 3 }));
    let text = [("x", ArgumentType::Text)];
    for (x, is_within) in [
        (r#""abc""#, true),
        (r#""äöü""#, true),
        (r#""""#, true),
        (r#""abcd""#, false),
        ("123", false),
        ("[]", false),
    ] {
        assert_eq!(admits(&note, &text, x), is_within, "{x}");
        assert!(!admits(&note, &[], x), "{x}: of no type");
    }
}

#[test]
fn what_use_would_refuse_is_refused_at_signing_with_its_place() {
    let types = types();
    let usual = DelegatedTool {
        types: &types,
        is_aim: &|name| name == "path",
        delegable: true,
        quorum: false,
        verified_by_server: false,
    };
    let name = ToolName::exposed("files__write").unwrap();
    let check = |mandate: &Mandate, tool: &DelegatedTool<'_>| {
        mandate.check(&name, tool).err().map(|fault| fault.to_string())
    };
    let plain = mandate(|_| ()).unwrap();
    assert_eq!(check(&plain, &usual), None);
    for (tool, says) in [
        (DelegatedTool { delegable: false, ..usual }, "`tools`: `files__write` must not be delegated"),
        (DelegatedTool { quorum: true, ..usual }, "`tools`: several people must sign"),
        (
            DelegatedTool { verified_by_server: true, ..usual },
            "`tools`: the server of `files__write` verifies",
        ),
        (
            DelegatedTool { types: &ArgumentTypes::default(), ..usual },
            "`arguments.count`: the tool's definition",
        ),
    ] {
        let said = check(&plain, &tool).unwrap();
        assert!(said.starts_with(says), "{said}");
    }
    let text = ArgumentTypes::from([("count", ArgumentType::Text), ("path", ArgumentType::Text)]);
    let said = check(&plain, &DelegatedTool { types: &text, ..usual }).unwrap();
    assert!(said.starts_with("`arguments.count`: it is of type `string`, and `min` and `max`"), "{said}");
    let bold = mandate(|value| value["while_tainted"] = json!(true)).unwrap();
    let said = check(&bold, &usual).unwrap();
    assert!(said.starts_with("`arguments.path`: it says what is acted on or where"), "{said}");
    let listed = mandate(|value| value["arguments"]["mode"] = json!({ "enum": ["new", 1] })).unwrap();
    let said = check(&listed, &usual).unwrap();
    assert!(said.starts_with("`arguments.mode`: it is of type `string`"), "{said}");
}

#[test]
fn a_prefix_is_where_it_seems_to_be() {
    let mandate = mandate(|_| ()).unwrap();
    let with = |path: &str| used(&mandate, &WITHIN.replace("build/a", path), |_| ());
    for path in ["build/x/y.txt", "build/x/", "build/.hidden", "build/a..b"] {
        assert_eq!(with(path), Ok(()), "{path}");
    }
    for path in [
        "build",
        "Build/a",
        "/build/a",
        "build/../etc",
        "build/./a",
        "build//a",
        "build/%2e%2e/a",
        "build/..",
        r"build/..\\a",
        "build/a\\u0000",
    ] {
        assert_eq!(with(path), Err(Unmandated::Argument), "{path}");
    }
}

#[test]
fn a_prefix_of_an_address_reaches_its_path() {
    let prefix = |prefix: &str| mandate(|value| value["arguments"]["path"]["prefix"] = json!(prefix));
    for loose in ["https://example.com", "https://", "https://a@b/", "https://a/../", "a/../b"] {
        assert_eq!(prefix(loose).err(), Some(Unmandated::LoosePrefix), "{loose}");
    }
    let mandate = prefix("https://example.com/x").unwrap();
    let with = |path: &str| used(&mandate, &WITHIN.replace("build/a", path), |_| ());
    assert_eq!(with("https://example.com/x/y"), Ok(()));
    for path in ["https://example.com.evil/x", "http://example.com/x", "https://example.com/x/../y"] {
        assert_eq!(with(path), Err(Unmandated::Argument), "{path}");
    }
}

#[test]
fn a_mandate_is_for_one_agent_some_tools_and_a_while() {
    let mandate = mandate(|_| ()).unwrap();
    assert_eq!(used(&mandate, WITHIN, |call| call.principal = "other"), Err(Unmandated::Agent));
    assert_eq!(used(&mandate, WITHIN, |call| call.tool = "files__delete"), Err(Unmandated::Tool));
    assert_eq!(used(&mandate, WITHIN, |call| call.delegable = false), Err(Unmandated::Tool));
    for (now, within) in [(0, true), (MAX_MANDATE_MS - 1, true), (MAX_MANDATE_MS, false)] {
        let permitted = used(&mandate, WITHIN, |call| call.now = Timestamp(BEGIN.0 + now));
        assert_eq!(permitted.is_ok(), within);
    }
    assert_eq!(used(&mandate, WITHIN, |call| call.now = Timestamp(BEGIN.0 - 1)), Err(Unmandated::Time));
}

#[test]
fn a_mandate_holds_for_the_data_it_names_in_a_session_it_trusts() {
    let plain = mandate(|_| ()).unwrap();
    let user = Label::bottom().with_class(DataClass::User);
    assert_eq!(used(&plain, WITHIN, |call| call.label = user.clone()), Ok(()));
    let more = user.clone().with_class(DataClass::Financial);
    assert_eq!(used(&plain, WITHIN, |call| call.label = more.clone()), Err(Unmandated::Sensitivity));
    let tainted = Label::bottom().with_integrity(TrustLevel::None);
    assert_eq!(used(&plain, WITHIN, |call| call.label = tainted.clone()), Err(Unmandated::Tainted));
    // Even one that allows it leaves nothing for the session's text to choose.
    let bold = mandate(|value| value["while_tainted"] = json!(true)).unwrap();
    assert_eq!(used(&bold, WITHIN, |call| call.label = tainted.clone()), Err(Unmandated::Tainted));
    let fixed = mandate(|value| {
        value["while_tainted"] = json!(true);
        value["arguments"]["path"] = json!({ "const": "build/a" });
    })
    .unwrap();
    assert_eq!(used(&fixed, WITHIN, |call| call.label = tainted.clone()), Ok(()));
    // Where nobody knows which arguments aim, all do.
    let unknown = used(&fixed, WITHIN, |call| {
        call.label = tainted.clone();
        call.aims = None;
    });
    assert_eq!(unknown, Err(Unmandated::Tainted));
}

#[test]
fn a_key_that_the_json_library_treats_specially_is_a_key() {
    let special = json!({ "$serde_json::private::RawValue": "{\"id\":1}" });
    let mandate = mandate(|value| value["arguments"]["owner"]["const"] = special).unwrap();
    assert_eq!(used(&mandate, WITHIN, |_| ()), Err(Unmandated::Argument));
}

#[test]
fn what_is_not_in_the_form_of_a_mandate_is_none() {
    let changes: [fn(&mut Value); 14] = [
        |value| value["arguments"]["count"] = json!({ "min": 2, "max": 1 }),
        |value| value["arguments"]["count"] = json!({ "max": "7" }),
        |value| value["arguments"]["path"] = json!({ "max_length": -1 }),
        |value| value["arguments"]["path"] = json!({}),
        |value| value["arguments"]["mode"] = json!({ "enum": [] }),
        |value| value["tools"] = json!([]),
        |value| value["tools"] = json!(["files__*"]),
        |value| value["tools"] = json!(["highwater/delegate"]),
        |value| value["max_calls"] = json!(0),
        |value| value["arguments"]["path"] = json!({ "regex": ".*" }),
        |value| value["arguments"]["path"] = json!({ "prefix": "a", "max": 1 }),
        |value| value["anything"] = json!(1),
        |value| value["agent"] = json!(""),
        |value| value["expires"] = json!("tomorrow"),
    ];
    for (index, change) in changes.into_iter().enumerate() {
        assert_eq!(mandate(change).err(), Some(Unmandated::Malformed), "change {index}");
    }
    for expires in ["2026-11-15T20:00:00.001Z", "2026-11-15T12:00:00.000Z", "2026-11-15T11:00:00.000Z"] {
        assert_eq!(mandate(|value| value["expires"] = json!(expires)).err(), Some(Unmandated::Lifetime));
    }
}
