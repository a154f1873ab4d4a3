//! The approval service with a real store and a software passkey.

mod enrollment;
mod requests;
mod signing;
mod standing;

use std::sync::Arc;

use highwater_config::ApprovalSettings;
use highwater_core::annotation::Contract;
use highwater_core::approval::{AuthenticatorClass, Quorum};
use highwater_core::decide::{Effect, QuestionDigest, Told};
use highwater_core::id::{ApprovalId, ChallengeId, DecisionId, Principal, SessionKey, UpstreamId, UserId};
use highwater_core::label::Label;
use highwater_core::pin::PinDigest;
use highwater_notation::CanonicalArguments;
use highwater_passkey::{ActionHash, Algorithm, ToolName};
use highwater_profile::ToolShape;
use highwater_store::{ApprovalRequest, AuditLog, DataDir, Store, StoreOptions, StorePlace};
use highwater_testkit::passkey::Passkey;
use serde_json::Value;

use super::requests::{AskAnswer, NewAsk, told_of};
use super::view::ContextView;
use super::{
    ApprovalFault, ApprovalService, ApprovalServiceParts, AskedCall, Catalog, CatalogTool, EnrollFrom,
    Rememberable,
};

const ORIGIN: &str = "http://localhost:7412";

/// A desk and the directory it lives in.
struct Room {
    approval_service: Arc<ApprovalService>,
    folder: tempfile::TempDir,
}

/// A call that must be looked at.
struct Call {
    kind: Effect,
    principal: &'static str,
    session: &'static str,
    tool: &'static str,
    arguments: String,
    definition: u8,
    told: Told,
    label: Label,
    page: Option<&'static str>,
    quorum: Option<Quorum>,
}

// === impl Room ===

impl Room {
    async fn new() -> Self {
        Self::with(ApprovalSettings { open_browser: false, notify: false, ..ApprovalSettings::default() })
            .await
    }

    async fn with(settings: ApprovalSettings) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let approval_service = open(&folder, settings).await;
        let tool = |tool: &ToolName| {
            let schema = r#"{"type":"object","properties":{"path":{"type":"string"},"text":{}}}"#;
            (tool.as_str() != "gone").then(|| CatalogTool {
                definition: digest(1),
                upstream: UpstreamId::new("up"),
                own: tool.as_str().trim_start_matches("up__").into(),
                contract: Contract::unknown(),
                shape: Arc::new(ToolShape::read("up", "delete", Some(schema))),
                gated: false,
            })
        };
        let is_agent = |name: &Principal| name.as_str() == "agent";
        approval_service.know(Catalog { tool: Box::new(tool), is_agent: Box::new(is_agent) });
        Self { approval_service, folder }
    }

    /// A passkey of the owner that counts, confirmed by a code.
    async fn first_passkey(&self, user: &str) -> Passkey {
        let user = UserId::new(user);
        let opened = self.approval_service.open_window(&user, "test").await.unwrap();
        let (passkey, id) = self.register(&user).await;
        self.approval_service.confirm_by_code(&id, &opened.code.unwrap()).await.unwrap();
        passkey
    }

    /// Registers a passkey on the page, which makes it dormant.
    async fn register(&self, user: &UserId) -> (Passkey, String) {
        let from = EnrollFrom::Page { session: "s", signed_in: false };
        let options = json(&self.approval_service.enroll_begin(Some(user), from).await.unwrap());
        let mut passkey = Passkey::fresh(Algorithm::Es256, ORIGIN);
        let response = passkey.create(&options).unwrap();
        let stored = self.approval_service.enroll_finish(from, &response.to_string()).await.unwrap();
        assert_eq!(stored.standing, "dormant");
        (passkey, stored.id)
    }

    async fn ask(&self, call: &Call) -> AskAnswer {
        let (tool, arguments) = (call.tool(), call.arguments());
        let principal = Principal::new(call.principal);
        let (contract, shape, reply) = unlabelled();
        let asked = call.asked(&arguments, (&contract, &shape, &reply));
        let context =
            ContextView { rememberable: Rememberable::of(tool.as_str(), &asked), ..ContextView::default() };
        let ask = NewAsk {
            kind: call.kind,
            user: UserId::new("owner"),
            principal: &principal,
            session: &SessionKey::new(call.session),
            caller: "test".to_owned(),
            tool: &tool,
            upstream: Some(&UpstreamId::new("up")),
            definition: Some(digest(call.definition)),
            arguments: &arguments,
            action: self.hash(call),
            context,
            told: &call.told,
            question: QuestionDigest::parse(&"00".repeat(32)).unwrap(),
            class: AuthenticatorClass::CrossPlatform,
            quorum: call.quorum.clone(),
            sealed: false,
            has_link: false,
            decision: &DecisionId::new("hwd_1"),
        };
        self.approval_service.ask(ask).await.unwrap()
    }

    fn hash(&self, call: &Call) -> ActionHash {
        ActionHash::of(&call.tool(), &call.arguments(), self.approval_service.server())
    }

    async fn open(&self, call: &Call) -> ApprovalRequest {
        match self.ask(call).await {
            AskAnswer::Open(request) => *request,
            _ => panic!("it should be open"),
        }
    }

    /// Signs a request as the page would.
    async fn sign(
        &self,
        id: &ApprovalId,
        user: &str,
        passkey: &Passkey,
    ) -> Result<super::ApprovalState, ApprovalFault> {
        let envelope = json(&self.approval_service.challenge(id, Some(&UserId::new(user))).await?);
        let response = passkey.get(envelope.get("requestOptions").unwrap()).unwrap();
        let challenge = ChallengeId::new(envelope.get("challengeId").unwrap().as_str().unwrap());
        self.approval_service.assertion(id, &challenge, &response.to_string()).await
    }

    /// What is on record.
    fn log(&self) -> String {
        let folder = DataDir::open(self.folder.path().join("data")).unwrap().path().join("audit");
        let mut all = String::new();
        for entry in std::fs::read_dir(folder).unwrap() {
            all.push_str(&std::fs::read_to_string(entry.unwrap().path()).unwrap_or_default());
        }
        all
    }
}

