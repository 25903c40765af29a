//! What of a kernel engine is there when the process has died, and how the next process
//! finds it.
//!
//! The programs hang on links that have names, so have the arrays in which the tables are,
//! and what controllers asked for is in a file ([`StateFile`]). The next process of the same
//! switch, in the same namespace, goes on with them: it makes tables of its own from the
//! file, and puts its program into the place of the other one at every port. Until that is
//! done everything of the process before stays as it is, so there are two turns, `a` and
//! `b`, which processes take alternately.
//!
//! ```text
//! /run/taktos/retained/           for root alone
//!     bpf/NAMESPACE-DPID/link_7   the program's link at interface 7
//!     bpf/NAMESPACE-DPID/a/…      the arrays of one turn
//!     NAMESPACE-DPID.a            the file of that turn
//!     NAMESPACE-DPID.lock         locked by the process whose all this is
//! ```

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use switch::compiled::Sizes;
use switch::{Config, RetainedState, StateLog};
use thiserror::Error;
use wire::openflow::DatapathId;

use super::{SharedTables, pacemaker};
use crate::bpf::attachment::{Link, has_links};
use crate::bpf::pin;
use crate::interface::Interface;
use crate::qdisc::PacedLink;

/// Where the sets of all switches of this machine are.
const FOLDER: &str = "/run/taktos/retained";
const PINS: &str = "bpf";
const MOUNTING: &str = "mounting";
pub(super) const LINK: &str = "link_";
const STAND_IN: &str = "stand_in";
/// For how long the kernel may keep the lock of a process that was killed.
const LOCK_TRIES: u32 = 25;
const LOCK_INTERVAL: Duration = Duration::from_millis(10);

/// Why nothing outlives the process.
#[derive(Debug, Error)]
pub enum RetentionError {
    #[error("this kernel has no links to interfaces (Linux 6.6)")]
    NoLinks,
    #[error("another process has what is retained of this switch")]
    Locked,
    #[error("{0}")]
    Kernel(#[from] io::Error),
}

/// Whose turn it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Turn {
    A,
    B,
}

impl Turn {
    const ALL: [Self; 2] = [Self::A, Self::B];

    fn other(self) -> Self {
        match self {
            Self::A => Self::B,
            Self::B => Self::A,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::A => "a",
            Self::B => "b",
        }
    }
}

/// What outlives this process, of one switch. A process that ends in peace takes it away.
#[derive(Debug)]
pub(super) struct RetainedSet {
    place: Place,
    turn: Turn,
    identity: Vec<u8>,
    /// Whether a process that has ended left something that is still in use.
    has_left: bool,
    _lock: File,
}

/// What a process left that has ended.
#[derive(Debug)]
pub(crate) struct Left {
    pub(crate) tables: SharedTables,
    pub(crate) state: RetainedState,
}

/// The names of what is retained of one switch.
#[derive(Clone, Debug)]
struct Place {
    folder: PathBuf,
    name: String,
}

impl Place {
    fn pins(&self) -> PathBuf {
        self.folder.join(PINS).join(&self.name)
    }

    fn arrays(&self, turn: Turn) -> PathBuf {
        self.pins().join(turn.name())
    }

    fn file(&self, turn: Turn) -> PathBuf {
        self.folder.join(format!("{}.{}", self.name, turn.name()))
    }

    fn lock_file(&self) -> PathBuf {
        self.folder.join(format!("{}.lock", self.name))
    }

    /// Takes the lock, if nobody has it.
    fn lock(&self) -> io::Result<Option<File>> {
        let path = self.lock_file();
        let file = lock_file(&path)?;
        if file.try_lock().is_err() {
            return Ok(None);
        }
        // Whoever had it before may have removed the file meanwhile.
        let is_there = fs::metadata(&path).is_ok_and(|it| Some(it.ino()) == inode(&file));
        Ok(is_there.then_some(file))
    }

    /// Opens the links that have names, by the interfaces at which they are.
    fn links(&self) -> BTreeMap<u32, Link> {
        let names = fs::read_dir(self.pins()).into_iter().flatten().flatten();
        let names = names.filter(|it| {
            it.file_name()
                .as_encoded_bytes()
                .starts_with(LINK.as_bytes())
        });
        let links = names.filter_map(|name| Link::pinned(&name.path()).ok());
        // One whose interface has gone is at none.
        let links = links.filter_map(|link| Some((link.interface().ok()?, link)));
        links.filter(|(interface, _)| *interface != 0).collect()
    }

    /// Returns where the link has its name that speaks for sessions.
    fn stand_in(&self, turn: Turn) -> PathBuf {
        self.arrays(turn).join(STAND_IN)
    }

