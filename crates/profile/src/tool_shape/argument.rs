//! What the name of an argument says: that it is an address, a program, a thing, a path.

use super::super::word_list::WordList;
use super::split::{uncut_words, words};

/// An argument, or a part of one.
#[derive(Debug)]
pub(super) struct Argument {
    /// An RFC 6901 pointer without its first slash. `*` is every item of a list and every member of a map.
    pub(super) pointer: String,
    /// It is an address on the network.
    pub(super) url: bool,
    /// It is somebody's address, channel or account.
    pub(super) address: bool,
    /// What it holds if it is run.
    pub(super) code: Option<Code>,
    /// It names the thing acted on.
    pub(super) object: bool,
    /// It is a file path.
    pub(super) path: bool,
    /// There is one place for it in a call, and nothing is said of parts of it.
    pub(super) single: bool,
    /// It is where the results are put.
    pub(super) output: bool,
    /// Whether it is text that is put into something, by its name.
    pub(super) content: Option<Content>,
    /// The words of its name.
    pub(super) words: Vec<String>,
    /// What type of value it is.
    pub(super) kind: Kind,
    /// There is nothing in it that has a place of its own.
    pub(super) leaf: bool,
    /// The values that it may have are listed.
    pub(super) listed: bool,
    /// A format says that it is a time.
    pub(super) time: bool,
}

/// How an argument is called that is text to be put into something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Content {
    /// As nothing else is called.
    Plainly,
    /// As the thing itself may be called where nothing is sent: a message, a note, a title.
    IfSent,
}

/// What kind of program an argument holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Code {
    /// SQL, by its name alone.
    Sql,
    /// A query, if the tool or the server is about a database or a graph.
    Query,
    /// Something else that is run.
    Other,
}

/// What type of value it is, as far as that rules something out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Yes or no, which is nothing of all this.
    Boolean,
    /// A number: the number of an account or of a record, and no text.
    Number,
    /// Anything else.
    Other,
}

/// What the names beside an argument say of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Siblings {
    /// There are `source` and `destination`.
    SourceAndDestination,
    /// There are `from` and `to`, and something is moved between them.
    MovedEnds,
    /// There are `from` and `to`, and nothing that could be sent: the ends of a relation.
    RelatedEnds,
    /// Nothing of this.
    Other,
}

/// Words by which an argument is an address on the network, wherever they stand in its name.
const URL: WordList = WordList(
    "callback domain domains endpoint endpoints fqdn host hostname hostnames hosts href hrefs hyperlink ip link
    links proxy webhook webhooks webpage webpages website websites",
);

/// Words by which it is the address of somebody.
const ADDRESS: WordList = WordList(
    "account accounts address addressee addressees addresses attendee attendees audience bcc beneficiary cc
    channel channels chat chats contact contacts conversation dm email emails fax guest guests iban inbox
    invitee invitees jid mail mailbox mobile msisdn participant participants payee peer phone phones receiver
    receivers recipient recipients room rooms subscriber subscribers telephone wallet wallets",
);

/// Last words that make a detail of it.
const DETAILS: WordList = WordList(
    "body content contents count depth format html kind limit max mode size subject template text timeout title
    type types",
);

/// What else may stand beside `from` and `to` where they are the ends of a relation.
const RELATION: WordList = WordList(
    "force from id kind label name overwrite properties recursive relation relationship relationshiptype
    relationtype strength to type weight",
);

/// Last words by which it is run.
const CODE: WordList = WordList(
    "args arguments argv bash cmd cmdline cmds command commandline commands cypher eval expr expression
    expressions formula formulas function gremlin javascript js kql lambda macro python script scripts shell
    sourcecode sparql",
);

/// What may stand before `code`, which alone is a program, and with anything else a key of some table.
const OF_CODE: WordList = WordList(
    "bash custom generated java javascript js node program python raw ruby shell source sql test the typescript
    user",
);

/// Last words by which it is a query, where queries are run.
const QUERY: WordList = WordList("aql cql graphql pipeline q queries query statement statements");

/// Last words by which it is text that is put into something.
const CONTENT: WordList = WordList("body content contents description html markdown summary text");

/// The same where something is sent.
const SENT: WordList = WordList("caption comment message note subject title");

/// Words by which the results are put somewhere.
const OUTPUT: WordList = WordList("dest destination export into out outdir outfile output save target");

/// Last words by which it names a thing.
const OBJECT: WordList = WordList(
    "app apps board boards branch branches bucket buckets calendar calendars card cards collection collections
    column columns commit commits container containers database databases db doc docs document documents
    entities entity event events id identifier identifiers ids index indexes issue issues item items job jobs
    key keys milestone module name names node nodes note notes number object objects package packages page
    pages pod project projects record records ref refs repo repos repositories repository resource resources
    revision row rows schema service services sha sheet sheets slug slugs spreadsheet table tables tag tags
    task tasks ticket tickets uuid volume workbook workflow worksheet",
);

/// Words by which a name or a key names no thing: it is a secret, a person, or a place in a listing.
const NO_OBJECT: WordList = WordList(
    "access api assignee author credit line max min offset page password per port private secret token user
    username",
);

/// Words by which it is a file path, wherever they stand in its name.
const PATH: WordList = WordList(
    "cwd dest dir directories directory dirname dirs dst file filename filenames filepath filepaths files folder
    foldername folders outdir outfile output path pathname paths repopath root roots src subdir subfolder
    workdir worktree",
);

/// Last words by which it is something about a file.
const ABOUT_FILE: WordList = WordList(
    "content contents count data depth description encoding ext extension extensions format hash id ids key keys
    kind limit mask mode pattern patterns sha size sizes text title type types",
);

// === impl Argument ===

