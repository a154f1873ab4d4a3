//! How strictly flows are judged, and which data may go where.

use highwater_core::annotation::{ClassSet, DataClass, Destination, Words};
use highwater_core::decide::{Clearance, FlowMode, FlowPolicy};

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
            Some(written) => clearance.with(destination, self.cleared(destination, subject, written)),
            None => clearance,
        })
    }

    fn cleared(
        &self,
        destination: Destination,
        subject: &str,
        written: &Written<OneOrMany<ClassFile>>,
    ) -> ClassSet {
        let OneOrMany(words) = &written.value;
        let mut classes: ClassSet = Words::EMPTY;
        for word in words {
            let ClassFile::Word(name) = &word.value else {
                self.problems.report_code(
                    "outside-domain",
                    word.span,
                    format!("`clearance.{destination}`{subject} takes whole classes"),
                    "write `regulated`",
                );
                continue;
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
        if classes.contains(DataClass::Unclassified) && !classes.contains(DataClass::Credentials) {
            self.report(
                written.span,
                format!("`clearance.{destination}`{subject} has `unclassified` without `credentials`"),
                "what nobody classified may hold credentials: add `credentials`, or remove `unclassified`",
            );
        }
        classes
    }
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
