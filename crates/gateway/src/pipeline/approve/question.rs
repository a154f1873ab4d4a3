//! A question to a person, from the moment a call is held until it may be made, is refused, or is asked by ending the
//! client's request. One transition function says what follows what; whoever drives it does the work of each step and
//! reports what came of it.
//!
//! ```text
//!          ┌────────── looking ◀─────────────┐ the yes does not cover what is found now
//!          │ found        │ nothing covers it │
//!          │              ▼                   │
//!          │           asking ──▶ waiting ────┤ its time is over
//!          │ collected    │          │ agreed │
//!          ▼              │          ▼        │
//!       judging ◀─────────┴──────────┘────────┤
//!          │ covered                          │
//!          ▼                                  │
//!       spending ─────────────────────────────┤ somebody else was faster
//!          │ spent                            │
//!          ▼                                  │
//!       deciding ─────────────────────────────┘
//!          │ allowed
//!          ▼
//!       permitted
//! ```
//!
//! Nothing is permitted but by a judgement of that moment, and where that judgement asks for a person, by a yes that was
//! used up before. An event that does not belong to the state refuses.

#[cfg(test)]
mod tests;

use highwater_core::policy::Effect;

/// How often a question may be opened in the course of one call: what has changed while a person thought is a new one.
pub(crate) const MAX_OPENINGS: u8 = 3;

/// A yes that a call may rest on, by where it comes from. Each is used up, or is found to be there, by one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Yes {
    /// To the execution that this is a further round of.
    Round,
    /// To the challenge of a server that verifies approvals itself.
    Challenge,
    /// Written into the configuration by the operator.
    Permit,
    /// A signature that the call brings along.
    Evidence,
    /// Given earlier, to be remembered.
    Remembered,
    /// Signed in advance.
    Mandate,
    /// Filled in in a form of the client.
    Form,
    /// Given on the approval page, by the button or by passkeys.
    Grant,
}

/// How a person is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Channel {
    /// By a form, in a request on the stream of the call.
    FormRequest,
    /// By a form, in the result that ends the client's request.
    FormResult,
    /// By the address of the page, in a request on the stream of the call.
    UrlRequest,
    /// By the address of the page, in the result that ends the client's request.
    UrlResult,
    /// On the page, while the call is held.
    Page,
    /// By the error that says that a signature is missing.
    MissingEvidence,
}

/// What a question is opened with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Situation {
    /// What an approval has to be worth.
    pub(crate) grade: Effect,
    /// Whether the request goes on with an execution that a person agreed to.
    pub(crate) is_round: bool,
    /// Whether the call brings a signature along.
    pub(crate) is_signed: bool,
    /// Whether its server verifies approvals itself.
    pub(crate) relayed: bool,
    /// Whether it is a call of a tool.
    pub(crate) is_call: bool,
    /// Whether it can be shown and signed, so that something can have been agreed to before.
    pub(crate) signable: bool,
    /// Whether several people have to sign.
    pub(crate) quorum: bool,
    /// How a person can be asked; nothing where nobody can.
    pub(crate) channel: Option<Channel>,
}

/// What came of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// There is a yes of the kind that was looked for.
    Found,
    /// There is none.
    NotFound,
    /// The question is with the person.
    Put,
    /// A person agreed to the same question before, and no call rests on it yet.
    Collected,
    /// Nobody is asked: too many questions wait, the tool is paused, passkeys are being reset.
    NotPut,
    /// The person agrees.
    Agreed,
    /// The person declines, or has declined the same a while ago.
    Declined,
    /// Its time is over, or another call rests on the answer.
    Expired,
    /// It still waits, and the client does not wait any longer.
    StillOpen,
    /// The client's request ended with the question.
    Returned,
    /// As everything is now, nobody has to be asked.
    Allowed,
    /// As everything is now, a person is still asked, and the yes covers it.
    Covered,
    /// As everything is now, a person is asked something that the yes does not cover, or there is no yes.
    Changed(Situation),
    /// The caller does not wait any more.
    CallerGone,
    /// The yes is used up, for this call.
    Spent,
    /// It could not be used up: somebody else was faster, or its time is over.
    NotSpent(Situation),
}

