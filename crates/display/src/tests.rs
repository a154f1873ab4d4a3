//! What is shown can be read back in one way alone, nothing hidden passes unmarked, and ordinary prose passes as it is.

use proptest::prelude::*;

use super::characters::is_hidden;
use super::*;

fn rendered(tool: &str, text: &str) -> Rendered {
    let arguments = CanonicalArguments::read(Some(text)).unwrap();
    render(&ToolName::exposed(tool).unwrap(), Some("files"), &arguments)
}

fn of_text(text: &str) -> Rendered {
    rendered("t", &serde_json::json!({ "a": text }).to_string())
}

/// What is shown of one text, without what stands before it.
fn shown_of(text: &str) -> String {
    let whole = of_text(text).text;
    whole.strip_prefix("Call t on files with\n  \"a\":").unwrap().to_owned()
}

/// Reads a text back from what is shown of it.
fn read_back(shown: &str) -> String {
    match shown.strip_prefix(" \"") {
        Some(quoted) => unescaped(quoted.strip_suffix('"').unwrap(), true),
        None => {
            let lines = shown.strip_prefix('\n').unwrap().split('\n');
            let lines = lines.map(|line| {
                let line = line.strip_prefix("    │").unwrap();
                unescaped(line.strip_prefix(' ').unwrap_or(line), false)
            });
            lines.collect::<Vec<_>>().join("\n")
        }
    }
}

fn unescaped(shown: &str, quoted: bool) -> String {
    let mut text = String::new();
    let mut rest = shown;
    while let Some(first) = rest.chars().next() {
        let slashes = rest.chars().take_while(|letter| *letter == '\\').count();
        if slashes > 0 {
            rest = rest.get(slashes..).unwrap();
            let next = rest.chars().next();
            let special = match next {
                Some(next) => is_sign(next) || (quoted && next == '"'),
                None => quoted,
            };
            text.push_str(&"\\".repeat(if special { slashes / 2 } else { slashes }));
            if special && slashes % 2 == 1 {
                text.extend(next);
                rest = rest.get(next.map_or(0, char::len_utf8)..).unwrap();
            }
            continue;
        }
        rest = rest.get(first.len_utf8()..).unwrap();
        match first {
            '\u{27e6}' => {
                let (inside, after) = rest.split_once('\u{27e7}').unwrap();
                // What is noted of a word is no part of it.
                if let Some(number) = inside.strip_prefix("U+") {
                    text.extend(char::from_u32(u32::from_str_radix(number, 16).unwrap()));
                }
                rest = after;
            }
            '\u{2192}' => text.push('\t'),
            '\u{2423}' => text.push('\u{a0}'),
            '\u{237d}' => text.push('\u{202f}'),
            '\u{25a1}' => text.push('\u{3000}'),
            '\u{2420}' => text.push(' '),
            '\u{240d}' => text.push('\r'),
            other => text.push(other),
        }
    }
    text
}

/// Texts that try to pass for other texts.
fn devious() -> impl Strategy<Value = String> {
    let letters = "ab \"\\\n\r\t→⟦⟧␣⍽□␠␍│U+0A:.@-{}[]аеοр\u{a0}\u{202f}\u{3000}\u{200b}\u{200c}\u{200d}\u{202e}\
                   \u{fe0f}\u{fe0e}\u{301}❤😀👩1\u{20e3}یخنाक\u{94d}\u{e0067}\u{e007f}🏴\u{feff}\u{0}";
    let one = proptest::sample::select(letters.chars().collect::<Vec<_>>());
    proptest::collection::vec(prop_oneof![8 => one, 1 => any::<char>()], 0..24)
        .prop_map(|letters| letters.into_iter().collect())
}

