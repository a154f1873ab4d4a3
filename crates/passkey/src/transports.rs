//! How a credential can be reached, as the client named it at enrollment.

use serde::{Deserialize, Serialize};

use super::fault::Fault;

/// How many transports a credential may name. There are six.
const MAX_TRANSPORTS: usize = 16;

/// The longest name of a transport.
const MAX_TRANSPORT: usize = 32;

/// The transports that lead out of the machine.
const OUTSIDE: [&str; 4] = ["hybrid", "usb", "nfc", "ble"];

/// The transports of a credential as the client named them at enrollment. Nobody signs them, so a client that lies
/// passes the filter; what the class promises is no more than what the SEP promises of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Transports(Vec<String>);

// === impl Transports ===

impl Transports {
    /// Takes what a client named, within bounds.
    pub fn new(named: Vec<String>) -> Result<Self, Fault> {
        if named.len() > MAX_TRANSPORTS || named.iter().any(|name| name.len() > MAX_TRANSPORT) {
            return Err(Fault::Malformed("transports"));
        }
        Ok(Self(named))
    }

    /// Whether one of them leads out of the machine. A credential that names none may not be assumed to.
    pub fn lead_outside(&self) -> bool {
        self.0.iter().any(|known| OUTSIDE.contains(&known.as_str()))
    }

    /// The names.
    pub fn names(&self) -> &[String] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transports_are_bounded() {
        assert!(Transports::new(vec!["usb".to_owned(); 17]).is_err());
        assert!(Transports::new(vec!["x".repeat(33)]).is_err());
    }
}
