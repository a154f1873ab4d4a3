//! Tells a URL of the operator's what waits for people, what they decided, that passkeys are reset, and that a reply was
//! reported as malicious. Only what the
//! subject line of a mail would say: which tool of which server, whose answer, where. Nothing waits for it, and nothing
//! fails with it.

use std::sync::{Arc, Weak};
use std::time::Duration;

use aws_lc_rs::hmac;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use highwater_config::Webhook;
use highwater_core::decide::Effect;
use highwater_core::id::{DecisionId, UpstreamId, UserId};
use highwater_notation::{Timestamp, to_iso};
use highwater_store::ApprovalRequest;
use serde::Serialize;
use tokio::sync::mpsc;

use super::{ApprovalService, ApprovalState, random_id};
use crate::gateway::now;

/// How many messages wait to be sent. What comes beyond is in the inbox and in the log.
const MOST_WAITING: usize = 64;

/// How long the other side may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// How long after a failure it is tried once more.
const AGAIN: Duration = Duration::from_secs(1);

/// Who is meant, in errors.
const NAME: &str = "webhook";

/// Where messages are put.
pub(super) struct Messages(mpsc::Sender<Message>);

/// What is told.
#[derive(Clone, Debug, Serialize)]
struct Message {
    r#type: &'static str,
    timestamp: String,
    data: Data,
}

#[derive(Clone, Debug, Default, Serialize)]
struct Data {
    #[serde(skip_serializing_if = "Option::is_none")]
    request: Option<String>,
    url: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    server: Option<String>,
    #[serde(skip_serializing_if = "String::is_empty")]
    user: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    due: Option<String>,
    /// For `highwater explain`.
    #[serde(skip_serializing_if = "Option::is_none")]
    decision: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    sources: Vec<String>,
}

// === impl Messages ===

impl Messages {
    /// The place for messages, and where they come out.
    pub(super) fn new() -> (Self, Waiting) {
        let (put, take) = mpsc::channel(MOST_WAITING);
        (Self(put), Waiting(take))
    }
}

/// Messages that wait to be sent.
pub(super) struct Waiting(mpsc::Receiver<Message>);

// === impl Waiting ===

impl Waiting {
    /// Sends what comes, one after another, to wherever the configuration of that moment says.
    pub(super) fn send_for(mut self, approval_service: &Arc<ApprovalService>) {
        let approval_service: Weak<ApprovalService> = Arc::downgrade(approval_service);
        tokio::spawn(async move {
            while let Some(message) = self.0.recv().await {
                let Some(webhook) = approval_service
                    .upgrade()
                    .and_then(|approval_service| approval_service.settings().webhook.clone())
                else {
                    continue;
                };
                send(&webhook, &message).await;
            }
        });
    }
}

// === impl ApprovalService ===

impl ApprovalService {
    /// Says that somebody must be asked.
    pub(super) fn tell_asked(&self, request: &ApprovalRequest) {
        self.tell("approval.requested", || self.about(request));
    }

    /// Says what was decided. What is not decided yet is not told.
    pub(super) fn tell_decided(&self, request: &ApprovalRequest, state: ApprovalState) {
        match state {
            ApprovalState::Approved => self.tell("approval.approved", || self.about(request)),
            ApprovalState::Declined => self.tell("approval.declined", || self.about(request)),
            ApprovalState::Pending | ApprovalState::Consumed | ApprovalState::Expired => {}
        }
    }

    /// Says that a server reports a reply as malicious.
    pub(crate) fn tell_malicious(
        &self,
        server: &UpstreamId,
        tool: &str,
        decision: &DecisionId,
        sources: &[String],
    ) {
        self.tell("reply.malicious", || Data {
            url: format!("{}/inbox", self.origin),
            tool: Some(tool.to_owned()),
            server: Some(server.to_string()),
            decision: Some(decision.to_string()),
            sources: sources.to_vec(),
            ..Data::default()
        });
    }

