//! The operator's labels: words to claims, with the operator's authority.

use highwater_core::annotation::{
    Authority, Capability, CapabilityClaim, Claim, Claims, DataClass, Possible, Reach, Sensitivity,
};
use highwater_notation::suggest::listed;
use highwater_notation::{Word, Words};

use super::Lowering;
use crate::file::label::{
    CLASS_WORDS, CapabilitiesFile, ClassFile, InputMetadataFile, ReachFile, ReturnMetadataFile,
};
use crate::file::words::ConfidentialityWord;
use crate::read::{Field, OneOrMany, Written};

/// Under which name the operator's claims are shown.
const FROM: &str = "operator";

/// Adds a claim of the operator.
pub(super) fn claim(claims: &mut Claims, claim: Claim) {
    claims.push(claim, Authority::Operator, FROM);
}

impl Lowering<'_> {
    /// What becomes of arguments.
    pub(super) fn input_metadata(
        &self,
        subject: &str,
        field: &Field<InputMetadataFile>,
        claims: &mut Claims,
    ) {
        let Some(file) = field.value() else { return };
        if let Some(destination) = self.possible(subject, "inputMetadata.destination", &file.destination) {
            claim(claims, Claim::SetDestination(destination));
        }
        if let Some(classes) = file.sensitivity.read() {
            self.accepts(subject, classes, claims);
        }
        if let Some(outcomes) = self.possible(subject, "inputMetadata.outcomes", &file.outcomes) {
            claim(claims, Claim::SetOutcomes(outcomes));
        }
    }

    /// What replies hold.
    pub(super) fn return_metadata(
        &self,
        subject: &str,
        field: &Field<ReturnMetadataFile>,
        claims: &mut Claims,
    ) {
        let Some(file) = field.value() else { return };
        if let Some(source) = self.possible(subject, "returnMetadata.source", &file.source) {
            claim(claims, Claim::SetSource(source));
        }
        if let Some(classes) = file.sensitivity.read()
            && let Some(returns) = self.returns(subject, classes)
        {
            claim(claims, Claim::SetReturns(returns));
        }
    }

    /// SAMOS' level of what is read.
    pub(super) fn read_level(
        &self,
        subject: &str,
        field: &Field<OneOrMany<ConfidentialityWord>>,
        claims: &mut Claims,
    ) {
        if let Some(levels) = self.possible(subject, "read_confidentiality", field) {
            claim(claims, Claim::ReadConfidentiality(levels));
        }
    }

    /// SAMOS' level of where is written.
    pub(super) fn write_level(
        &self,
        subject: &str,
        field: &Field<OneOrMany<ConfidentialityWord>>,
        claims: &mut Claims,
    ) {
        if let Some(levels) = self.possible(subject, "write_confidentiality", field) {
            claim(claims, Claim::WriteConfidentiality(levels));
        }
    }

    /// What a tool's process touches.
    pub(super) fn capabilities(&self, field: &Field<CapabilitiesFile>, claims: &mut Claims) {
        let Some(file) = field.value() else { return };
        let CapabilitiesFile { network, filesystem, environment, execution, software_libraries } = file;
        let written = [
            (Capability::Network, network),
            (Capability::Filesystem, filesystem),
            (Capability::Environment, environment),
            (Capability::Execution, execution),
            (Capability::SoftwareLibraries, software_libraries),
        ];
        for (capability, field) in written {
            let reach = match field.value() {
                None => continue,
                Some(ReachFile::Flag(true)) => Reach::All,
                Some(ReachFile::Flag(false)) => Reach::Nothing,
                Some(ReachFile::Only(names)) => {
                    Reach::only(names.iter().map(|name| name.value.0.as_str().into()).collect())
                }
            };
            claim(claims, Claim::Capability(CapabilityClaim::new(capability, reach)));
        }
    }

    /// A set of words of which one or more will hold.
    fn possible<W: Copy, T: Word + From<W>>(
        &self,
        subject: &str,
        key: &str,
        field: &Field<OneOrMany<W>>,
    ) -> Option<Possible<T>> {
        let written = field.read()?;
        let OneOrMany(words) = &written.value;
        let words: Words<T> = words.iter().map(|word| T::from(word.value)).collect();
        let found = Possible::of(words);
        if found.is_none() {
            let all: Vec<&str> = T::ALL.iter().map(|word| word.as_str()).collect();
            self.problems.report_code(
                "outside-domain",
                written.span,
                format!("`{key}` of {subject} is empty"),
                format!("name at least one of {}, or remove the key", listed(&all)),
            );
        }
        found
    }

    fn accepts(&self, subject: &str, written: &Written<OneOrMany<ClassFile>>, claims: &mut Claims) {
        let key = "inputMetadata.sensitivity";
        let OneOrMany(classes) = &written.value;
        let mut accepted: Option<Sensitivity> = None;
        for class in classes {
            let one = match &class.value {
                ClassFile::Word(word) => match word.as_str() {
                    "any" if classes.len() == 1 => return claim(claims, Claim::AcceptsAny),
                    "any" => {
                        self.misplaced(class, subject, key, "write `any` alone, or leave it out");
                        continue;
                    }
                    "confidential" => {
                        let help = "remove it; whether confidential data may go there is asked of the destination alone";
                        self.misplaced(class, subject, key, help);
                        continue;
                    }
                    "unclassified" => {
                        let help = "write `any` if the tool may be given what nobody classified";
                        self.misplaced(class, subject, key, help);
                        continue;
                    }
                    word => of_word(word),
                },
                ClassFile::Own(name) => Sensitivity::named(name),
                ClassFile::Regulated(scopes) => regulated(scopes),
            };
            accepted = Some(match accepted {
                Some(before) => before.or(&one),
                None => one,
            });
        }
        match accepted {
            Some(accepted) => claim(claims, Claim::SetAccepts(accepted)),
            None if classes.is_empty() => self.no_class(written, subject, key),
            None => {}
        }
    }

    fn returns(&self, subject: &str, written: &Written<OneOrMany<ClassFile>>) -> Option<Sensitivity> {
        let key = "returnMetadata.sensitivity";
        let OneOrMany(classes) = &written.value;
        let mut returned: Option<Sensitivity> = None;
        for class in classes {
            let one = match &class.value {
                ClassFile::Word(word) if word == "any" => {
                    self.misplaced(
                        class,
                        subject,
                        key,
                        "write `unclassified` for data of which nobody knows",
                    );
                    continue;
                }
                ClassFile::Word(word) => of_word(word),
                ClassFile::Own(name) => Sensitivity::named(name),
                ClassFile::Regulated(scopes) => regulated(scopes),
            };
            returned = Some(match returned {
                Some(before) => before.or(&one),
                None => one,
            });
        }
        if classes.is_empty() {
            self.no_class(written, subject, key);
        }
        returned
    }

    fn misplaced(&self, class: &Written<ClassFile>, subject: &str, key: &str, help: &str) {
        let word = match &class.value {
            ClassFile::Word(word) | ClassFile::Own(word) => word,
            ClassFile::Regulated(_) => "regulated",
        };
        self.problems.report_code(
            "outside-domain",
            class.span,
            format!("`{word}` cannot stand in `{key}` of {subject}"),
            help,
        );
    }

    fn no_class(&self, written: &Written<OneOrMany<ClassFile>>, subject: &str, key: &str) {
        self.problems.report_code(
            "outside-domain",
            written.span,
            format!("`{key}` of {subject} is empty"),
            "write `none` for nothing sensitive, or remove the key",
        );
    }
}

fn of_word(word: &str) -> Sensitivity {
    debug_assert!(CLASS_WORDS.contains(&word), "the reader lets no other word through");
    match DataClass::parse(word) {
        Some(class) => Sensitivity::of([class]),
        None => Sensitivity::none(),
    }
}

fn regulated(scopes: &[Written<crate::human::Scalar>]) -> Sensitivity {
    Sensitivity::regulated(scopes.iter().map(|scope| scope.value.0.as_str()))
}
