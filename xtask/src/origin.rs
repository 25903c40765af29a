//! What something that is committed was built from, as the file beside it says.

use std::fmt;
use std::path::Path;

use crate::failure::Failure;
use crate::workspace::Workspace;

/// The compiler and the hashes of what went in and came out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuildOrigin {
    /// How the compiler names itself.
    pub compiler: String,
    sources: u64,
    object: u64,
}

impl BuildOrigin {
    /// Returns the origin of `object`.
    pub fn of(compiler: &str, sources: &Sources, object: &[u8]) -> Self {
        let mut hash = Hash::default();
        hash.take(object);
        Self {
            compiler: compiler.to_owned(),
            sources: sources.hash,
            object: hash.0,
        }
    }

    /// Reads what [`Display`](fmt::Display) has written.
    pub fn parse(text: &str) -> Option<Self> {
        let value = |name: &str| {
            let mut lines = text.lines();
            lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
        };
        let hash = |name: &str| u64::from_str_radix(value(name)?, 16).ok();
        Some(Self {
            compiler: value("compiler")?.to_owned(),
            sources: hash("sources")?,
            object: hash("object")?,
        })
    }
}

impl fmt::Display for BuildOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "compiler: {}", self.compiler)?;
        writeln!(f, "sources: {:016x}", self.sources)?;
        writeln!(f, "object: {:016x}", self.object)
    }
}

/// A program and the headers beside it that it includes, directly or not.
#[derive(Debug)]
pub struct Sources {
    hash: u64,
}

impl Sources {
    /// Reads them.
    ///
    /// # Errors
    ///
    /// If one cannot be read.
    pub fn read(workspace: &Workspace, program: &Path) -> Result<Self, Failure> {
        let mut hash = Hash::default();
        let mut paths = vec![program.to_path_buf()];
        let mut next = 0;
        while let Some(path) = paths.get(next).cloned() {
            let text = workspace.read(&path)?;
            for included in text.lines().filter_map(included) {
                let included = program.with_file_name(included);
                if !paths.contains(&included) {
                    paths.push(included);
                }
            }
            hash.take_file(&path, text.as_bytes());
            next += 1;
        }
        Ok(Self { hash: hash.0 })
    }

    /// Takes these files, in their order.
    pub fn of<'a>(files: impl IntoIterator<Item = (&'a Path, &'a [u8])>) -> Self {
        let mut hash = Hash::default();
        for (path, bytes) in files {
            hash.take_file(path, bytes);
        }
        Self { hash: hash.0 }
    }
}

/// Returns the file that a line of C includes from beside it.
fn included(line: &str) -> Option<&str> {
    let directive = line.trim_start().strip_prefix('#')?.trim_start();
    let quoted = directive.strip_prefix("include")?.trim_start();
    let (name, _) = quoted.strip_prefix('"')?.split_once('"')?;
    Some(name)
}

/// FNV-1a with 64 bits: finds accidents, not adversaries, and needs no package.
struct Hash(u64);

impl Default for Hash {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Hash {
    fn take_file(&mut self, path: &Path, bytes: &[u8]) {
        self.take(path.as_os_str().as_encoded_bytes());
        self.take(&bytes.len().to_le_bytes());
        self.take(bytes);
    }

    fn take(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_is_read_as_it_was_written() {
        let sources = Sources { hash: 7 };
        let origin = BuildOrigin::of("clang version 14", &sources, b"object");

        assert_eq!(BuildOrigin::parse(&origin.to_string()), Some(origin));
        assert_eq!(BuildOrigin::parse("compiler: clang"), None);
    }

    #[test]
    fn a_line_of_c_includes_the_file_that_it_quotes() {
        assert_eq!(included("#include \"kernel.h\""), Some("kernel.h"));
        assert_eq!(included(" # include \"a.h\" /* a */"), Some("a.h"));
        assert_eq!(included("#include <linux/bpf.h>"), None);
        assert_eq!(included("int include;"), None);
    }

    #[test]
    fn the_hash_is_the_published_one() {
        // The test vector of the hash's authors for "foobar".
        let mut hash = Hash::default();

        hash.take(b"foobar");

        assert_eq!(hash.0, 0x8594_4171_f739_67e8);
    }
}
