//! The two marks that controllers are compared with: they shake hands, answer
//! packet-ins, and do nothing else.

use std::io::{self, Read, Write};
use std::mem::MaybeUninit;
use std::net::{Ipv4Addr, TcpListener, TcpStream};

use crate::packet_ins::{FRAME_LENGTH, PORTS};
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use wire::ethernet::MacAddress;
use wire::openflow::oxm::Masked;
use wire::openflow::{
    Action, Actions, BufferId, Echo, FeaturesReply, Fields, FlowMod, HEADER_LENGTH, Header, Hello,
    Instruction, Instructions, MatchField, MessageType, PacketOut, PortNumber, TableId,
    TransactionId, first_message,
};

use crate::learning::Learner;

/// How much is read from one connection at once.
const CHUNK_BYTES: usize = 1 << 18;
const MOST_EVENTS: usize = 64;
const LISTENER: u64 = u64::MAX;
/// The priority of all entries.
const PRIORITY: u16 = 100;
/// Where the addresses stand in a frame.
const LAST_OF_DESTINATION: usize = 5;
const LAST_OF_SOURCE: usize = 11;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manner {
    Null,
    Learning,
}

enum Answerer {
    Null(Form),
    Learning(Learner),
}

/// Serves switches on a port of the loopback address for ever.
pub fn serve(port: u16, manner: Manner) -> io::Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
    listener.set_nonblocking(true)?;
    let epoll = epoll::create(CreateFlags::CLOEXEC)?;
    epoll::add(
        &epoll,
        &listener,
        EventData::new_u64(LISTENER),
        EventFlags::IN,
    )?;
    let mut lines: Vec<Option<Line>> = Vec::new();
    let mut room = vec![0; CHUNK_BYTES];
    let mut answerer = match manner {
        Manner::Null => Answerer::Null(Form::new()),
        Manner::Learning => Answerer::Learning(Learner::new()),
    };
    loop {
        let mut events = [MaybeUninit::<Event>::uninit(); MOST_EVENTS];
        let Ok((events, _)) = epoll::wait(&epoll, &mut events[..], None) else {
            continue;
        };
        for event in events {
            let mark = event.data.u64();
            if mark == LISTENER {
                while let Ok((stream, _)) = listener.accept() {
                    let mark = EventData::new_u64(lines.len() as u64);
                    let line = Line::open(stream)?;
                    let interest = EventFlags::IN | EventFlags::OUT | EventFlags::ET;
                    epoll::add(&epoll, &line.stream, mark, interest)?;
                    lines.push(Some(line));
                }
                continue;
            }
            let index = usize::try_from(mark).map_err(io::Error::other)?;
            if let Some(line) = &mut lines[index]
                && line.serve(mark, &mut answerer, &mut room).is_err()
            {
                lines[index] = None;
            }
        }
    }
}

struct Line {
    stream: TcpStream,
    unfinished: Vec<u8>,
    out: Vec<u8>,
    sent: usize,
}

