//! The entrance of a controller for encrypted connections: who is let in, who is
//! not, and that nobody holds up others.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod site;
#[path = "site/trust.rs"]
mod trust;

use std::fs;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, ServerConfig, StreamOwned};
use site::{Papers, Site};
use taktos::tls::TlsFiles;
use taktos::tls::claim::Naming;
use taktos::tls::complaints::Complaint;
use taktos::tls::gate::{Gate, MOST_HANDSHAKES, Terms};
use taktos::tls::refusal::TlsRefusal;
use wire::openflow::{Capabilities, DatapathId, FeaturesReply, Hello, TransactionId};

const NAME: &str = "controller";
const PATIENCE: Duration = Duration::from_secs(20);

/// A gate of a site.
struct Entrance {
    site: Site,
    address: SocketAddr,
    let_in: Receiver<UnixStream>,
    told: Receiver<Complaint>,
    _gate: Gate,
}

type Line = StreamOwned<ClientConnection, TcpStream>;

impl Entrance {
    fn open(most: usize) -> Self {
        Self::open_for(most, Naming::Any)
    }

    fn open_for(most: usize, naming: Naming) -> Self {
        let site = Site::new();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (inside, let_in) = mpsc::channel();
        let (tell, told) = mpsc::channel();
        let config = config(&site);
        let terms = Terms {
            config,
            naming,
            most,
        };
        let gate = Gate::open(
            listener,
            terms,
            move |plain, _| {
                plain.set_read_timeout(Some(PATIENCE)).unwrap();
                let _ = inside.send(plain);
            },
            move |complaint| drop(tell.send(complaint)),
        );
        Self {
            site,
            address,
            let_in,
            told,
            _gate: gate.unwrap(),
        }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    fn dial(&self, config: Arc<ClientConfig>) -> Line {
        let name = ServerName::try_from(NAME).unwrap();
        let connection = ClientConnection::new(config, name).unwrap();
        StreamOwned::new(connection, self.connect())
    }

    fn dial_with(&self, papers: &Papers) -> Line {
        self.dial(self.site.client(Some(papers)))
    }

    /// Lets a switch in; returns both ends of its connection.
    fn admit(&self) -> (Line, UnixStream) {
        let mut line = self.dial_with(&self.site.certify("switch"));
        line.write_all(b"hello").unwrap();
        let mut plain = self.let_in.recv_timeout(PATIENCE).unwrap();
        assert_eq!(read(&mut plain, 5).unwrap(), b"hello");
        (line, plain)
    }

    /// Asserts that what was dialled is refused for this reason.
    #[track_caller]
    fn refuses(&self, mut line: Line, reason: &TlsRefusal) {
        let _ = line.write_all(b"hello");
        assert!(read(&mut line, 1).is_err(), "let in");
        self.complains(reason);
    }

    #[track_caller]
    fn complains(&self, expected: &TlsRefusal) {
        match self.told.recv_timeout(PATIENCE).unwrap() {
            Complaint::Refused { reason, .. } => assert_eq!(reason, *expected),
            Complaint::More(count) => panic!("{count} more"),
        }
    }
}

/// Returns what the files of a controller of this site say.
fn config(site: &Site) -> Arc<ServerConfig> {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: String| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        Some(path)
    };
    let papers = site.certify(NAME);
    let files = TlsFiles {
        option: "--tls",
        key: write("key.pem", papers.key),
        certificate: write("cert.pem", papers.certificate),
        authority: write("ca.pem", site.authority()),
        peer_name: None,
    };
    files.listening_to_certified().unwrap()
}

fn read(from: &mut impl Read, count: usize) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; count];
    from.read_exact(&mut bytes)?;
    Ok(bytes)
}

#[test]
fn who_is_certified_is_let_in_and_both_sides_hear_each_other() {
    let entrance = Entrance::open(8);

    let (mut line, mut plain) = entrance.admit();
    plain.write_all(b"welcome").unwrap();

    assert_eq!(read(&mut line, 7).unwrap(), b"welcome");
}

#[test]
fn who_is_not_certified_is_refused_with_the_reason_and_harms_nobody() {
    let entrance = Entrance::open(8);
    let (mut inside, mut plain) = entrance.admit();
    let stranger = Site::new();
    let forged = stranger.certify("switch");
    let old = entrance.site.certify_for_the_past("switch");

    entrance.refuses(
        entrance.dial(entrance.site.client(None)),
        &TlsRefusal::NoCertificate,
    );
    entrance.refuses(entrance.dial_with(&forged), &TlsRefusal::Stranger);
    entrance.refuses(entrance.dial_with(&old), &TlsRefusal::Expired);
    let distrustful = entrance.dial(stranger.client(Some(&forged)));
    entrance.refuses(distrustful, &TlsRefusal::Distrust("UnknownCA".to_owned()));
    let mut plain_openflow = entrance.connect();
    plain_openflow.write_all(&[4, 0, 0, 8, 0, 0, 0, 1]).unwrap();
    entrance.complains(&TlsRefusal::NoTls);
    drop(entrance.connect());
    entrance.complains(&TlsRefusal::Left);

    inside.write_all(b"still").unwrap();
    assert_eq!(read(&mut plain, 5).unwrap(), b"still");
    entrance.admit();
}

#[test]
fn who_never_shakes_hands_is_shown_out_and_keeps_nobody_out_meanwhile() {
    let entrance = Entrance::open(MOST_HANDSHAKES * 2);
    let silent: Vec<_> = (0..=MOST_HANDSHAKES).map(|_| entrance.connect()).collect();

    entrance.admit();

    entrance.complains(&TlsRefusal::Crowded);
    for mut stream in silent {
        assert_eq!(stream.read(&mut [0]).unwrap(), 0);
    }
}

