//! A station that reads a value from another one again and again, as a control centre
//! polls a bay: MMS over TCP port 102 (S0-5).
//!
//! The [`Client`] opens a connection and an association, then sends a request a period
//! and waits for the value before it sends the next. The [`Server`] answers each
//! message by one that acknowledges it. What is not answered is sent again, after
//! ever longer times; after [`MOST_TRIES`] the client gives the connection up and opens
//! another.
//!
//! # Differs from the standards
//!
//! One message is under way at a time and fits a segment, so that there is neither a
//! window nor a reordering to speak of. The retransmission timeout begins at 200 ms, as
//! that of Linux ends up on short paths, and not at a second (RFC 6298 section 2.1).
//! Connections are not closed: they end with the run.

mod client;
mod segment;
mod server;
#[cfg(test)]
mod tests;

pub use client::{Client, LONGEST_FRAME, MOST_TRIES, MmsClientConfig};
pub use server::{LONGEST_VALUE, Server};
