//! The load generator: many played switches over TCP, on one thread that never waits.

use std::io::{self, Read, Write};
use std::mem::MaybeUninit;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::OwnedFd;

use crate::packet_ins::{Dialect, Outcome, PlayedSwitch, Population, SwitchPlan};
use linux::clock;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::time::Timespec;
use units::{Duration, Instant};

/// How many hosts of a switch are introduced within [`INTRODUCTION`]: fewer than any
/// controller would take for a storm.
const INTRODUCED_AT_ONCE: u32 = 500;
const INTRODUCTION: Duration = Duration::from_ms(10);
/// How much is read from one connection at once.
const CHUNK_BYTES: usize = 1 << 18;
const MOST_EVENTS: usize = 64;
/// With so much unsent, a switch asks what is due later.
const MOST_UNSENT_BYTES: usize = 4 << 20;
/// How long a handshake may take, and how long answers may stay away.
const PATIENCE: Duration = Duration::from_secs(3);
/// How long a controller is left alone between the handshake and the first frames.
const SETTLING: Duration = Duration::from_ms(300);
/// Two turns of the loop further apart than this are a stall.
const STALL: Duration = Duration::from_ms(1);
const AT_ONCE: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 0,
};

#[derive(Clone, Copy, Debug)]
pub enum Pace {
    /// Each leaves so many questions open.
    Open(usize),
    /// All together ask so many questions a second, in turn, each at its moment.
    PerSecond(u64),
}

#[derive(Clone, Debug)]
pub struct Trial {
    /// What was counted, with what came in late.
    pub outcome: Outcome,
    /// How many were answered while questions were asked.
    pub answered_in_time: u64,
    /// For how long questions were asked.
    pub took: Duration,
    /// For how long the generator stood still, and the longest time.
    pub stalled: Duration,
    pub longest_stall: Duration,
}

pub struct Load {
    lines: Vec<Line>,
    epoll: OwnedFd,
    room: Vec<u8>,
    last_turn: Instant,
    stalled: Duration,
    longest_stall: Duration,
}

struct Line {
    stream: TcpStream,
    switch: PlayedSwitch,
    out: Vec<u8>,
    sent: usize,
    /// How many questions of the schedule this switch has asked.
    scheduled: u64,
}

