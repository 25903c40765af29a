//! What clients of the interface for programs cost those whom the controller is for:
//! how many packet-ins it answers, and what an answer costs its thread, alone and
//! while a hundred clients poll and watch.
//!
//! ```text
//! cargo bench -p taktos --bench clients
//! ```
//!
//! Switches (`packet_ins`), controller and clients are threads of one
//! process on one machine, so that the clients' own work takes processor time, too:
//! the rate falls by more than the controller is to blame for. What is the
//! controller's is the processor time of its thread for each answer.

#[path = "controllers/load.rs"]
#[expect(dead_code, reason = "another program asks at a given rate, too")]
mod load;
#[path = "controllers/packet_ins/mod.rs"]
#[expect(
    dead_code,
    unused_imports,
    reason = "another program asks for more of it"
)]
mod packet_ins;

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration as Pause;

use controller::northbound::{ApplicationKind, Manifest};
use controller::store::MemoryStore;
use linux::controller_loop::{self, ControllerHandle};
use linux::scheduling::{Placement, Wish};
use linux::usage::Usage;
use run::experiment::plan::{Open, controller_config};
use taktos::web::gate::{Gate, Role};
use taktos::web::{Terms, Web};
use units::Duration;

use load::{Load, Pace};
use packet_ins::Dialect;

const SWITCHES: u16 = 16;
const HOSTS: u32 = 64;
/// How many questions each switch leaves open.
const OPEN: usize = 16;
const POLLING: usize = 50;
const WATCHING: usize = 50;
/// How long a client that polls rests between two requests.
const REST: Pause = Pause::from_millis(100);
const ROUNDS: usize = 5;
const ROUND: Duration = Duration::from_secs(2);
const NETWORK: &str = "[scenario]\ntitle = \"One\"\nduration = \"1 s\"\n[switches]\ns1 = {}\n\
                       [hosts]\na = { at = \"s1\" }\nb = { at = \"s1\" }\n\
                       [flows.any]\nkind = \"sampled-values\"\nfrom = \"a\"\nto = \"b\"\n\
                       frame = \"122 B\"\nperiod = \"1 ms\"\ndeadline = \"10 ms\"\n";

fn main() -> io::Result<()> {
    let here = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let switches = controller_loop::listen(here).map_err(io::Error::other)?;
    let openflow = switches.local_addr()?;
    let (_controller, http) = start(switches)?;
    let mut load = Load::connect(openflow, Dialect::OpenFlow13, SWITCHES, HOSTS)?;
    println!("| round | clients | answered/s | controller's thread, ns an answer | requests/s |");
    println!("| ---: | ---: | ---: | ---: | ---: |");
    for round in 1..=ROUNDS {
        row(round, &mut load, None)?;
        row(round, &mut load, Some(http))?;
    }
    Ok(())
}

/// Starts the controller and its interface; what it tells is passed on by a thread.
fn start(switches: TcpListener) -> io::Result<(JoinHandle<()>, SocketAddr)> {
    let mut load = |_: &str| Err(io::Error::other("nothing is imported"));
    let scenario = scenario::Scenario::parse("clients", NETWORK, &mut load);
    let scenario = scenario.map_err(io::Error::other)?;
    let mut config = controller_config(&scenario, Open::Usual);
    config.applications = vec![Manifest::built_in(ApplicationKind::ReactiveForwarding)];
    let wish = Wish {
        nice: 0,
        placement: Placement::Anywhere,
    };
    let handle = ControllerHandle::start(switches, config.clone(), MemoryStore::default(), wish)?;
    let terms = Terms::new("clients".to_owned(), Gate::Loopback(Role::Administer));
    let programs = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let web = Web::start(programs, handle.desk(), &config, terms)?;
    let http = web.address();
    let passing = thread::spawn(move || {
        while let Ok(told) = handle.told().recv() {
            web.take(told);
        }
    });
    Ok((passing, http))
}

fn row(round: usize, load: &mut Load, http: Option<SocketAddr>) -> io::Result<()> {
    let clients = http.map(Clients::start).transpose()?;
    let before = Usage::read()?;
    let requests = clients.as_ref().map_or(0, Clients::answered);
    let trial = load.run(Pace::Open(OPEN), ROUND)?;
    let spent = Usage::read()?.since(&before);
    let requests = clients.as_ref().map_or(0, Clients::answered) - requests;
    let seconds = trial.took.as_secs_f64();
    let answered = trial.answered_in_time;
    println!(
        "| {round} | {} | {:.0} | {:.0} | {:.0} |",
        http.map_or(0, |_| POLLING + WATCHING),
        answered as f64 / seconds,
        spent.by("controller").as_ns() as f64 / answered.max(1) as f64,
        requests as f64 / seconds,
    );
    if let Some(clients) = clients {
        clients.stop();
    }
    Ok(())
}

/// Clients that poll the topology, and clients that watch events.
struct Clients {
    stop: Arc<AtomicBool>,
    answered: Arc<AtomicU64>,
    threads: Vec<JoinHandle<io::Result<()>>>,
    /// Those that watch need no thread: what they get waits for them.
    _watching: Vec<TcpStream>,
}

impl Clients {
    fn start(http: SocketAddr) -> io::Result<Self> {
        let (stop, answered) = (Arc::new(AtomicBool::new(false)), Arc::default());
        let threads = (0..POLLING).map(|_| {
            let (stop, answered) = (Arc::clone(&stop), Arc::clone(&answered));
            thread::spawn(move || poll(http, &stop, &answered))
        });
        let threads = threads.collect();
        let watching = (0..WATCHING).map(|_| ask(http, "/api/v1/events"));
        Ok(Self {
            stop,
            answered,
            threads,
            _watching: watching.collect::<io::Result<_>>()?,
        })
    }

    fn answered(&self) -> u64 {
        self.answered.load(Ordering::Relaxed)
    }

    fn stop(self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads {
            if let Ok(Err(error)) = thread.join() {
                eprintln!("a client: {error}");
            }
        }
    }
}

fn poll(http: SocketAddr, stop: &AtomicBool, answered: &AtomicU64) -> io::Result<()> {
    while !stop.load(Ordering::Relaxed) {
        let mut stream = ask(http, "/api/v1/topology")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        if !answer.starts_with("HTTP/1.1 200") {
            return Err(io::Error::other(answer));
        }
        answered.fetch_add(1, Ordering::Relaxed);
        thread::sleep(REST);
    }
    Ok(())
}

fn ask(http: SocketAddr, path: &str) -> io::Result<TcpStream> {
    let mut stream = TcpStream::connect(http)?;
    let head = format!("GET {path} HTTP/1.1\r\nHost: {http}\r\nConnection: close\r\n\r\n");
    stream.write_all(head.as_bytes())?;
    Ok(stream)
}
