//! The authenticators in which passkeys may be made, where not every one is let in.

use highwater_passkey::{Aaguid, AuthenticatorList, AuthenticatorMake, NoRoot, RootCertificate};

use super::{Lowering, Refused};
use crate::file::{ApprovalsFile, AuthenticatorFile};
use crate::read::{Entries, Field, Written};
use crate::settings::AttestationWord;

/// What a certificate begins with that stands in the configuration itself.
const INLINE: &str = "-----BEGIN";

const AAGUID_HELP: &str = "write it as the vendor does, such as `cb69481e-8ff7-4039-93ec-0a2729a154a8`";

impl Lowering<'_> {
    /// The list, and the files it was read from.
    pub(super) fn authenticators(&self, file: &ApprovalsFile) -> (Option<AuthenticatorList>, Vec<String>) {
        let required = file.attestation.read().filter(|word| word.value == AttestationWord::Required);
        let mut files = Vec::new();
        let mut makes = Vec::new();
        for (name, entry) in file.authenticators.value().into_iter().flat_map(|Entries(all)| all) {
            let absent = AuthenticatorFile::default();
            let entry = match entry {
                Field::Absent => &absent,
                Field::Broken => continue,
                Field::Read(read) => &read.value,
            };
            makes.extend(self.make(name, entry, &mut files));
        }
        match (required, file.authenticators.read()) {
            (None, None) => {}
            (Some(_), Some(written)) if !written.value.0.is_empty() => {}
            (Some(word), written) => {
                if !matches!(file.authenticators, Field::Broken) {
                    let span = written.map_or(word.span, |written| written.span);
                    let message = "`approvals.attestation` is required, and no authenticator is listed";
                    self.report(span, message, "name those that are let in under `authenticators`");
                }
            }
            // Whoever lists some means that others are refused, and without the word they are not.
            (None, Some(written)) => {
                if !matches!(file.attestation, Field::Broken) {
                    let message = "`approvals.authenticators` refuses nobody as it stands";
                    self.report(written.span, message, "add `attestation: required`, or remove the list");
                }
            }
        }
        let list = required.and_then(|_| AuthenticatorList::new(makes));
        (list, files)
    }

    fn make(
        &self,
        name: &Written<String>,
        entry: &AuthenticatorFile,
        files: &mut Vec<String>,
    ) -> Option<AuthenticatorMake> {
        let subject = format!("authenticator `{}`", name.value);
        for (list, key, help) in [
            (&entry.aaguids, "aaguids", "name its models"),
            (&entry.roots, "roots", "name the certificates of its vendor"),
        ] {
            let empty = list.value().is_some_and(Vec::is_empty);
            if list.is_absent() || empty {
                self.report(name.span, format!("{subject} has no `{key}`"), help);
            }
        }
        let aaguids = self.each(&entry.aaguids, |written| match Aaguid::parse(&written.value) {
            None => {
                Err(Refused::new(format!("{subject}: `{}` is not an AAGUID", written.value), AAGUID_HELP))
            }
            Some(aaguid) if aaguid.is_zero() => Err(Refused::new(
                format!("{subject}: an AAGUID of zeros names no model"),
                "an authenticator that says so cannot be listed; name others",
            )),
            Some(aaguid) => Ok(aaguid.to_string()),
        });
        let aaguids: Vec<_> = aaguids.iter().filter_map(|text| Aaguid::parse(text)).collect();
        let mut roots = Vec::new();
        for written in entry.roots.value().into_iter().flatten() {
            roots.extend(self.root(&subject, written, files).into_iter().flatten());
        }
        (!aaguids.is_empty() && !roots.is_empty()).then(|| AuthenticatorMake {
            name: name.value.as_str().into(),
            aaguids,
            roots,
        })
    }

    fn root(
        &self,
        subject: &str,
        written: &Written<String>,
        files: &mut Vec<String>,
    ) -> Option<Vec<RootCertificate>> {
        let inline = written.value.trim_start().starts_with(INLINE);
        let (text, what) = if inline {
            (written.value.clone(), "a root".to_owned())
        } else {
            let path = written.value.as_str();
            match (self.files)(path) {
                Ok(text) => {
                    files.push(path.to_owned());
                    (text, format!("`{path}`"))
                }
                Err(why) => {
                    let message = format!("{subject}: `{path}` cannot be read: {why}");
                    self.report(written.span, message, "paths start at the folder of this file");
                    return None;
                }
            }
        };
        let fault = match RootCertificate::read_pem(&text) {
            Ok(roots) => return Some(roots),
            Err(fault) => fault,
        };
        let help = match fault {
            NoRoot::Other => "keep nothing but certificates in it, and above all no key",
            NoRoot::Nothing | NoRoot::Pem | NoRoot::Certificate(_) => {
                "give it as PEM, which begins with `-----BEGIN CERTIFICATE-----`"
            }
        };
        self.report(written.span, format!("{subject}: {what} {fault}"), help);
        None
    }
}
