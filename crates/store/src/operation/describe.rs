//! What a person says a server is: the operator's one word for it, said by answering and not in the file.

use highwater_core::profile::Profile;
use highwater_notation::Json;
use highwater_pins::{Definition, PartClass, PinKey};

use super::pins::PINS_HINT;
use super::{Access, Durability, Operation};
use crate::StoreError;
use crate::pins::Description;
use crate::sql::{Tx, Value, statement};

/// Writes down what a person says a server is, or that it is not said any more.
#[derive(Debug)]
pub(crate) struct Describe {
    pub(crate) description: Description,
    pub(crate) now: i64,
    /// The name of its event.
    pub(crate) event: String,
}

// === impl Describe ===

impl Operation for Describe {
    type Output = ();

    const DOING: &'static str = "write down what a person says a server is";

    fn access(&self) -> Access {
        Access::Write(Durability::Flushed)
    }

    async fn run<T: Tx>(&self, tx: &mut T) -> Result<(), StoreError> {
        let Description { server, profile, person, reason } = &self.description;
        let key = PinKey::profile();
        let (of, kind, name) = (Value::Text(server), Value::Text(key.kind.as_str()), Value::Text(&key.name));
        let now = Value::Int(self.now);
        let word = profile.map(definition);
        let (digest, text) = match &word {
            Some(word) => (word.digest().to_string(), &**word.text()),
            None => (String::new(), ""),
        };
        let (digest, text) = (Value::Text(&digest), Value::Text(text));
        if word.is_some() {
            tx.execute(statement::SEE_PIN, &[of, kind, name, digest, text, now]).await?;
            let values = [Value::Int(0), Value::Text(person), now, of, kind, name, digest];
            tx.execute(statement::APPROVE_PIN, &values).await?;
        } else {
            tx.execute(statement::DROP_PIN, &[of, kind, name]).await?;
        }
        let event = [
            Value::Text(&self.event),
            of,
            kind,
            name,
            now,
            Value::Text(self.description.word()),
            digest,
            text,
            Value::Text(person),
            Value::Text(reason),
            Value::Int(1),
        ];
        tx.execute(statement::PIN_EVENT, &event).await?;
        tx.announce(&format!("{PINS_HINT}{server}")).await
    }

    #[cfg(any(test, feature = "testing"))]
    fn model(&self, model: &mut crate::memory::Model) {
        model.describe(self);
    }
}

/// The word as it is kept beside the definitions: with a text and a digest, as all of them have.
pub(crate) fn definition(profile: Profile) -> Definition {
    let parts = [("/profile".into(), PartClass::Annotation, Json::text(profile.as_str()))];
    Definition::new(PinKey::profile(), format!("{:?}", profile.as_str()), parts)
}
