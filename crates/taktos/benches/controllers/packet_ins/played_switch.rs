//! One switch that is played: from the handshake to the last answer.

use units::Instant;
use wire::openflow::{DatapathId, FramingError, HEADER_LENGTH, first_message};

use super::dialect::{Dialect, Output, Rule, Said};
use super::judge::{Judge, Outcome};
use super::questions::{FRAME_LENGTH, Population, Questions, host_port, number_of};

/// The numbers of two messages, the same in both versions (OF13 clause 7.1.1).
const PACKET_OUT: u8 = 13;
const FLOW_MOD: u8 = 14;
/// Where a message says what it is.
const KIND_AT: usize = 1;

/// What is to be played.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SwitchPlan {
    /// The version that the switch speaks.
    pub dialect: Dialect,
    /// Its hosts. Its datapath id is the number of the switch and one.
    pub population: Population,
}

#[derive(Debug)]
pub struct PlayedSwitch {
    plan: SwitchPlan,
    questions: Questions,
    judge: Judge,
    is_known: bool,
    /// How many of the hosts the controller was told of.
    introduced: u32,
    /// The beginning of a message whose end has not arrived.
    unfinished: Vec<u8>,
    /// What was said of each host, in the order of the hosts.
    sayings: Vec<Sayings>,
}

/// What a controller has said of one destination, and what was found right: the
/// same bytes are right again.
#[derive(Clone, Debug, Default)]
struct Sayings {
    /// A flow-mod behind its header.
    rule: Vec<u8>,
    /// A packet-out behind its header and before its frame.
    sending: Vec<u8>,
}

impl PlayedSwitch {
    /// Prepares a switch.
    ///
    /// # Panics
    ///
    /// If its hosts cannot be spread evenly over its ports.
    #[must_use]
    pub fn new(plan: SwitchPlan) -> Self {
        let population = plan.population;
        Self {
            plan,
            questions: Questions::new(population, plan.dialect),
            judge: Judge::new(population),
            is_known: false,
            introduced: 0,
            unfinished: Vec::new(),
            sayings: vec![Sayings::default(); population.hosts as usize],
        }
    }

    /// Appends the first words of a connection.
    pub fn greet(&self, out: &mut Vec<u8>) {
        self.plan.dialect.emit_hello(out);
    }

    /// Returns whether the controller has asked who this is, and was told.
    #[must_use]
    pub const fn is_known(&self) -> bool {
        self.is_known
    }

    /// Appends a frame to everybody of each of at most so many hosts that were not
    /// introduced before. Returns whether all are known then.
    pub fn introduce_hosts(&mut self, most: u32, out: &mut Vec<u8>) -> bool {
        let all = self.plan.population.hosts;
        let end = all.min(self.introduced.saturating_add(most));
        self.questions.emit_introductions(self.introduced..end, out);
        self.introduced = end;
        end == all
    }

    /// Returns how many questions are open.
    #[must_use]
    #[inline]
    pub fn outstanding(&self) -> usize {
        self.judge.outstanding()
    }

    /// Returns how many questions were answered since the last
    /// [`finish`](Self::finish).
    #[must_use]
    #[inline]
    pub const fn answered(&self) -> u64 {
        self.judge.passed()
    }

    /// Appends a question that was due at `due`.
    #[inline]
    pub fn ask(&mut self, due: Instant, out: &mut Vec<u8>) {
        let number = self.judge.ask(due);
        self.questions.emit(number, out);
    }

    /// Takes what arrived, cut anywhere, and appends to `out` what a switch answers
    /// at once.
    ///
    /// # Errors
    ///
    /// If it is impossible to say where a message ends.
    pub fn take(
        &mut self,
        now: Instant,
        bytes: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), FramingError> {
        if self.unfinished.is_empty() {
            let taken = self.take_messages(now, bytes, out)?;
            self.unfinished.extend_from_slice(&bytes[taken..]);
            return Ok(());
        }
        let mut stream = std::mem::take(&mut self.unfinished);
        stream.extend_from_slice(bytes);
        let taken = self.take_messages(now, &stream, out)?;
        stream.drain(..taken);
        self.unfinished = stream;
        Ok(())
    }

