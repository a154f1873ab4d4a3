//! How strictly flows are judged, and which data may go where.

use highwater_core::annotation::{ClassSet, DataClass, Destination, Words};
use highwater_core::decide::{Clearance, FlowMode, FlowPolicy};
use highwater_core::label::TextSet;

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
                let (classes, names) = self.cleared(destination, subject, written);
                clearance.with(destination, classes).with_names(destination, names)
            }
            None => clearance,
        })
    }

    fn cleared(
        &self,
        destination: Destination,
        subject: &str,
        written: &Written<OneOrMany<ClassFile>>,
    ) -> (ClassSet, TextSet) {
        let OneOrMany(words) = &written.value;
        let mut classes: ClassSet = Words::EMPTY;
        let own = |word: &Written<ClassFile>| match &word.value {
            ClassFile::Own(name) => Some(name.clone()),
            ClassFile::Word(_) | ClassFile::Regulated(_) => None,
        };
        let names: Vec<String> = words.iter().filter_map(own).collect();
        for word in words {
            if let ClassFile::Own(_) = &word.value {
                continue;
            }
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
        // `any` is every class of the operator's own, too.
        let names = if classes.contains(DataClass::Named) { TextSet::EMPTY } else { TextSet::of(names) };
        (classes, names)
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
