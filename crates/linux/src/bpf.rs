//! Programs of ours that run in the kernel: reading, loading, attaching and
//! feeding them, without any library of others.
//!
//! | module | carries |
//! |---|---|
//! | [`features`] | what the running kernel has of what they need |
//! | [`object`] | the object file that clang makes |
//! | [`map`] | memory that programs and this process share |
//! | [`pin`] | objects of the kernel that stay when the process ends |
//! | [`attachment`] | a program's place at an interface |
//! | [`program`] | a program that the kernel's verifier has accepted |
//! | [`test_run`] | a program's run on a frame that no interface has seen |
//! | [`record_ring`] | what programs tell this process, record by record |
//! | [`tracepoint`] | a program's place at a tracepoint of the kernel |
//! | [`relay`] | programs that only move frames from one interface to another |
//!
//! Sources: `linux/bpf.h`, `linux/btf.h`; RFC 9669; bpf(2); Documentation/bpf of Linux.

pub mod attachment;
pub(crate) mod attributes;
mod btf;
mod elf;
pub mod features;
pub(crate) mod instruction;
pub mod kernel_types;
pub mod map;
pub mod object;
pub mod pin;
pub mod program;
pub mod record_ring;
pub mod relay;
pub mod test_run;
pub mod tracepoint;
