//! The other end of the switches' OpenFlow connections.

use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration as Pause, Instant as Wall};

use linux::clock;
use units::{Duration, Instant};
use wire::ethernet::EtherType;
use wire::mode_signal::Level;
use wire::openflow::taktos::{
    LevelSet, ModeCommand, ModeConfig, ModeEventKind, ModeFlags, ModeKey, ModeMessage, ModeSet,
    MonitorCommand, MonitorContract, MonitorId, MonitorMod, Trunk,
};
use wire::openflow::{
    Action, Actions, FeaturesReply, Fields, FlowMod, Framer, Hello, Instruction, Instructions,
    MatchField, Message, Sequence, TableId, TransactionId, emit_barrier_request,
};

use crate::field::{AGREED_BYTES, LOAD_TYPE, Manner, datapath};
use crate::topology::{End, HOST_PORT, SWITCHES};

const MONITOR: MonitorId = MonitorId(1);
const KEY: ModeKey = ModeKey(*b"a key of a bench");
/// Of the frames for which the controller has switches do something else.
const CHANGED_TYPE: EtherType = EtherType(0x88b6);
const HEART_BEAT: Duration = Duration::from_ms(10);
/// How long anything may take.
const PATIENCE: Pause = Pause::from_secs(5);

/// What a switch says that matters here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Word {
    Done,
    Entered(Level, Instant, Instant),
    Violated(Instant),
}

/// The connections, in the order of the switches.
pub struct Controller {
    links: Vec<Link>,
}

struct Link {
    stream: TcpStream,
    framer: Framer,
}

impl Controller {
    /// Waits until all switches have dialled.
    pub fn accept(listener: &TcpListener) -> Self {
        let mut links: Vec<Option<Link>> = (0..SWITCHES).map(|_| None).collect();
        for _ in 0..SWITCHES {
            let (stream, _) = listener.accept().expect("the switch dials");
            let mut link = Link {
                stream,
                framer: Framer::default(),
            };
            let named = link.begin();
            let at = (0..SWITCHES).find(|at| datapath(*at) == named);
            link.stream.set_nonblocking(true).expect("a socket");
            // Else a second message waits for 40 ms until the first is acknowledged.
            link.stream.set_nodelay(true).expect("a socket");
            links[at.expect("a switch of ours")] = Some(link);
        }
        let links = links
            .into_iter()
            .map(|link| link.expect("each dialled once"));
        Self {
            links: links.collect(),
        }
    }

    /// Tells a switch what to do with frames.
    pub fn install(&mut self, switch: usize, ends: &[End]) {
        let mut out = Vec::new();
        let contract = |size_bytes| MonitorContract {
            period: Duration::from_ns(0),
            size_bytes,
        };
        let contracts = [contract(AGREED_BYTES), contract(u32::MAX)];
        let monitor = MonitorMod {
            command: MonitorCommand::Add,
            monitor: MONITOR,
            jitter: Duration::from_ns(0),
            contracts: Sequence::of(&contracts),
        };
        ModeMessage::MonitorMod(monitor).emit(TransactionId(2), &mut out);
        add(
            &mut out,
            &[MatchField::EthType(EtherType::MODE_SIGNAL)],
            &[Action::ModeArrange],
        );
        let outward = ends.iter().filter(|end| end.is_outward);
        let outward: Vec<_> = outward.map(|end| Action::output(end.port)).collect();
        // One way in only, where several lead here.
        let inward = ends.iter().find(|end| !end.is_outward);
        let from = inward.map_or(HOST_PORT, |end| end.port);
        let load = [MatchField::InPort(from), MatchField::EthType(LOAD_TYPE)];
        add(&mut out, &load, &outward);
        if switch == 0 {
            let messages = [
                MatchField::InPort(HOST_PORT),
                MatchField::EthType(EtherType::IPV4),
            ];
            add(&mut out, &messages, &[Action::FlowMonitor(MONITOR)]);
        }
        self.links[switch].say(&out);
    }

    /// Tells a switch how it takes part.
    pub fn configure(&mut self, switch: usize, ends: &[End], manner: Manner) {
        let trunk = |end: &End| Trunk {
            port: end.port,
            far_port: end.far_port,
            far_switch: datapath(end.far),
        };
        let trunks: Vec<_> = ends.iter().map(trunk).collect();
        let config = ModeConfig {
            hold: Some(Duration::from_ms(1)),
            heart_beat: Some(HEART_BEAT),
            key: KEY,
            complete: LevelSet::ALL,
            default: Level::LOWEST,
            flags: match manner {
                Manner::Themselves => ModeFlags(0),
                Manner::Controller => ModeFlags::ASK,
            },
            trunks: Sequence::of(&trunks),
        };
        let mut out = Vec::new();
        ModeMessage::Config(config).emit(TransactionId(3), &mut out);
        self.links[switch].say(&out);
    }