/// What has to be done next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Look for a yes of this kind that covers the call.
    LookFor(Yes),
    /// Put the question.
    Ask(Channel),
    /// Wait for the answer.
    Wait(Channel),
    /// Judge the call again, as everything is now.
    JudgeAgain(Option<Yes>),
    /// Use the yes up.
    Spend(Yes),
    /// Judge the call with the yes that was used up.
    JudgeWith(Yes),
    /// Make the call.
    Permit,
    /// End the client's request with the question.
    Return,
    /// Refuse the call.
    Refuse(Unanswered),
}

/// Why a question ends without a permit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unanswered {
    /// A person said no.
    Declined,
    /// There is no way to ask one.
    NobodyToAsk,
    /// Nobody is asked now.
    NotPut,
    /// It waits, and the identical call collects the answer.
    StillOpen,
    /// The caller has gone; the answer stays for the identical call.
    CallerGone,
    /// What is asked has changed too often.
    AskedTooOften,
    /// An event that does not belong to the state: a fault of ours.
    OutOfOrder,
}

/// What happened to a question, by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Transition {
    /// A yes was there before the call.
    FoundBefore,
    /// Looked further.
    LookedFurther,
    /// Nothing covered it, so a person is asked.
    NothingCovers,
    /// Nothing covered it, and nobody can be asked.
    NobodyToAsk,
    /// The question reached the person.
    Put,
    /// The yes to an earlier question of the same call was collected.
    Collected,
    /// The question was not put.
    NotPut,
    /// The person agreed.
    Agreed,
    /// The person declined.
    Declined,
    /// The question lapsed, and the call is judged as if it were new.
    Expired,
    /// The client heard that the question waits.
    LeftWaiting,
    /// The client's request ended with the question.
    Returned,
    /// Nobody had to be asked any more.
    NotAskedAnyMore,
    /// The yes covers what is found now.
    Covered,
    /// The question changed underneath its yes.
    ChangedUnderneath,
    /// The caller was gone when the answer came.
    CallerGone,
    /// The yes was used up.
    Spent,
    /// The yes was used up by somebody else.
    SpentElsewhere,
    /// The call may be made.
    Permitted,
    /// The question changed while its yes was used up.
    ChangedWhileSpending,
    /// It changed too often.
    GivenUp,
    /// A signature that came with the call does not answer what was found after it was verified.
    SignatureNotEnough,
    /// An event came that does not belong to the state.
    OutOfOrder,
}

/// A question that is open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Question {
    situation: Situation,
    openings: u8,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Looking(Yes),
    Asking(Channel),
    Waiting(Channel),
    Judging(Option<Yes>),
    Spending(Yes),
    Deciding(Yes),
    Ended,
}

// === impl Yes ===

impl Yes {
    /// All kinds, in the order in which they are looked for. The answers to a question are not: they come by its channel.
    pub(crate) const IN_ORDER: [Self; 6] =
        [Self::Round, Self::Challenge, Self::Permit, Self::Evidence, Self::Remembered, Self::Mandate];

    /// Whether a person gave it to this very call while its client waited. Nothing is begun for a client that has gone: the
    /// answer stays for the identical call that comes next.
    pub(crate) const fn is_for_caller_who_waits(self) -> bool {
        match self {
            Self::Round | Self::Form | Self::Grant => true,
            Self::Challenge | Self::Permit | Self::Evidence | Self::Remembered | Self::Mandate => false,
        }
    }
}

// === impl Channel ===

impl Channel {
    /// Whether the question is put by a form of the client.
    pub(crate) const fn is_form(self) -> bool {
        matches!(self, Self::FormRequest | Self::FormResult)
    }

