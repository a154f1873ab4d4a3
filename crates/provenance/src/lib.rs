//! Where a value in a call comes from: the user's words, something they name, a reply that no stranger could write, or
//! nowhere.
//!
//! Everything here is pure: no I/O, no clock, no randomness.