impl Line {
    fn open(stream: TcpStream) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        stream.set_nodelay(true)?;
        let mut out = Vec::new();
        Hello::OURS.emit(TransactionId(0), &mut out);
        Ok(Self {
            stream,
            unfinished: Vec::new(),
            out,
            sent: 0,
        })
    }

    /// Reads until nothing is left, and answers.
    fn serve(&mut self, mark: u64, answerer: &mut Answerer, room: &mut [u8]) -> io::Result<()> {
        self.flush()?;
        loop {
            let count = match self.stream.read(room) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            };
            let bytes = &room[..count];
            if self.unfinished.is_empty() {
                let taken = take(bytes, mark, answerer, &mut self.out);
                self.unfinished.extend_from_slice(&bytes[taken..]);
            } else {
                self.unfinished.extend_from_slice(bytes);
                let taken = take(&self.unfinished, mark, answerer, &mut self.out);
                self.unfinished.drain(..taken);
            }
            self.flush()?;
            if count < room.len() {
                // A read that did not fill the room has found the end; what comes
                // later is a new event.
                return Ok(());
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        while self.sent < self.out.len() {
            match self.stream.write(&self.out[self.sent..]) {
                Ok(count) => self.sent += count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        self.out.clear();
        self.sent = 0;
        Ok(())
    }
}

/// Answers all whole messages that `stream` begins with, and returns how many bytes
/// they have.
fn take(stream: &[u8], mark: u64, answerer: &mut Answerer, out: &mut Vec<u8>) -> usize {
    let mut taken = 0;
    while let Ok(Some(message)) = first_message(&stream[taken..]) {
        taken += message.len();
        if message[1] != MessageType::PacketIn.number() {
            shake_hands(message, out);
            continue;
        }
        match answerer {
            Answerer::Null(form) => form.fill(message, out),
            Answerer::Learning(learner) => learner.answer(mark, message, out),
        }
    }
    taken
}

fn shake_hands(message: &[u8], out: &mut Vec<u8>) {
    let Ok(header) = Header::parse(message) else {
        return;
    };
    match MessageType::from_number(header.kind) {
        Some(MessageType::Hello) => FeaturesReply::emit_request(TransactionId(1), out),
        Some(MessageType::EchoRequest) => {
            let data = &message[HEADER_LENGTH..];
            Echo { data }.emit_reply(header.transaction, out);
        }
        _ => {}
    }
}

/// An answer with holes: the addresses, the ports and the frame.
struct Form {
    bytes: Vec<u8>,
    destination: usize,
    source: usize,
    in_ports: [usize; 2],
    outputs: [usize; 2],
}

impl Form {
    /// Writes an answer whose holes hold what occurs nowhere else, and looks where
    /// they are.
    fn new() -> Self {
        let (destination, source) = (MacAddress([0xd1; 6]), MacAddress([0xd2; 6]));
        let (in_port, output) = (PortNumber(0x0a0b_0c0d), PortNumber(0x0102_0304));
        let mut bytes = Vec::new();
        emit_entry([destination, source], [in_port, output], &mut bytes);
        let actions = [Action::output(output)];
        let packet_out = PacketOut {
            buffer: BufferId::NONE,
            in_port,
            actions: Actions::of(&actions),
            data: &[0; FRAME_LENGTH],
        };
        packet_out.emit(TransactionId(0), &mut bytes);
        let places = |wanted: &[u8]| -> Vec<usize> {
            let windows = bytes.windows(wanted.len()).enumerate();
            let found = windows.filter(|(_, window)| *window == wanted);
            found.map(|(at, _)| at).collect()
        };
        let both = |wanted: PortNumber| {
            let places = places(&wanted.0.to_be_bytes());
            [places[0], places[1]]
        };
        Self {
            destination: places(&destination.0)[0],
            source: places(&source.0)[0],
            in_ports: both(in_port),
            outputs: both(output),
            bytes,
        }
    }

    /// Appends the answer to a packet-in of a played switch, whose hosts are behind
    /// the ports that their addresses tell.
    fn fill(&self, packet_in: &[u8], out: &mut Vec<u8>) {
        let Some((_, frame)) = packet_in.split_last_chunk::<FRAME_LENGTH>() else {
            return;
        };
        if frame[0] & 1 == 1 {
            return;
        }
        let port = |at: usize| u8::try_from(u16::from(frame[at]) % PORTS + 1).unwrap_or(0);
        let start = out.len();
        out.extend_from_slice(&self.bytes);
        let answer = &mut out[start..];
        answer[self.destination..][..6].copy_from_slice(&frame[..6]);
        answer[self.source..][..6].copy_from_slice(&frame[6..12]);
        for (places, last) in [
            (self.in_ports, LAST_OF_SOURCE),
            (self.outputs, LAST_OF_DESTINATION),
        ] {
            for at in places {
                answer[at..][..4].copy_from_slice(&[0, 0, 0, port(last)]);
            }
        }
        let frame_at = answer.len() - FRAME_LENGTH;
        answer[frame_at..].copy_from_slice(frame);
    }
}

/// Appends the order to add an entry for a pair of addresses, destination first, at
/// one port and to another.
pub fn emit_entry(
    [destination, source]: [MacAddress; 2],
    [in_port, output]: [PortNumber; 2],
    out: &mut Vec<u8>,
) {
    let fields = [
        MatchField::InPort(in_port),
        MatchField::EthDst(Masked::exact(destination)),
        MatchField::EthSrc(Masked::exact(source)),
    ];
    let actions = [Action::output(output)];
    let instructions = [Instruction::ApplyActions(Actions::of(&actions))];
    let flow_mod = FlowMod {
        priority: PRIORITY,
        idle_timeout_s: 60,
        matching: Fields::of(&fields),
        instructions: Instructions::of(&instructions),
        ..FlowMod::add(TableId(0))
    };
    flow_mod.emit(TransactionId(0), out);
}
