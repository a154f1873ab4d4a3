//! The words of a contract, each list from mild to severe, in the published spelling.

use highwater_notation::{Words, vocabulary};

vocabulary! {
    /// A kind of sensitive data. A category, not a grade: a card number and a medical record are both
    /// sensitive, to different readers.
    DataClass {
        /// The user's own data.
        User = "user",
        /// Personal data.
        Pii = "pii",
        /// Financial data.
        Financial = "financial",
        /// Passwords, keys and tokens.
        Credentials = "credentials",
        /// Data under a regulation; its scopes travel beside it.
        Regulated = "regulated",
        /// Private, and nobody says of what kind. Our own class; checked against destinations alone.
        Confidential = "confidential",
        /// Nobody said anything. Our own class; read as the worst on every check.
        Unclassified = "unclassified",
        /// Classes of the operator's own, such as `com.example.project-x`; their names travel beside it.
        Named = "named",
    }
}

/// The longest name of a class of the operator's own.
const LONGEST_CLASS_NAME: usize = 128;

/// The name of a class of the operator's own as it is compared, if this is one: a domain name read backwards, with at
/// least one dot, so that no word of any vocabulary is mistaken for it.
pub fn class_name(text: &str) -> Option<String> {
    let is_part = |part: &str| {
        let inside = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        !part.is_empty() && part.bytes().all(inside) && !part.starts_with('-') && !part.ends_with('-')
    };
    let fits = text.len() <= LONGEST_CLASS_NAME && text.contains('.') && text.split('.').all(is_part);
    fits.then(|| text.to_ascii_lowercase())
}

/// A set of data classes; the scopes of `regulated` and the names of the operator's own travel beside it.
pub type ClassSet = Words<DataClass>;

vocabulary! {
    /// Where a call's arguments may end up.
    Destination {
        /// Nowhere: they are gone after the call.
        Ephemeral = "ephemeral",
        /// The system the server runs in.
        System = "system",
        /// The user's own storage.
        User = "user",
        /// Inside the organisation.
        Internal = "internal",
        /// Anybody.
        Public = "public",
    }
}

vocabulary! {
    /// What a call does to the world.
    Outcome {
        /// Nothing.
        Benign = "benign",
        /// Something that can be undone.
        Consequential = "consequential",
        /// Something that cannot.
        Irreversible = "irreversible",
    }
}

vocabulary! {
    /// Where a reply's data comes from.
    Source {
        /// The system the server runs in.
        System = "system",
        /// The user's own data.
        User = "user",
        /// Inside the organisation.
        Internal = "internal",
        /// Public, from somebody who is trusted with what is written there.
        TrustedPublic = "trustedPublic",
        /// Public, from anybody.
        UntrustedPublic = "untrustedPublic",
    }
}

/// A set of sources.
pub type SourceSet = Words<Source>;

vocabulary! {
    /// What a server's process may touch.
    Capability {
        /// The network.
        Network = "network",
        /// Files.
        Filesystem = "filesystem",
        /// Environment variables.
        Environment = "environment",
        /// Other programs.
        Execution = "execution",
        /// Libraries.
        SoftwareLibraries = "software_libraries",
    }
}

vocabulary! {
    /// The two grades of the SAMOS annotations: a reading of the data classes and of the destination.
    Confidentiality {
        /// Public.
        Low = "low",
        /// Not public.
        High = "high",
    }
}

vocabulary! {
    /// An explicit wish that a person looks at every call of this tool.
    ApprovalWish {
        /// No such wish.
        None = "none",
        /// A person confirms the call.
        Confirm = "confirm",
        /// A person signs the call with a passkey.
        Passkey = "passkey",
    }
}

vocabulary! {
    /// The class of a call, as agent tokens grant it.
    CallVariant {
        /// It reads.
        Read = "call_tool_read",
        /// It writes, or nobody said.
        Write = "call_tool_write",
        /// It destroys, or cannot be undone.
        Destructive = "call_tool_destructive",
    }
    aliases { "read" = Read, "write" = Write, "destructive" = Destructive }
}

vocabulary! {
    /// What an argument decides. Listed from the one that matters least if a stranger chose it.
    ArgumentRole {
        /// What shows a server that it has seen the caller before. It is of use to that server alone.
        Session = "session",
        /// A one-time code.
        Proof = "proof",
        /// A filter of a read.
        Query = "query",
        /// A typed value of low capacity: an amount, a date, a flag.
        Scalar = "scalar",
        /// Free text.
        Content = "content",
        /// What something new is called.
        Name = "name",
        /// A password or a key.
        Secret = "secret",
        /// Which existing thing is acted on.
        Object = "object",
        /// Who or where receives, or is empowered.
        Target = "target",
    }
}

vocabulary! {
    /// An axis of the contract, under the name by which rules and people know it.
    Axis {
        /// Where arguments go.
        Destination = "inputMetadata.destination",
        /// Which classes the tool is built to receive.
        Accepts = "inputMetadata.sensitivity",
        /// What a call does.
        Outcomes = "inputMetadata.outcomes",
        /// Where replies come from.
        Source = "returnMetadata.source",
        /// Which classes replies hold.
        Returns = "returnMetadata.sensitivity",
        /// What replies are worth at most.
        Integrity = "integrity",
        /// The least a person has to do with every call.
        Approval = "approval",
        /// What the process may touch.
        Capabilities = "capabilities",
    }
}

// === impl Axis ===

impl Axis {
    /// The short name, as the emitted contract's `basis` has it.
    pub const fn short(self) -> &'static str {
        match self {
            Self::Destination => "destination",
            Self::Accepts => "accepts",
            Self::Outcomes => "outcomes",
            Self::Source => "source",
            Self::Returns => "returns",
            Self::Integrity => "integrity",
            Self::Approval => "approval",
            Self::Capabilities => "capabilities",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_read_without_hyphen_underscore_and_case() {
        for spelling in
            ["untrustedPublic", "UntrustedPublic", "untrusted-public", "untrusted_public", "UNTRUSTEDPUBLIC"]
        {
            assert_eq!(Source::parse(spelling), Some(Source::UntrustedPublic), "{spelling}");
        }
        assert_eq!(Source::parse("untrusted public"), None);
        assert_eq!(Source::parse("untrustedPublic "), None);
        assert_eq!(Source::parse(""), None);
    }

    #[test]
    fn a_word_is_written_in_the_published_spelling_and_read_back() {
        for word in Source::ALL {
            let text = serde_json::to_string(word).unwrap();
            assert_eq!(serde_json::from_str::<Source>(&text).unwrap(), *word);
        }
        assert_eq!(serde_json::to_string(&Source::TrustedPublic).unwrap(), r#""trustedPublic""#);
        assert_eq!(serde_json::to_string(&Capability::SoftwareLibraries).unwrap(), r#""software_libraries""#);
        assert!(serde_json::from_str::<Source>(r#""web""#).is_err());
    }
}
