//! A program that the kernel's verifier has accepted.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use thiserror::Error;

use super::attributes::{Attributes, Command};
use super::btf::{FUNCTION_BYTES, LINE_BYTES};
use super::features::KERNEL_TYPES;
use super::object::{Image, Object, ObjectError};

/// The project's own, under which functions of the kernel that ask for another are not to
/// be had.
const LICENCE: &[u8] = b"Apache-2.0\0";
/// That of the one program that reads what the kernel shows to such licences alone.
const COMPATIBLE_LICENCE: &[u8] = b"Dual MIT/GPL\0";
/// `BPF_TRACE_RAW_TP`
const TYPED_TRACEPOINT: u32 = 23;
const INSTRUCTION_BYTES: usize = 8;
/// `BPF_LOG_STATS`: the verifier says how much it did, and why it refuses.
const LOG_STATISTICS: u32 = 4;
/// `BPF_LOG_LEVEL1`: the verifier says how it came to where it refuses.
const LOG_PATH: u32 = 1;
const STATISTICS_BYTES: usize = 1 << 16;
/// The longest log that all kernels since 5.15 write.
const PATH_BYTES: usize = (1 << 24) - 1;
/// How much of the verifier's log an error shows.
const LINES_SHOWN: usize = 40;

/// Why a program cannot be loaded.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LoadError {
    /// The object is not usable.
    #[error("{0}")]
    Object(#[from] ObjectError),
    /// This process has no right to.
    #[error(
        "the kernel does not let this process load programs: {source}. It needs CAP_BPF and \
         CAP_NET_ADMIN, or to be root"
    )]
    Forbidden { source: io::Error },
    #[error(
        "the kernel's verifier refuses the program `{name}` of {instructions} instructions: \
         {source}\n{log}"
    )]
    Refused {
        name: String,
        instructions: usize,
        /// The last lines of what the verifier says.
        log: String,
        source: io::Error,
    },
}

/// What a program runs for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ProgramKind {
    /// A frame at an interface (`BPF_PROG_TYPE_SCHED_CLS`).
    Frame,
    /// A frame at an interface before the network stack knows it (`BPF_PROG_TYPE_XDP`).
    RawFrame,
    /// A tracepoint (`BPF_PROG_TYPE_RAW_TRACEPOINT`).
    Tracepoint,
    /// A tracepoint of this type, what it gives being read where it stands
    /// (`BPF_PROG_TYPE_TRACING`).
    TypedTracepoint(u32),
}

impl ProgramKind {
    const fn number(self) -> u32 {
        match self {
            Self::Frame => 3,
            Self::RawFrame => 6,
            Self::Tracepoint => 17,
            Self::TypedTracepoint(_) => 26,
        }
    }
}

/// What it cost to verify a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verified {
    pub instructions: usize,
    /// Instructions that the verifier went through, if it says: the kernel stops at
    /// 1,000,000.
    pub processed: Option<u64>,
    /// What the verifier says, in its words.
    pub log: String,
    /// Why the program was loaded without its types, if it was: then functions that
    /// are to be checked once are checked at each call.
    pub without_types: Option<String>,
}

/// A program in the kernel. It stays there until this value is gone and it is
/// attached nowhere.
#[derive(Debug)]
pub struct Program {
    descriptor: OwnedFd,
    verified: Verified,
}

impl Program {
    /// Loads the program of `object` whose main function is `main`, with the maps
    /// that its names stand for. It runs for frames.
    ///
    /// # Errors
    ///
    /// If the object or a map lacks something, or the kernel refuses.
    pub fn load(
        object: &Object,
        main: &str,
        maps: &BTreeMap<&str, BorrowedFd<'_>>,
    ) -> Result<Self, LoadError> {
        Self::of_image(ProgramKind::Frame, main, &object.link(main, maps)?)
    }

    /// Loads such a program that runs for frames before the network stack knows them.
    ///
    /// # Errors
    ///
    /// As for [`Program::load`].
    pub fn load_for_raw_frames(
        object: &Object,
        main: &str,
        maps: &BTreeMap<&str, BorrowedFd<'_>>,
    ) -> Result<Self, LoadError> {
        Self::of_image(ProgramKind::RawFrame, main, &object.link(main, maps)?)
    }

    /// Loads such a program that runs when the kernel passes a tracepoint.
    ///
    /// # Errors
    ///
    /// As for [`Program::load`]; the kernel asks for CAP_PERFMON, too.
    pub fn load_for_tracepoint(
        object: &Object,
        main: &str,
        maps: &BTreeMap<&str, BorrowedFd<'_>>,
    ) -> Result<Self, LoadError> {
        Self::of_image(ProgramKind::Tracepoint, main, &object.link(main, maps)?)
    }

    /// Loads such a program that reads what the tracepoint gives where it stands: the one
    /// whose type is `of` among those of the [kernel](super::kernel_types::KernelTypes). It
    /// is loaded under the licence that the kernel wants for that, which its source has to
    /// have.
    ///
    /// # Errors
    ///
    /// As for [`Program::load_for_tracepoint`].
    pub fn load_for_typed_tracepoint(
        object: &Object,
        main: &str,
        maps: &BTreeMap<&str, BorrowedFd<'_>>,
        of: u32,
    ) -> Result<Self, LoadError> {
        Self::of_image(
            ProgramKind::TypedTracepoint(of),
            main,
            &object.link(main, maps)?,
        )
    }

