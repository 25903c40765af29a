//! Members of etcd as processes of their own, on ports of loopback, for one test.

use std::ffi::OsString;
use std::io::Write;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

/// What members are started with beyond the usual.
#[derive(Clone, Debug, Default)]
pub struct Extras {
    pub arguments: Vec<String>,
    /// For the address of clients.
    pub scheme: Option<&'static str>,
}

pub struct Cluster {
    folder: TempDir,
    program: OsString,
    scheme: &'static str,
    extras: Extras,
    clients: Vec<u16>,
    peers: Vec<u16>,
    members: Vec<Option<Child>>,
}

impl Cluster {
    /// Returns the program, or says loudly that there is none.
    pub fn program_or_skip(test: &str) -> Option<OsString> {
        let program = std::env::var_os("TAKTOS_ETCD").unwrap_or_else(|| "etcd".into());
        if Command::new(&program).arg("--version").output().is_err() {
            let required = std::env::var_os("TAKTOS_REQUIRE_NEIGHBOURS").is_some();
            let notice = format!("SKIPPED {test}: needs etcd: apt-get install etcd-server");
            assert!(!required, "{notice}");
            let _ = writeln!(std::io::stderr(), "\n{notice}\n");
            return None;
        }
        Some(program)
    }

    /// Starts members, or says loudly that there is no etcd.
    pub fn start_or_skip(test: &str, count: usize, extras: Extras) -> Option<Self> {
        let program = Self::program_or_skip(test)?;
        let mut cluster = Self {
            folder: tempfile::tempdir().unwrap(),
            program,
            scheme: extras.scheme.unwrap_or("http"),
            extras,
            clients: (0..count).map(|_| free_port()).collect(),
            peers: (0..count).map(|_| free_port()).collect(),
            members: (0..count).map(|_| None).collect(),
        };
        for member in 0..count {
            cluster.start(member);
        }
        Some(cluster)
    }

    pub fn start(&mut self, member: usize) {
        let client = self.client_url(member);
        let peer = self.peer_url(member);
        let cluster = (0..self.members.len()).map(|it| format!("m{it}={}", self.peer_url(it)));
        let log = std::fs::File::create(self.folder.path().join(format!("m{member}.log")));
        let child = Command::new(&self.program)
            .arg(format!("--name=m{member}"))
            .arg(format!("--data-dir={}", self.data(member).display()))
            .arg(format!("--listen-client-urls={client}"))
            .arg(format!("--advertise-client-urls={client}"))
            .arg(format!("--listen-peer-urls={peer}"))
            .arg(format!("--initial-advertise-peer-urls={peer}"))
            .arg(format!(
                "--initial-cluster={}",
                cluster.collect::<Vec<_>>().join(",")
            ))
            .args(["--heartbeat-interval=50", "--election-timeout=500"])
            .args(&self.extras.arguments)
            .stdout(Stdio::null())
            .stderr(log.unwrap())
            .spawn();
        self.members[member] = Some(child.unwrap());
    }

    /// Ends a member as a crash does.
    pub fn kill(&mut self, member: usize) {
        if let Some(mut child) = self.members[member].take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    pub fn signal(&self, member: usize, signal: Signal) {
        let child = self.members[member].as_ref().unwrap();
        let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
        kill_process(pid, signal).unwrap();
    }

    /// Copies what a member holds, which does not run, aside; or back from there.
    pub fn copy(&self, member: usize, towards: Towards) {
        let backup = self.folder.path().join("backup");
        let data = self.data(member);
        let (from, to) = match towards {
            Towards::Backup => (data, backup),
            Towards::Member => (backup, data),
        };
        let _ = std::fs::remove_dir_all(&to);
        let copied = Command::new("cp").arg("-a").args([from, to]).status();
        assert!(copied.unwrap().success());
    }

    /// Returns where clients reach the members.
    pub fn urls(&self) -> Vec<String> {
        (0..self.members.len())
            .map(|it| self.client_url(it))
            .collect()
    }

    /// Returns what a member has said.
    pub fn log(&self, member: usize) -> String {
        let path = self.folder.path().join(format!("m{member}.log"));
        std::fs::read_to_string(path).unwrap_or_default()
    }

    fn client_url(&self, member: usize) -> String {
        format!("{}://127.0.0.1:{}", self.scheme, self.clients[member])
    }

    fn peer_url(&self, member: usize) -> String {
        format!("http://127.0.0.1:{}", self.peers[member])
    }

    fn data(&self, member: usize) -> PathBuf {
        self.folder.path().join(Path::new(&format!("m{member}")))
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        for member in 0..self.members.len() {
            self.kill(member);
        }
    }
}

/// Whether something is copied into a backup or out of it.
#[derive(Clone, Copy)]
pub enum Towards {
    Backup,
    Member,
}

/// Returns a port that nobody has, and that Linux gives to nobody who asks for any (32768
/// and above, ip_local_port_range): it
/// is free until it is used, and while a member is away.
pub fn free_port() -> u16 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let first = std::process::id().wrapping_mul(97);
    let mut ports = std::iter::repeat_with(|| {
        let next = first.wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed));
        10_000 + u16::try_from(next % 20_000).unwrap()
    });
    let is_free = |port: &u16| TcpListener::bind(("127.0.0.1", *port)).is_ok();
    ports.find(is_free).unwrap()
}