proptest! {
    /// Two texts that differ are shown in two ways, since each can be read back.
    #[test]
    fn no_two_texts_are_shown_alike(text in devious()) {
        prop_assert_eq!(read_back(&shown_of(&text)), text);
    }

    #[test]
    fn a_text_stays_within_its_lines(text in devious()) {
        for line in shown_of(&text).split('\n').skip(1) {
            prop_assert!(line.starts_with("    │"), "{}", line);
        }
    }

    /// What has no shape is shown by its number, but where it gives a shape to its neighbours.
    #[test]
    fn nothing_hidden_passes_unmarked(text in devious()) {
        let shown = of_text(&text);
        let unseen: Vec<char> = shown.text.chars().filter(|c| is_hidden(*c) && *c != '\n').collect();
        let joiner = |c: &char| matches!(*c, '\u{200c}' | '\u{200d}' | '\u{fe0e}' | '\u{fe0f}' | '\u{180b}'..='\u{180f}' | '\u{e0020}'..='\u{e007f}');
        prop_assert!(unseen.iter().all(joiner), "{:?}", unseen);
        let marks = shown.text.matches("\u{27e6}U+").count() - shown.text.matches("\\\u{27e6}U+").count();
        prop_assert!(shown.hidden >= marks);
        for hidden in ['\u{200b}', '\u{202e}', '\u{feff}', '\u{0}'] {
            prop_assert!(!shown.text.contains(hidden));
        }
    }

    #[test]
    fn letters_of_one_script_pass_as_they_are(text in "[a-zäöüßéñ ,.;!?0-9-]{0,40}|[а-яё ,.!?-]{0,40}|[α-ω ,.!?-]{0,40}|[一-龥ぁ-ん、。]{0,40}|[א-ת ,.]{0,40}|[ก-ฮ ]{0,40}") {
        let shown = of_text(&text);
        prop_assert_eq!((shown.hidden, shown.mixed), (0, 0));
        prop_assert_eq!(shown_of(&text), format!(" \"{text}\""));
    }
}

