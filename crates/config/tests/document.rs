//! Other files than the configuration, read with the same complaints.

use highwater_config::document::{
    Complaint, Complaints, Document, Entries, Field, FromShape, Json, Shape, Shaped, Way,
};
use serde::Deserialize;
use serde::de::{Error, SeqAccess};
use serde_json::json;

#[derive(Deserialize)]
#[serde(default)]
#[derive(Default)]
struct Story {
    title: Field<String>,
    words: Field<Shaped<Words>>,
    anything: Field<Json>,
    named: Field<Entries<Json>>,
    config: Field<Json>,
}

#[derive(Debug, PartialEq)]
struct Words(Vec<String>);

impl FromShape for Words {
    fn from_shape<'de, A: SeqAccess<'de>>(shape: Shape, mut value: A) -> Result<Self, A::Error> {
        match shape {
            Shape::Text => Ok(Self(value.next_element()?.into_iter().collect())),
            Shape::List => Ok(Self(value.next_element()?.unwrap_or_default())),
            other => Err(A::Error::custom(format!("must be a word or several, not {other}"))),
        }
    }
}

fn read(text: &str) -> Result<Story, String> {
    let document = Document::parse("story.yaml", text).map_err(|error| error.to_string())?;
    let complaints = Complaints::default();
    let story = document.read::<Story>(&complaints);
    complaints.or(&document, story).map_err(|error| error.to_string())
}

#[test]
fn one_word_and_several_are_read_by_their_shape() {
    let one = read("words: a").unwrap();
    assert_eq!(one.words.value().unwrap().0, Words(vec!["a".into()]));
    let several = read("words: [a, b]").unwrap();
    assert_eq!(several.words.value().unwrap().0, Words(vec!["a".into(), "b".into()]));
    let wrong = read("words: { a: b }").err().unwrap();
    assert!(wrong.contains("`words`: must be a word or several, not a mapping"), "{wrong}");
    assert!(wrong.contains("story.yaml:1:8"), "{wrong}");
}

#[test]
fn any_value_keeps_its_kind_and_its_numbers() {
    let story = read("anything: { a: 1, b: 1.50, c: '1', d: true, e: null, f: [x] }").unwrap();
    let expected = json!({ "a": 1, "b": 1.5, "c": "1", "d": true, "e": null, "f": ["x"] });
    assert_eq!(story.anything.value().unwrap().0, expected);
    let wrong = read("anything: [0x10]").err().unwrap();
    assert!(wrong.contains("`0x10` is not a number of JSON"), "{wrong}");
}

#[test]
fn a_misspelt_key_is_named_with_its_line_and_the_right_one() {
    let wrong = read("title: a\nanythin: 1\n").err().unwrap();
    assert!(wrong.contains("unknown key `anythin`") && wrong.contains("story.yaml:2:1"), "{wrong}");
    assert!(wrong.contains("did you mean `anything`?"), "{wrong}");
}

#[test]
fn names_keep_their_places_and_owners_may_complain() {
    let document = Document::parse("story.yaml", "named:\n  one: 1\n  two: 2\n").unwrap();
    let complaints = Complaints::default();
    let story: Story = document.read(&complaints).unwrap();
    let names = &story.named.value().unwrap().0;
    let (name, value) = &names[1];
    assert_eq!((name.value.as_str(), &value.0, document.line(name.span)), ("two", &json!(2), 3));
    complaints.complain(Complaint::unknown(name.span, "name", "two", &["twin", "one"]));
    let said = complaints.or(&document, Some(())).unwrap_err().to_string();
    assert!(said.contains("unknown name `two`") && said.contains("story.yaml:3:3"), "{said}");
}

#[test]
fn a_configuration_inside_is_completed_and_complained_about_in_place() {
    let document =
        Document::parse("story.yaml", "title: a\nconfig:\n  servers:\n    mail: { start: eager }\n").unwrap();
    let defaults =
        json!({ "servers": { "mail": { "command": "mail", "start": "lazy" }, "web": { "command": "web" } } });
    let settings = document.settings(&[Way::Key("config")], &defaults, &|_| None).unwrap();
    let names: Vec<&str> = settings.servers.iter().map(|server| server.name.as_str()).collect();
    assert_eq!(names, ["mail", "web"]);
    assert_eq!(settings.servers[0].start, highwater_config::Start::Eager, "what was written wins");

    let wrong =
        Document::parse("story.yaml", "title: a\nconfig:\n  servers:\n    mail: { strat: eager }\n").unwrap();
    let said = wrong.settings(&[Way::Key("config")], &defaults, &|_| None).unwrap_err().to_string();
    assert!(said.contains("unknown key `strat` in server `mail`"), "{said}");
    assert!(said.contains("story.yaml:4:13") && said.contains("did you mean `start`?"), "{said}");

    let bare = Document::parse("story.yaml", "title: a\n").unwrap();
    assert!(
        bare.settings(&[Way::Key("config")], &defaults, &|_| None).is_ok(),
        "no configuration is an empty one"
    );
}
