//! How values are written and compared: closed vocabularies, JSON in its one spelling, arguments and where in them a value
//! stands, globs, the spellings of paths and URIs, times, base64url, hexadecimal.
//!
//! It lies below the judgement and knows nothing of it. What it says of two texts, that they are one value or two, every
//! decision rests on; it takes none itself.

mod argument_types;
mod arguments;
mod base64url;
mod canonical_arguments;
mod glob;
mod hex;
mod json;
pub mod spelling;
pub mod suggest;
mod time;
mod until;
mod words;

pub use argument_types::{ArgumentType, ArgumentTypes};
pub use arguments::{Arguments, Found, Parameters, Pointer, Wanted};
pub use base64url::{decode_array, decode_base64url, decode_exact, encode_base64url};
pub use canonical_arguments::{CanonicalArguments, MAX_ARGUMENTS, Unsignable};
pub use glob::{Glob, LONGEST_GLOB};
pub use hex::{from_hex, to_hex};
pub use json::{Json, Text, canonical};
pub use time::{Timestamp, from_iso, parse_time, to_iso, write_time};
pub use until::end_of;
pub use words::{Word, Words, same_word};
