//! What a certificate says, as far as attestations need it. Who signed it is for [`super::trust`].

use highwater_notation::{Timestamp, from_iso};

use super::der::{self, Der};

const COUNTRY: &[u8] = &[0x55, 4, 6];
const ORGANIZATION: &[u8] = &[0x55, 4, 10];
const UNIT: &[u8] = &[0x55, 4, 11];
const COMMON_NAME: &[u8] = &[0x55, 4, 3];

const KEY_USAGE: &[u8] = &[0x55, 29, 15];
const OTHER_NAMES: &[u8] = &[0x55, 29, 17];
const BASIC_CONSTRAINTS: &[u8] = &[0x55, 29, 19];
const NAME_CONSTRAINTS: &[u8] = &[0x55, 29, 30];
const EXTENDED_KEY_USAGE: &[u8] = &[0x55, 29, 37];

/// id-fido-gen-ce-aaguid, 1.3.6.1.4.1.45724.1.1.4.
const AAGUID: &[u8] = &[0x2b, 6, 1, 4, 1, 0x82, 0xe5, 0x1c, 1, 1, 4];

/// The bit of the key usage that lets a key sign certificates, in the first byte.
const SIGNS_CERTIFICATES: u8 = 0x04;

/// How many extensions there may be. Real ones have a dozen at most.
const MAX_EXTENSIONS: usize = 64;

/// One certificate, borrowed from its bytes.
#[derive(Debug)]
pub(super) struct Certificate<'a> {
    /// 1 to 3.
    pub(super) version: u64,
    pub(super) issuer: Name<'a>,
    pub(super) subject: Name<'a>,
    pub(super) not_before: Timestamp,
    pub(super) not_after: Timestamp,
    pub(super) constraints: Option<Constraints>,
    /// What make of authenticator it is for, and whether it insists that this is understood.
    pub(super) aaguid: Option<([u8; 16], bool)>,
    /// Whether its key may sign certificates, where it says what it is for.
    signs: Option<bool>,
    /// Whether it insists on something that nobody here knows.
    pub(super) insists: bool,
}

/// Whether it may issue others, and how many may stand between those and the last one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Constraints {
    pub(super) ca: bool,
    pub(super) between: Option<u64>,
}

/// A distinguished name: its attributes with their texts.
#[derive(Debug)]
pub(super) struct Name<'a>(Vec<(&'a [u8], &'a str)>);

// === impl Certificate ===

impl<'a> Certificate<'a> {
    /// Reads one. Nothing may be left over, and no extension may be there twice.
    pub(super) fn read(bytes: &'a [u8]) -> Option<Self> {
        let mut outer = Der::whole(bytes, der::SEQUENCE)?;
        let mut body = outer.within(der::SEQUENCE)?;
        outer.take(der::SEQUENCE)?;
        outer.take(der::BITS)?;
        outer.end()?;

        let version = match body.maybe(der::numbered(0))? {
            None => 1,
            Some(inner) => {
                let mut inner = Der::new(inner);
                // The first is never written, as it is what is meant without.
                let version =
                    der::number(inner.take(der::INTEGER)?).filter(|number| matches!(number, 1 | 2))?;
                inner.end()?;
                version + 1
            }
        };
        body.take(der::INTEGER)?;
        body.take(der::SEQUENCE)?;
        let issuer = Name::read(body.within(der::SEQUENCE)?)?;
        let mut validity = body.within(der::SEQUENCE)?;
        let (not_before, not_after) = (time(&mut validity)?, time(&mut validity)?);
        validity.end()?;
        let subject = Name::read(body.within(der::SEQUENCE)?)?;
        body.take(der::SEQUENCE)?;
        let mut read = Self {
            version,
            issuer,
            subject,
            not_before,
            not_after,
            constraints: None,
            aaguid: None,
            signs: None,
            insists: false,
        };
        if let Some(extensions) = body.maybe(der::numbered(3))? {
            read.extensions(Der::whole(extensions, der::SEQUENCE)?)?;
        }
        body.end()?;
        Some(read)
    }

    fn extensions(&mut self, mut extensions: Der<'a>) -> Option<()> {
        let mut seen: Vec<&[u8]> = Vec::new();
        while !extensions.is_empty() {
            let mut extension = extensions.within(der::SEQUENCE)?;
            let (id, critical) = (extension.take(der::OID)?, extension.flag()?);
            let value = extension.take(der::OCTETS)?;
            extension.end()?;
            if seen.contains(&id) || seen.len() == MAX_EXTENSIONS {
                return None;
            }
            seen.push(id);
            match id {
                BASIC_CONSTRAINTS => self.constraints = Some(Constraints::read(value)?),
                KEY_USAGE => self.signs = Some(signs_certificates(value)?),
                AAGUID => {
                    let mut value = Der::new(value);
                    let aaguid = value.take(der::OCTETS)?.try_into().ok()?;
                    value.end()?;
                    self.aaguid = Some((aaguid, critical));
                }
                // The library that follows the chain reads these.
                OTHER_NAMES | NAME_CONSTRAINTS | EXTENDED_KEY_USAGE => {}
                _ => self.insists |= critical,
            }
        }
        Some(())
    }

