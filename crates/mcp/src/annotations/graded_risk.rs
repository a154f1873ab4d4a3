//! Graded risk of tools (SEP-2793).

use highwater_core::annotation::{ApprovalWish, Axis, Claim, Destination, Outcome};
use highwater_notation::Words;

use super::heard::Heard;
use super::shape::Meaning::{Adds, Is};
use super::shape::{Meaning, look_up};
use super::table::{Key, Of, Vocabulary};

pub(super) const VOCABULARY: Vocabulary = Vocabulary {
    name: "graded-risk",
    keys: &[
        Key::new("riskLevel", Of::Tools, |heard, raw| grade(heard, raw, RISK_LEVELS)),
        Key::new("category", Of::Tools, |heard, raw| grade(heard, raw, CATEGORIES)),
        Key::new("reversibility", Of::Tools, |heard, raw| grade(heard, raw, REVERSIBILITIES)),
        Key::new("sideEffects", Of::Tools, side_effects),
        Key::new("approvalRecommendation", Of::Tools, approval),
        // Known, and without effect.
        Key::new("blastRadius", Of::Tools, |_, _| {}),
        Key::new("minTrustLevel", Of::Tools, |_, _| {}),
    ],
};

/// Words that say something of outcomes, or nothing.
type Grades = &'static [(&'static str, Option<Meaning<Outcome>>)];

const RISK_LEVELS: Grades = &[
    ("low", None),
    ("medium", None),
    ("high", Some(Adds(Outcome::Consequential))),
    ("critical", Some(Adds(Outcome::Irreversible))),
];

const CATEGORIES: Grades = &[
    ("read", Some(Is(Outcome::Benign))),
    ("observe", Some(Is(Outcome::Benign))),
    ("mutate", Some(Adds(Outcome::Consequential))),
    ("delete", Some(Adds(Outcome::Irreversible))),
    ("destroy", Some(Adds(Outcome::Irreversible))),
    ("utility", None),
];

const REVERSIBILITIES: Grades = &[
    ("none", Some(Adds(Outcome::Irreversible))),
    ("manual", Some(Is(Outcome::Consequential))),
    ("auto", Some(Is(Outcome::Consequential))),
];

const APPROVALS: &[(&str, ApprovalWish)] =
    &[("none", ApprovalWish::None), ("single", ApprovalWish::Confirm), ("multi", ApprovalWish::Passkey)];

/// What a side effect means: whether data leaves, and the outcome. The list is open; what is not in it has no
/// effect.
const SIDE_EFFECTS: &[(&str, (bool, Option<Outcome>))] = &[
    ("data_exfiltration", (true, None)),
    ("external_notification", (true, Some(Outcome::Irreversible))),
    ("state_loss", (false, Some(Outcome::Irreversible))),
    ("privilege_change", (false, Some(Outcome::Consequential))),
    ("cost", (false, Some(Outcome::Consequential))),
    ("downtime", (false, Some(Outcome::Consequential))),
];

fn grade(heard: &mut Heard, raw: &str, grades: Grades) {
    heard.each_word(raw, Axis::Outcomes, look_up(grades), |heard, said| {
        heard.outcome(said.unwrap_or(Some(Adds(Outcome::Irreversible))));
    });
}

fn side_effects(heard: &mut Heard, raw: &str) {
    let meaning = |word: &str| Some(look_up(SIDE_EFFECTS)(word).unwrap_or((false, None)));
    heard.each_word(raw, Axis::Outcomes, meaning, |heard, said| {
        let (leaves, outcome) = said.unwrap_or((true, Some(Outcome::Irreversible)));
        if leaves {
            heard.say(Claim::AddDestination(Words::only(Destination::Public)));
        }
        heard.outcome(outcome.map(Adds));
    });
}

fn approval(heard: &mut Heard, raw: &str) {
    heard.each_word(raw, Axis::Approval, look_up(APPROVALS), |heard, wish| {
        let wish = wish.unwrap_or(ApprovalWish::Passkey);
        if wish != ApprovalWish::None {
            heard.say(Claim::AddApproval(wish));
        }
    });
}
