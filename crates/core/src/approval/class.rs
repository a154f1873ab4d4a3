//! Which authenticators a tool accepts, told by the transports that a credential was enrolled with.

use highwater_notation::vocabulary;
use highwater_passkey::Transports;

vocabulary! {
    /// Which credentials a tool accepts (S37, S38).
    AuthenticatorClass {
        /// Every enrolled credential.
        Platform = "platform",
        /// Only those that can be somewhere else than in the machine of the client.
        CrossPlatform = "cross-platform",
    }
}

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
            Self::CrossPlatform => transports.lead_outside(),
        }
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
}
