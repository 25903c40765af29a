//! How long frames stay in a switch whose frames the kernel forwards, entry by entry, held
//! against stamps at both ends of its cables.

use std::collections::BTreeMap;
use std::net::TcpListener;

use lab::network::LabNetwork;
use lab::switches::{Forwarding, SwitchSettings, Switches};
use linux::sender::Sender;
use linux::tap::{Direction, Tap};
use switch::{Config, Pacing, PortConfig};
use units::{BitRate, Duration, Instant};
use wire::ethernet::{EtherType, MacAddress, wire_size};
use wire::openflow::multipart::{MultipartRequest, ReplyBody, RequestBody};
use wire::openflow::taktos::{
    Answer, HopConfig, HopCoverage, HopEvent, HopMessage, Question, WatchedQueue,
};
use wire::openflow::{
    Action, DatapathId, MatchField, Message, PortNumber, QueueId, Sequence, TransactionId,
};

use crate::modes::add;
use crate::switch::{Controller, plan};
use crate::{await_some, kernel_forwards, namespace_or_skip};

const CONTROLLER_PORT: u16 = 6653;
const STALL: Duration = Duration::from_us(100);
/// Slow enough for the machine to be a small part of a stay: 1.2 ms a long frame.
const SLOW: BitRate = BitRate::from_mbps(10);
const LONG: usize = 1514;
/// What goes through each queue that is watched, and through one that is not.
const COMMON: (u16, u8) = (0x88b5, 5);
const URGENT: (u16, u8) = (0x88b6, 6);
const UNWATCHED: (u16, u8) = (0x88b7, 2);
/// So many leave at once, as both buckets of the discipline hold a frame, or are being
/// sent.
const BEGUN: u64 = 4;
const BUDGET: Duration = Duration::from_ms(5);

fn config() -> Config {
    let rates = [BitRate::from_mbps(1_000), SLOW];
    let ports = (1..).zip(rates).map(|(number, rate)| PortConfig {
        number: PortNumber(number),
        name: format!("p{number}"),
        mac: MacAddress([2, 9, 0, 0, 0, 1]),
        rate: Some(rate),
        pacing: Pacing::Core,
    });
    Config::new(DatapathId(1), ports.collect())
}

/// What a record says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Record {
    frames: u64,
    longest: Duration,
    above: u64,
    untimed: u64,
}

struct Bench {
    controller: Controller,
    sender: Sender,
    out: Tap,
    arriving: Tap,
    _switches: Switches,
    _network: LabNetwork,
}

impl Bench {
    fn new(forwarding: Forwarding) -> Self {
        let network = LabNetwork::build(&plan()).unwrap();
        let address = ("0.0.0.0", CONTROLLER_PORT);
        let listener = network.control.run(|| TcpListener::bind(address).unwrap());
        let settings = SwitchSettings::for_this_machine(forwarding, STALL, CONTROLLER_PORT);
        let switches = Switches::start(&network, &[config()], settings).unwrap();
        let mut controller = Controller::accept(&listener);
        controller.tell(|out| {
            for (kind, queue) in [COMMON, URGENT, UNWATCHED] {
                let queue = Action::SetQueue(QueueId(queue.into()));
                let kind = MatchField::EthType(EtherType(kind));
                add(out, &[kind], &[queue, Action::output(PortNumber(2))]);
            }
        });
        controller.await_all();
        let index = |cable: usize| network.cables[cable].sockets[0].interface.index();
        let tap = |host: usize| network.hosts[host].run(|| Tap::open(index(host), 4 << 20));
        let class = linux::qdisc::class(0);
        Self {
            controller,
            sender: network.hosts[0].run(|| Sender::open(index(0), class).unwrap()),
            out: tap(0).unwrap(),
            arriving: tap(1).unwrap(),
            _switches: switches,
            _network: network,
        }
    }

    fn watch(&mut self, queues: &[WatchedQueue]) {
        let queues = Sequence::of(queues);
        let config = HopMessage::Config(HopConfig { queues });
        self.controller
            .tell(|out| config.emit(TransactionId(3), out));
        self.controller.await_all();
    }

    /// Sends frames of a type that are marked by their number, and returns for how long
    /// each was on its way, by the stamps of both ends.
    fn send(&mut self, kind: u16, length: usize, count: u32) -> Vec<Duration> {
        for mark in 0..count {
            self.sender.send(&frame(kind, length, mark)).unwrap();
        }
        let left = stamps(&mut self.out, Direction::Out, kind, count);
        let came = stamps(&mut self.arriving, Direction::In, kind, count);
        (0..count).map(|mark| came[&mark] - left[&mark]).collect()
    }

    /// Asks for the records, by type of frame and queue.
    fn ask(&mut self) -> (HopCoverage, BTreeMap<(u16, u8), Record>) {
        let mut records = BTreeMap::new();
        let mut coverage = HopCoverage::Nothing;
        let body = RequestBody::Experimenter(Question::Hops.body());
        let question = MultipartRequest::new(body);
        self.controller
            .tell(|out| question.emit(TransactionId(4), out));
        let told = std::cell::RefCell::new((&mut coverage, &mut records));
        self.controller.await_message("an answer", |message| {
            let Message::MultipartReply(reply) = message else {
                return false;
            };
            let ReplyBody::Experimenter(body) = reply.body else {
                return false;
            };
            let Ok(Some(Answer::Hops(hops))) = Answer::parse(&body) else {
                return false;
            };
            let (coverage, records) = &mut *told.borrow_mut();
            **coverage = hops.coverage;
            for record in hops.records.iter().map(Result::unwrap) {
                let kind = record.matching.iter().find_map(|field| match field {
                    Ok(MatchField::EthType(kind)) => Some(kind.0),
                    _ => None,
                });
                let buckets = record.buckets.iter().map(|bucket| bucket.unwrap().frames);
                assert_eq!(buckets.sum::<u64>(), record.frames);
                let what = (kind.unwrap(), u8::try_from(record.queue.0).unwrap());
                let record = Record {
                    frames: record.frames,
                    longest: record.longest,
                    above: record.above,
                    untimed: record.untimed,
                };
                assert_eq!(records.insert(what, record), None);
            }
            !reply.more
        });
        (coverage, records)
    }