    /// Whether it may issue other certificates.
    pub(super) fn may_issue(&self) -> bool {
        self.constraints.is_some_and(|constraints| constraints.ca) && self.signs != Some(false)
    }
}

// === impl Constraints ===

impl Constraints {
    fn read(value: &[u8]) -> Option<Self> {
        let mut value = Der::whole(value, der::SEQUENCE)?;
        let ca = value.flag()?;
        let between = value.maybe(der::INTEGER)?.map(der::number);
        value.end()?;
        Some(Self { ca, between: between.map_or(Some(None), |number| number.map(Some))? })
    }
}

// === impl Name ===

impl<'a> Name<'a> {
    fn read(mut parts: Der<'a>) -> Option<Self> {
        let mut attributes = Vec::new();
        while !parts.is_empty() {
            let mut part = parts.within(der::SET)?;
            while !part.is_empty() {
                let mut attribute = part.within(der::SEQUENCE)?;
                let (id, (tag, value)) = (attribute.take(der::OID)?, attribute.next()?);
                attribute.end()?;
                // Texts in alphabets of another age say nothing that is asked for here.
                if matches!(tag, der::UTF8 | der::PRINTABLE | der::IA5) {
                    attributes.push((id, std::str::from_utf8(value).ok()?));
                }
            }
        }
        Some(Self(attributes))
    }

    fn all(&self, id: &[u8]) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(known, _)| *known == id).map(|(_, text)| *text)
    }

    pub(super) fn country(&self) -> Option<&'a str> {
        self.all(COUNTRY).next()
    }

    pub(super) fn organization(&self) -> Option<&'a str> {
        self.all(ORGANIZATION).next()
    }

    pub(super) fn is_of_unit(&self, unit: &str) -> bool {
        self.all(UNIT).any(|known| known == unit)
    }

    pub(super) fn common_name(&self) -> Option<&'a str> {
        self.all(COMMON_NAME).next()
    }

    /// What people call it.
    pub(super) fn words(&self) -> &'a str {
        self.common_name().or_else(|| self.organization()).unwrap_or("somebody without a name")
    }
}

/// A time, in either of its two forms.
fn time(der: &mut Der<'_>) -> Option<Timestamp> {
    let (tag, text) = der.next()?;
    let text = std::str::from_utf8(text).ok()?.strip_suffix('Z')?;
    if !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let (century, text) = match (tag, text.len()) {
        (der::UTC_TIME, 12) if text < "50" => ("20", text),
        (der::UTC_TIME, 12) => ("19", text),
        (der::TIME, 14) => text.split_at_checked(2)?,
        _ => return None,
    };
    let part = |from: usize| text.get(from..from + 2);
    let (year, month, day) = (part(0)?, part(2)?, part(4)?);
    let (hour, minute, second) = (part(6)?, part(8)?, part(10)?);
    from_iso(&format!("{century}{year}-{month}-{day}T{hour}:{minute}:{second}.000Z"))
}

fn signs_certificates(value: &[u8]) -> Option<bool> {
    let mut value = Der::new(value);
    let (unused, bits) = value.take(der::BITS)?.split_first()?;
    value.end()?;
    (*unused < 8).then(|| bits.first().is_some_and(|bits| bits & SIGNS_CERTIFICATES != 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_of_the_right_century() {
        let read = |tag, text: &str| {
            time(&mut Der::new(&[&[tag, u8::try_from(text.len()).unwrap()], text.as_bytes()].concat()))
        };
        let iso = |text| from_iso(text);
        assert_eq!(read(der::UTC_TIME, "491231235959Z"), iso("2049-12-31T23:59:59.000Z"));
        assert_eq!(read(der::UTC_TIME, "700101000000Z"), iso("1970-01-01T00:00:00.000Z"));
        assert_eq!(read(der::TIME, "99991231235959Z"), iso("9999-12-31T23:59:59.000Z"));
        for bad in ["491231235959", "4912312359Z", "491331235959Z", "49123123595aZ", "490230235959Z"] {
            assert_eq!(read(der::UTC_TIME, bad), None, "{bad}");
        }
        assert_eq!(read(der::TIME, "491231235959Z"), None);
    }
}
