//! Speaks HTTP to a controller as plainly as can be: what goes over the wire is what
//! a test says.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};
use std::thread::JoinHandle;
use std::time::Duration;

use controller::Config;
use linux::controller_loop::ControllerHandle;
use linux::scheduling::{Placement, Wish};
use serde_json::Value;

use crate::web::gate::{Gate, Role};
use crate::web::{Terms, Web};
use controller::store::MemoryStore;
use run::experiment::plan::{Open, controller_config};

/// How long a test waits for what must come.
const PATIENCE: Duration = Duration::from_secs(20);
const ANYWHERE: Wish = Wish {
    nice: 0,
    placement: Placement::Anywhere,
};

/// A controller without switches, and its interface.
pub struct Bed {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

static SHARED: LazyLock<Bed> = LazyLock::new(|| {
    let bed = Bed::new();
    bed.with_hosts();
    bed
});

impl Bed {
    /// Starts one that is open to this machine.
    pub fn new() -> Self {
        Self::with(Gate::Loopback(Role::Administer))
    }

    /// Returns one that is never stopped.
    pub fn shared() -> &'static Self {
        &SHARED
    }

    /// Starts one with this gate, and waits until it is ready.
    pub fn with(gate: Gate) -> Self {
        let config = config();
        let store = MemoryStore::default();
        let handle = ControllerHandle::start(None, config.clone(), store, ANYWHERE).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let terms = Terms::new("test".to_owned(), gate);
        let web = Web::start(listener, handle.desk(), &config, terms).unwrap();
        let (address, stop) = (web.address(), Arc::new(AtomicBool::new(false)));
        let should_stop = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            while !should_stop.load(Ordering::Relaxed) {
                if let Ok(told) = handle.told().recv_timeout(Duration::from_millis(5)) {
                    web.take(told);
                }
            }
        });
        let bed = Self {
            address,
            stop,
            thread: Some(thread),
        };
        while bed.ask("GET", "/readyz", "").status == 503 {
            std::thread::yield_now();
        }
        bed
    }

    #[track_caller]
    pub fn with_hosts(&self) {
        let named = self.ask("PUT", "/api/v1/hosts/h1", super::HOST);
        assert_eq!(named.status, 204, "{named:?}");
        let named = self.ask("PUT", "/api/v1/hosts/h2", super::OTHER_HOST);
        assert_eq!(named.status, 204, "{named:?}");
    }

    pub fn ask(&self, method: &str, path: &str, body: &str) -> Answer {
        self.ask_with(method, path, body, "")
    }

    /// Asks something with more headers.
    pub fn ask_with(&self, method: &str, path: &str, body: &str, headers: &str) -> Answer {
        let host = self.address;
        let length = body.len();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\
             Content-Length: {length}\r\n{headers}\r\n"
        );
        self.send(&head, body)
    }

    /// Asks under the name of another host.
    pub fn ask_as(&self, host: &str, method: &str, path: &str) -> Answer {
        let head = format!("{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
        self.send(&head, "")
    }

    fn send(&self, head: &str, body: &str) -> Answer {
        let mut stream = self.connect();
        stream.write_all(head.as_bytes()).unwrap();
        // A server that refuses a long body need not take it whole.
        let _ = stream.write_all(body.as_bytes());
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        // The files of the page are compressed.
        Answer::of(&String::from_utf8_lossy(&answer))
    }

    pub fn watch(&self, path: &str, last: Option<u64>) -> Watcher {
        let mut stream = self.connect();
        let host = self.address;
        let last = last.map(|last| format!("Last-Event-ID: {last}\r\n"));
        let last = last.unwrap_or_default();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: {host}\r\n{last}\r\n").unwrap();
        let mut watcher = Watcher {
            lines: BufReader::new(stream),
        };
        while watcher.line() != "retry: 1000" {}
        watcher
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    }
}

impl Drop for Bed {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }
}

fn config() -> Config {
    let text = "[scenario]\ntitle = \"One\"\nduration = \"1 s\"\n[switches]\ns1 = {}\n\
                [hosts]\na = { at = \"s1\" }\nb = { at = \"s1\" }\n\
                [flows.any]\nkind = \"sampled-values\"\nfrom = \"a\"\nto = \"b\"\n\
                frame = \"122 B\"\nperiod = \"1 ms\"\ndeadline = \"10 ms\"\n";
    let mut load = |_: &str| Err(std::io::Error::other("nothing is imported"));
    let scenario = scenario::Scenario::parse("test", text, &mut load).unwrap();
    controller_config(&scenario, Open::Usual)
}

#[derive(Clone, Debug)]
pub struct Answer {
    pub status: u16,
    pub body: String,
    code: Option<String>,
}

impl Answer {
    #[track_caller]
    fn of(text: &str) -> Self {
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((text, ""));
        let status = head.split(' ').nth(1).and_then(|it| it.parse().ok());
        let document: Option<Value> = serde_json::from_str(body).ok();
        let code = document.and_then(|it| it["error"]["code"].as_str().map(str::to_owned));
        Self {
            status: status.unwrap_or_else(|| panic!("no answer: {text:?}")),
            body: body.to_owned(),
            code,
        }
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    pub fn code(&self) -> Option<&str> {
        self.code.as_deref()
    }
}

pub struct Watcher {
    lines: BufReader<TcpStream>,
}

/// An event that was told.
#[derive(Debug)]
pub struct Told {
    pub id: u64,
    pub document: Value,
}

impl Watcher {
    /// Waits for the next event.
    #[track_caller]
    pub fn next(&mut self) -> Told {
        let mut id = None;
        loop {
            let line = self.line();
            if let Some(number) = line.strip_prefix("id: ") {
                id = Some(number.parse().unwrap());
            }
            if let Some(data) = line.strip_prefix("data: ") {
                return Told {
                    id: id.unwrap(),
                    document: serde_json::from_str(data).unwrap(),
                };
            }
        }
    }

    /// Returns the next line; those of the chunks around it are among them.
    #[track_caller]
    fn line(&mut self) -> String {
        let mut line = String::new();
        let length = self.lines.read_line(&mut line).unwrap();
        assert!(length > 0, "the stream ended");
        line.trim_end().to_owned()
    }
}

/// Escapes a text so that it is one piece of a path.
pub fn escaped(text: &str) -> String {
    let bytes = if text.is_empty() { "x" } else { text }.bytes();
    bytes.map(|byte| format!("%{byte:02x}")).collect()
}
