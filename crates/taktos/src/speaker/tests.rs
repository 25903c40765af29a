//! GoBGP as it is, without peers, and a controller that is played.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::net::IpAddr;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use tempfile::TempDir;

use super::*;
use api::{IpPrefix, RouteChange, RoutePart};

/// How long a test waits for what must come, before it fails.
const PATIENCE: Duration = Duration::from_secs(60);
const CONFIG: &str = "[global.config]\nas = 65000\nrouter-id = \"192.0.2.1\"\nport = -1\n";

const SETTINGS: &str = r#"{
    "router_mac": "02:00:00:00:00:01", "speaker": "1:1", "peerings": []
}"#;

/// What a controller knows that takes everything, unless it is told not to.
#[derive(Debug, Default)]
struct Known {
    routes: BTreeMap<IpPrefix, IpAddr>,
    named: Vec<IpPrefix>,
    snapshots: usize,
    states: Vec<bool>,
    is_busy: bool,
}

impl Known {
    fn take(&mut self, saying: Saying) -> Answer {
        if self.is_busy {
            let reason = "busy".to_owned();
            return Answer::NotTaken { reason };
        }
        match saying {
            Saying::Settings => {}
            Saying::State(state) => self.states.push(state == SpeakerState::Connected),
            Saying::Routes(request) => self.take_routes(&request),
        }
        Answer::Taken {
            refused: Vec::new(),
        }
    }

    fn take_routes(&mut self, request: &RouteRequest) {
        if let RoutePart::Snapshot { is_first: true, .. } = request.part {
            self.named.clear();
        }
        for RouteChange { prefix, next_hop } in &request.changes {
            self.named.push(*prefix);
            match next_hop {
                Some(next_hop) => drop(self.routes.insert(*prefix, *next_hop)),
                None => drop(self.routes.remove(prefix)),
            }
        }
        if let RoutePart::Snapshot { is_last: true, .. } = request.part {
            let named = std::mem::take(&mut self.named);
            self.routes.retain(|prefix, _| named.contains(prefix));
            self.snapshots += 1;
        }
    }
}

/// A speaker, and what the controller knows by it.
struct Bench {
    folder: TempDir,
    gobgpd: Option<Child>,
    known: Arc<Mutex<Known>>,
    report: SharedReport,
    _speaker: Speaker,
}

impl Bench {
    /// Starts a speaker, or says loudly that there is none here.
    fn or_skip(test: &str) -> Option<Self> {
        if Command::new("gobgpd").arg("--version").output().is_err() {
            let notice = format!("SKIPPED {test}: needs gobgpd: apt-get install gobgpd");
            let required = std::env::var_os("TAKTOS_REQUIRE_NEIGHBOURS").is_some();
            assert!(!required, "{notice}");
            let _ = writeln!(io::stderr(), "\n{notice}\n");
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("gobgpd.conf"), CONFIG).unwrap();
        let known = Arc::<Mutex<Known>>::default();
        let told = known.clone();
        let controller = ControllerLink::new(
            || true,
            move |saying| std::future::ready(told.lock().unwrap().take(saying)).boxed(),
        );
        let report = SharedReport::new(drop);
        let api = SpeakerApi::Unix(folder.path().join("api.sock"));
        let settings = serde_json::from_str(SETTINGS).unwrap();
        let speaker = Speaker::start((api, &settings), controller, report.clone()).unwrap();
        let mut bench = Self {
            folder,
            gobgpd: None,
            known,
            report,
            _speaker: speaker,
        };
        bench.start();
        Some(bench)
    }

    fn socket(&self) -> PathBuf {
        self.folder.path().join("api.sock")
    }

    fn start(&mut self) {
        let _ = fs::remove_file(self.socket());
        let mut gobgpd = Command::new("gobgpd");
        gobgpd
            .args(["--pprof-disable", "-f"])
            .arg(self.folder.path().join("gobgpd.conf"));
        gobgpd.arg(format!("--api-hosts=unix://{}", self.socket().display()));
        gobgpd
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        self.gobgpd = Some(gobgpd.spawn().unwrap());
        self.until("a snapshot", |known| known.snapshots > 0);
    }

    fn kill(&mut self) {
        if let Some(mut gobgpd) = self.gobgpd.take() {
            gobgpd.kill().unwrap();
            gobgpd.wait().unwrap();
        }
    }

