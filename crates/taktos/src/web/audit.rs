//! Who changed what, when, and with which outcome: a JSON line for each change, in a
//! file that is bounded, and the last of them in memory.
//!
//! Who was not let in, or has not the role, is noted elsewhere: in a file of its own, and
//! so often a second and name, so that nobody drives the changes of others out of the
//! log by asking for what is refused.
//!
//! A log that cannot be written stops nobody: it is counted, and the next line is
//! tried again.

use std::collections::{BTreeMap, VecDeque};
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::document::AuditEntry;
use store::embedded::NO_LINKS;

/// How many changes are kept in memory.
pub const KEPT: usize = 1_000;
/// The length at which a file is put aside.
pub const LONGEST_FILE: u64 = 8 << 20;
/// How many files are put aside before the oldest is removed.
pub const FILES_ASIDE: usize = 4;
/// The same of what was refused.
const REFUSED_ASIDE: usize = 1;
/// How many refusals of one name are noted in a second.
pub const REFUSALS_A_SECOND: u32 = 8;
const NS_PER_SECOND: u64 = 1_000_000_000;
/// Readable by nobody but the owner.
const PRIVATE: u32 = 0o600;

/// The log of all changes.
#[derive(Debug, Default)]
pub struct Audit {
    log: Mutex<Log>,
    refusals: Mutex<Refusals>,
}

/// The log of what was refused at the gate.
#[derive(Debug, Default)]
struct Refusals {
    log: Log,
    /// The second in which each name was last noted, and how often then. There are as
    /// many names as tokens, and one for all strangers.
    spent: BTreeMap<String, (u64, u32)>,
    left_out: u64,
}

#[derive(Debug, Default)]
struct Log {
    kept: VecDeque<AuditEntry>,
    /// Where lines go; nowhere without a folder for data.
    path: Option<PathBuf>,
    file: Option<(File, u64)>,
    /// How many files are put aside.
    aside: usize,
    failures: u64,
}

impl Audit {
    /// Continues the log in the file at `path`, or keeps it in memory alone.
    #[must_use]
    pub fn open(path: Option<PathBuf>) -> Self {
        let refused = path.as_ref().map(|path| path.with_extension("refused.log"));
        Self {
            log: Mutex::new(Log::open(path, FILES_ASIDE)),
            refusals: Mutex::new(Refusals {
                log: Log::open(refused, REFUSED_ASIDE),
                ..Refusals::default()
            }),
        }
    }

    pub fn note(&self, entry: AuditEntry) {
        lock(&self.log).note(entry);
    }

    /// Notes that somebody was not let in, or has not the role, unless that was noted
    /// often enough in this second.
    pub fn note_refusal(&self, entry: AuditEntry) {
        let mut refusals = lock(&self.refusals);
        let second = entry.at_ns / NS_PER_SECOND;
        let spent = refusals.spent.entry(entry.by.clone()).or_default();
        if spent.0 != second {
            *spent = (second, 0);
        }
        spent.1 = spent.1.saturating_add(1);
        match spent.1 > REFUSALS_A_SECOND {
            true => refusals.left_out += 1,
            false => refusals.log.note(entry),
        }
    }

    /// Returns the last changes, at most so many, the latest last.
    #[must_use]
    pub fn last(&self, most: usize) -> Vec<AuditEntry> {
        lock(&self.log).last(most)
    }

    /// Returns the last refusals that were noted, in the same way.
    #[must_use]
    pub fn last_refused(&self, most: usize) -> Vec<AuditEntry> {
        lock(&self.refusals).log.last(most)
    }

    /// Returns how many refusals were too many to be noted.
    #[must_use]
    pub fn refusals_left_out(&self) -> u64 {
        lock(&self.refusals).left_out
    }

