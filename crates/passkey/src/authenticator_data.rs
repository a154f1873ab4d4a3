//! What the authenticator says of the ceremony, in the bytes that it signs.

use super::cbor::{self, Item};
use super::fault::Fault;
use super::relying_party::RelyingParty;

/// The longest authenticator data outside an attestation.
pub(crate) const MAX_AUTHENTICATOR_DATA: usize = 8 * 1024;

/// The longest credential id.
pub(crate) const MAX_CREDENTIAL_ID: usize = 1023;

const PRESENT: u8 = 0x01;
const VERIFIED: u8 = 0x04;
const BACKUP_ELIGIBLE: u8 = 0x08;
const BACKED_UP: u8 = 0x10;
const ATTESTED: u8 = 0x40;
const EXTENDED: u8 = 0x80;

/// The parts of authenticator data.
#[derive(Debug)]
pub struct AuthenticatorData<'a> {
    rp_id_hash: &'a [u8],
    flags: u8,
    /// Where the counter stands.
    pub counter: u32,
    /// The new credential, where one was made.
    pub attested: Option<Attested<'a>>,
}

/// The new credential, in a registration.
#[derive(Debug)]
pub struct Attested<'a> {
    /// The make of the authenticator.
    pub aaguid: [u8; 16],
    /// Its id.
    pub id: &'a [u8],
    /// Its public key, as it is written.
    pub cose: &'a [u8],
}

// === impl AuthenticatorData ===

impl<'a> AuthenticatorData<'a> {
    /// Takes the bytes apart; nothing may be left over.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Fault> {
        Self::read(bytes).ok_or(Fault::Malformed("authenticatorData"))
    }

    fn read(bytes: &'a [u8]) -> Option<Self> {
        let (rp_id_hash, rest) = bytes.split_at_checked(32)?;
        let (flags, rest) = rest.split_first()?;
        let (counter, mut rest) = rest.split_first_chunk::<4>()?;
        let attested = if flags & ATTESTED == 0 {
            None
        } else {
            let (attested, behind) = Attested::read(rest)?;
            rest = behind;
            Some(attested)
        };
        let complete = if flags & EXTENDED == 0 {
            rest.is_empty()
        } else {
            matches!(cbor::read_all(rest), Some(Item::Map(_)))
        };
        complete.then_some(Self {
            rp_id_hash,
            flags: *flags,
            counter: u32::from_be_bytes(*counter),
            attested,
        })
    }

    /// What holds of every ceremony: it was for us, and a person was there and was verified.
    pub fn check(&self, party: &RelyingParty) -> Result<(), Fault> {
        if self.rp_id_hash != party.rp_id_hash() {
            return Err(Fault::RpId);
        }
        if !self.has(PRESENT) {
            return Err(Fault::NotPresent);
        }
        if !self.has(VERIFIED) {
            return Err(Fault::NotVerified);
        }
        if self.backed_up() && !self.backup_eligible() {
            return Err(Fault::Backup);
        }
        Ok(())
    }

    /// Whether the credential may be copied to other devices. It never changes.
    pub fn backup_eligible(&self) -> bool {
        self.has(BACKUP_ELIGIBLE)
    }

    /// Whether it is copied now.
    pub fn backed_up(&self) -> bool {
        self.has(BACKED_UP)
    }

    fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }
}

// === impl Attested ===

impl<'a> Attested<'a> {
    fn read(bytes: &'a [u8]) -> Option<(Self, &'a [u8])> {
        let (aaguid, rest) = bytes.split_first_chunk::<16>()?;
        let (length, rest) = rest.split_first_chunk::<2>()?;
        let length = usize::from(u16::from_be_bytes(*length));
        if !(1..=MAX_CREDENTIAL_ID).contains(&length) {
            return None;
        }
        let (id, rest) = rest.split_at_checked(length)?;
        let (_, behind) = cbor::read(rest)?;
        let (cose, behind) = rest.split_at_checked(rest.len() - behind.len())?;
        Some((Self { aaguid: *aaguid, id, cose }, behind))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(flags: u8, rest: &[u8]) -> Result<(), Fault> {
        AuthenticatorData::parse(&[&[0; 32][..], &[flags, 0, 0, 0, 9], rest].concat()).map(|data| {
            assert_eq!(data.counter, 9);
        })
    }

    #[test]
    fn no_byte_is_missing_and_none_is_left_over() {
        let malformed = Err(Fault::Malformed("authenticatorData"));
        assert_eq!(AuthenticatorData::parse(&[0; 36]).map(|_| ()), malformed);
        assert_eq!(parse(0x05, &[]), Ok(()));
        assert_eq!(parse(0x05, &[0]), malformed);
        assert_eq!(parse(0x85, &[0xa0]), Ok(()));
        for extension in [&[][..], &[0xa0, 0x00], &[0x00], &[0xa1, 0x00]] {
            assert_eq!(parse(0x85, extension), malformed, "{extension:?}");
        }
        let attested =
            |length: u16, id: &[u8], key: &[u8]| [&[0; 16][..], &length.to_be_bytes(), id, key].concat();
        assert_eq!(parse(0x45, &attested(1, &[7], &[0xa0])), Ok(()));
        assert_eq!(parse(0xc5, &attested(1, &[7], &[0xa0, 0xa0])), Ok(()));
        assert_eq!(parse(0x45, &attested(1023, &[7; 1023], &[0xa0])), Ok(()));
        for bad in [
            attested(1, &[7], &[]),
            attested(1, &[7], &[0xa0, 0x00]),
            attested(0, &[], &[0xa0]),
            attested(9, &[7], &[0xa0]),
            attested(1024, &[7; 1024], &[0xa0]),
        ] {
            assert_eq!(parse(0x45, &bad), malformed, "{} bytes", bad.len());
        }
    }
}
