//! What a yes binds, as one table: every kind of proof by everything in which the call that uses it may differ from the one
//! that a person saw. What they agreed to is sent, or nothing; read from the server's own journal.
//!
//! A proof is a row and a test, a difference is a column, and each row has a cell for each column or does not compile. What
//! hosts add to `_meta` of every call is left out; a call with any other member is refused before a person is asked.

mod elsewhere;
mod extras;
mod proof;
mod row;
mod scene;
mod task_step;

use self::Cell::{AsShown, AskedAnew, Impossible, Refused};

/// What becomes of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cell {
    /// It is sent as it was shown, with nothing beside it.
    AsShown,
    /// It is refused, nobody is asked, and nothing is sent.
    Refused,
    /// A person is asked about the call as it is now, and nothing is sent.
    AskedAnew,
    /// There is no such call, for this reason.
    Impossible(&'static str),
}

/// Names every column once: an enumeration, all of its members, and their titles.
macro_rules! columns {
    ($($(#[$doc:meta])* $name:ident = $title:literal,)*) => {
        /// In what a call differs from the one that a person saw.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Column {
            $($(#[$doc])* $name),*
        }

        impl Column {
            pub(crate) const ALL: [Self; [$($title),*].len()] = [$(Self::$name),*];

            pub(crate) fn title(self) -> &'static str {
                match self {
                    $(Self::$name => $title),*
                }
            }
        }
    };
}

columns! {
    /// A member of `params` that no protocol names, or that is not this call's.
    Member = "member",
    /// The `_meta` of Claude Code, as it was recorded.
    ClaudeCode = "claude-code",
    /// The `_meta` of Codex, as it was recorded.
    Codex = "codex",
    /// A key of `_meta` that no protocol names, or a value that is none of the protocol's.
    ForeignKey = "foreign-key",
    /// The call is asked for as a task.
    Task = "task",
    /// A token for progress that says something.
    Progress = "progress",
    /// Another tool that asks for as much.
    Name = "name",
    /// Another argument, or one more.
    Argument = "argument",
    /// The server describes the tool otherwise by now.
    Definition = "definition",
    /// The conversation has read what strangers wrote since.
    Strangers = "strangers",
}

/// Names every kind of proof once: an enumeration, all of its members, their cells, and a test for each.
macro_rules! proofs {
    ($($(#[$doc:meta])* $test:ident => $name:ident $cells:expr;)*) => {
        /// A kind of proof that a person agreed.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Proof {
            $($(#[$doc])* $name),*
        }

        impl Proof {
            const ALL: [Self; [$(stringify!($name)),*].len()] = [$(Self::$name),*];

            fn title(self) -> &'static str {
                match self {
                    $(Self::$name => stringify!($test)),*
                }
            }

            /// What becomes of a call, column by column.
            pub(crate) fn cells(self) -> [Cell; Column::ALL.len()] {
                match self {
                    $(Self::$name => $cells),*
                }
            }
        }

        $(
            // A form waits on a thread of the runtime.
            #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
            async fn $test() {
                row::holds(Proof::$name).await;
            }
        )*
    };
}

/// A row whose first six cells are as usual.
const fn usual(name: Cell, argument: Cell, definition: Cell, strangers: Cell) -> [Cell; Column::ALL.len()] {
    [Refused, AsShown, AsShown, AsShown, Refused, AsShown, name, argument, definition, strangers]
}

/// A row that asks about everything that is another call.
const ASKS: [Cell; Column::ALL.len()] = usual(AskedAnew, AskedAnew, AskedAnew, AskedAnew);

const NO_TASK: Cell = Impossible("a modern server knows no task of the older era: it is called plainly");
const KEPT_LIST: Cell =
    Impossible("a call of the older era ends with the gateway that would read the list again");

proofs! {
    /// A passkey on the page, while the call is held.
    passkey_while_the_call_is_held => HeldPasskey usual(AskedAnew, AskedAnew, Refused, AskedAnew);
    /// The same where the client of 2025-11-25 is asked to open the page.
    passkey_on_the_page_that_a_legacy_client_opens => InlinePage usual(AskedAnew, AskedAnew, Refused, AskedAnew);
    /// A passkey on the page, after the client was told to call again.
    passkey_that_the_next_call_collects => LaterPasskey usual(AskedAnew, AskedAnew, Refused, AskedAnew);
    /// A passkey on the page to which a modern client was sent.
    passkey_on_the_page_that_a_modern_client_opens => ReturnedPage usual(Refused, Refused, Refused, AskedAnew);
    /// A signature that the call brings along. Whoever signs there is told no reasons, so that none can be missing.
    native_evidence => Native usual(Refused, Refused, Refused, AsShown);
    /// The button on the page, while the call is held.
    button_while_the_call_is_held => HeldButton usual(AskedAnew, AskedAnew, Refused, AskedAnew);
    /// The button, after the client was told to call again.
    button_that_the_next_call_collects => LaterButton usual(AskedAnew, AskedAnew, Refused, AskedAnew);
    /// A form on the stream of the call.
    form_of_a_legacy_client => InlineForm usual(AskedAnew, AskedAnew, Refused, AskedAnew);
    /// A form that ended the request of a modern client.
    form_of_a_modern_client => ReturnedForm usual(Refused, Refused, Refused, AskedAnew);
    /// An answer that is remembered for exactly this.
    remembered_answer => RememberedCall ASKS;
    /// An answer that is remembered for one recipient.
    remembered_recipient => RememberedRecipient ASKS;
    /// An answer that is remembered for one folder.
    remembered_folder => RememberedFolder ASKS;
    /// An answer that is remembered for one host.
    remembered_host => RememberedHost usual(AskedAnew, AskedAnew, AskedAnew, AsShown);
    /// A mandate.
    mandate => Mandate ASKS;
    /// A permit of the operator's file, which names the tool and not its definition, and is for sessions like that.
    permit_of_the_file => Permit usual(AskedAnew, AskedAnew, AsShown, AsShown);
    /// The passkeys of two people.
    quorum => Quorum usual(AskedAnew, AskedAnew, Refused, AskedAnew);
    /// A call that goes on after its server asked for more, and brought its signature.
    round_of_native_evidence => RoundNative usual(Refused, Refused, Refused, AskedAnew);
    /// The same where a modern client was sent to the page.
    round_of_the_page => RoundPage usual(Refused, Refused, Refused, AskedAnew);
    /// The same where the call was held.
    round_of_a_held_call => RoundHeld usual(Refused, Refused, Refused, AskedAnew);
    /// A passkey, once for all rounds of a call of the older era whose server asks for more.
    rounds_of_a_legacy_client => InlineRounds [
        Refused, AsShown, AsShown, AsShown, NO_TASK, AsShown, AskedAnew, AskedAnew, KEPT_LIST, AskedAnew,
    ];
    /// A passkey for a tool that a legacy server runs as a task alone: we ask for the task ourselves.
    call_as_a_task => CallAsTask [
        Refused, AsShown, AsShown, AsShown, AsShown, AsShown, AskedAnew, AskedAnew, Refused, AskedAnew,
    ];
}

/// The whole of it, for people: each cell is held against what happens by the test of its row.
#[test]
fn the_table_has_a_cell_for_every_proof_and_every_difference() {
    let mut table = format!("{:<48}", "");
    for column in Column::ALL {
        table.push_str(&format!("{:<13}", column.title()));
    }
    let mut reasons = Vec::new();
    for proof in Proof::ALL {
        table.push_str(&format!("\n{:<48}", proof.title().replace('_', " ")));
        for (column, cell) in Column::ALL.into_iter().zip(proof.cells()) {
            let word = match cell {
                AsShown => "as shown",
                Refused => "refused",
                AskedAnew => "asked anew",
                Impossible(why) => {
                    reasons.push(format!("{} × {}: {why}", proof.title().replace('_', " "), column.title()));
                    "–"
                }
            };
            table.push_str(&format!("{word:<13}"));
        }
    }
    eprintln!("{table}\n{}", reasons.join("\n"));
    assert!(reasons.iter().all(|reason| !reason.ends_with(": ")), "{reasons:?}");
}
