//! The tags in which hosts wrap text that nobody typed.

/// Tags of Claude Code for results, messages and reminders.
pub(super) const HOST_TAGS: [&str; 9] = [
    "task-notification",
    "agent-message",
    "teammate-message",
    "cross-session-message",
    "coordinator-relay",
    "channel",
    "slack-ping",
    "tick",
    "system-reminder",
];

/// The tag with which a prompt begins, if it is one of the host's. Blanks and invisible characters before it
/// and the case of its letters make no difference: they cost an attacker nothing.
pub(super) fn opening(prompt: &str) -> Option<&'static str> {
    opened_by(prompt.trim_start_matches(is_blank))
}

/// The host's tag that stands at the very beginning of a text.
pub(super) fn opened_by(text: &str) -> Option<&'static str> {
    let name = text.strip_prefix('<')?.trim_start_matches(is_blank);
    HOST_TAGS.into_iter().find(|tag| {
        let (Some(start), Some(rest)) = (name.get(..tag.len()), name.get(tag.len()..)) else { return false };
        let ends =
            rest.chars().next().is_none_or(|next| !(next.is_alphanumeric() || matches!(next, '-' | '_')));
        start.eq_ignore_ascii_case(tag) && ends
    })
}

fn is_blank(character: char) -> bool {
    character.is_whitespace()
        || character.is_control()
        || matches!(character, '\u{feff}' | '\u{200b}'..='\u{200f}' | '\u{2060}'..='\u{2064}' | '\u{ad}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tag_is_found_however_it_is_written() {
        for tag in HOST_TAGS {
            let upper = tag.to_uppercase();
            for text in [
                format!("<{tag}>x"),
                format!(" \n\u{feff}\u{200b}<{tag} from=\"x\">y"),
                format!("<{upper}>"),
                format!("< {tag}/>"),
                format!("<{tag}"),
            ] {
                assert_eq!(opening(&text), Some(tag), "{text:?}");
            }
        }
    }

    #[test]
    fn other_text_begins_with_no_tag() {
        for text in
            ["<b>hi", "please read <task-notification>", "<ticket>1</ticket>", "<channels>", "", "<", "<é"]
        {
            assert_eq!(opening(text), None, "{text:?}");
        }
    }
}
