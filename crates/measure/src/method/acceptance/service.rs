//! The services that are accepted, and what each of them sends.

use units::{BitRate, DataSize, Delay, Duration, Instant};
use wire::ethernet::{MacAddress, VlanTag, wire_size};
use wire::mms::PORT;

use super::{RATE, SIZE};
use crate::Contract;
use crate::FlowPlan;
use crate::identity::FlowKey;
use crate::method::{FROM, MethodError, Path, Settings, TO};
use crate::traffic::sampled_values::{self, PROTECTION_RATE, SampleLayout};
use crate::traffic::{Addresses, Goose, SampledValues, Source, Udp, goose, mms, udp};
use crate::trial::{PlayedStation, Served, Sourced, Stream};

const CHECK_SEQUENCE: usize = 4;
/// 80 samples a cycle of 50 Hz (9-2LE clause 7.1).
const LIGHT_RATE: u32 = 4_000;
const SAMPLES_APPLICATION: u16 = 0x4000;
const PACKED_APPLICATION: u16 = 0x4001;
const GOOSE_APPLICATION: u16 = 1;
/// Repetitions begin this far apart and end a second apart.
const GOOSE_MIN_TIME: Duration = Duration::from_ms(4);
const GOOSE_MAX_TIME: Duration = Duration::from_secs(1);
const CHANGES_EVERY: Duration = Duration::from_secs(1);
const FIRST_CHANGE: Duration = Duration::from_ms(500);
const POLLS_EVERY: Duration = Duration::from_ms(20);
const VALUE_LENGTH: usize = 200;
/// The network's share of 3 ms and of 10 ms (IEC 61850-10).
const OBJECTIVE_OF_PROTECTION: Duration = Duration::from_us(600);
const OBJECTIVE_OF_CONTROL: Duration = Duration::from_ms(2);

named!(
    /// What is accepted, or not.
    pub(super) Service,
    /// Sampled Values as 9-2LE has them.
    Samples = "sv",
    /// Sampled Values as IEC 61869-9 prefers for protection.
    PackedSamples = "sv-61869",
    Goose = "goose",
    Datagrams = "udp",
    Mms = "mms",
);

impl Service {
    /// Tells whether it has a rate that can be approached in steps.
    pub(super) const fn has_steps(self) -> bool {
        match self {
            Self::Datagrams => true,
            Self::Samples | Self::PackedSamples | Self::Goose | Self::Mms => false,
        }
    }
}

/// How a service's frames are known, and what is kept of them.
#[derive(Clone, Copy, Debug)]
pub(super) struct ServiceFlow {
    pub(super) key: FlowKey,
    /// How many numbers a second has, if they begin again.
    pub(super) numbers_a_second: Option<u32>,
    pub(super) period: Option<Duration>,
}

impl ServiceFlow {
    /// Returns what a recorder has to know.
    pub(super) fn plan(&self) -> FlowPlan {
        FlowPlan {
            receivers: 1,
            promise: None,
            contract: None,
            period: self.period,
        }
    }
}

/// What the user wants of the services.
#[derive(Clone, Debug)]
pub(super) struct ServicePlan {
    pub(super) services: Vec<Service>,
    rate: BitRate,
    size: usize,
    delay: Option<Duration>,
    pub(super) loss: f64,
}

impl ServicePlan {
    pub(super) fn of(settings: &Settings) -> Result<Self, MethodError> {
        let usual = [
            Service::Samples,
            Service::Goose,
            Service::Datagrams,
            Service::Mms,
        ];
        let delay = match settings.options.contains_key("delay") {
            true => Some(settings.option("delay", Duration::ZERO)?),
            false => None,
        };
        let addresses = addresses(Service::Datagrams);
        let sizes = addresses.shortest_frame()..=addresses.longest_frame();
        let services: Vec<Service> = settings.list("services", usual.to_vec())?;
        let is_twice = |at: usize| services[..at].contains(&services[at]);
        if let Some(at) = (0..services.len()).find(|at| is_twice(*at)) {
            let twice = format!("{} twice", services[at].name());
            return Err(MethodError::refusing("services", twice));
        }
        Ok(Self {
            services,
            rate: settings.option("rate", RATE)?,
            size: settings.within("size", SIZE, sizes)?,
            delay,
            loss: settings.within("loss", 0.0, 0.0..=1.0)?,
        })
    }

