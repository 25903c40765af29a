//! The words of version 1.0 in those of 1.3, and back: whoever stands between the
//! versions speaks through this door.
//!
//! `to_of13` says in version 1.3 what something of version 1.0 means; that can always
//! be said. `from_of13` says in version 1.0 what can be said there: what has no word is
//! `None` where it would be missed, and left out where its place says so.

mod actions;
mod errors;
mod matches;
mod ports;
mod reports;