    /// Returns how many lines could not be written.
    #[must_use]
    pub fn failures(&self) -> u64 {
        lock(&self.log).failures + lock(&self.refusals).log.failures
    }
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Log {
    fn open(path: Option<PathBuf>, aside: usize) -> Self {
        Self {
            kept: path.as_deref().map(last_of).unwrap_or_default(),
            path,
            aside,
            ..Self::default()
        }
    }

    fn note(&mut self, entry: AuditEntry) {
        if self.append(&entry).is_err() {
            self.failures += 1;
            // The next line tries to open it anew.
            self.file = None;
        }
        if self.kept.len() >= KEPT {
            self.kept.pop_front();
        }
        self.kept.push_back(entry);
    }

    fn last(&self, most: usize) -> Vec<AuditEntry> {
        let left_out = self.kept.len().saturating_sub(most);
        self.kept.iter().skip(left_out).cloned().collect()
    }

    fn append(&mut self, entry: &AuditEntry) -> io::Result<()> {
        let Some(path) = &self.path else {
            return Ok(());
        };
        let mut line = serde_json::to_vec(entry)?;
        line.push(b'\n');
        let (file, length) = match self.file.take() {
            Some((file, length)) if length < LONGEST_FILE => (file, length),
            Some(_) => {
                put_aside(path, self.aside)?;
                open(path)?
            }
            None => open(path)?,
        };
        let (file, length) = self.file.insert((file, length));
        file.write_all(&line)?;
        *length += line.len() as u64;
        Ok(())
    }
}

fn open(path: &Path) -> io::Result<(File, u64)> {
    let mut options = OpenOptions::new();
    let mut file = options
        .read(true)
        .append(true)
        .create(true)
        .mode(PRIVATE)
        .custom_flags(NO_LINKS)
        .open(path)?;
    let mut length = file.metadata()?.len();
    let mut last = [b'\n'];
    if length > 0 {
        file.read_exact_at(&mut last, length - 1)?;
    }
    if last != *b"\n" {
        // The line before was cut short: this one is to be readable.
        file.write_all(b"\n")?;
        length += 1;
    }
    Ok((file, length))
}

/// Renames `audit.log` to `audit.log.1`, that to `audit.log.2`, and so on.
fn put_aside(path: &Path, most: usize) -> io::Result<()> {
    let aside = |number: usize| {
        let mut name = path.as_os_str().to_owned();
        name.push(format!(".{number}"));
        PathBuf::from(name)
    };
    for number in (1..most).rev() {
        match fs::rename(aside(number), aside(number + 1)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
    }
    fs::rename(path, aside(1))
}

/// Reads the last changes of an earlier controller. A line that was cut short when
/// that one ended is left out.
fn last_of(path: &Path) -> VecDeque<AuditEntry> {
    let mut kept = VecDeque::new();
    let is_file = fs::symlink_metadata(path).is_ok_and(|it| it.is_file());
    let Some(file) = is_file.then(|| File::open(path).ok()).flatten() else {
        return kept;
    };
    // A line may cross the limit, and no more.
    let file = BufReader::new(file.take(LONGEST_FILE * 2));
    for line in file.lines().map_while(Result::ok) {
        let Ok(entry) = serde_json::from_str(&line) else {
            continue;
        };
        if kept.len() >= KEPT {
            kept.pop_front();
        }
        kept.push_back(entry);
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(number: u64) -> AuditEntry {
        AuditEntry {
            at_ns: number,
            by: "alice".to_owned(),
            operation: "admit-flows".to_owned(),
            path: "/api/v1/flows".to_owned(),
            about: vec!["sv1".to_owned()],
            status: 201,
            code: None,
        }
    }

    #[test]
    fn changes_survive_a_restart_but_for_a_line_that_was_cut_short() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.log");
        let first = Audit::open(Some(path.clone()));
        first.note(entry(1));
        first.note(entry(2));
        drop(first);
        let whole = fs::read(&path).unwrap();
        fs::write(&path, &whole[..whole.len() - 5]).unwrap();

        let second = Audit::open(Some(path.clone()));
        second.note(entry(3));

        assert_eq!(second.last(10), [entry(1), entry(3)]);
        assert_eq!(second.failures(), 0);
        assert_eq!(Audit::open(Some(path)).last(10), [entry(1), entry(3)]);
    }

    #[test]
    fn who_is_not_let_in_drives_no_change_out_and_is_noted_now_and_then() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.log");
        let audit = Audit::open(Some(path.clone()));
        let refused = |number: u64, by: &str| AuditEntry {
            by: by.to_owned(),
            status: 401,
            ..entry(number)
        };
        audit.note(entry(1));

        for number in 0..300_000 {
            // A thousand a second.
            audit.note_refusal(refused(number * 1_000_000, "somebody"));
        }
        audit.note_refusal(refused(299_999_000_000, "bob"));

        assert_eq!(audit.last(KEPT), [entry(1)]);
        let noted = 300 * u64::from(REFUSALS_A_SECOND);
        assert_eq!(audit.refusals_left_out(), 300_000 - noted);
        assert_eq!(audit.last_refused(1)[0].by, "bob");
        let again = Audit::open(Some(path));
        assert_eq!(again.last(KEPT), [entry(1)]);
        assert_eq!(again.last_refused(1)[0].by, "bob");
    }

    #[test]
    fn a_log_that_is_a_link_to_another_file_is_not_written() {
        let folder = tempfile::tempdir().unwrap();
        let [path, victim] = ["audit.log", "victim"].map(|name| folder.path().join(name));
        fs::write(&victim, "").unwrap();
        std::os::unix::fs::symlink(&victim, &path).unwrap();

        let audit = Audit::open(Some(path));
        audit.note(entry(1));

        assert_eq!(fs::read(&victim).unwrap(), b"");
        assert_eq!(audit.failures(), 1);
    }

    #[test]
    fn a_full_disk_is_counted_and_the_last_changes_are_still_known() {
        let audit = Audit::open(Some(PathBuf::from("/dev/full")));

        audit.note(entry(1));
        audit.note(entry(2));

        assert_eq!(audit.failures(), 2);
        assert_eq!(audit.last(1), [entry(2)]);
    }

    #[test]
    fn the_log_never_takes_more_than_its_share_of_the_disk() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.log");
        for round in 0..FILES_ASIDE as u64 + 3 {
            let file = File::options()
                .create(true)
                .append(true)
                .open(&path)
                .unwrap();
            file.set_len(LONGEST_FILE).unwrap();
            let audit = Audit::open(Some(path.clone()));
            audit.note(entry(round));
            audit.note(entry(round));
        }

        let files = fs::read_dir(folder.path()).unwrap().count();

        assert_eq!(files, FILES_ASIDE + 1);
    }
}
