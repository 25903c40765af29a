//! Members of etcd on loopback, as the stores of several instances.

use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use std::{env, process, thread};

use controller::store::Store;
use store::EtcdStore;
use store::etcd::EtcdTerms;

/// On so many machines the paper's instances were, and fewer and more.
pub const COUNTS: [usize; 3] = [1, 3, 5];
const PROGRAM: &str = "etcd";
/// How often it is looked whether they answer.
const LOOK_INTERVAL: Duration = Duration::from_millis(100);
const MOST_LOOKS: u32 = 300;

/// A folder for stores, gone in the end.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new(name: &str) -> Self {
        let name = format!("taktos-onos-{name}-{}", process::id());
        Self(env::temp_dir().join(name))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What cannot be removed is in the folder for what is not needed.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Members of etcd that run as long as this is there.
pub struct Members {
    running: Vec<Child>,
    urls: Vec<String>,
    stores: u32,
    folder: Folder,
}

impl Members {
    /// Starts so many, and waits until they answer.
    ///
    /// # Errors
    ///
    /// Why there are none, in a sentence.
    pub fn start(count: usize) -> Result<Self, String> {
        let lacks = |error| {
            format!(
                "etcd cannot be started ({error}): apt-get install etcd-server for what several instances share"
            )
        };
        let folder = Folder::new(&format!("etcd-{count}"));
        let listeners = (0..2 * count).map(|_| TcpListener::bind("127.0.0.1:0"));
        let listeners: Vec<_> = listeners.collect::<Result<_, _>>().map_err(lacks)?;
        let urls = listeners
            .iter()
            .map(|it| Ok(format!("http://{}", it.local_addr()?)));
        let urls: Vec<String> = urls.collect::<Result<_, _>>().map_err(lacks)?;
        drop(listeners);
        let (clients, peers) = urls.split_at(count);
        let all = (0..count).map(|member| format!("m{member}={}", peers[member]));
        let all = all.collect::<Vec<_>>().join(",");
        let mut members = Self {
            running: Vec::new(),
            urls: clients.to_vec(),
            stores: 0,
            folder,
        };
        for member in 0..count {
            let child = Command::new(PROGRAM)
                .arg(format!("--name=m{member}"))
                .arg("--data-dir")
                .arg(members.folder.0.join(format!("m{member}")))
                .arg(format!("--listen-client-urls={}", clients[member]))
                .arg(format!("--advertise-client-urls={}", clients[member]))
                .arg(format!("--listen-peer-urls={}", peers[member]))
                .arg(format!("--initial-advertise-peer-urls={}", peers[member]))
                .arg(format!("--initial-cluster={all}"))
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn();
            members.running.push(child.map_err(lacks)?);
        }
        let mut store = members.store()?;
        let answers = (0..MOST_LOOKS).any(|_| {
            thread::sleep(LOOK_INTERVAL);
            store.snapshot().is_ok()
        });
        match answers {
            true => Ok(members),
            false => Err(format!("{count} members of etcd did not answer in time")),
        }
    }

    /// Returns a store in which nothing is kept yet.
    ///
    /// # Errors
    ///
    /// Why there is none, in a sentence.
    pub fn store(&mut self) -> Result<EtcdStore, String> {
        self.stores += 1;
        let terms = EtcdTerms {
            members: self.urls.clone(),
            prefix: format!("taktos/{}/", self.stores).into_bytes(),
            // A disk that others use as well may take its time; that is measured, and no fault.
            patience: units::Duration::from_secs(60),
            ..EtcdTerms::default()
        };
        EtcdStore::open(&terms).map_err(|error| error.to_string())
    }
}

impl Drop for Members {
    fn drop(&mut self) {
        for child in &mut self.running {
            // One that has ended by itself cannot be ended.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
