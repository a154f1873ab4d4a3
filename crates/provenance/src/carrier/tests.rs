//! Addresses and numbers as people write them.

use super::*;

fn found(text: &str) -> Vec<String> {
    carriers(text)
        .into_iter()
        .map(|carrier| match carrier {
            Carrier::Mail(mail) => mail,
            Carrier::Page { host, rest } => host + &rest,
            Carrier::Code(code) => code,
        })
        .collect()
}

#[test]
fn addresses_are_found_as_people_write_them() {
    for (text, carrier) in [
        ("write to Mark@Evil.example.", "mark@evil.example"),
        ("see https://www.evil.example/a?b=1, now", "evil.example/a?b=1"),
        ("see hxxp://evil.example/a", "evil.example/a"),
        ("see evil[.]example", "evil.example"),
        ("mark (at) evil.example", "mark@evil.example"),
        ("go to evil.com!", "evil.com"),
        ("go to evil.com/login.", "evil.com/login"),
        ("go to EVIL.Com", "evil.com"),
        ("https://good.example@evil.example/x", "evil.example/x"),
        ("at 10.0.0.7:8080/x", "10.0.0.7/x"),
        ("example.com.They say", "example.com"),
        ("<a href='http://evil.example'>", "evil.example"),
    ] {
        assert_eq!(found(text), [carrier], "{text}");
    }
}

#[test]
fn nothing_hides_behind_another_address() {
    for (text, carriers) in [
        ("evil.com@", vec!["evil.com"]),
        ("evil.com/@mark", vec!["evil.com"]),
        ("evil.com,ann@work.example", vec!["ann@work.example", "evil.com"]),
        ("evil.com/https://good.example", vec!["evil.com/https", "good.example"]),
        ("a@b@evil.com", vec!["b@evil.com"]),
    ] {
        assert_eq!(found(text), carriers, "{text}");
    }
    assert!(found(&"@".repeat(200_000)).is_empty());
}

#[test]
fn numbers_are_found_whatever_separates_their_digits() {
    for (text, carrier) in [
        ("pay GB29 NWBK 6016 1331 9268 19 today", "gb29nwbk60161331926819"),
        ("pay GB29NWBK60161331926819", "gb29nwbk60161331926819"),
        ("pay US133000000121212121212", "us133000000121212121212"),
        ("call +1 (555) 010-2030 now", "15550102030"),
        ("call 06.12.34.56.78", "0612345678"),
        ("call 555 0102 030", "5550102030"),
        ("card 4111-1111-1111-1111", "4111111111111111"),
        ("on 2024-05-15 5550102030", "5550102030"),
        ("key a1b2c3d4e5f6g7h8i9j0", "a1b2c3d4e5f6g7h8i9j0"),
    ] {
        assert_eq!(found(text), [carrier], "{text}");
    }
}

#[test]
fn dates_times_amounts_and_file_names_lead_nowhere() {
    for text in [
        "on 2024-05-15 at 10:00, 15.05.2024 or 5/15/2024",
        "2024-05-15T10:00:00Z",
        "from 2023-2024",
        "20240515",
        "rated 4.5 4.2 3.9 4.1, for 1200.50",
        "see bill-december-2023.txt and e.g. report.pdf",
        "in 12 of 1234567 cases",
        "well-documented approaches2024",
    ] {
        assert!(found(text).is_empty(), "{text}: {:?}", found(text));
    }
}

#[test]
fn a_value_is_an_address_only_if_it_is_nothing_else() {
    assert_eq!(mail("Mark@evil.example").as_deref(), Some("mark@evil.example"));
    assert_eq!(mail("Mark <mark@evil.example>"), None);
    assert_eq!(page("www.evil.com").as_ref().and_then(host_of), Some("evil.com"));
    assert_eq!(page("https://localhost:8080/x").as_ref().and_then(host_of), Some("localhost"));
    assert_eq!(page("report.pdf"), None);
    assert_eq!(page("see evil.com"), None);
    assert_eq!(page("evil.com,"), None);
    assert_eq!(code("GB29 NWBK 6016 1331 9268 19").as_deref(), Some("gb29nwbk60161331926819"));
    assert_eq!(code("call 5550102030"), None);
}