    /// Whether the client is told where to answer, so that nobody else needs to call its person.
    pub(crate) const fn tells_client(self) -> bool {
        match self {
            Self::UrlRequest | Self::UrlResult | Self::MissingEvidence => true,
            Self::FormRequest | Self::FormResult | Self::Page => false,
        }
    }

    /// The yes that an answer by this channel is.
    const fn gives(self) -> Yes {
        if self.is_form() { Yes::Form } else { Yes::Grant }
    }
}

// === impl Situation ===

impl Situation {
    /// Whether a yes of this kind could be there and be enough.
    fn may_rest_on(&self, yes: Yes) -> bool {
        let word = self.grade <= Effect::Confirm;
        match yes {
            Yes::Round => self.is_round,
            Yes::Evidence => self.is_signed,
            Yes::Challenge => self.relayed,
            Yes::Permit => self.is_call && !self.relayed && word,
            Yes::Remembered => self.signable && self.channel.is_some() && word,
            Yes::Mandate => self.signable && self.is_call && !self.quorum && self.channel.is_some(),
            Yes::Form | Yes::Grant => false,
        }
    }

    /// The first kind that could be there, after this one if one was looked for already.
    fn next(&self, after: Option<Yes>) -> Option<Yes> {
        Yes::IN_ORDER
            .into_iter()
            .filter(|yes| after.is_none_or(|after| *yes > after))
            .find(|yes| self.may_rest_on(*yes))
    }
}

// === impl Question ===

impl Question {
    /// Opens a question, and says what to do first.
    pub(crate) fn open(situation: Situation) -> (Self, Step) {
        let mut question = Self { situation, openings: 1, state: State::Ended };
        let (_, step) = question.look(None);
        (question, step)
    }

    /// Takes a question up again whose answer a later request brings.
    pub(crate) fn resume(situation: Situation, channel: Channel) -> (Self, Step) {
        (Self { situation, openings: 1, state: State::Waiting(channel) }, Step::Wait(channel))
    }

    /// Takes what came of the last step, and says what to do next.
    pub(crate) fn apply(&mut self, event: Event) -> (Transition, Step) {
        match (self.state, event) {
            (State::Looking(yes), Event::Found) => {
                self.go(State::Judging(Some(yes)), Transition::FoundBefore, Step::JudgeAgain(Some(yes)))
            }
            (State::Looking(yes), Event::NotFound) => self.look(Some(yes)),

            (State::Asking(channel), Event::Put) => {
                self.go(State::Waiting(channel), Transition::Put, Step::Wait(channel))
            }
            (State::Asking(channel), Event::Collected) if !channel.is_form() => self.go(
                State::Judging(Some(Yes::Grant)),
                Transition::Collected,
                Step::JudgeAgain(Some(Yes::Grant)),
            ),
            (State::Asking(_), Event::NotPut) => self.refuse(Transition::NotPut, Unanswered::NotPut),
            (State::Asking(_) | State::Waiting(_), Event::Declined) => {
                self.refuse(Transition::Declined, Unanswered::Declined)
            }

            (State::Waiting(channel), Event::Agreed) => {
                let yes = Some(channel.gives());
                self.go(State::Judging(yes), Transition::Agreed, Step::JudgeAgain(yes))
            }
            (State::Waiting(_), Event::Expired) => {
                self.go(State::Judging(None), Transition::Expired, Step::JudgeAgain(None))
            }
            (State::Waiting(_), Event::StillOpen) => {
                self.refuse(Transition::LeftWaiting, Unanswered::StillOpen)
            }
            (State::Waiting(_), Event::Returned) => self.go(State::Ended, Transition::Returned, Step::Return),

            (State::Judging(_), Event::Allowed) => {
                self.go(State::Ended, Transition::NotAskedAnyMore, Step::Permit)
            }
            (State::Judging(Some(yes)), Event::Covered) => {
                self.go(State::Spending(yes), Transition::Covered, Step::Spend(yes))
            }
            (State::Judging(Some(yes)), Event::CallerGone) if yes.is_for_caller_who_waits() => {
                self.refuse(Transition::CallerGone, Unanswered::CallerGone)
            }
            (State::Judging(_), Event::Changed(now)) => self.open_again(now, Transition::ChangedUnderneath),

            (State::Spending(yes), Event::Spent) => {
                self.go(State::Deciding(yes), Transition::Spent, Step::JudgeWith(yes))
            }
            (State::Spending(Yes::Grant), Event::NotSpent(now)) => {
                self.open_again(now, Transition::SpentElsewhere)
            }
            // Nothing else has changed: the next kind of yes may do.
            (State::Spending(yes), Event::NotSpent(_)) => {
                let (_, step) = self.look(Some(yes));
                (Transition::SpentElsewhere, step)
            }
            (State::Spending(_), Event::Declined) => self.refuse(Transition::Declined, Unanswered::Declined),

            (State::Deciding(_), Event::Allowed) => {
                self.go(State::Ended, Transition::Permitted, Step::Permit)
            }
            // It answers whatever a passkey answers, and is gone: the client makes another.
            (State::Deciding(Yes::Evidence), Event::Changed(_)) => {
                self.refuse(Transition::SignatureNotEnough, Unanswered::NobodyToAsk)
            }
            (State::Deciding(_), Event::Changed(now)) => {
                self.open_again(now, Transition::ChangedWhileSpending)
            }

            _ => self.refuse(Transition::OutOfOrder, Unanswered::OutOfOrder),
        }
    }

