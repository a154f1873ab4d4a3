//! Traces of a secret in bytes: its text, and digests of it in every spelling that something of ours has.

use std::collections::HashMap;
use std::path::Path;

use highwater_notation::{CanonicalArguments, encode_base64url};
use highwater_passkey::{ActionHash, ServerId, ToolName};

/// What must not be found.
pub(crate) struct Traces(Vec<(String, Vec<u8>)>);

// === impl Traces ===

impl Traces {
    /// Of a call with these arguments, of which `text` is the secret.
    pub(crate) fn of(tool: &str, arguments: &str, server_id: &str, text: &str) -> Self {
        let canonical = CanonicalArguments::read(Some(arguments)).unwrap();
        assert!(canonical.as_str().contains(text));
        let server = ServerId::new(server_id).unwrap();
        let hash = ActionHash::of(&ToolName::parse(tool).unwrap(), &canonical, &server);
        let mut all = vec![("the text".to_owned(), text.as_bytes().to_vec())];
        all.extend(embedded(text.as_bytes()).map(|found| ("the text in base64".to_owned(), found)));
        let digests = [
            ("the action hash", *hash.as_bytes()),
            ("the digest of the arguments", sha256(canonical.as_str())),
            ("the digest of the text", sha256(text)),
        ];
        for (name, digest) in digests {
            all.push((name.to_owned(), digest.to_vec()));
            let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
            all.extend([(format!("{name} in hex"), hex.clone().into_bytes())]);
            all.push((format!("{name} in HEX"), hex.to_uppercase().into_bytes()));
            for once in embedded(&digest) {
                // What the browser says has the challenge in base64url, and is kept in base64url itself.
                all.extend(embedded(&once).map(|twice| (format!("{name} in base64 twice"), twice)));
                all.push((format!("{name} in base64"), once));
            }
        }
        Self(all)
    }

    /// Which of them are in these bytes.
    pub(crate) fn found_in(&self, bytes: &[u8]) -> Vec<&str> {
        // By their beginnings, so that one pass does.
        let mut beginnings: HashMap<[u8; 8], Vec<&(String, Vec<u8>)>> = HashMap::new();
        for trace in &self.0 {
            beginnings.entry(*trace.1.first_chunk().unwrap()).or_default().push(trace);
        }
        let mut found = Vec::new();
        for (at, window) in bytes.windows(8).enumerate() {
            let begun = beginnings.get(window).into_iter().flatten();
            let whole = begun.filter(|(_, trace)| bytes.get(at..).unwrap().starts_with(trace));
            found.extend(whole.map(|(name, _)| name.as_str()));
        }
        found
    }

    /// Which of them are in which file below a folder.
    pub(crate) fn found_below(&self, folder: &Path) -> Vec<String> {
        let mut found = Vec::new();
        let mut folders = vec![folder.to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(&folder).unwrap().flatten() {
                let path = entry.path();
                if path.is_dir() {
                    folders.push(path);
                } else if path.is_file() {
                    let bytes = std::fs::read(&path).unwrap_or_default();
                    found.extend(
                        self.found_in(&bytes).into_iter().map(|name| format!("{name} in {}", path.display())),
                    );
                }
            }
        }
        found
    }
}

fn sha256(text: &str) -> [u8; 32] {
    aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, text.as_bytes()).as_ref().try_into().unwrap()
}

/// What bytes look like inside longer bytes in base64url: in three ways, by where they begin.
fn embedded(bytes: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    let of = |before: usize| {
        let whole = encode_base64url(&[&vec![0; before], bytes].concat()).into_bytes();
        // The ends are mixed with what stands around.
        let (from, to) = (if before == 0 { 0 } else { before + 1 }, whole.len() - 2);
        whole.get(from..to).unwrap().to_vec()
    };
    [of(0), of(1), of(2)].into_iter()
}
