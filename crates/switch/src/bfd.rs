//! Whether a neighbour is there, asked all the time (RFC 5880): what the port that leads to
//! it is worth to a fast-failover group.
//!
//! A port with a session is live while the session does not say that the path is broken. A
//! session that never came up says nothing of the path, nor does one whose other end was
//! switched off on purpose (RFC 5882 section 3.2): a port begins as a live one and is so
//! until the session went down from up. Then it is one again when the session is up, and a
//! while later if that happens often ([`Liveness`](liveness::Liveness)).
//!
//! | question | module |
//! |---|---|
//! | when is a packet sent, and what follows from one? | `session` |
//! | is the port live? | `liveness` |
//! | in which frames do packets come and go? | `framing` |
//! | when did other frames come and leave? | `frame_times` |
//! | what does the switch do with them? | `exchange` |

mod exchange;
mod frame_times;
mod framing;
mod liveness;
mod session;

pub(crate) use exchange::{BfdKeeper, PortSession};
pub(crate) use frame_times::FrameTimes;