    /// Looks for the next kind of yes; where none is left a person is asked.
    fn look(&mut self, after: Option<Yes>) -> (Transition, Step) {
        match (self.situation.next(after), self.situation.channel) {
            (Some(yes), _) => self.go(State::Looking(yes), Transition::LookedFurther, Step::LookFor(yes)),
            (None, Some(channel)) => {
                self.go(State::Asking(channel), Transition::NothingCovers, Step::Ask(channel))
            }
            (None, None) => self.refuse(Transition::NobodyToAsk, Unanswered::NobodyToAsk),
        }
    }

    /// Opens the question anew, as it is now. A round goes on with the question before, or not at all.
    fn open_again(&mut self, now: Situation, transition: Transition) -> (Transition, Step) {
        if self.openings >= MAX_OPENINGS {
            return self.refuse(Transition::GivenUp, Unanswered::AskedTooOften);
        }
        self.openings = self.openings.saturating_add(1);
        self.situation = Situation { is_round: false, ..now };
        let (_, step) = self.look(None);
        (transition, step)
    }

    fn go(&mut self, state: State, transition: Transition, step: Step) -> (Transition, Step) {
        self.state = state;
        (transition, step)
    }

    fn refuse(&mut self, transition: Transition, why: Unanswered) -> (Transition, Step) {
        self.go(State::Ended, transition, Step::Refuse(why))
    }
}

// === impl Transition ===

impl Transition {
    /// All of them.
    #[cfg(test)]
    pub(crate) const ALL: [Self; 23] = [
        Self::FoundBefore,
        Self::LookedFurther,
        Self::NothingCovers,
        Self::NobodyToAsk,
        Self::Put,
        Self::Collected,
        Self::NotPut,
        Self::Agreed,
        Self::Declined,
        Self::Expired,
        Self::LeftWaiting,
        Self::Returned,
        Self::NotAskedAnyMore,
        Self::Covered,
        Self::ChangedUnderneath,
        Self::CallerGone,
        Self::Spent,
        Self::SpentElsewhere,
        Self::Permitted,
        Self::ChangedWhileSpending,
        Self::GivenUp,
        Self::SignatureNotEnough,
        Self::OutOfOrder,
    ];
}