    pub(super) fn objective(&self, service: Service) -> Duration {
        self.delay.unwrap_or(match service {
            Service::Samples | Service::PackedSamples | Service::Goose => OBJECTIVE_OF_PROTECTION,
            Service::Datagrams | Service::Mms => OBJECTIVE_OF_CONTROL,
        })
    }

    /// Returns what a service may send: the bits of its frames, check sequence
    /// included. Of GOOSE that is its rate after a change.
    pub(super) fn committed(&self, service: Service, percent: u64) -> BitRate {
        let bits = DataSize::from_bytes((self.frame(service) + CHECK_SEQUENCE) as u64);
        BitRate::of(bits, Delay::from(self.period(service, percent)))
            .expect("a frame has bits, and a period some length")
    }

    /// Returns the rate at which so many frames arrived.
    pub(super) fn rate_of(
        &self,
        service: Service,
        frames: u64,
        length: Duration,
    ) -> Option<BitRate> {
        let bytes = (self.frame(service) + CHECK_SEQUENCE) as u64 * frames;
        BitRate::of(DataSize::from_bytes(bytes), Delay::from(length))
    }

    /// Returns how many frames of a service are due in a trial, or nothing if the answers
    /// of the network decide that.
    pub(super) fn frames_due(
        &self,
        service: Service,
        percent: u64,
        length: Duration,
    ) -> Option<u64> {
        match service {
            Service::Samples | Service::PackedSamples | Service::Datagrams => {
                let period = self.period(service, percent).as_ns();
                Some(length.as_ns().div_ceil(period))
            }
            Service::Goose => {
                let mut state = state(Some(Instant::ZERO + length), length);
                let mut frame = Vec::new();
                let frames = std::iter::from_fn(|| state.emit(state.next_due()?, &mut frame));
                Some(frames.count() as u64)
            }
            Service::Mms => None,
        }
    }

    pub(super) fn streams(&self, service: Service, percent: u64, length: Duration) -> Vec<Stream> {
        let until = Some(Instant::ZERO + length);
        let source = match service {
            Service::Samples | Service::PackedSamples => samples(service, until),
            Service::Goose => state(until, length),
            Service::Datagrams => {
                let period = self.period(service, percent);
                let size = wire_size(self.size);
                let rate = BitRate::of(size, Delay::from(period)).expect("there is a period");
                Source::Udp(Udp::new(&udp::DatagramConfig {
                    addresses: addresses(service),
                    frame_length: self.size,
                    contract: Contract {
                        rate,
                        burst: size * 2,
                    },
                    pattern: udp::Pattern::Bursts { period, frames: 1 },
                    start: Instant::ZERO,
                    until,
                }))
            }
            Service::Mms => Source::Mms(Box::new(mms::Client::new(&mms::MmsClientConfig {
                addresses: addresses(service),
                period: POLLS_EVERY,
                start: Instant::ZERO,
                until,
                contract: None,
            }))),
        };
        let sends = Stream::new(FROM, Sourced(source));
        let answers = (service == Service::Mms).then(|| {
            Stream::new(
                TO,
                Served::new(mms::Server::new(addresses(service), VALUE_LENGTH)),
            )
        });
        std::iter::once(sends).chain(answers).collect()
    }

    /// Returns how the frames of a service are known.
    pub(super) fn flow(&self, service: Service) -> ServiceFlow {
        let addresses = addresses(service);
        let (key, numbers_a_second) = match service {
            Service::Samples | Service::PackedSamples => {
                let (destination, application) = group(service);
                let rate = match service {
                    Service::PackedSamples => PROTECTION_RATE,
                    _ => LIGHT_RATE,
                };
                let key = FlowKey::SampledValues {
                    destination,
                    application,
                };
                (key, Some(rate))
            }
            Service::Goose => {
                let (destination, application) = group(service);
                let key = FlowKey::Goose {
                    destination,
                    application,
                };
                (key, None)
            }
            Service::Datagrams => {
                let key = FlowKey::Datagram {
                    source: addresses.source,
                    destination: addresses.destination,
                    port: addresses.destination_port,
                };
                (key, None)
            }
            Service::Mms => {
                let key = FlowKey::Mms {
                    source: addresses.source,
                    destination: addresses.destination,
                };
                (key, None)
            }
        };
        ServiceFlow {
            key,
            numbers_a_second,
            period: None,
        }
    }