#[test]
fn who_comes_beyond_the_limit_is_refused_until_somebody_leaves() {
    let entrance = Entrance::open(1);
    let (line, mut plain) = entrance.admit();

    let mut second = entrance.connect();
    let shown_out = second.read(&mut [0]);
    entrance.complains(&TlsRefusal::Full);
    drop(line);
    assert_eq!(plain.read(&mut [0]).unwrap(), 0);
    drop(plain);

    assert!(matches!(shown_out, Ok(0)) || shown_out.is_err());
    // The gate may need a moment to notice that a place is free.
    while let Some(TlsRefusal::Full) = try_again(&entrance) {}
}

/// Tries to be let in; returns why not.
fn try_again(entrance: &Entrance) -> Option<TlsRefusal> {
    let mut line = entrance.dial_with(&entrance.site.certify("switch"));
    if line.write_all(b"hello").is_ok() && line.flush().is_ok() {
        return None;
    }
    match entrance.told.recv_timeout(PATIENCE).unwrap() {
        Complaint::Refused { reason, .. } => Some(reason),
        Complaint::More(_) => None,
    }
}

#[test]
fn much_passes_both_ways_at_once_while_the_other_end_is_slow() {
    const LENGTH: usize = 8 << 20;
    let entrance = Entrance::open(8);
    let (mut line, mut plain) = entrance.admit();
    let pattern: Vec<u8> = (0..LENGTH).map(|n| n.to_be_bytes()[6]).collect();
    let mut writer = plain.try_clone().unwrap();
    let sent = pattern.clone();

    let writing = thread::spawn(move || writer.write_all(&sent));
    // Nothing of it is read until all of this has been written.
    line.write_all(&pattern[..LENGTH / 64]).unwrap();
    let forth = read(&mut plain, LENGTH / 64).unwrap();
    let back = read(&mut line, LENGTH).unwrap();

    writing.join().unwrap().unwrap();
    assert!(back == pattern, "what came back is not what was sent");
    assert!(forth == pattern[..LENGTH / 64]);
}

#[test]
fn what_was_said_before_one_end_left_reaches_the_other() {
    const LENGTH: usize = 1 << 20;
    let entrance = Entrance::open(8);
    let last_words = vec![7; LENGTH];

    let (mut line, plain) = entrance.admit();
    let mut holder = plain;
    let words = last_words.clone();
    let writing = thread::spawn(move || holder.write_all(&words));
    assert!(read(&mut line, LENGTH).unwrap() == last_words);
    writing.join().unwrap().unwrap();
    let farewell = line.read(&mut [0]);
    assert!(matches!(farewell, Ok(0)), "{farewell:?}");

    let (mut line, mut plain) = entrance.admit();
    let writing = thread::spawn(move || {
        line.write_all(&last_words).unwrap();
        line.conn.send_close_notify();
        line.flush().unwrap();
        line
    });
    assert!(read(&mut plain, LENGTH).unwrap() == vec![7; LENGTH]);
    assert_eq!(plain.read(&mut [0]).unwrap(), 0);
    drop(writing.join());
}

#[test]
fn who_does_not_take_what_was_said_keeps_no_place_once_the_other_end_has_left() {
    let entrance = Entrance::open(1);
    let (_idle, mut plain) = entrance.admit();
    let papers = entrance.site.certify("switch");
    let enters = || {
        let mut line = entrance.dial_with(&papers);
        line.write_all(b"hello").is_ok() && line.flush().is_ok()
    };

    plain
        .set_write_timeout(Some(Duration::from_millis(500)))
        .unwrap();
    while plain.write_all(&[7; 1 << 16]).is_ok() {}
    let meanwhile = enters();
    drop(plain);

    assert!(!meanwhile, "there were two in one place");
    let give_up = Instant::now() + PATIENCE;
    while !enters() {
        assert!(Instant::now() < give_up, "its place is still taken");
    }
}

#[test]
fn a_switch_is_only_the_one_that_its_certificate_names_if_that_is_asked_for() {
    let entrance = Entrance::open_for(8, Naming::DatapathId);
    let papers = entrance.site.certify("dpid-00000000000000a1");
    let state = |datapath| {
        let mut line = entrance.dial_with(&papers);
        let mut stated = Vec::new();
        Hello::OURS.emit(TransactionId(1), &mut stated);
        features(datapath).emit(TransactionId(2), &mut stated);
        line.write_all(&stated).unwrap();
        (line, stated.len())
    };

    let (_honest, length) = state(DatapathId(0xa1));
    let mut plain = entrance.let_in.recv_timeout(PATIENCE).unwrap();
    assert!(read(&mut plain, length).is_ok());
    let (_impostor, _) = state(DatapathId(0xa2));
    let mut plain = entrance.let_in.recv_timeout(PATIENCE).unwrap();

    assert_eq!(plain.read(&mut [0]).unwrap(), 0, "an impostor was heard");
    entrance.complains(&TlsRefusal::Impostor(DatapathId(0xa2)));
}

fn features(datapath: DatapathId) -> FeaturesReply {
    FeaturesReply {
        datapath,
        buffers: 0,
        tables: 1,
        auxiliary: 0,
        capabilities: Capabilities::default(),
    }
}

#[test]
fn a_gate_that_closes_leaves_its_address_to_others() {
    let entrance = Entrance::open(8);
    let address = entrance.address;

    drop(entrance);

    let again = TcpListener::bind(address);
    assert!(!matches!(&again, Err(error) if error.kind() == ErrorKind::AddrInUse));
}