impl Load {
    /// Connects so many switches with so many hosts each, waits until the controller
    /// knows them, and introduces their hosts.
    pub fn connect(
        address: SocketAddr,
        dialect: Dialect,
        switches: u16,
        hosts: u32,
    ) -> io::Result<Self> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        let mut lines = Vec::new();
        for switch in 0..switches {
            let population = Population { switch, hosts };
            let line = Line::open(address, dialect, population)?;
            let mark = EventData::new_u64(u64::from(switch));
            epoll::add(&epoll, &line.stream, mark, EventFlags::IN)?;
            lines.push(line);
        }
        let mut load = Self {
            lines,
            epoll,
            room: vec![0; CHUNK_BYTES],
            last_turn: clock::now(),
            stalled: Duration::ZERO,
            longest_stall: Duration::ZERO,
        };
        let limit = clock::now() + PATIENCE;
        while !load.lines.iter().all(|line| line.switch.is_known()) {
            if clock::now() >= limit {
                return Err(io::Error::other("not every switch was asked who it is"));
            }
            load.turn()?;
        }
        load.listen_for(SETTLING)?;
        let mut is_all = false;
        while !is_all {
            is_all = true;
            for line in &mut load.lines {
                is_all &= line
                    .switch
                    .introduce_hosts(INTRODUCED_AT_ONCE, &mut line.out);
            }
            load.listen_for(INTRODUCTION)?;
        }
        load.listen_for(SETTLING)?;
        Ok(load)
    }

    /// Asks for `length`, then waits for what is still open.
    pub fn run(&mut self, pace: Pace, length: Duration) -> io::Result<Trial> {
        (self.stalled, self.longest_stall) = (Duration::ZERO, Duration::ZERO);
        let start = clock::now();
        self.last_turn = start;
        self.lines.iter_mut().for_each(|line| line.scheduled = 0);
        while clock::now() < start + length {
            self.ask(pace, start);
            self.turn()?;
        }
        let took = clock::now() - start;
        let (stalled, longest_stall) = (self.stalled, self.longest_stall);
        let answered_in_time = self.answered();
        self.drain()?;
        let mut outcome = Outcome::default();
        for line in &mut self.lines {
            let found = line.switch.finish();
            outcome.tally.add(&found.tally);
            outcome.waits.merge(&found.waits);
        }
        Ok(Trial {
            outcome,
            answered_in_time,
            took,
            stalled,
            longest_stall,
        })
    }

    fn ask(&mut self, pace: Pace, start: Instant) {
        let now = clock::now();
        let switches = self.lines.len() as u64;
        for (line, place) in self.lines.iter_mut().zip(0..) {
            match pace {
                Pace::Open(most) => {
                    let room = most.saturating_sub(line.switch.outstanding());
                    (0..room).for_each(|_| line.switch.ask(now, &mut line.out));
                }
                Pace::PerSecond(rate) => line.ask_what_is_due(now, |scheduled| {
                    let number = u128::from(scheduled * switches + place);
                    let ns = number * 1_000_000_000 / u128::from(rate.max(1));
                    start + Duration::from_ns(u64::try_from(ns).unwrap_or(u64::MAX / 2))
                }),
            }
        }
    }

    /// Waits until nothing is open, as long as answers come.
    fn drain(&mut self) -> io::Result<()> {
        let (mut answered, mut since) = (self.answered(), clock::now());
        while self.lines.iter().any(|line| line.switch.outstanding() > 0) {
            self.turn()?;
            if self.answered() != answered {
                (answered, since) = (self.answered(), clock::now());
            } else if clock::now() >= since + PATIENCE {
                return Ok(());
            }
        }
        Ok(())
    }

    fn answered(&self) -> u64 {
        self.lines.iter().map(|line| line.switch.answered()).sum()
    }

    fn listen_for(&mut self, length: Duration) -> io::Result<()> {
        let end = clock::now() + length;
        while clock::now() < end {
            self.turn()?;
        }
        Ok(())
    }

    /// Sends what waits, and takes what has arrived.
    fn turn(&mut self) -> io::Result<()> {
        let now = clock::now();
        let gap = now.saturating_since(self.last_turn);
        if gap >= STALL {
            self.stalled += gap;
            self.longest_stall = self.longest_stall.max(gap);
        }
        self.last_turn = now;
        for line in &mut self.lines {
            line.flush()?;
        }
        let mut events = [MaybeUninit::<Event>::uninit(); MOST_EVENTS];
        let (events, _) = epoll::wait(&self.epoll, &mut events[..], Some(&AT_ONCE))?;
        for event in events {
            let index = usize::try_from(event.data.u64()).map_err(io::Error::other)?;
            self.lines[index].listen(&mut self.room)?;
        }
        Ok(())
    }
}

impl Line {
    fn open(address: SocketAddr, dialect: Dialect, population: Population) -> io::Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nonblocking(true)?;
        stream.set_nodelay(true)?;
        let switch = PlayedSwitch::new(SwitchPlan {
            dialect,
            population,
        });
        let mut out = Vec::new();
        switch.greet(&mut out);
        Ok(Self {
            stream,
            switch,
            out,
            sent: 0,
            scheduled: 0,
        })
    }

    /// Asks what is due. A question that could not be asked at its moment is as old
    /// as if it had been.
    fn ask_what_is_due(&mut self, now: Instant, moment: impl Fn(u64) -> Instant) {
        loop {
            let due = moment(self.scheduled);
            if due > now || self.out.len() - self.sent > MOST_UNSENT_BYTES {
                return;
            }
            self.switch.ask(due, &mut self.out);
            self.scheduled += 1;
        }
    }

    fn listen(&mut self, room: &mut [u8]) -> io::Result<()> {
        match self.stream.read(room) {
            Ok(0) => Err(io::Error::other("the controller closed a connection")),
            Ok(count) => {
                let taken = self
                    .switch
                    .take(clock::now(), &room[..count], &mut self.out);
                taken.map_err(io::Error::other)
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(()),
            Err(error) => Err(error),
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