    /// Brings all switches to the lowest level.
    pub fn force_lowest(&mut self) {
        let mut out = Vec::new();
        let set = ModeSet {
            command: ModeCommand::Force,
            level: Level::LOWEST,
        };
        ModeMessage::Set(set).emit(TransactionId(4), &mut out);
        self.links[0].say(&out);
        let mut lowest = [false; SWITCHES];
        self.listen(|switch, word| {
            if let Word::Entered(level, ..) = word {
                lowest[switch] = level == Level::LOWEST;
            }
            lowest.iter().all(|it| *it)
        });
    }

    /// Waits until all that was said is done.
    pub fn await_all(&mut self) {
        let mut out = Vec::new();
        emit_barrier_request(TransactionId(5), &mut out);
        self.links.iter_mut().for_each(|link| link.say(&out));
        let mut done = 0;
        self.listen(|_, word| {
            done += usize::from(word == Word::Done);
            done == SWITCHES
        });
    }

    /// Waits until all switches have entered a higher level, and returns how long the
    /// last one needed since it was noticed at the first; nothing if one never did.
    pub fn await_change(&mut self) -> Option<Duration> {
        let mut changed = [None; SWITCHES];
        let mut detected = None;
        let all = self.listen(|switch, word| {
            if let Word::Entered(level, noticed, entered) = word
                && level > Level::LOWEST
            {
                changed[switch] = Some(entered);
                if switch == 0 {
                    detected = Some(noticed);
                }
            }
            changed.iter().all(Option::is_some)
        });
        let last = changed.into_iter().flatten().max()?;
        all.then(|| last.saturating_since(detected.unwrap_or(last)))
    }

    /// Waits until the controller is told of a violation, tells all switches to
    /// forward otherwise, and returns how long after the violation the last one has
    /// confirmed it; nothing if one never did.
    pub fn change_on_violation(&mut self) -> Option<Duration> {
        let mut noticed = None;
        self.listen(|_, word| {
            if let Word::Violated(at) = word {
                noticed = Some(at);
            }
            noticed.is_some()
        });
        let noticed = noticed?;
        let mut out = Vec::new();
        add(&mut out, &[MatchField::EthType(CHANGED_TYPE)], &[]);
        self.links.iter_mut().for_each(|link| link.say(&out));
        self.await_all();
        Some(clock::now().saturating_since(noticed))
    }

    /// Hands on what switches say until `is_enough`; false if that never came.
    fn listen(&mut self, mut is_enough: impl FnMut(usize, Word) -> bool) -> bool {
        let begun = Wall::now();
        while begun.elapsed() < PATIENCE {
            for (switch, link) in self.links.iter_mut().enumerate() {
                let mut enough = false;
                link.hear(|word| enough |= is_enough(switch, word));
                if enough {
                    return true;
                }
            }
            std::thread::yield_now();
        }
        false
    }
}

impl Link {
    /// Says hello, and returns who answers.
    fn begin(&mut self) -> wire::openflow::DatapathId {
        let mut out = Vec::new();
        Hello::OURS.emit(TransactionId(1), &mut out);
        FeaturesReply::emit_request(TransactionId(1), &mut out);
        self.say(&out);
        let mut room = [0; 4096];
        loop {
            while let Some(message) = self.framer.next_message().expect("a switch of ours") {
                if let Ok((_, Message::FeaturesReply(reply))) = Message::parse(message) {
                    return reply.datapath;
                }
            }
            let count = self.stream.read(&mut room).expect("it is there");
            self.framer.push(&room[..count]);
        }
    }

    fn say(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).expect("the switch is there");
    }

    /// Hands on what has come.
    fn hear(&mut self, mut take: impl FnMut(Word)) {
        let mut room = [0; 4096];
        match self.stream.read(&mut room) {
            Ok(count) => self.framer.push(&room[..count]),
            Err(error) if error.kind() == ErrorKind::WouldBlock => return,
            Err(error) => panic!("the switch has gone: {error}"),
        }
        while let Some(message) = self.framer.next_message().expect("a switch of ours") {
            let (_, message) = Message::parse(message).expect("a switch of ours");
            match message {
                Message::BarrierReply => take(Word::Done),
                Message::Mode(ModeMessage::Event(event)) => match event.kind {
                    ModeEventKind::Entered => {
                        take(Word::Entered(
                            event.mode.level,
                            event.detected,
                            event.changed,
                        ));
                    }
                    ModeEventKind::Violation(_) => take(Word::Violated(event.detected)),
                    // A neighbour that was told earlier who this switch is.
                    ModeEventKind::SignalsRefused(_) => {}
                    ModeEventKind::Incomplete => panic!("{event:?}"),
                },
                Message::Error(error) => panic!("{error:?}"),
                _ => {}
            }
        }
    }
}

/// Appends an entry that does something with frames of this kind.
fn add(out: &mut Vec<u8>, fields: &[MatchField], actions: &[Action]) {
    let instructions = [Instruction::ApplyActions(Actions::of(actions))];
    let flow_mod = FlowMod {
        matching: Fields::of(fields),
        instructions: Instructions::of(&instructions),
        ..FlowMod::add(TableId(0))
    };
    flow_mod.emit(TransactionId(6), out);
}
