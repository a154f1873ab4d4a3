//! The four hints of the protocol itself. On a reply `openWorldHint` speaks of the data in it.

use highwater_core::annotation::{Claim, Hints};

use super::heard::Heard;
use super::table::{Key, Of, Vocabulary};

pub(super) const VOCABULARY: Vocabulary = Vocabulary {
    name: "core",
    keys: &[
        Key::new("readOnlyHint", Of::Tools, read_only),
        Key::new("destructiveHint", Of::Tools, destructive),
        Key::new("idempotentHint", Of::Tools, idempotent),
        Key::new("openWorldHint", Of::Anything, open_world),
    ],
};

fn read_only(heard: &mut Heard, raw: &str) {
    let read_only = Some(heard.flag(raw, false));
    heard.hint(Hints { read_only, ..Hints::default() });
}

fn destructive(heard: &mut Heard, raw: &str) {
    let destructive = Some(heard.flag(raw, true));
    heard.hint(Hints { destructive, ..Hints::default() });
}

fn idempotent(heard: &mut Heard, raw: &str) {
    let idempotent = Some(heard.flag(raw, false));
    heard.hint(Hints { idempotent, ..Hints::default() });
}

fn open_world(heard: &mut Heard, raw: &str) {
    let open = heard.flag(raw, true);
    if !heard.of_data() {
        heard.hint(Hints { open_world: Some(open), ..Hints::default() });
    } else if open {
        heard.say(Claim::OpenWorld);
    }
}
