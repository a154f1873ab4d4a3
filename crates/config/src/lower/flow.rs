//! How strictly flows are judged, and which data may go where.

use highwater_core::annotation::{ClassSet, DataClass, Destination};
use highwater_core::decide::{Clearance, FlowMode, FlowPolicy};
use highwater_core::label::TextSet;
use highwater_notation::Words;

use super::Lowering;
use crate::file::label::ClassFile;
use crate::file::{ClearanceFile, FlowWord};
use crate::read::{Field, OneOrMany, Written};

impl Lowering<'_> {
    /// What one level says, on top of what the level above it says. `subject` ends the name of a key in messages.
    pub(super) fn flow(
        &self,
        above: FlowPolicy,
        subject: &str,
        mode: &Field<FlowWord>,
        clearance: &Field<ClearanceFile>,
        sole_gateway: &Field<bool>,
    ) -> FlowPolicy {
        FlowPolicy {
            beside: None,
            mode: mode.value().copied().map_or(above.mode, FlowMode::from),
            clearance: match clearance.value() {
                Some(file) => self.clearance(above.clearance, subject, file),
                None => above.clearance,
            },
            sole_gateway: sole_gateway.value().copied().unwrap_or(above.sole_gateway),
        }
    }

    fn clearance(&self, above: Clearance, subject: &str, file: &ClearanceFile) -> Clearance {
        let entries = [
            (Destination::Ephemeral, &file.ephemeral),
            (Destination::System, &file.system),
            (Destination::User, &file.user),
            (Destination::Internal, &file.internal),
            (Destination::Public, &file.public),
        ];
        entries.into_iter().fold(above, |clearance, (destination, field)| match field.read() {
            Some(written) => {
                let Cleared { classes, names, scopes } = self.cleared(destination, subject, written);
                clearance
                    .with(destination, classes)
                    .with_names(destination, names)
                    .with_scopes(destination, scopes)
            }
            None => clearance,
        })
    }

    fn cleared(
        &self,
        destination: Destination,
        subject: &str,
        written: &Written<OneOrMany<ClassFile>>,
    ) -> Cleared {
        let OneOrMany(words) = &written.value;
        let mut classes: ClassSet = Words::EMPTY;
        let (mut names, mut scopes) = (Vec::new(), Vec::new());
        for word in words {
            let name = match &word.value {
                ClassFile::Own(name) => {
                    names.push(name.clone());
                    continue;
                }
                ClassFile::Regulated(listed) if listed.is_empty() => {
                    classes = classes.with(DataClass::Regulated);
                    continue;
                }
                ClassFile::Regulated(listed) => {
                    scopes.extend(listed.iter().map(|scope| scope.value.0.to_ascii_lowercase()));
                    continue;
                }
                ClassFile::Word(name) => name,
            };
            match (DataClass::parse(name), name.as_str()) {
                (Some(class), _) => classes = classes.with(class),
                (None, "any") => classes = Words::all(),
                (None, _) if words.len() > 1 => self.problems.report_code(
                    "outside-domain",
                    word.span,
                    format!("`none` stands beside other classes in `clearance.{destination}`{subject}"),
                    "write `none` alone, or leave it out",
                ),
                (None, _) => {}
            }
        }
        let listed = |texts: Vec<String>, whole: DataClass| {
            let set = TextSet::of(texts);
            if classes.contains(whole) {
                // The whole class is cleared, and with it each part.
                return TextSet::EMPTY;
            }
            if set.is_open() {
                // A set that is too long to be listed stands for every text: as a permission that is too much.
                self.problems.report_code(
                    "outside-domain",
                    written.span,
                    format!("`clearance.{destination}`{subject} lists too much"),
                    format!(
                        "at most {} of a kind, each of at most {} bytes",
                        TextSet::LIMIT,
                        TextSet::LONGEST
                    ),
                );
                return TextSet::EMPTY;
            }
            set
        };
        let names = listed(names, DataClass::Named);
        let scopes = listed(scopes, DataClass::Regulated);
        Cleared { classes, names, scopes }
    }
}

/// What may go to one destination: whole classes, and parts of the two that have parts.
struct Cleared {
    classes: ClassSet,
    names: TextSet,
    scopes: TextSet,
}

impl From<FlowWord> for FlowMode {
    fn from(word: FlowWord) -> Self {
        match word {
            FlowWord::Observe => Self::Observe,
            FlowWord::Balanced => Self::Balanced,
            FlowWord::Strict => Self::Strict,
            FlowWord::Samos => Self::Samos,
        }
    }
}