    fn remove_turn(&self, turn: Turn) {
        let is_here = namespace().is_ok_and(|own| self.name.starts_with(&format!("{own}-")));
        if is_here
            && let Ok(link) = Link::pinned(&self.stand_in(turn))
            && let Ok(interface) = link.interface()
        {
            // If it has gone, it is zero.
            let _ = pacemaker::remove(interface);
        }
        // What is not there needs not be removed.
        let _ = fs::remove_file(self.file(turn));
        let _ = remove_names(&self.arrays(turn));
    }

    fn empty(&self) {
        for link in self.links().into_values() {
            let _ = link.detach();
        }
        Turn::ALL
            .into_iter()
            .for_each(|turn| self.remove_turn(turn));
        let _ = remove_names(&self.pins());
    }

    /// Removes all of it, to be called by who has the lock and ends.
    fn remove(&self) {
        self.empty();
        let _ = fs::remove_file(self.lock_file());
    }
}

fn lock_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.create(true).append(true).mode(0o600).open(path)
}

fn inode(file: &File) -> Option<u64> {
    file.metadata().ok().map(|it| it.ino())
}

/// Removes a folder with the names in it.
fn remove_names(folder: &Path) -> io::Result<()> {
    for name in fs::read_dir(folder)? {
        fs::remove_file(name?.path())?;
    }
    fs::remove_dir(folder)
}

impl RetainedSet {
    /// Makes room for what is to outlive this process, and returns it with what another
    /// process left of the same switch, or why that cannot be used.
    pub(super) fn open(
        config: &Config,
        sizes: &Sizes,
        identity: String,
    ) -> Result<(Self, Option<Result<Left, String>>), RetentionError> {
        if !has_links()? {
            return Err(RetentionError::NoLinks);
        }
        let folder = PathBuf::from(FOLDER);
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&folder)?;
        {
            // Two mounts would hide what is in the first one.
            let mounting = lock_file(&folder.join(MOUNTING))?;
            mounting.lock()?;
            pin::mount_at(&folder.join(PINS))?;
        }
        forget_dead(&folder);
        let place = Place {
            name: name(config.datapath_id)?,
            folder,
        };
        let lock = await_lock(&place)?;
        let left = find_left(&place, sizes, identity.as_bytes());
        let turn = match &left {
            Some(Ok((turn, _))) => turn.other(),
            Some(Err(_)) | None => Turn::A,
        };
        let set = Self {
            has_left: matches!(left, Some(Ok(_))),
            place,
            turn,
            identity: identity.into_bytes(),
            _lock: lock,
        };
        match set.has_left {
            true => set.place.remove_turn(turn),
            false => set.place.empty(),
        }
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(set.place.arrays(turn))?;
        Ok((set, left.map(|left| left.map(|(_, left)| left))))
    }

    pub(super) fn identity(&self) -> &[u8] {
        &self.identity
    }

    /// Returns where links have their names.
    pub(super) fn pins(&self) -> PathBuf {
        self.place.pins()
    }

    /// Returns where the link is to have its name that speaks for sessions, and whose turn it
    /// is, in a letter.
    pub(super) fn stand_in(&self) -> (PathBuf, &'static str) {
        (self.place.stand_in(self.turn), self.turn.name())
    }

    /// Returns the links of a process that has ended, by their interfaces.
    pub(super) fn links(&self) -> BTreeMap<u32, Link> {
        match self.has_left {
            true => self.place.links(),
            false => BTreeMap::new(),
        }
    }

    /// Gives the arrays of this process their names.
    pub(super) fn pin(&self, tables: &SharedTables) -> io::Result<()> {
        let folder = self.place.arrays(self.turn);
        tables
            .arrays()
            .try_for_each(|(name, array)| pin::pin(array, &folder.join(name)))
    }

    /// Makes the file in which this process writes down what it has to.
    pub(super) fn file(&self) -> io::Result<StateFile> {
        StateFile::create(self.place.file(self.turn))
    }

    /// Forgets what a process left that has ended: it is not in use any more.
    pub(super) fn forget_left(&mut self) {
        if std::mem::take(&mut self.has_left) {
            self.place.remove_turn(self.turn.other());
        }
    }
}

impl Drop for RetainedSet {
    fn drop(&mut self) {
        match self.has_left {
            // This process did not come to use it: it stays as it was found.
            true => self.place.remove_turn(self.turn),
            false => self.place.remove(),
        }
    }
}

/// Takes the lock of a switch, which the kernel may still hold for a process that was killed.
fn await_lock(place: &Place) -> Result<File, RetentionError> {
    for _ in 0..LOCK_TRIES {
        if let Some(lock) = place.lock()? {
            return Ok(lock);
        }
        thread::sleep(LOCK_INTERVAL);
    }
    Err(RetentionError::Locked)
}

