//! What the running kernel has of what our programs need, found out by trying.
//!
//! A kernel's number says little: distributions carry features back, and builders
//! leave them out.

use std::fmt;
use std::io;
use std::path::Path;

use super::attachment::has_links;
use super::map::MappedArray;
use super::program::{LoadError, Program};
use super::record_ring::RecordRing;

/// The kernel's own types, without which it does not know what a frame is where a
/// function is checked by itself.
pub(super) const KERNEL_TYPES: &str = "/sys/kernel/btf/vmlinux";
const COMPILES: &str = "/proc/sys/net/core/bpf_jit_enable";
/// The oldest kernel that our programs are written for.
const OLDEST: (u32, u32) = (5, 15);
const RING_BYTES: u32 = 1 << 16;

/// Something that a kernel has or lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feature {
    /// The release is one that our programs are written for.
    Release,
    /// Arrays that are part of a process's memory.
    MappedArrays,
    RecordRings,
    /// Atomic instructions that return what stood there before.
    AtomicResults,
    /// Types, by which a function is checked once and not at each call.
    Types,
    /// Links of programs to interfaces that end with the process (tcx).
    Links,
    /// Programs run as the processor's own instructions.
    Compilation,
}

/// What it means that a feature is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lack {
    /// Our programs do not run.
    Fatal,
    /// They run in another way.
    Replaced { by: &'static str },
}

impl Feature {
    const ALL: [Self; 7] = [
        Self::Release,
        Self::MappedArrays,
        Self::RecordRings,
        Self::AtomicResults,
        Self::Types,
        Self::Links,
        Self::Compilation,
    ];

    /// Returns what it means that it is not there.
    #[must_use]
    pub fn lack(self) -> Lack {
        match self {
            Self::Release | Self::MappedArrays | Self::RecordRings | Self::AtomicResults => {
                Lack::Fatal
            }
            Self::Types => Lack::Replaced {
                by: "functions are checked at each call, and a large program may be refused",
            },
            Self::Links => Lack::Replaced {
                by: "clsact filters, of which the next start removes what a killed process left",
            },
            Self::Compilation => Lack::Replaced {
                by: "an interpreter, several times slower (sysctl net.core.bpf_jit_enable=1)",
            },
        }
    }

    fn is_here(self, release: &str) -> io::Result<bool> {
        match self {
            Self::Release => Ok(number(release).is_none_or(|number| number >= OLDEST)),
            Self::MappedArrays => has(MappedArray::create("probe", 1, 1).map_err(|it| it.source)),
            Self::RecordRings => {
                has(RecordRing::create("probe", RING_BYTES).map_err(|it| it.source))
            }
            Self::AtomicResults => has_atomic_results(),
            Self::Types => Ok(Path::new(KERNEL_TYPES).exists()),
            Self::Links => has_links(),
            // Who may not read it learns it from the latencies.
            Self::Compilation => {
                Ok(!std::fs::read_to_string(COMPILES).is_ok_and(|setting| setting.trim() == "0"))
            }
        }
    }
}

impl fmt::Display for Feature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Release => "Linux 5.15 or later",
            Self::MappedArrays => "arrays in a process's memory (Linux 5.5)",
            Self::RecordRings => "rings of records (Linux 5.8)",
            Self::AtomicResults => "atomic instructions with results (Linux 5.12)",
            Self::Types => "the kernel's own types (CONFIG_DEBUG_INFO_BTF)",
            Self::Links => "tcx links (Linux 6.6)",
            Self::Compilation => "compilation of programs",
        })
    }
}

/// What the running kernel has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Features {
    release: String,
    lacking: Vec<Feature>,
}

impl Features {
    /// Finds out.
    ///
    /// # Errors
    ///
    /// `PermissionDenied` without CAP_BPF and CAP_NET_ADMIN, `Unsupported` if the
    /// kernel takes no programs at all.
    pub fn probe() -> io::Result<Self> {
        let name = rustix::system::uname();
        let release = name.release().to_string_lossy().into_owned();
        let mut lacking = Vec::new();
        for feature in Feature::ALL {
            if !feature.is_here(&release)? {
                lacking.push(feature);
            }
        }
        Ok(Self { release, lacking })
    }

    /// Returns how the kernel names its release.
    #[must_use]
    pub fn release(&self) -> &str {
        &self.release
    }

    /// Returns what the kernel lacks.
    #[must_use]
    pub fn lacking(&self) -> &[Feature] {
        &self.lacking
    }

    /// Returns a feature without which our programs do not run and that the kernel
    /// lacks.
    #[must_use]
    pub fn fatal_lack(&self) -> Option<Feature> {
        let mut lacking = self.lacking.iter().copied();
        lacking.find(|feature| feature.lack() == Lack::Fatal)
    }
}

/// Takes a refusal for a lack, unless it is one of rights, or of everything.
fn has<T>(tried: io::Result<T>) -> io::Result<bool> {
    match tried {
        Ok(_) => Ok(true),
        Err(error) => match error.raw_os_error() {
            Some(libc::EPERM | libc::ENOSYS | libc::ENOMEM) => Err(error),
            _ => Ok(false),
        },
    }
}

/// `return 0 & atomic_fetch_add(&zero, 1);`
fn has_atomic_results() -> io::Result<bool> {
    const INSTRUCTIONS: [[u8; 8]; 5] = [
        // *(u64 *)(r10 - 8) = 0
        [0x7a, 0x0a, 0xf8, 0xff, 0, 0, 0, 0],
        // r1 = 1
        [0xb7, 0x01, 0, 0, 1, 0, 0, 0],
        // r1 = atomic_fetch_add((u64 *)(r10 - 8), r1)
        [0xdb, 0x1a, 0xf8, 0xff, 1, 0, 0, 0],
        // r0 = 0; exit
        [0xb7, 0x00, 0, 0, 0, 0, 0, 0],
        [0x95, 0x00, 0, 0, 0, 0, 0, 0],
    ];
    match Program::of_instructions("probe", INSTRUCTIONS.as_flattened()) {
        Ok(_) => Ok(true),
        Err(LoadError::Forbidden { source }) => Err(source),
        Err(LoadError::Object(_) | LoadError::Refused { .. }) => Ok(false),
    }
}

/// Reads the first two numbers of a release.
fn number(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|it: char| !it.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_is_compared_by_its_numbers() {
        assert_eq!(number("6.18.44-fc"), Some((6, 18)));
        assert_eq!(number("5.4.0-150-generic"), Some((5, 4)));
        assert_eq!(number("next"), None);
        for (release, here) in [
            ("5.4.1", false),
            ("5.15", true),
            ("10.0", true),
            ("?", true),
        ] {
            assert_eq!(
                Feature::Release.is_here(release).unwrap(),
                here,
                "{release}"
            );
        }
    }
}