    /// Gives up what is open, and returns what was found since the last call.
    pub fn finish(&mut self) -> Outcome {
        self.judge.finish()
    }

    /// Takes all whole messages that `stream` begins with, and returns how many
    /// bytes they have.
    fn take_messages(
        &mut self,
        now: Instant,
        stream: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<usize, FramingError> {
        let mut taken = 0;
        while let Some(message) = first_message(&stream[taken..])? {
            taken += message.len();
            match message[KIND_AT] {
                FLOW_MOD if self.take_known_rule(now, message) => {}
                PACKET_OUT if self.take_known_sending(now, message) => {}
                _ => self.take_message(now, message, out),
            }
        }
        Ok(taken)
    }

    /// Takes a rule that says what was found right for the next destination.
    #[inline]
    fn take_known_rule(&mut self, now: Instant, message: &[u8]) -> bool {
        let host = self.judge.next_ruled();
        let is_known = self.sayings[host as usize].rule == message[HEADER_LENGTH..];
        if is_known {
            self.judge.rule(now, host);
        }
        is_known
    }

    /// Takes an order to send a frame that was found right for its destination.
    #[inline]
    fn take_known_sending(&mut self, now: Instant, message: &[u8]) -> bool {
        let Some((order, frame)) = message.split_last_chunk::<FRAME_LENGTH>() else {
            return false;
        };
        let population = self.plan.population;
        let Some(number) = number_of(population, frame) else {
            return false;
        };
        let host = population.destination(number);
        let known = &self.sayings[host as usize].sending;
        let is_known = order.len() > HEADER_LENGTH && *known == order[HEADER_LENGTH..];
        if is_known {
            self.judge.frame(now, number);
        }
        is_known
    }

    fn take_message(&mut self, now: Instant, message: &[u8], out: &mut Vec<u8>) {
        let population = self.plan.population;
        let datapath = DatapathId(u64::from(population.switch) + 1);
        match self.plan.dialect.hear(datapath, message, out) {
            Said::Rule(rule) => self.take_rule(now, rule, message),
            Said::Frame { output, data } => {
                if let Some(number) = number_of(population, data) {
                    self.take_frame(now, number, output, message);
                }
            }
            Said::Error => self.judge.error(),
            Said::Identified => self.is_known = true,
            Said::Other => {}
        }
    }

    /// Takes a rule, unless it is about none of the hosts.
    fn take_rule(&mut self, now: Instant, rule: Rule, message: &[u8]) {
        let population = self.plan.population;
        let Some(host) = rule.destination.and_then(|mac| population.host_with(mac)) else {
            return;
        };
        // The one whose questions are for this one.
        let source = host.checked_sub(1).unwrap_or(population.hosts - 1);
        let fits_source = rule.source.is_none_or(|mac| mac == population.mac(source));
        if fits_source && rule.output == Output::Port(u32::from(host_port(host))) {
            self.sayings[host as usize].rule = message[HEADER_LENGTH..].to_vec();
            self.judge.rule(now, host);
        } else {
            self.judge.stray();
        }
    }

    /// Takes the order to send the frame of a question somewhere.
    fn take_frame(&mut self, now: Instant, number: u64, output: Output, message: &[u8]) {
        let host = self.plan.population.destination(number);
        match output {
            Output::Port(port) if port == u32::from(host_port(host)) => {
                let order = &message[HEADER_LENGTH..message.len() - FRAME_LENGTH];
                self.sayings[host as usize].sending = order.to_vec();
                self.judge.frame(now, number);
            }
            Output::Many => self.judge.flooded(),
            Output::Port(_) | Output::Nowhere => self.judge.stray(),
        }
    }
}
