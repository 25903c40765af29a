//! Tokens, by which clients from elsewhere show who they are.
//!
//! A token is 32 random bytes. The file holds its SHA-256 alone, so that who reads
//! the file has no token; a line a token: name, role, hash, and the application on
//! whose behalf it asks, if it is one's.

use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use controller::northbound::{Asker, MAX_APPLICATION_NAME};
use sha2::{Digest, Sha256};
use thiserror::Error;

use super::{Caller, Role};

/// The most tokens.
const MOST: usize = 4_096;
/// The longest file.
const LONGEST_FILE: u64 = 1 << 20;
/// What every token begins with, so that one that leaked can be searched for.
const PREFIX: &str = "taktos_";
const RANDOM_BYTES: usize = 32;
const HASH_BYTES: usize = 32;
/// Readable by nobody but the owner.
const PRIVATE: u32 = 0o600;

type Hash = [u8; HASH_BYTES];

/// Why tokens cannot be used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TokensError {
    /// The file cannot be read or written.
    #[error("cannot use {}: {reason}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// What the system says.
        reason: io::Error,
    },
    /// A line is none.
    #[error(
        "{}:{line}: {reason}; a line is `NAME read|operate|administer SHA256 [APPLICATION]`",
        path.display()
    )]
    Line {
        /// The file.
        path: PathBuf,
        /// Its number, from 1.
        line: usize,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// There is no token.
    #[error(
        "{} has no token: make one with `taktos controller token NAME ROLE --tokens FILE`",
        path.display()
    )]
    None {
        /// The file.
        path: PathBuf,
    },
    /// There are too many.
    #[error("{} has more than {MOST} tokens", path.display())]
    TooMany {
        /// The file.
        path: PathBuf,
    },
    /// The name is none, or taken.
    #[error("`{0}` is no name for a token: 1 to 64 letters, digits, `-`, `_` or `.`, used once")]
    Name(String),
    /// The machine gives no random numbers.
    #[error("the machine gives no random numbers")]
    Random,
}

/// The tokens of a file.
#[derive(Debug)]
pub struct Tokens {
    known: Vec<(Hash, Caller)>,
}

impl Tokens {
    /// Reads the tokens in a file.
    ///
    /// # Errors
    ///
    /// If it cannot be read, or holds anything else, or none.
    pub fn read(path: &Path) -> Result<Self, TokensError> {
        let text = text_of(path).map_err(|reason| failed(path, reason))?;
        let tokens = Self::parse(path, &text)?;
        match tokens.known.is_empty() {
            true => Err(TokensError::None {
                path: path.to_owned(),
            }),
            false => Ok(tokens),
        }
    }

    fn parse(path: &Path, text: &str) -> Result<Self, TokensError> {
        let mut known: Vec<(Hash, Caller)> = Vec::new();
        for (line, text) in (1..).zip(text.lines()) {
            let text = text.trim();
            if text.is_empty() || text.starts_with('#') {
                continue;
            }
            let wrong = |reason| TokensError::Line {
                path: path.to_owned(),
                line,
                reason,
            };
            let token = parse_line(text).map_err(wrong)?;
            if known.iter().any(|(_, caller)| caller.name == token.1.name) {
                return Err(wrong("the name was given before"));
            }
            if known.len() >= MOST {
                let path = path.to_owned();
                return Err(TokensError::TooMany { path });
            }
            known.push(token);
        }
        Ok(Self { known })
    }

    /// Returns whose a token is. Takes as long for a wrong one as for a right one.
    #[must_use]
    pub fn find(&self, token: &str) -> Option<Caller> {
        let hash = hash(token);
        let mut found = None;
        for (known, caller) in &self.known {
            if is_same(known, &hash) {
                found = Some(caller);
            }
        }
        found.cloned()
    }
}

/// Makes a token and appends its hash to a file. Returns the token, which is kept
/// nowhere else.
///
/// # Errors
///
/// If the name is none or taken, or the file cannot be read or written.
pub fn make(
    path: &Path,
    name: &str,
    role: Role,
    application: Option<&str>,
) -> Result<String, TokensError> {
    let text = match text_of(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        Err(reason) => return Err(failed(path, reason)),
    };
    let known = Tokens::parse(path, &text)?.known;
    let taken = known.iter().any(|(_, caller)| caller.name == name);
    if taken || !is_name(name) || !application.is_none_or(is_name) {
        let wrong = application.filter(|it| !is_name(it)).unwrap_or(name);
        return Err(TokensError::Name(wrong.to_owned()));
    }
    let token = random()?;
    let gap = if text.is_empty() || text.ends_with('\n') {
        ""
    } else {
        "\n"
    };
    let role = role.name();
    let hash = in_hex(&hash(&token));
    let application = application.map(|it| format!(" {it}")).unwrap_or_default();
    let line = format!("{gap}{name} {role} {hash}{application}\n");
    append(path, &line).map_err(|reason| failed(path, reason))?;
    Ok(token)
}