impl Argument {
    /// Judges a place by its name and by what stands beside it.
    pub(super) fn new(pointer: &str, name: &str, beside: Siblings, kind: Kind, is_leaf: bool) -> Self {
        let name = Name { words: words(name), uncut: uncut_words(name), kind };
        let is_end = match name.only() {
            "from" | "to" => matches!(beside, Siblings::MovedEnds | Siblings::RelatedEnds),
            "source" | "destination" => beside == Siblings::SourceAndDestination,
            _ => false,
        };
        let is_moved = is_end && kind == Kind::Other && beside != Siblings::RelatedEnds;
        let url = name.is_url();
        let address = name.is_address() && !is_end;
        let code = name.code();
        let path = is_leaf && !url && !address && (name.is_path() || is_moved);
        let object = is_leaf && !url && !address && code.is_none() && (name.is_object() || is_end);
        let content = name.content().filter(|_| is_leaf && code.is_none());
        Self {
            pointer: pointer.to_owned(),
            url,
            address,
            code,
            object: object || path,
            path,
            single: is_leaf && !pointer.split('/').any(|token| token == "*"),
            output: kind != Kind::Boolean && name.has(OUTPUT),
            content,
            words: name.words,
            kind,
            leaf: is_leaf,
            listed: false,
            time: false,
        }
    }
}

// === impl Siblings ===

impl Siblings {
    /// What the names of an object's members say together, in a tool that moves or copies something, or does not.
    pub(super) fn new<'a>(names: impl Iterator<Item = &'a str>, moves: bool) -> Self {
        let names: Vec<String> = names.map(plain).collect();
        let both = |one: &str, other: &str| {
            names.iter().any(|name| name == one) && names.iter().any(|name| name == other)
        };
        if both("source", "destination") {
            Self::SourceAndDestination
        } else if !both("from", "to") || !names.iter().all(|name| RELATION.contains(name)) {
            Self::Other
        } else if moves {
            Self::MovedEnds
        } else {
            Self::RelatedEnds
        }
    }
}

/// The name of an argument, as words, and what type of value it has.
struct Name {
    words: Vec<String>,
    uncut: Vec<String>,
    kind: Kind,
}

// === impl Name ===

impl Name {
    fn last(&self) -> &str {
        self.words.last().map_or("", String::as_str)
    }

    /// The word, if there is only one.
    fn only(&self) -> &str {
        if self.words.len() == 1 { self.last() } else { "" }
    }

    fn has(&self, list: WordList) -> bool {
        self.any(|word| list.contains(word))
    }

    fn any(&self, holds: impl Fn(&str) -> bool) -> bool {
        self.words.iter().chain(&self.uncut).any(|word| holds(word))
    }

    fn is_url(&self) -> bool {
        let is_named = |word: &str| {
            URL.contains(word) || ["url", "urls", "uri", "uris"].iter().any(|ending| word.ends_with(ending))
        };
        let is_detail = DETAILS.contains(self.last()) || matches!(self.last(), "id" | "ids");
        self.kind == Kind::Other && self.any(is_named) && !is_detail
    }

    fn is_address(&self) -> bool {
        // An email with an identifier is a message in a box, a channel with one is a channel.
        let is_message = |word: &str| matches!(word, "email" | "emails" | "mail" | "inbox" | "mailbox");
        let is_id = matches!(self.last(), "id" | "ids");
        let is_named = self.any(|word| ADDRESS.contains(word) && !(is_id && is_message(word)));
        self.kind != Kind::Boolean
            && (self.last() == "to" || self.only() == "owner" || is_named && !DETAILS.contains(self.last()))
    }

    fn code(&self) -> Option<Code> {
        if self.kind != Kind::Other {
            return None;
        }
        let last = self.last();
        let before = self.words.iter().rev().nth(1).map(String::as_str);
        let is_sql = self.any(|word| word.ends_with("sql"));
        let is_code = match last {
            "code" => before.is_none_or(|before| OF_CODE.contains(before)),
            "block" | "body" | "content" | "snippet" | "string" | "text" => before == Some("code"),
            last => CODE.contains(last) || self.uncut.iter().any(|word| CODE.contains(word)),
        };
        match last {
            "id" | "ids" | "dialect" | "mode" | "type" | "name" => None,
            "file" | "files" | "path" | "paths" if is_sql => Some(Code::Other),
            _ if is_sql => Some(Code::Sql),
            _ if is_code => Some(Code::Other),
            last if QUERY.contains(last) => Some(Code::Query),
            _ => None,
        }
    }

    fn is_object(&self) -> bool {
        let last = self.last();
        let is_listed = match self.kind {
            Kind::Boolean => false,
            Kind::Number => matches!(last, "id" | "number") && self.words.len() > 1 || last == "id",
            Kind::Other => OBJECT.contains(last) && (last != "number" || self.words.len() > 1),
        };
        // `page` alone may be a page of a site, `page_number` is a place in a listing.
        let is_other =
            self.has(NO_OBJECT) && !(last == "page" && self.kind == Kind::Other && self.words.len() == 1);
        let is_page_id = last == "id" && self.words.first().is_some_and(|word| word == "page");
        is_listed && (!is_other || is_page_id)
    }

    fn content(&self) -> Option<Content> {
        match self.last() {
            _ if self.kind != Kind::Other => None,
            last if CONTENT.contains(last) => Some(Content::Plainly),
            last if SENT.contains(last) => Some(Content::IfSent),
            _ => None,
        }
    }

    fn is_path(&self) -> bool {
        self.kind == Kind::Other && self.has(PATH) && !ABOUT_FILE.contains(self.last())
    }
}

/// A name without what separates its words, in lower case.
fn plain(name: &str) -> String {
    name.chars().filter(|letter| letter.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}
