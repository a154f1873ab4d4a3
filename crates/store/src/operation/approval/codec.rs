//! Rows of approvals, written and read.

use highwater_core::approval::{AuthenticatorClass, ChallengeRecord, Credential, Quorum};
use highwater_core::decide::{Effect, QuestionDigest};
use highwater_core::id::{ApprovalId, ChallengeId, Principal, SessionKey, UpstreamId, UserId};
use highwater_core::pin::PinDigest;
use highwater_notation::{CanonicalArguments, Timestamp, decode_base64url};
use highwater_passkey::{ActionHash, CredentialId, Nonce, PublicKey, ToolName, Transports, WireChallenge};
use serde::{Deserialize, Serialize};

use crate::StoreError;
use crate::approval::{
    ApprovalRequest, Need, RememberedAnswer, RequestState, Revocation, StoredCredential, StoredMandate,
    StoredReceipt,
};
use crate::sql::{Row, Value};

/// What other replicas are told when a request has changed.
pub(crate) const APPROVALS_HINT: &str = "approval:";

#[derive(Serialize, Deserialize)]
struct NeedText {
    class: String,
    #[serde(default)]
    quorum: Option<Quorum>,
}

pub(super) fn millis(time: Timestamp) -> i64 {
    i64::try_from(time.0).unwrap_or(i64::MAX)
}

pub(super) fn time(at: Timestamp) -> Value<'static> {
    Value::Int(millis(at))
}

pub(crate) fn stamp(millis: i64) -> Timestamp {
    Timestamp(millis.max(0).unsigned_abs())
}

/// A time that was counted from the caller's clock, counted from the store's.
pub(crate) fn rebased(at: Timestamp, given: Timestamp, now: i64) -> i64 {
    now.saturating_add(millis(at).saturating_sub(millis(given)))
}

pub(super) fn need_text(need: &Need) -> Result<String, StoreError> {
    let text = NeedText { class: need.class.as_str().to_owned(), quorum: need.quorum.clone() };
    serde_json::to_string(&text)
        .map_err(|error| StoreError::Failed { doing: "write a request", why: error.to_string().into() })
}

pub(super) fn transports_text(transports: &Transports) -> Result<String, StoreError> {
    serde_json::to_string(transports)
        .map_err(|error| StoreError::Failed { doing: "write a credential", why: error.to_string().into() })
}

fn foreign(what: &'static str) -> StoreError {
    StoreError::Foreign { what }
}

pub(super) fn bytes(text: &str) -> Result<Vec<u8>, StoreError> {
    decode_base64url(text).ok_or(foreign("bytes that are none"))
}

pub(super) fn array<const N: usize>(text: &str) -> Result<[u8; N], StoreError> {
    bytes(text)?.try_into().map_err(|_| foreign("bytes of another length"))
}

fn happened(row: &Row, column: usize) -> Result<Option<Timestamp>, StoreError> {
    Ok(Some(Timestamp(row.count(column)?)).filter(|time| time.0 != 0))
}

fn some(row: &Row, column: usize) -> Result<Option<&str>, StoreError> {
    Ok(Some(row.text(column)?).filter(|text| !text.is_empty()))
}

fn revocation(row: &Row, from: usize) -> Result<Option<Revocation>, StoreError> {
    let (by, reason) = (row.text(from + 1)?.to_owned(), row.text(from + 2)?.to_owned());
    Ok(happened(row, from)?.map(|at| Revocation { at, by, reason }))
}

fn definition(row: &Row, column: usize) -> Result<Option<PinDigest>, StoreError> {
    let parse = |text| PinDigest::parse(text).ok_or(foreign("a digest that is none"));
    some(row, column)?.map(parse).transpose()
}

fn upstream(row: &Row, column: usize) -> Result<Option<UpstreamId>, StoreError> {
    Ok(some(row, column)?.map(UpstreamId::new))
}

pub(super) fn tool(row: &Row, column: usize) -> Result<ToolName, StoreError> {
    ToolName::parse(row.text(column)?).map_err(|_| foreign("a tool without a name"))
}

/// Arguments as they are stored. What was cleared reads as none.
fn arguments(row: &Row, column: usize) -> Result<CanonicalArguments, StoreError> {
    CanonicalArguments::read(some(row, column)?).map_err(|_| foreign("arguments that are none"))
}

/// A credential whose columns begin at one.
pub(super) fn credential(row: &Row, from: usize) -> Result<StoredCredential, StoreError> {
    let text = |column: usize| row.text(from + column);
    let confirmed = happened(row, from + 14)?;
    let revoked = revocation(row, from + 16)?;
    let counter = u32::try_from(row.int(from + 4)?).map_err(|_| foreign("a counter that is none"))?;
    let transports: Transports =
        serde_json::from_str(text(5)?).map_err(|_| foreign("transports that are none"))?;
    let credential = Credential {
        id: CredentialId::parse(text(0)?).ok_or(foreign("a credential without an id"))?,
        user: UserId::new(text(1)?),
        user_handle: bytes(text(2)?)?.into(),
        key: PublicKey::from_cose(&bytes(text(3)?)?).map_err(|_| foreign("a key that is none"))?,
        counter,
        transports,
        backup_eligible: row.int(from + 7)? != 0,
        standing: StoredCredential::standing(confirmed.is_some(), revoked.is_some()),
    };
    let by = text(15)?.to_owned();
    Ok(StoredCredential {
        credential,
        aaguid: array(text(6)?)?,
        backed_up: row.int(from + 8)? != 0,
        format: text(9)?.into(),
        attestation: bytes(text(10)?)?.into(),
        client_data: bytes(text(11)?)?.into(),
        created: Timestamp(row.count(from + 12)?),
        enrolled_by: text(13)?.to_owned(),
        confirmed: confirmed.map(|at| (at, by)),
        revoked,
        name: text(19)?.to_owned(),
    })
}