fn parse_line(text: &str) -> Result<(Hash, Caller), &'static str> {
    let mut words = text.split_whitespace();
    let mut word = || words.next();
    let (name, role, hash, application) = (word(), word(), word(), word());
    if word().is_some() {
        return Err("it has too many words");
    }
    let name = name.filter(|it| is_name(it)).ok_or("the name is none")?;
    let role = role.ok_or("there is no role")?;
    let role = Role::from_str(role, false).map_err(|_| "the role is none")?;
    let hash = hash.and_then(from_hex);
    let hash = hash.ok_or("the hash is not 64 digits of hexadecimal")?;
    if !application.is_none_or(is_name) {
        return Err("the name of the application is none");
    }
    let asker = match application {
        Some(application) => Asker::Application(application.to_owned()),
        None => Asker::Operator,
    };
    let name = name.to_owned();
    Ok((hash, Caller { name, role, asker }))
}

fn is_name(text: &str) -> bool {
    let fits = (1..=MAX_APPLICATION_NAME).contains(&text.len());
    fits && text
        .bytes()
        .all(|it| it.is_ascii_alphanumeric() || b"-_.".contains(&it))
}

fn random() -> Result<String, TokensError> {
    let mut bytes = [0; RANDOM_BYTES];
    let source = rustls::crypto::ring::default_provider().secure_random;
    source.fill(&mut bytes).map_err(|_| TokensError::Random)?;
    Ok(format!("{PREFIX}{}", in_hex(&bytes)))
}

fn hash(token: &str) -> Hash {
    Sha256::digest(token.as_bytes()).into()
}

/// Compares without telling by its duration where the first difference is.
fn is_same(one: &Hash, other: &Hash) -> bool {
    let pairs = std::iter::zip(one, other);
    let differences = pairs.fold(0, |found, (one, other)| found | (one ^ other));
    std::hint::black_box(differences) == 0
}

fn in_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn from_hex(text: &str) -> Option<Hash> {
    if text.len() != 2 * HASH_BYTES || !text.bytes().all(|it| it.is_ascii_hexdigit()) {
        return None;
    }
    let mut hash = [0; HASH_BYTES];
    for (place, byte) in hash.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&text[2 * place..2 * place + 2], 16).ok()?;
    }
    Some(hash)
}

fn text_of(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    let file = fs::File::open(path)?;
    let length = file.take(LONGEST_FILE + 1).read_to_string(&mut text)?;
    match length as u64 > LONGEST_FILE {
        true => Err(io::Error::other("it is too long")),
        false => Ok(text),
    }
}

fn append(path: &Path, line: &str) -> io::Result<()> {
    let mut options = OpenOptions::new();
    let mut file = options.append(true).create(true).mode(PRIVATE).open(path)?;
    file.write_all(line.as_bytes())?;
    file.sync_all()
}

fn failed(path: &Path, reason: io::Error) -> TokensError {
    let path = path.to_owned();
    TokensError::File { path, reason }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_token_is_found_by_itself_and_the_file_does_not_hold_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tokens");

        let first = make(&path, "alice", Role::Read, None).unwrap();
        let second = make(&path, "app", Role::Operate, Some("planner")).unwrap();
        let tokens = Tokens::read(&path).unwrap();

        assert_eq!(tokens.find(&first).unwrap().name, "alice");
        let app = tokens.find(&second).unwrap();
        assert_eq!(app.asker, Asker::Application("planner".to_owned()));
        assert_eq!(app.role, Role::Operate);
        assert_eq!(tokens.find("taktos_0"), None);
        let text = fs::read_to_string(&path).unwrap();
        assert!(!text.contains(&first[PREFIX.len()..]), "{text}");
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, PRIVATE);
    }

    #[test]
    fn a_line_that_is_none_is_refused_by_its_number() {
        let hash = "0".repeat(64);
        for (text, line, reason) in [
            ("# only a comment\nalice read 12\n".to_owned(), 2, "hash"),
            (format!("alice root {hash}\n"), 1, "role"),
            (format!("a/b read {hash}\n"), 1, "name"),
            (format!("a read {hash} x y\n"), 1, "many"),
            (format!("a read {hash}\na read {hash}"), 2, "before"),
            (format!("a read {}", "é".repeat(32)), 1, "hash"),
        ] {
            let error = Tokens::parse(Path::new("t"), &text)
                .unwrap_err()
                .to_string();

            assert!(error.starts_with(&format!("t:{line}: ")), "{error}");
            assert!(error.contains(reason), "{error}");
        }
    }

    #[test]
    fn a_name_is_given_once_and_an_empty_file_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tokens");
        fs::write(&path, "# none yet").unwrap();

        let empty = Tokens::read(&path).unwrap_err();
        make(&path, "alice", Role::Read, None).unwrap();
        let again = make(&path, "alice", Role::Read, None).unwrap_err();

        assert!(matches!(empty, TokensError::None { .. }), "{empty}");
        assert!(matches!(again, TokensError::Name(_)), "{again}");
        assert_eq!(Tokens::read(&path).unwrap().known.len(), 1);
    }
}
