//! What a tool's process asks to touch: network, files, environment, programs, libraries.

use highwater_core::annotation::{Capability, CapabilityClaim, Claim, NoticeKind, Reach};

use super::heard::{Heard, Place};
use super::shape::{Names, names};
use super::table::{Key, Of, Vocabulary};
use crate::text::{is_false, is_object, is_true, member};

pub(super) const VOCABULARY: Vocabulary = Vocabulary {
    name: "dependencies",
    keys: &[
        Key::new("dependencies", Of::Tools, read),
        Key::new("network", Of::Tools, |heard, raw| capability(heard, Capability::Network, raw)),
        Key::new("filesystem", Of::Tools, |heard, raw| capability(heard, Capability::Filesystem, raw)),
        Key::new("environment", Of::Tools, |heard, raw| capability(heard, Capability::Environment, raw)),
        Key::new("execution", Of::Tools, execution),
        Key::new("software_libraries", Of::Tools, |heard, raw| {
            capability(heard, Capability::SoftwareLibraries, raw);
        }),
    ],
};

fn read(heard: &mut Heard, raw: &str) {
    let Some(block) = heard.block(raw) else {
        for capability in Capability::ALL {
            heard.say(Claim::Capability(CapabilityClaim::new(*capability, Reach::All)));
        }
        return;
    };
    for wanted in Capability::ALL {
        if let Some(raw) = member(block, wanted.as_str()) {
            capability(heard, *wanted, raw);
        }
    }
}

fn execution(heard: &mut Heard, raw: &str) {
    // The protocol has a member of this name on tools: how they run as tasks.
    if heard.place == Place::Tool && is_object(raw) {
        return;
    }
    capability(heard, Capability::Execution, raw);
}

fn capability(heard: &mut Heard, capability: Capability, raw: &str) {
    let reach = reach(heard, raw);
    heard.say(Claim::Capability(CapabilityClaim::new(capability, reach)));
}

/// `true`, `false` or a list; here the empty list means nothing at all.
pub(super) fn reach(heard: &mut Heard, raw: &str) -> Reach {
    if is_true(raw) {
        return Reach::All;
    }
    if is_false(raw) {
        return Reach::Nothing;
    }
    match names(raw) {
        Names::Listed(names) => Reach::only(names),
        Names::Unreadable => {
            heard.notice(NoticeKind::WrongType, None, heard.key);
            Reach::All
        }
    }
}