    /// Returns the time between two frames, for GOOSE the shortest.
    fn period(&self, service: Service, percent: u64) -> Duration {
        match service {
            Service::Samples => every(LIGHT_RATE),
            Service::PackedSamples => every(PROTECTION_RATE / 2),
            Service::Goose => GOOSE_MIN_TIME,
            Service::Datagrams => {
                let bits = DataSize::from_bytes((self.size + CHECK_SEQUENCE) as u64);
                let whole = self.rate.time_to_send(bits).round_up();
                Duration::from_ns((whole.as_ns() * super::WHOLE).div_ceil(percent))
            }
            Service::Mms => POLLS_EVERY,
        }
    }

    /// Returns the length of a frame, without check sequence.
    fn frame(&self, service: Service) -> usize {
        if service == Service::Datagrams {
            return self.size;
        }
        let mut frame = Vec::new();
        let mut source = match service {
            Service::Samples | Service::PackedSamples => samples(service, None),
            Service::Goose => state(None, Duration::ZERO),
            Service::Datagrams | Service::Mms => return READ_FRAME,
        };
        match source.emit(Instant::ZERO, &mut frame) {
            Some(emitted) => emitted.length,
            None => 0,
        }
    }
}

/// Ethernet, IPv4, TCP, and the message of a request.
const READ_FRAME: usize = 14 + 20 + 20 + 66;

fn addresses(service: Service) -> Addresses {
    let addresses = Path::between(FROM, TO).addresses;
    match service {
        Service::Mms => Addresses {
            destination_port: PORT,
            ..addresses
        },
        Service::Samples | Service::PackedSamples | Service::Goose | Service::Datagrams => {
            addresses
        }
    }
}

/// Returns the group and the application of a publisher.
fn group(service: Service) -> (MacAddress, u16) {
    let samples = |last| MacAddress([0x01, 0x0c, 0xcd, 0x04, 0, last]);
    match service {
        Service::PackedSamples => (samples(2), PACKED_APPLICATION),
        Service::Goose => (
            MacAddress([0x01, 0x0c, 0xcd, 0x01, 0, 1]),
            GOOSE_APPLICATION,
        ),
        Service::Samples | Service::Datagrams | Service::Mms => (samples(1), SAMPLES_APPLICATION),
    }
}

const TAG: VlanTag = VlanTag {
    priority: 4,
    drop_eligible: false,
    id: 0,
};

fn samples(service: Service, until: Option<Instant>) -> Source {
    let (destination, application) = group(service);
    let (rate, form) = match service {
        Service::PackedSamples => (PROTECTION_RATE, SampleLayout::PROTECTION),
        Service::Samples | Service::Goose | Service::Datagrams | Service::Mms => {
            (LIGHT_RATE, SampleLayout::LIGHT)
        }
    };
    let config = sampled_values::SampledValuesConfig {
        source: PlayedStation::at(FROM).mac,
        destination,
        vlan: Some(TAG),
        application,
        sv_id: "TAKTOSMU01".to_owned(),
        rate,
        contract: None,
        start: Instant::ZERO,
        until,
    };
    Source::SampledValues(SampledValues::in_form(&config, form))
}

/// Returns the time between two frames, so many a second.
fn every(frames: u32) -> Duration {
    Duration::from_ns(1_000_000_000 / u64::from(frames))
}

/// A state that changes each second, half a second after it began.
fn state(until: Option<Instant>, length: Duration) -> Source {
    let (destination, application) = group(Service::Goose);
    let seconds = length / CHANGES_EVERY;
    let changes = (0..seconds).map(|second| Instant::ZERO + CHANGES_EVERY * second + FIRST_CHANGE);
    Source::Goose(Goose::new(&goose::GooseConfig {
        source: PlayedStation::at(FROM).mac,
        destination,
        vlan: Some(TAG),
        application,
        control_block: "TAKTOSLD0/LLN0$GO$trip".to_owned(),
        min_time: GOOSE_MIN_TIME,
        max_time: GOOSE_MAX_TIME,
        changes: changes.collect(),
        contract: None,
        start: Instant::ZERO,
        until,
        unix_origin_ns: 0,
    }))
}