/// Returns the name of what is retained of a switch in the calling thread's namespace.
fn name(datapath_id: DatapathId) -> io::Result<String> {
    Ok(format!("{}-{:016x}", namespace()?, datapath_id.0))
}

fn namespace() -> io::Result<u64> {
    fs::metadata("/proc/thread-self/ns/net").map(|it| it.ino())
}

type LeftTurn = (Turn, Left);

/// Looks for what a process left that has ended, and that this one can use.
fn find_left(place: &Place, sizes: &Sizes, identity: &[u8]) -> Option<Result<LeftTurn, String>> {
    let mut refusal = None;
    for turn in Turn::ALL {
        match read_left(place, turn, sizes, identity) {
            Ok(Some(left)) => return Some(Ok((turn, left))),
            Ok(None) => {}
            Err(reason) => refusal = Some(Err(reason)),
        }
    }
    refusal
}

fn read_left(
    place: &Place,
    turn: Turn,
    sizes: &Sizes,
    identity: &[u8],
) -> Result<Option<Left>, String> {
    let written = match fs::read(place.file(turn)) {
        Ok(written) => written,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.to_string()),
    };
    let tables = SharedTables::pinned(sizes.clone(), &place.arrays(turn));
    let tables = tables.map_err(|error| format!("it had other tables: {error}"))?;
    let state = RetainedState::read(&written, &tables.provide());
    let state = state.map_err(|error| error.to_string())?;
    if state.identity() != identity {
        return Err("it had other ports or other options".to_owned());
    }
    Ok(Some(Left { tables, state }))
}

/// Removes what is retained of switches whose interfaces have all gone.
fn forget_dead(folder: &Path) {
    for place in places(folder) {
        if let Ok(Some(_lock)) = place.lock()
            && place.links().is_empty()
        {
            place.remove();
        }
    }
}

/// Returns the places of all switches of which something is retained.
fn places(folder: &Path) -> Vec<Place> {
    let names = fs::read_dir(folder.join(PINS))
        .into_iter()
        .flatten()
        .flatten();
    // The kernel has files of its own beside them.
    let names = names.filter(|name| name.file_type().is_ok_and(|it| it.is_dir()));
    let names = names.filter_map(|name| name.file_name().into_string().ok());
    let folder = folder.to_owned();
    let place = |name| Place {
        folder: folder.clone(),
        name,
    };
    names.map(place).collect()
}

/// Takes away what killed switches have left in the calling thread's namespace: their
/// programs, and the queues of their ports. Returns the interfaces.
///
/// # Errors
///
/// What the kernel says about a namespace that cannot be found out.
pub fn clear_left() -> io::Result<Vec<String>> {
    let own = format!("{}-", namespace()?);
    let mut cleared = Vec::new();
    for place in places(Path::new(FOLDER)) {
        if !place.name.starts_with(&own) {
            continue;
        }
        let Some(_lock) = place.lock()? else {
            continue;
        };
        for interface in place.links().into_keys() {
            clear_port(interface, &mut cleared);
        }
        place.remove();
    }
    Ok(cleared)
}

/// Takes away what killed switches have left at one interface, which the caller holds.
pub(crate) fn clear_left_at(interface: u32) -> io::Result<()> {
    let own = format!("{}-", namespace()?);
    for place in places(Path::new(FOLDER)) {
        if place.name.starts_with(&own) && place.links().contains_key(&interface) {
            place.remove();
        }
    }
    Ok(())
}

fn clear_port(interface: u32, cleared: &mut Vec<String>) {
    let _ = PacedLink::remove_left(interface);
    if let Ok(interface) = Interface::of_index(interface) {
        let _ = interface.hear_all(crate::interface::Power::Off);
        cleared.push(interface.name().to_owned());
    }
}

/// The file in which a switch writes down what it needs to go on.
#[derive(Debug)]
pub(super) struct StateFile {
    path: PathBuf,
    file: File,
}

impl StateFile {
    fn create(path: PathBuf) -> io::Result<Self> {
        let file = create(&path)?;
        Ok(Self { path, file })
    }

    fn try_replace(&mut self, bytes: &[u8]) -> io::Result<()> {
        let beside = self.path.with_extension("new");
        let mut file = create(&beside)?;
        file.write_all(bytes)?;
        fs::rename(&beside, &self.path)?;
        self.file = file;
        Ok(())
    }
}

fn create(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.create(true).write(true).truncate(true).mode(0o600);
    options.open(path)
}

impl StateLog for StateFile {
    fn append(&mut self, bytes: &[u8]) -> bool {
        self.file.write_all(bytes).is_ok()
    }

    fn replace(&mut self, bytes: &[u8]) -> bool {
        self.try_replace(bytes).is_ok()
    }
}