/// A request as it stands at this time.
pub(super) fn request(row: &Row, now: i64) -> Result<ApprovalRequest, StoreError> {
    let kind = match row.text(1)? {
        "confirm" => Effect::Confirm,
        "passkey" => Effect::Passkey,
        _ => return Err(foreign("a request of an unknown kind")),
    };
    let need: NeedText = serde_json::from_str(row.text(14)?).map_err(|_| foreign("a need that is none"))?;
    let class = AuthenticatorClass::parse(&need.class).ok_or(foreign("an unknown class"))?;
    let state = RequestState::from_word(row.text(16)?)?;
    let action = match some(row, 10)? {
        None => Some(ActionHash::from([0; 32])),
        Some(text) => ActionHash::parse(text),
    };
    let question = match some(row, 13)? {
        None => Some(QuestionDigest::CLEARED),
        Some(text) => QuestionDigest::parse(text),
    };
    Ok(ApprovalRequest {
        id: ApprovalId::new(row.text(0)?),
        kind,
        user: UserId::new(row.text(2)?),
        principal: Principal::new(row.text(3)?),
        session: SessionKey::new(row.text(4)?),
        caller: row.text(5)?.to_owned(),
        tool: tool(row, 6)?,
        upstream: upstream(row, 7)?,
        definition: definition(row, 8)?,
        arguments: arguments(row, 9)?,
        action: action.ok_or(foreign("an action that is none"))?,
        shown: row.text(11)?.into(),
        told: row.text(12)?.into(),
        question: question.ok_or(foreign("a question that is none"))?,
        need: Need { class, quorum: need.quorum },
        sensitive: row.int(15)? != 0,
        cleared: row.text(9)?.is_empty(),
        state: ApprovalRequest::state_at(state, row.int(18)?, row.int(19)?, now),
        created: Timestamp(row.count(17)?),
        expires: Timestamp(row.count(18)?),
        decided: happened(row, 19)?,
        decided_by: some(row, 20)?.map(str::to_owned),
    })
}

/// A challenge with the request it belongs to, as [`crate::sql::approvals::CHALLENGE_AND_CREDENTIAL`] gives it.
pub(super) fn challenge(row: &Row) -> Result<(ChallengeRecord, Option<ApprovalId>), StoreError> {
    // What was cleared is over: its bytes mean nothing.
    let wire = match row.text(7)? {
        "" => WireChallenge::new(Nonce([0; 32]), ActionHash::from([0; 32])),
        _ => WireChallenge::from(array::<64>(row.text(8)?)?),
    };
    let record = ChallengeRecord {
        id: ChallengeId::new(row.text(0)?),
        principal: Principal::new(row.text(2)?),
        user: UserId::new(row.text(3)?),
        tool: tool(row, 4)?,
        upstream: upstream(row, 5)?,
        definition: definition(row, 6)?,
        arguments: arguments(row, 7)?,
        wire,
        issued: Timestamp(row.count(9)?),
        expires: Timestamp(row.count(10)?),
        consumed: row.int(11)? != 0,
    };
    Ok((record, some(row, 1)?.map(ApprovalId::new)))
}

pub(super) fn receipt(row: &Row) -> Result<StoredReceipt, StoreError> {
    let (chain, seq) = (row.text(0)?.to_owned(), row.count(1)?);
    Ok(StoredReceipt { chain, seq, id: row.text(2)?.to_owned(), text: row.text(3)?.to_owned() })
}

pub(super) fn mandate(row: &Row) -> Result<StoredMandate, StoreError> {
    Ok(StoredMandate {
        id: row.text(0)?.to_owned(),
        receipt: row.text(1)?.to_owned(),
        user: UserId::new(row.text(2)?),
        agent: Principal::new(row.text(3)?),
        terms: arguments(row, 4)?,
        definitions: row.text(5)?.into(),
        remaining: row.count(6)?,
        not_before: Timestamp(row.count(7)?),
        expires: Timestamp(row.count(8)?),
        revoked: revocation(row, 9)?,
    })
}

pub(super) fn remembered(row: &Row) -> Result<RememberedAnswer, StoreError> {
    Ok(RememberedAnswer {
        id: row.text(0)?.to_owned(),
        user: UserId::new(row.text(1)?),
        principal: Principal::new(row.text(2)?),
        session: some(row, 3)?.map(SessionKey::new),
        tool: tool(row, 4)?,
        upstream: upstream(row, 5)?,
        definition: definition(row, 6)?,
        targets: some(row, 7)?.map(str::to_owned),
        label: row.text(8)?.into(),
        told: row.text(9)?.into(),
        created: Timestamp(row.count(10)?),
        until: Timestamp(row.count(11)?),
    })
}

pub(super) fn digest_text(digest: Option<PinDigest>) -> String {
    digest.map(|digest| digest.to_string()).unwrap_or_default()
}

pub(super) fn upstream_text(upstream: Option<&UpstreamId>) -> &str {
    upstream.map_or("", UpstreamId::as_str)
}
