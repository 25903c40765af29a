//! Programs in the real kernel: loading, attaching, and what becomes of frames.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod attaching;
mod frame_watch;
mod hops;
mod killed;
mod loading;
mod modes;
mod relaying;
mod running;
mod world;