    fn await_event(&mut self) -> HopEvent {
        let heard = std::cell::Cell::new(None);
        self.controller.await_message("a missed budget", |message| {
            if let Message::Hop(HopMessage::Event(event)) = message {
                heard.set(Some(*event));
            }
            heard.get().is_some()
        });
        heard.get().unwrap()
    }
}

fn watched((_, queue): (u16, u8), budget: Option<Duration>) -> WatchedQueue {
    WatchedQueue {
        port: PortNumber(2),
        queue: QueueId(queue.into()),
        budget,
    }
}

/// Returns a frame of a type that is marked by a number.
fn frame(kind: u16, length: usize, mark: u32) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1];
    frame.extend(kind.to_be_bytes());
    frame.resize(length - 4, 0);
    frame.extend(mark.to_be_bytes());
    frame
}

/// Returns when each of so many frames went by.
fn stamps(tap: &mut Tap, direction: Direction, kind: u16, count: u32) -> BTreeMap<u32, Instant> {
    let mut stamps = BTreeMap::new();
    await_some("all frames", || {
        tap.take(|captured| {
            let is_meant = captured.direction == direction
                && captured.bytes.get(12..14) == Some(&kind.to_be_bytes()[..]);
            if let Some((_, mark)) = captured.bytes.split_last_chunk()
                && is_meant
            {
                let stamp = Instant::from_ns(captured.stamp.as_ns());
                stamps.insert(u32::from_be_bytes(*mark), stamp);
            }
        });
        (stamps.len() == usize::try_from(count).unwrap()).then_some(())
    });
    stamps
}

#[test]
fn every_frame_is_charged_to_its_entry_with_the_time_that_its_queue_took() {
    const FRAMES: u32 = 20;
    let test = "every_frame_is_charged_to_its_entry_with_the_time_that_its_queue_took";
    if namespace_or_skip(test).is_none() || !kernel_forwards(test) {
        return;
    }
    let mut bench = Bench::new(Forwarding::Kernel);
    bench.watch(&[watched(COMMON, Some(BUDGET)), watched(URGENT, None)]);
    assert_eq!(bench.ask(), (HopCoverage::All, BTreeMap::new()));

    let mut common = bench.send(COMMON.0, LONG, FRAMES);
    let event = bench.await_event();
    let urgent = bench.send(URGENT.0, 60, 3);
    bench.send(UNWATCHED.0, 60, 3);
    // What the queue must have made the last one wait, unless the machine stood still while
    // they were sent, and no more than it was on its way.
    let a_frame = SLOW.time_to_send(wire_size(LONG)).round_up();
    let least = a_frame * (u64::from(FRAMES) - 1 - BEGUN);
    let longest = |ways: &[Duration]| ways.iter().copied().max().unwrap();
    let seen = await_some("a queue that was full", || {
        let (_, records) = bench.ask();
        let seen = records[&COMMON];
        assert_eq!(seen.frames, u64::try_from(common.len()).unwrap());
        assert!(seen.longest <= longest(&common), "{}", seen.longest);
        if seen.longest >= least {
            return Some(seen);
        }
        common.extend(bench.send(COMMON.0, LONG, FRAMES));
        None
    });

    let (coverage, records) = bench.ask();
    assert_eq!(coverage, HopCoverage::All);
    assert_eq!(records.keys().collect::<Vec<_>>(), [&COMMON, &URGENT]);
    let few = records[&URGENT];
    assert_eq!((few.frames, few.above, few.untimed), (3, 0, 0));
    assert!(few.longest <= longest(&urgent), "{few:?}, {urgent:?}");
    assert_eq!(seen.untimed, 0);
    assert!(seen.above > 0 && seen.above < seen.frames, "{seen:?}");
    assert_eq!((event.port, event.queue), (PortNumber(2), QueueId(5)));
    assert_eq!(event.budget, BUDGET);
    assert!(event.frames <= seen.above && event.longest > BUDGET);
}

/// Frames that the core sends are its own to measure.
#[test]
fn the_same_is_told_of_frames_that_the_core_forwards() {
    const FRAMES: u32 = 20;
    let test = "the_same_is_told_of_frames_that_the_core_forwards";
    if namespace_or_skip(test).is_none() {
        return;
    }
    let mut bench = Bench::new(Forwarding::Loop(lab::switches::Carried::Packet));
    bench.watch(&[watched(COMMON, Some(BUDGET))]);

    bench.send(COMMON.0, LONG, FRAMES);
    let event = bench.await_event();
    let (coverage, records) = bench.ask();

    assert_eq!(coverage, HopCoverage::All);
    let seen = records[&COMMON];
    assert_eq!((records.len(), seen.frames), (1, u64::from(FRAMES)));
    assert!(event.longest > BUDGET && event.longest <= seen.longest);
    assert!(seen.above > 0 && seen.above < seen.frames, "{seen:?}");
}
