//! Programs of ours that run in the kernel: reading, loading, attaching and
//! feeding them, without any library of others.
//!
//! | module | carries |
//! |---|---|
//! | [`object`] | the object file that clang makes |
//! | [`map`] | memory that programs and this process share |
//! | [`program`] | a program that the kernel's verifier has accepted |
//!
//! Sources: `linux/bpf.h`, `linux/btf.h`; RFC 9669; bpf(2); Documentation/bpf of Linux.

pub(crate) mod attributes;
mod btf;
mod elf;
pub mod map;
pub mod object;
pub mod program;
