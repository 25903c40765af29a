//! Programs in the real kernel: loading, attaching, and what becomes of them.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod loading;
mod world;