    /// Says how a reset of somebody's passkeys stands.
    pub(super) fn tell_reset(&self, what: &'static str, user: &UserId, due: Option<Timestamp>) {
        self.tell(what, || Data {
            url: format!("{}/inbox", self.origin),
            user: user.to_string(),
            due: due.map(to_iso),
            ..Data::default()
        });
    }

    fn about(&self, request: &ApprovalRequest) -> Data {
        Data {
            request: Some(request.id.to_string()),
            url: self.url(&request.id),
            kind: Some(if request.kind == Effect::Confirm { "confirm" } else { "passkey" }),
            tool: Some(request.tool.as_str().to_owned()),
            server: request.upstream.as_ref().map(ToString::to_string),
            user: request.user.to_string(),
            expires: Some(to_iso(request.expires)),
            ..Data::default()
        }
    }

    fn tell(&self, what: &'static str, data: impl FnOnce() -> Data) {
        if self.settings().webhook.is_none() {
            return;
        }
        let message = Message { r#type: what, timestamp: to_iso(now()), data: data() };
        if self.messages.0.try_send(message).is_err() {
            tracing::warn!(what, "the webhook is too slow; this message is not sent");
        }
    }
}

/// Sends a message, and once more if that fails.
async fn send(webhook: &Webhook, message: &Message) {
    let (Ok(id), Ok(body)) = (random_id(), serde_json::to_vec(message)) else {
        return tracing::error!("a message to the webhook could not be made");
    };
    for last in [false, true] {
        // Signed anew, so that a receiver which refuses old messages takes the second.
        let headers = headers(webhook.secret.as_deref(), &id, now(), &body);
        let name = UpstreamId::new(NAME);
        let sent = highwater_upstream::deliver(&name, &webhook.url, &headers, body.clone(), PATIENCE).await;
        match sent {
            Ok(()) => return,
            // Neither the URL nor what the other side wrote: both may hold secrets.
            Err(error) if last => {
                tracing::warn!(cause = %error.cause, what = message.r#type, "the webhook was not told");
            }
            Err(_) => tokio::time::sleep(AGAIN).await,
        }
    }
}

/// The headers of the Standard Webhooks.
fn headers(secret: Option<&[u8]>, id: &str, at: Timestamp, body: &[u8]) -> Vec<(&'static str, String)> {
    let id = format!("msg_{id}");
    let seconds = (at.0 / 1000).to_string();
    let mut headers = Vec::with_capacity(3);
    if let Some(secret) = secret {
        let mut signed = hmac::Context::with_key(&hmac::Key::new(hmac::HMAC_SHA256, secret));
        for part in [id.as_bytes(), b".", seconds.as_bytes(), b".", body] {
            signed.update(part);
        }
        let signature = STANDARD.encode(signed.sign().as_ref());
        headers.push(("webhook-signature", format!("v1,{signature}")));
    }
    headers.push(("webhook-id", id));
    headers.push(("webhook-timestamp", seconds));
    headers
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the Standard Webhooks' own text.
    #[test]
    fn messages_are_signed_as_the_standard_says() {
        let secret = STANDARD.decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
        let mut signed = hmac::Context::with_key(&hmac::Key::new(hmac::HMAC_SHA256, &secret));
        signed.update(br#"msg_p5jXN8AQM9LWM0D4loKWxJek.1614265330.{"test": 2432232314}"#);
        let expected = format!("v1,{}", STANDARD.encode(signed.sign().as_ref()));
        assert_eq!(expected, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
        let made = headers(
            Some(&secret),
            "p5jXN8AQM9LWM0D4loKWxJek",
            Timestamp(1_614_265_330_123),
            br#"{"test": 2432232314}"#,
        );
        assert_eq!(made.first(), Some(&("webhook-signature", expected)));
        assert_eq!(headers(None, "x", Timestamp(0), b"").len(), 2);
    }
}