async fn open(folder: &tempfile::TempDir, settings: ApprovalSettings) -> Arc<ApprovalService> {
    let data = DataDir::open(folder.path().join("data")).unwrap();
    let store = Store::open(&StorePlace::Sqlite(data.clone()), &StoreOptions::default()).await.unwrap();
    let installation = store.installation("localhost", ORIGIN).await.unwrap();
    let parts = ApprovalServiceParts { installation, key: data.receipt_key().unwrap() };
    let audit = Arc::new(AuditLog::open(&data).unwrap());
    ApprovalService::new(parts, store, audit, settings)
}

/// What is known of the tool that is called.
fn unlabelled() -> (Contract, ToolShape, Label) {
    (Contract::unknown(), ToolShape::read("up", "delete", Some(r#"{"type":"object"}"#)), Label::bottom())
}

fn digest(byte: u8) -> PinDigest {
    PinDigest::parse(&format!("{byte:02x}").repeat(32)).unwrap()
}

fn json(value: &impl serde::Serialize) -> Value {
    serde_json::to_value(value).unwrap()
}

// === impl Call ===

impl Call {
    fn new(kind: Effect) -> Self {
        Self {
            kind,
            principal: "agent",
            session: "s1",
            tool: "up__delete",
            arguments: r#"{"path":"a"}"#.to_owned(),
            definition: 1,
            told: told_of(r#"[["structural.approval",["person-wanted"]]]"#),
            label: Label::bottom(),
            page: None,
            quorum: None,
        }
    }

    fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    fn asked<'a>(
        &'a self,
        arguments: &'a CanonicalArguments,
        (contract, shape, reply): (&'a Contract, &'a ToolShape, &'a Label),
    ) -> AskedCall<'a> {
        AskedCall {
            arguments,
            is_direct: true,
            contract,
            shape,
            page: self.page,
            files: &[],
            folder: None,
            listed: None,
            label: &self.label,
            reply,
            told: &self.told,
            told_with_reply: None,
        }
    }

    fn tool(&self) -> ToolName {
        ToolName::parse(self.tool).unwrap()
    }

    fn arguments(&self) -> CanonicalArguments {
        CanonicalArguments::read(Some(&self.arguments)).unwrap()
    }
}
