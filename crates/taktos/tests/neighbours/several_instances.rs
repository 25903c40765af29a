//! Three instances of one controller with Open vSwitch: it has one master, whatever becomes
//! of them, and refuses who comes with a generation that is over.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use rustix::process::Signal;

use crate::cluster::{Cluster, Extras};
use crate::open_vswitch::OpenVswitch;
use crate::workbench::Workbench;

const NAMES: [&str; 3] = ["a", "b", "c"];
/// Where Open vSwitch hears whoever asks, beside the instances.
const OPEN_PORT: u16 = 6_660;

/// host 1 - Open vSwitch - host 2
struct Bench {
    bench: Workbench,
    open_vswitch: OpenVswitch,
    instances: Vec<usize>,
    // Ends behind the instances.
    _etcd: Cluster,
}

impl Bench {
    fn or_skip(test: &str) -> Option<Self> {
        let mut bench = Workbench::new(test, 2)?;
        let open_vswitch = OpenVswitch::or_skip(test, &mut bench)?;
        let etcd = bench.within(|| Cluster::start_or_skip(test, 1, Extras::default()))?;
        let instances = (0..3).map(|place| {
            let [switches, others, programs] =
                [port(place), 6_700 + place, 8_181 + place].map(|port| format!("127.0.0.1:{port}"));
            let name = NAMES[usize::from(place)];
            let urls = etcd.urls().join(",");
            let arguments = [
                &["--openflow", &switches, "--cluster", &others, "--id", name],
                &["--http", &programs, "--etcd", &urls][..],
            ];
            bench.start_controller_named(name, &arguments.concat())
        });
        let instances = instances.collect();
        let controllers = (0..3).map(|place| format!("tcp:127.0.0.1:{}", port(place)));
        let controllers = controllers.collect::<Vec<_>>().join(" ");
        open_vswitch.vsctl(
            &bench,
            &format!(
                "add-br ovs -- set bridge ovs datapath_type=netdev fail_mode=secure \
                 other-config:disable-in-band=true -- add-port ovs port1 -- add-port ovs port2 \
                 -- set-controller ovs {controllers} ptcp:{OPEN_PORT}:127.0.0.1"
            ),
        );
        Some(Self {
            bench,
            open_vswitch,
            instances,
            _etcd: etcd,
        })
    }

    /// Returns which instances are masters, as Open vSwitch says.
    fn masters(&self) -> Vec<usize> {
        let listed = self.open_vswitch.controllers(&self.bench);
        let is_master = |place: &usize| {
            let target = format!("tcp:127.0.0.1:{}", port(u16::try_from(*place).unwrap()));
            let mut lines = listed.lines();
            lines.any(|line| line.contains(&target) && line.ends_with("master"))
        };
        (0..3).filter(is_master).collect()
    }

    /// Waits until one instance is the master, and not this one; returns it.
    #[track_caller]
    fn await_master(&self, former: Option<usize>) -> usize {
        let mut found = None;
        self.bench.until("one master", || {
            let masters = self.masters();
            assert!(masters.len() <= 1, "{masters:?}");
            found = masters.first().copied().filter(|it| Some(*it) != former);
            found.is_some()
        });
        found.unwrap()
    }
}

fn port(place: u16) -> u16 {
    6_653 + place
}

/// Asks to be the master in a generation. Returns the type and the content of what is
/// answered.
fn claim(bench: &Workbench, generation: u64) -> (u8, Vec<u8>) {
    let mut stream = bench.within(|| TcpStream::connect(("127.0.0.1", OPEN_PORT)).unwrap());
    stream
        .set_read_timeout(Some(Duration::from_secs(20)))
        .unwrap();
    // OFPT_HELLO, and OFPT_ROLE_REQUEST with OFPCR_ROLE_MASTER (OpenFlow 1.3.5, 7.3.9).
    stream.write_all(&[4, 0, 0, 8, 0, 0, 0, 1]).unwrap();
    let mut request = vec![4, 24, 0, 24, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 0];
    request.extend(generation.to_be_bytes());
    stream.write_all(&request).unwrap();
    loop {
        let mut header = [0; 8];
        stream.read_exact(&mut header).unwrap();
        let length = u16::from_be_bytes([header[2], header[3]]);
        let mut content = vec![0; usize::from(length) - header.len()];
        stream.read_exact(&mut content).unwrap();
        if header[4..] == [0, 0, 0, 2] {
            return (header[1], content);
        }
    }
}

#[test]
fn open_vswitch_has_one_master_and_refuses_a_generation_that_is_over() {
    let test = "open_vswitch_has_one_master_and_refuses_a_generation_that_is_over";
    let Some(it) = Bench::or_skip(test) else {
        return;
    };
    let first = it.await_master(None);
    it.bench.await_answer(1, 2);

    it.bench.signal(it.instances[first], Signal::STOP);
    let second = it.await_master(Some(first));
    it.bench.await_answer(2, 1);
    it.bench.signal(it.instances[first], Signal::CONT);
    it.bench.await_answer(1, 2);
    let after = it.await_master(Some(first));
    it.bench.signal(it.instances[second], Signal::KILL);
    let third = it.await_master(Some(second));
    it.bench.await_answer(2, 1);
    // An instance that believes in the first office, and would be heard.
    let (kind, error) = claim(&it.bench, 1);

    assert_eq!(after, second);
    // OFPT_ERROR: OFPET_ROLE_REQUEST_FAILED, OFPRRFC_STALE.
    assert_eq!((kind, &error[..4]), (1, &[0, 11, 0, 0][..]));
    assert_eq!(it.masters(), [third]);
}
