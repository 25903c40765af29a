//! `baselines`: what Silo and QJump promise, LOKO section 2.3 and appendix A.

use calculus::baselines::qjump::QJump;
use calculus::baselines::silo::{OutputPort, Silo};
use calculus::min_plus::TokenBucket;
use measure::reproduction::Row;
use units::{BitRate, DataSize, Delay};

use super::super::amounts::{mbps, us};
use super::super::{ExperimentOutcome, ExperimentSettings, Progress};
use super::FRAME;

/// The frames that a data port can hold, LOKO appendix A.
pub(super) const FRAMES_A_PORT: u64 = 3;

/// A device with what the paper prints for it.
struct PrintedDevice {
    name: &'static str,
    link: BitRate,
    host_rate: BitRate,
    capacity: &'static str,
    guarantee: &'static str,
    trunk: &'static str,
    host: &'static str,
    host_note: &'static str,
}

const DEVICES: [PrintedDevice; 2] = [
    PrintedDevice {
        name: "Zodiac FX",
        link: BitRate::from_mbps(100),
        host_rate: BitRate::from_mbps(45),
        capacity: "73.4",
        guarantee: "146.9",
        trunk: "49.0",
        host: "57.5",
        host_note: "",
    },
    PrintedDevice {
        name: "Banana Pi R1",
        link: BitRate::from_mbps(1_000),
        host_rate: BitRate::from_mbps(450),
        capacity: "7.34",
        guarantee: "14.7",
        trunk: "4.90",
        host: "5.75",
        host_note: "Eq. (20) prints 45 Mbit/s where its text and its result need 450",
    },
];

pub fn run(_: ExperimentSettings, _: &mut Progress) -> ExperimentOutcome {
    let mut rows: Vec<Row> = DEVICES.iter().flat_map(silo).collect();
    rows.extend(qjump());
    ExperimentOutcome {
        rows,
        remarks: vec![
            "Neither promise is kept on these switches: both count the links and leave the processor out. \
             Section 2.3 takes epsilon = 2 p = 257 us for two switches, but p alone is 257 us in section 6; \
             two switches would be 514 us."
                .to_owned(),
        ],
        ..ExperimentOutcome::default()
    }
}

/// Admits the two flows that cross from one switch to the other, and returns what
/// follows.
fn silo(device: &PrintedDevice) -> [Row; 4] {
    let port = OutputPort {
        rate: device.link,
        buffer: DataSize::from_bits(FRAME.as_bits() * FRAMES_A_PORT),
    };
    let (trunk, hosts) = (0, [1, 2]);
    let mut silo = Silo::new(vec![port; 3]);
    let flow = TokenBucket::new(device.host_rate, FRAME);
    let promised = hosts.map(|host| silo.admit(flow, &[trunk, host]).ok());
    let name = |of: &str| format!("Silo, {}: {of}", device.name);
    let row = |of: &str, printed, ours: Option<Delay>| {
        let row = Row::new(name(of), "us").printed(printed);
        match ours {
            Some(ours) => row.ours(us(ours)),
            None => row,
        }
    };
    [
        row(
            "queue capacity of a port",
            device.capacity,
            Some(port.queue_capacity()),
        ),
        row(
            "guarantee over two switches",
            device.guarantee,
            promised[0].max(promised[1]),
        ),
        row(
            "queue bound between switches",
            device.trunk,
            silo.queue_bound(trunk),
        ),
        row(
            "queue bound towards hosts",
            device.host,
            silo.queue_bound(hosts[0]),
        )
        .note(device.host_note),
    ]
}

/// Returns what QJump promises, for which the paper prints a formula and no
/// figure.
fn qjump() -> impl Iterator<Item = Row> {
    let settings = [
        ("Banana Pi R1, epsilon 4 us", 1_000, 4, ""),
        (
            "Zodiac FX, epsilon 257 us",
            100,
            257,
            "epsilon as the paper deploys it",
        ),
        (
            "Zodiac FX, epsilon 514 us",
            100,
            514,
            "epsilon of two switches at 257 us each",
        ),
    ];
    settings
        .into_iter()
        .flat_map(|(device, link_mbps, processing_us, note)| {
            let network = QJump {
                hosts: 4,
                frame: FRAME,
                link: BitRate::from_mbps(link_mbps),
                processing: Delay::from_us(processing_us),
            };
            let guarantee = us(network.guarantee());
            let rate = network.host_rate().map_or(0.0, mbps);
            [
                Row::new(format!("QJump, {device}: guarantee"), "us")
                    .ours(guarantee)
                    .note(note),
                Row::new(format!("QJump, {device}: rate of a host"), "Mbit/s").ours(rate),
            ]
        })
}