#[test]
fn s34_every_argument_is_shown_in_full() {
    assert_eq!(
        rendered("delete", r#"{"b":{"y":[1,{"z":null},"k\nl"],"x":[]},"a":"two\nlines \"x\" \\","c":{}}"#)
            .text,
        concat!(
            "Call delete on files with\n",
            "  \"a\":\n",
            "    │ two\n",
            "    │ lines \"x\" \\\n",
            "  \"b\":\n",
            "    \"x\": []\n",
            "    \"y\":\n",
            "      - 1\n",
            "      -\n",
            "        \"z\": null\n",
            "      -\n",
            "        │ k\n",
            "        │ l\n",
            "  \"c\": {}"
        )
    );
    assert_eq!(rendered("delete", "{}").text, "Call delete on files without arguments");
    let long = format!(r#"{{"a":"{}"}}"#, "x".repeat(60_000));
    assert!(rendered("delete", &long).text.len() > 60_000);
}

#[test]
fn d6_a_mail_of_sixty_lines_hides_nothing() {
    let mail = (1..=60).map(|line| format!("line {line}\t\"quoted\"")).collect::<Vec<_>>().join("\r\n");
    let shown = of_text(&mail);
    assert_eq!((shown.hidden, shown.mixed), (0, 0));
    assert_eq!(shown.text.lines().filter(|line| line.starts_with("    │ line ")).count(), 60);
    assert!(shown.text.contains("    │ line 7→\"quoted\"␍\n"), "{}", shown.text);
}

#[test]
fn d6_what_joins_is_ordinary_where_it_joins() {
    for ordinary in [
        "❤️ 👨‍👩‍👧 👩🏽‍💻 🏳️‍🌈 🏃‍♂️ 1️⃣ #️⃣ ☎️ 🏴󠁧󠁢󠁳󠁣󠁴󠁿",
        "می‌خواهم کتاب‌ها خانه‌ای",
        "क्‍ष क्‌ष র‍্যাব ශ්‍රී ക്‍",
        "Ça va\u{202f}? 20\u{a0}%",
        "naïve 日本 e\u{301} Việt Nam",
        "Привет, мир! Ελληνικά עִבְרִית العربيّة ไทย 中文",
        "ᠮᠣᠩᠭᠣᠯ ᠪᠢᠴᠢᠭ᠌",
    ] {
        let shown = of_text(ordinary);
        assert_eq!((shown.hidden, shown.mixed), (0, 0), "{ordinary}: {}", shown.text);
    }
    for hidden in [
        "a\u{200d}b",
        "a\u{200c}b",
        "😀\u{fe0f}",
        "a\u{fe0f}",
        "1\u{fe0f}",
        "ا\u{200c}ب",
        "ب\u{200d}ب",
        "क\u{200d}ष",
        "\u{1f3f4}\u{e0067}\u{e0062}",
        "a\u{e0067}",
        "葛\u{e0100}",
        "\u{301}x",
        "अ\u{200b}ब",
        "x\u{200f}",
    ] {
        assert!(of_text(hidden).hidden > 0, "{}", of_text(hidden).text);
    }
    assert_eq!(of_text(&format!("a{}", "\u{301}".repeat(9))).hidden, 5, "marks that reach into other lines");
}

#[test]
fn d6_letters_of_several_scripts_in_a_word_are_marked() {
    for (text, shown) in [
        ("аpple.com", "аpple⟦Cyrillic: а⟧.com"),
        ("раураl.com", "раураl⟦Cyrillic: р а у⟧.com"),
        ("раура.com", "раура⟦Cyrillic: р а у⟧.com"),
        ("gοοgle", "gοοgle⟦Greek: ο⟧"),
        ("Скидкa 5%", "Скидкa⟦Latin: a⟧ 5%"),
        ("a\u{200b}а", "a⟦U+200B⟧а⟦Cyrillic: а⟧"),
    ] {
        assert_eq!(shown_of(text), format!(" \"{shown}\""));
        assert_eq!(of_text(text).mixed, 1);
    }
    for ordinary in [
        "IP-адрес",
        "COVID и Россия",
        "Δx = 3, kΩ",
        "東京Tower",
        "почта@пример.рф",
        "см. example.com.",
        "5µm",
    ] {
        assert_eq!(of_text(ordinary).mixed, 0, "{ordinary}");
    }
}

#[test]
fn g11_what_people_do_not_see_is_made_visible_and_counted() {
    let seen = rendered("t", "{\"a\":\"x\u{202e}y\u{200b}z\u{e0041}\u{feff}\u{e000}\u{ad}\"}");
    assert_eq!(seen.hidden, 6);
    assert!(seen.text.contains("x⟦U+202E⟧y⟦U+200B⟧z⟦U+E0041⟧⟦U+FEFF⟧⟦U+E000⟧⟦U+00AD⟧"), "{}", seen.text);
    assert!(rendered("t", "{\"a\\nb\":1}").text.contains("\"a⟦U+000A⟧b\": 1"), "a name has one line");
    assert_eq!(shown_of("x⟦U+202E⟧"), " \"x\\⟦U+202E⟧\"", "nobody writes a mark of ours");
    assert_eq!(shown_of("a  \nb "), "\n    │ a␠␠\n    │ b␠");
}

#[test]
fn a_path_of_windows_is_shown_as_it_is_written() {
    assert_eq!(shown_of(r"C:\Users\new"), r#" "C:\Users\new""#);
    assert_eq!(shown_of(r"C:\"), r#" "C:\\""#);
}

#[test]
fn a_text_by_itself_keeps_its_lines_or_has_one() {
    assert_eq!(lines("a\n\nb\u{200b}").text, "a\n\nb⟦U+200B⟧");
    assert_eq!(lines("\n").text, "\n");
    assert_eq!(plain("a\nb").text, "a⟦U+000A⟧b");
}

#[test]
fn a_key_that_the_json_library_treats_specially_is_shown_as_a_key() {
    let text = rendered("t", r#"{"$serde_json::private::RawValue":"{\"path\":\"harmless\"}"}"#).text;
    assert!(text.contains(r#""$serde_json::private::RawValue": "{\"path\"#), "{text}");
}

#[test]
fn g11_the_same_arguments_have_the_same_text() {
    assert_eq!(rendered("t", r#"{"a":1.0,"b":2}"#), rendered("t", r#"{ "b":2, "a":1 }"#));
    assert_ne!(rendered("t", r#"{"a":"1"}"#), rendered("t", r#"{"a":1}"#));
    assert_ne!(rendered("t", r#"{"a":"x\",\"b"}"#), rendered("t", r#"{"a":"x","b":""}"#));
    assert_ne!(rendered("t", r#"{"a":"x\ny"}"#), rendered("t", r#"{"a":"x","b":"y"}"#));
}
