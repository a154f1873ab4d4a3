//! Which authenticators a tool accepts, told by the transports that a credential was enrolled with.

use highwater_notation::vocabulary;
use serde::{Deserialize, Serialize};

use super::fault::Fault;

vocabulary! {
    /// Which credentials a tool accepts (S37, S38).
    AuthenticatorClass {
        /// Every enrolled credential.
        Platform = "platform",
        /// Only those that can be somewhere else than in the machine of the client.
        CrossPlatform = "cross-platform",
    }
}

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

// === impl AuthenticatorClass ===

impl Default for AuthenticatorClass {
    /// A tool that does not say gets the stricter one (S2).
    fn default() -> Self {
        Self::CrossPlatform
    }
}

impl AuthenticatorClass {
    /// Whether a credential with these transports may approve. One that names none may not be assumed to be outside.
    pub fn admits(self, transports: &Transports) -> bool {
        match self {
            Self::Platform => true,
            Self::CrossPlatform => transports.0.iter().any(|known| OUTSIDE.contains(&known.as_str())),
        }
    }
}

// === impl Transports ===

impl Transports {
    /// Takes what a client named, within bounds.
    pub fn new(named: Vec<String>) -> Result<Self, Fault> {
        if named.len() > MAX_TRANSPORTS || named.iter().any(|name| name.len() > MAX_TRANSPORT) {
            return Err(Fault::Malformed("transports"));
        }
        Ok(Self(named))
    }

    /// The names.
    pub fn names(&self) -> &[String] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admits(class: AuthenticatorClass, named: &[&str]) -> bool {
        class.admits(&Transports::new(named.iter().map(|name| (*name).to_owned()).collect()).unwrap())
    }

    #[test]
    fn s02_a_tool_that_does_not_say_is_cross_platform() {
        assert_eq!(AuthenticatorClass::default(), AuthenticatorClass::CrossPlatform);
    }

    #[test]
    fn s37_g07_what_names_no_way_out_of_the_machine_is_not_cross_platform() {
        let class = AuthenticatorClass::CrossPlatform;
        for outside in [&["usb"][..], &["nfc"], &["ble"], &["hybrid"], &["hybrid", "internal"]] {
            assert!(admits(class, outside), "{outside:?}");
        }
        for inside in [&["internal"][..], &[], &["internal", "internal"], &["smart-card"], &["USB"]] {
            assert!(!admits(class, inside), "{inside:?}");
        }
    }

    #[test]
    fn s38_platform_accepts_every_credential() {
        for named in [&["internal"][..], &[], &["usb"], &["whatever"]] {
            assert!(admits(AuthenticatorClass::Platform, named));
        }
    }

    #[test]
    fn transports_are_bounded() {
        assert!(Transports::new(vec!["usb".to_owned(); 17]).is_err());
        assert!(Transports::new(vec!["x".repeat(33)]).is_err());
    }
}