    /// Loads a program without maps and types.
    pub(super) fn of_instructions(main: &str, instructions: &[u8]) -> Result<Self, LoadError> {
        let image = Image {
            instructions: instructions.to_vec(),
            types: Vec::new(),
            functions: Vec::new(),
            lines: Vec::new(),
        };
        Self::of_image(ProgramKind::Frame, main, &image)
    }

    fn of_image(kind: ProgramKind, main: &str, image: &Image) -> Result<Self, LoadError> {
        let (types, mut without_types) = match load_types(image) {
            Ok(types) => (types, None),
            Err(error) => (None, Some(error.to_string())),
        };
        let types = types.as_ref().map(AsFd::as_fd);
        let mut log = vec![0; STATISTICS_BYTES];
        let mut loaded = load((kind, main), image, types, LOG_STATISTICS, &mut log);
        if loaded.is_err() && types.is_some() && !Path::new(KERNEL_TYPES).exists() {
            // Such a kernel does not know the type of a frame in a function that it
            // checks by itself.
            without_types = Some("the kernel has no types of its own".to_owned());
            loaded = load((kind, main), image, None, LOG_STATISTICS, &mut log);
        }
        let descriptor = loaded.map_err(|error| refusal((kind, main), image, types, error))?;
        let log = text(&log);
        let verified = Verified {
            instructions: image.instructions.len() / INSTRUCTION_BYTES,
            processed: processed(&log),
            log,
            without_types,
        };
        Ok(Self {
            descriptor,
            verified,
        })
    }

    /// Returns what it cost to verify it.
    #[must_use]
    pub fn verified(&self) -> &Verified {
        &self.verified
    }
}

impl AsFd for Program {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

/// Hands the types to the kernel, if there are any.
fn load_types(image: &Image) -> io::Result<Option<OwnedFd>> {
    if image.types.is_empty() || image.functions.is_empty() {
        return Ok(None);
    }
    let mut load = Attributes::default();
    load.bytes(0, &image.types);
    load.word(16, length(image.types.len()));
    load.open(Command::TypesLoad).map(Some)
}

fn load(
    (kind, main): (ProgramKind, &str),
    image: &Image,
    types: Option<BorrowedFd<'_>>,
    log_level: u32,
    log: &mut [u8],
) -> io::Result<OwnedFd> {
    let mut load = Attributes::default();
    load.word(0, kind.number());
    load.word(4, length(image.instructions.len() / INSTRUCTION_BYTES));
    load.bytes(8, &image.instructions);
    load.bytes(16, LICENCE);
    if let ProgramKind::TypedTracepoint(of) = kind {
        load.bytes(16, COMPATIBLE_LICENCE);
        load.word(68, TYPED_TRACEPOINT);
        load.word(108, of);
    }
    load.word(24, log_level);
    load.word(28, length(log.len()));
    load.bytes_mut(32, log);
    load.name(48, main);
    if let Some(types) = types {
        load.descriptor(72, types);
        load.word(76, length(FUNCTION_BYTES));
        load.bytes(80, &image.functions);
        load.word(88, length(image.function_count()));
        load.word(92, length(LINE_BYTES));
        load.bytes(96, &image.lines);
        load.word(104, length(image.line_count()));
    }
    load.open(Command::ProgramLoad)
}

/// Asks again, for the verifier's reasons.
fn refusal(
    program: (ProgramKind, &str),
    image: &Image,
    types: Option<BorrowedFd<'_>>,
    source: io::Error,
) -> LoadError {
    if source.kind() == io::ErrorKind::PermissionDenied {
        // `EACCES` is the verifier's, `EPERM` the kernel's.
        if source.raw_os_error() == Some(libc::EPERM) {
            return LoadError::Forbidden { source };
        }
    }
    let mut log = vec![0; PATH_BYTES];
    // Full or not, what was written is what can be shown.
    let _ = load(program, image, types, LOG_PATH | LOG_STATISTICS, &mut log);
    LoadError::Refused {
        name: program.1.to_owned(),
        instructions: image.instructions.len() / INSTRUCTION_BYTES,
        log: last_lines(&text(&log)),
        source,
    }
}

fn text(log: &[u8]) -> String {
    let end = log.iter().position(|&byte| byte == 0).unwrap_or(log.len());
    String::from_utf8_lossy(&log[..end]).into_owned()
}

/// Reads "processed 123 insns (limit ...".
fn processed(log: &str) -> Option<u64> {
    let (_, rest) = log.rsplit_once("processed ")?;
    rest.split(' ').next()?.parse().ok()
}

fn last_lines(log: &str) -> String {
    let lines: Vec<&str> = log.lines().collect();
    let shown = &lines[lines.len().saturating_sub(LINES_SHOWN)..];
    shown.join("\n")
}

fn length(length: usize) -> u32 {
    u32::try_from(length).expect("what the kernel is given has less than 4 GiB")
}