    /// Adds or deletes a path of the speaker's own.
    fn path(&self, words: &str) {
        let target = format!("unix://{}", self.socket().display());
        let mut gobgp = Command::new("gobgp");
        gobgp
            .args(["--target", &target, "global", "rib"])
            .args(words.split(' '));
        let output = gobgp.output().unwrap();
        assert!(output.status.success(), "{words}: {output:?}");
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap()
    }

    #[track_caller]
    fn until(&self, what: &str, mut is_so: impl FnMut(&Known) -> bool) {
        let give_up = Instant::now() + PATIENCE;
        while !is_so(&self.known()) {
            let known = self.known();
            assert!(
                Instant::now() < give_up,
                "no {what}: {known:?}, {:?}",
                self.report.now()
            );
            drop(known);
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    #[track_caller]
    fn until_routes(&self, routes: &[(&str, &str)]) {
        let parsed = routes.iter();
        let parsed = parsed.map(|(prefix, hop)| (prefix.parse().unwrap(), hop.parse().unwrap()));
        let wanted: BTreeMap<IpPrefix, IpAddr> = parsed.collect();
        self.until("such routes", |known| known.routes == wanted);
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        self.kill();
    }
}

#[test]
fn what_the_speaker_has_the_controller_knows_by_changes_and_by_lists() {
    let test = "what_the_speaker_has_the_controller_knows_by_changes_and_by_lists";
    let Some(bench) = Bench::or_skip(test) else {
        return;
    };

    bench.path("add 10.1.0.0/16 nexthop 192.0.2.2");
    bench.path("add -a ipv6 2001:db8:1::/48 nexthop 2001:db8::2");
    bench.path("add 10.2.0.0/16");
    bench.path("add 10.3.0.0/16 nexthop 127.0.0.1");
    let both = [
        ("10.1.0.0/16", "192.0.2.2"),
        ("2001:db8:1::/48", "2001:db8::2"),
    ];
    bench.until_routes(&both);
    bench.path("add 10.1.0.0/16 nexthop 192.0.2.6");
    bench.until_routes(&[("10.1.0.0/16", "192.0.2.6"), both[1]]);
    bench.path("del 10.1.0.0/16");

    bench.until_routes(&both[1..]);
    let report = bench.report.now();
    assert!(
        report.is_connected && report.as_number == 65_000,
        "{report:?}"
    );
    assert!(report.counts.unusable_next_hops > 0, "{report:?}");
}

#[test]
fn a_speaker_that_was_started_anew_is_found_and_what_it_has_no_more_is_withdrawn() {
    let test = "a_speaker_that_was_started_anew_is_found_and_what_it_has_no_more_is_withdrawn";
    let Some(mut bench) = Bench::or_skip(test) else {
        return;
    };
    bench.path("add 10.1.0.0/16 nexthop 192.0.2.2");
    bench.path("add 10.2.0.0/16 nexthop 192.0.2.2");
    bench.until_routes(&[("10.1.0.0/16", "192.0.2.2"), ("10.2.0.0/16", "192.0.2.2")]);

    bench.kill();
    bench.until("loss", |known| known.states.last() == Some(&false));
    assert_eq!(
        bench.known().routes.len(),
        2,
        "it is kept until more is known"
    );
    bench.known().snapshots = 0;
    bench.start();

    assert_eq!(bench.known().states.last(), Some(&true));
    bench.until_routes(&[]);
}

#[test]
fn a_controller_that_took_nothing_for_a_while_is_told_all_by_a_list() {
    let test = "a_controller_that_took_nothing_for_a_while_is_told_all_by_a_list";
    let Some(bench) = Bench::or_skip(test) else {
        return;
    };
    bench.path("add 10.1.0.0/16 nexthop 192.0.2.2");
    bench.until_routes(&[("10.1.0.0/16", "192.0.2.2")]);

    bench.known().is_busy = true;
    bench.path("del 10.1.0.0/16");
    bench.path("add 10.2.0.0/16 nexthop 192.0.2.2");
    let failed = || bench.report.now().counts.failed_requests;
    bench.until("request that failed", |_| failed() > 0);
    bench.known().is_busy = false;

    bench.until_routes(&[("10.2.0.0/16", "192.0.2.2")]);
}
