//! One end of a session (RFC 5880 section 6.8), asynchronous: when it sends, and what
//! follows from what comes and from what does not.
//!
//! # Differs from the RFC
//!
//! A discriminator is used until nothing was heard for the detection time; then another one
//! is drawn, so that a packet which was recorded before brings no session up.
//!
//! Time in which whoever drives the session was held up does not count as silence: what
//! arrived meanwhile is handed in later.
//!
//! Between switches of ours any frame says that the neighbour is there, not only a packet of
//! the session. And where flows have to heal within some of their frames
//! ([`SessionConfig::heart_beat_us`]), an end that heard no frame for three heart-beats says
//! so: a packet of a session that is up gives "detection time expired" as its reason. The
//! other end knows whether it had sent anything ([`heed_silence`](Session::heed_silence)); if
//! so, the link is broken and the session down, long before packets are missed. Whoever is
//! held up is late with that, and takes no link for broken that is not.
//!
//! # Left out
//!
//! Demand mode and echoes: packets that say that their sender will not send by itself are
//! refused (section 6.6 leaves that to us), and echoes are not wanted of anybody.

use units::{Duration, Instant, Seeded};
use wire::bfd::{
    Authentication, AuthenticationKind, ControlPacket, Diagnostic, Encapsulation, Flags, Proof,
    SequenceNumber, SessionConfig, State,
};
use wire::openflow::taktos::BfdCounters;

use super::liveness::{Liveness, Recovered};

/// While a session is not up, packets are not to be sent more often, section 6.8.3.
const SLOW_US: u32 = 1_000_000;
/// How much of an interval is left out at most, in percent, section 6.8.7.
const JITTER_PERCENT: u64 = 25;
/// How much is left out at least if the neighbour misses a single packet.
const JITTER_LEAST_PERCENT: u64 = 10;
/// How many intervals are at least between two packets that are sent before their time, each
/// for what is new and for answers: who waits for an answer may be slow until it comes.
const PROMPT_INTERVALS: u64 = 4;
/// Whoever drives a session and comes later than such a part of an interval was held up.
const LATE_PARTS: u64 = 4;
/// How often somebody who is told to end says so before.
const FAREWELLS: u8 = 3;
/// After how many heart-beats without a frame an end says that it hears nothing.
const SILENT_BEATS: u64 = 3;
/// In how many spans of that time frames must have been sent that were not heard: one may
/// have been lost.
const UNHEARD_SPANS: usize = 2;

/// Why a packet does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    Malformed,
    Hopped,
    Misdirected,
    Forged,
    Replayed,
    Demanding,
}

/// A time that the neighbour is told, and the one in use until it has heard of that, in
/// microseconds.
#[derive(Clone, Copy, Debug)]
struct Told {
    told: u32,
    used: u32,
}

impl Told {
    const fn both(us: u32) -> Self {
        Self { told: us, used: us }
    }
}

/// What the neighbour said last of itself.
#[derive(Clone, Copy, Debug)]
struct Remote {
    state: State,
    diagnostic: Diagnostic,
    discriminator: u32,
    min_tx_us: u32,
    min_rx_us: u32,
    multiplier: u8,
}

impl Remote {
    /// What is taken for true until it is heard, section 6.8.1.
    const UNHEARD: Self = Self {
        state: State::Down,
        diagnostic: Diagnostic::NONE,
        discriminator: 0,
        min_tx_us: SLOW_US,
        min_rx_us: 1,
        multiplier: 1,
    };
}

/// One end of a session. Drive it like every core: hand in what comes, take what is to be
/// sent, come back at its deadline.
#[derive(Debug)]
pub(super) struct Session {
    config: SessionConfig,
    state: State,
    diagnostic: Diagnostic,
    discriminator: u32,
    remote: Remote,
    tx: Told,
    rx: Told,
    /// Whether an answer is awaited from the neighbour.
    polls: bool,
    /// Whether it awaits one from here.
    owes_final: bool,
    /// When a packet came last that counted.
    heard: Option<Instant>,
    /// For how long since then nobody listened, as whoever drives the session was held up.
    deaf: Duration,
    /// When a frame of any kind came last while the session was up, and whether those count
    /// that are yet to be handed in.
    frame_heard: Instant,
    frames_are_current: bool,
    /// For how long since then nobody listened.
    frames_deaf: Duration,
    /// Whether no frame came for too long.
    is_silent: bool,
    /// When the next periodic packet is due.
    due: Instant,
    /// When a packet that says what is new may leave before its time, and when one that
    /// answers may.
    prompt_from: Instant,
    final_from: Instant,
    /// What was said last, without the bits that ask and answer.
    said: Option<ControlPacket>,
    sequence: u32,
    heard_sequence: Option<u32>,
    /// How often it still says that it ends, if it does.
    farewells: Option<u8>,
    random: Seeded,
    liveness: Liveness,
    pub(super) counters: BfdCounters,
}

impl Session {
    pub(super) fn new(now: Instant, config: SessionConfig, seed: u64) -> Self {
        let mut session = Self {
            config,
            state: State::Down,
            diagnostic: Diagnostic::NONE,
            discriminator: 0,
            remote: Remote::UNHEARD,
            tx: Told::both(config.desired_min_tx_us.max(SLOW_US)),
            rx: Told::both(config.required_min_rx_us),
            polls: false,
            owes_final: false,
            heard: None,
            deaf: Duration::ZERO,
            frame_heard: Instant::ZERO,
            frames_are_current: false,
            frames_deaf: Duration::ZERO,
            is_silent: false,
            due: now,
            prompt_from: now,
            final_from: now,
            said: None,
            sequence: 0,
            heard_sequence: None,
            farewells: None,
            random: Seeded::new(seed),
            liveness: Liveness::new(),
            counters: BfdCounters::default(),
        };
        session.sequence = session.draw();
        session.discriminator = session.draw();
        session
    }

    pub(super) const fn config(&self) -> &SessionConfig {
        &self.config
    }

    pub(super) const fn state(&self) -> State {
        self.state
    }

    pub(super) const fn remote_state(&self) -> State {
        self.remote.state
    }

    pub(super) const fn diagnostics(&self) -> [Diagnostic; 2] {
        [self.diagnostic, self.remote.diagnostic]
    }

    pub(super) const fn discriminators(&self) -> [u32; 2] {
        [self.discriminator, self.remote.discriminator]
    }

    /// Returns whether frames go out by the port, as far as the session is concerned.
    pub(super) const fn is_live(&self) -> bool {
        self.is_ending() || self.liveness.is_live()
    }

    /// Returns whether it was told to end.
    pub(super) const fn is_ending(&self) -> bool {
        self.farewells.is_some()
    }

    /// Returns whether it has said that it ends.
    pub(super) const fn has_ended(&self) -> bool {
        matches!(self.farewells, Some(0))
    }

    /// Returns the interval between packets, of which a part is left out at random, section
    /// 6.8.2.
    pub(super) fn interval(&self) -> Duration {
        us(self.tx.used.max(self.remote.min_rx_us))
    }

    /// Returns how often others are to speak for it while it is late, and after how much silence
    /// of the neighbour no more, who is to notice that it is not heard.
    pub(super) fn stands_in(&self) -> Option<[Duration; 2]> {
        let is_wanted = self.state == State::Up
            && self.config.encapsulation == Encapsulation::Ethernet
            && self.remote.min_rx_us > 0;
        is_wanted.then(|| [self.interval(), self.silence_allowed()])
    }

    /// Returns after how much silence it goes down, section 6.8.4; nothing while it hears
    /// nothing.
    pub(super) fn detection_time(&self) -> Option<Duration> {
        let hears = matches!(self.state, State::Init | State::Up);
        hears.then(|| self.silence_allowed())
    }

    fn silence_allowed(&self) -> Duration {
        us(self.rx.used.max(self.remote.min_tx_us)) * u64::from(self.remote.multiplier)
    }

    /// Has the session go on by other times, or by another key.
    pub(super) fn configure(&mut self, config: SessionConfig) {
        let before = std::mem::replace(&mut self.config, config);
        self.rx.told = config.required_min_rx_us;
        match self.state {
            State::Up => {
                self.tx.told = config.desired_min_tx_us;
                // What the neighbour has to know first is in use when it has said so,
                // section 6.8.3.
                self.tx.used = self.tx.used.min(self.tx.told);
                self.rx.used = self.rx.used.max(self.rx.told);
                self.polls = true;
            }
            State::AdminDown | State::Down | State::Init => {
                self.tx = Told::both(config.desired_min_tx_us.max(SLOW_US));
                self.rx.used = self.rx.told;
            }
        }
        if before.authentication != config.authentication {
            self.heard_sequence = None;
        }
    }

    /// Takes the session down on purpose, which is said to the neighbour before it ends.
    pub(super) const fn end(&mut self) {
        if self.farewells.is_none() {
            self.farewells = Some(FAREWELLS);
            self.state = State::AdminDown;
            self.diagnostic = Diagnostic::ADMINISTRATIVELY_DOWN;
            self.polls = false;
        }
    }

    /// Notes that the link of the port lost its carrier.
    pub(super) fn lose_path(&mut self, now: Instant) {
        if self.farewells.is_none() {
            self.go_down(now, Diagnostic::PATH_DOWN);
            self.forget_remote();
        }
    }

    /// Takes a packet that came, section 6.8.6.
    ///
    /// # Errors
    ///
    /// With why it does not count.
    pub(super) fn receive(&mut self, now: Instant, payload: &[u8]) -> Result<(), Fault> {
        let (packet, proof) = ControlPacket::parse(payload).map_err(|_| Fault::Malformed)?;
        let asked = packet.your_discriminator;
        if asked != 0 && asked != self.discriminator {
            return Err(Fault::Misdirected);
        }
        self.authenticate(now, &packet, proof.as_ref())?;
        if packet.flags.contains(Flags::DEMAND) {
            return Err(Fault::Demanding);
        }
        self.counters.received += 1;
        self.heard = Some(now);
        self.deaf = Duration::ZERO;
        self.remote = Remote {
            state: packet.state,
            diagnostic: packet.diagnostic,
            discriminator: packet.my_discriminator,
            min_tx_us: packet.desired_min_tx_us,
            min_rx_us: packet.required_min_rx_us,
            multiplier: packet.detect_multiplier,
        };
        if self.polls && packet.flags.contains(Flags::FINAL) {
            self.polls = false;
            self.tx.used = self.tx.told;
            self.rx.used = self.rx.told;
        }
        self.owes_final |= packet.flags.contains(Flags::POLL);
        self.due = self.due.min(now + self.interval());
        if self.state != State::AdminDown {
            self.heed(now, packet.state);
        }
        Ok(())
    }

    /// Notes when a frame of any kind came last.
    pub(super) fn hear_frame(&mut self, at: Instant, are_current: bool) {
        self.frames_are_current = are_current;
        if self.state == State::Up
            && self.config.encapsulation == Encapsulation::Ethernet
            && at > self.frame_heard
        {
            self.frame_heard = at;
            self.frames_deaf = Duration::ZERO;
            if self.heard.is_some_and(|heard| at > heard) {
                self.deaf = Duration::ZERO;
            }
        }
    }

    /// Returns how often a frame is to come while flows rely on that.
    pub(super) fn heart_beat(&self) -> Option<Duration> {
        let beat = self.config.heart_beat_us;
        (beat > 0).then(|| us(beat))
    }

    /// Goes down if the neighbour, in the packet that [came](Self::receive) last, says that it
    /// hears nothing although frames were sent to it: `left` returns in how many spans of
    /// time between two instants some were.
    pub(super) fn heed_silence(
        &mut self,
        [now, came]: [Instant; 2],
        left: impl FnOnce([Instant; 2]) -> usize,
    ) {
        let remote = &self.remote;
        let is_told = self.state == State::Up
            && remote.state == State::Up
            && remote.diagnostic == Diagnostic::DETECTION_TIME_EXPIRED;
        let Some(beat) = self.heart_beat().filter(|_| is_told) else {
            return;
        };
        // The last of them may have been under way when it said so.
        let before =
            |beats: u64| Instant::ZERO + came.saturating_since(Instant::ZERO + beat * beats);
        let silence = [before(SILENT_BEATS), before(1)];
        if left(silence) >= UNHEARD_SPANS {
            self.counters.silences += 1;
            self.go_down(now, Diagnostic::NEIGHBOUR_DOWN);
        }
    }

    /// Returns when it will have been silent for too long, if nothing comes.
    fn falls_silent(&self) -> Option<Instant> {
        let beat = self.heart_beat().filter(|_| self.state == State::Up)?;
        let heard = self.heard?.max(self.frame_heard);
        Some(heard + beat * SILENT_BEATS + self.frames_deaf)
    }

    /// Notes whether any frame has come lately.
    fn listen(&mut self, now: Instant) {
        let Some(at) = self.falls_silent().filter(|at| now >= *at) else {
            self.is_silent = false;
            return;
        };
        if self.is_silent {
            return;
        }
        let late = now.saturating_since(at);
        let grace = self.heart_beat().unwrap_or_default().as_ns() / LATE_PARTS;
        match !self.frames_are_current && late > Duration::from_ns(grace) {
            true => self.frames_deaf += late,
            false => self.is_silent = true,
        }
    }

    fn authenticate(
        &mut self,
        now: Instant,
        packet: &ControlPacket,
        proof: Option<&Proof<'_>>,
    ) -> Result<(), Fault> {
        let (ours, proof) = match (&self.config.authentication, proof) {
            (None, None) => return Ok(()),
            (Some(ours), Some(proof)) if proof.is_of(ours) => (ours, proof),
            (_, _) => return Err(Fault::Forged),
        };
        let first = match ours.kind {
            AuthenticationKind::SimplePassword => return Ok(()),
            AuthenticationKind::KeyedSha1 => 0,
            AuthenticationKind::MeticulousKeyedSha1 => 1,
        };
        // Section 6.8.1, `bfd.AuthSeqKnown`.
        let long = self.silence_allowed() * 2u64;
        let recent = |heard: &Instant| now.saturating_since(*heard) < long;
        let known = self
            .heard_sequence
            .filter(|_| self.heard.as_ref().is_some_and(recent));
        // Section 6.7.4.
        let most = 3 * u32::from(packet.detect_multiplier);
        let ahead = known.map(|known| proof.sequence.0.wrapping_sub(known));
        if ahead.is_some_and(|ahead| !(first..=most).contains(&ahead)) {
            return Err(Fault::Replayed);
        }
        self.heard_sequence = Some(proof.sequence.0);
        Ok(())
    }

    /// Lets the state follow that of the neighbour, section 6.8.6.
    fn heed(&mut self, now: Instant, remote: State) {
        match (self.state, remote) {
            (State::AdminDown, _) => {}
            // Whoever switches it off says nothing of the path.
            (State::Down, State::AdminDown) => self.recover(now),
            (State::Init | State::Up, State::AdminDown) => self.fall(Diagnostic::NEIGHBOUR_DOWN),
            (State::Down, State::Down) => self.state = State::Init,
            (State::Down, State::Init) | (State::Init, State::Init | State::Up) => self.go_up(now),
            (State::Up, State::Down) => self.go_down(now, Diagnostic::NEIGHBOUR_DOWN),
            (State::Down, State::Up) | (State::Init, State::Down) => {}
            (State::Up, State::Init | State::Up) => {}
        }
    }

    fn go_up(&mut self, now: Instant) {
        self.state = State::Up;
        self.diagnostic = Diagnostic::NONE;
        self.tx = Told::both(self.config.desired_min_tx_us);
        self.due = self.due.min(now + self.interval());
        self.polls = true;
        self.counters.ups += 1;
        self.recover(now);
    }

    fn recover(&mut self, now: Instant) {
        if self.liveness.recover(now) == Recovered::Later {
            self.counters.damped += 1;
        }
    }

    fn go_down(&mut self, now: Instant, why: Diagnostic) {
        if self.state == State::Up || self.liveness.due().is_some() {
            self.liveness.fail(now);
        }
        self.fall(why);
    }

    fn fall(&mut self, why: Diagnostic) {
        self.counters.downs += u64::from(self.state == State::Up);
        self.state = State::Down;
        self.is_silent = false;
        self.diagnostic = why;
        self.polls = false;
        self.tx = Told::both(self.config.desired_min_tx_us.max(SLOW_US));
        self.rx.used = self.rx.told;
    }

    /// Forgets the neighbour, and takes another discriminator.
    fn forget_remote(&mut self) {
        self.remote.discriminator = 0;
        self.remote.state = State::Down;
        self.remote.min_rx_us = 1;
        self.discriminator = self.draw();
    }

    /// Goes down if nothing was heard for too long, section 6.8.4; believes who has stayed up.
    pub(super) fn advance(&mut self, now: Instant) {
        self.liveness.advance(now);
        self.listen(now);
        let Some(at) = self.expires().filter(|at| now >= *at) else {
            return;
        };
        // What came while nobody listened is yet to be handed in.
        let due = self.deadline().unwrap_or(at);
        let late = now.saturating_since(due);
        match late > Duration::from_ns(self.interval().as_ns() / LATE_PARTS) {
            true => self.deaf += late,
            false => self.expire(now),
        }
    }

    fn expire(&mut self, now: Instant) {
        self.go_down(now, Diagnostic::DETECTION_TIME_EXPIRED);
        self.forget_remote();
    }

    fn expires(&self) -> Option<Instant> {
        let heard = self.heard?.max(self.frame_heard);
        Some(heard + self.detection_time()? + self.deaf)
    }

    /// Returns when to come back at the latest.
    pub(super) fn deadline(&self) -> Option<Instant> {
        if self.has_ended() {
            return None;
        }
        let periodic = (self.remote.min_rx_us > 0).then_some(self.due);
        let prompt = self.has_news().then_some(self.prompt_from);
        let answer = self.owes_final.then_some(self.final_from);
        let times = [
            periodic,
            prompt,
            answer,
            self.expires(),
            self.falls_silent().filter(|_| !self.is_silent),
            self.liveness.due(),
        ];
        times.into_iter().flatten().min()
    }

    /// Returns whether something is other than it was said last, section 6.8.7.
    fn has_news(&self) -> bool {
        self.farewells.is_some_and(|left| left > 0)
            || self.said.is_some_and(|said| said != self.packet())
    }

    /// Returns the packet that is to leave now, with how it is authenticated, if one is.
    pub(super) fn take(
        &mut self,
        now: Instant,
    ) -> Option<(ControlPacket, Option<(Authentication, SequenceNumber)>)> {
        let is_periodic = self.remote.min_rx_us > 0 && now >= self.due;
        let is_prompt = self.has_news() && now >= self.prompt_from;
        let is_answer = self.owes_final && now >= self.final_from;
        if self.has_ended() || !(is_periodic || is_prompt || is_answer) {
            return None;
        }
        let later = now + us(self.config.desired_min_tx_us) * PROMPT_INTERVALS;
        match (is_periodic, is_answer) {
            (true, _) => {}
            (false, true) => self.final_from = later,
            (false, false) => self.prompt_from = later,
        }
        let said = self.packet();
        let flags = match (std::mem::take(&mut self.owes_final), self.polls) {
            (true, _) => Flags::FINAL,
            (false, true) => Flags::POLL,
            (false, false) => Flags::default(),
        };
        self.said = Some(said);
        self.due = now + self.jittered();
        self.farewells = self.farewells.map(|left| left.saturating_sub(1));
        self.counters.sent += 1;
        self.sequence = self.sequence.wrapping_add(1);
        let sequence = SequenceNumber(self.sequence);
        let proof = self.config.authentication.map(|it| (it, sequence));
        Some((ControlPacket { flags, ..said }, proof))
    }

    /// Returns what there is to say.
    fn packet(&self) -> ControlPacket {
        ControlPacket {
            diagnostic: match self.is_silent {
                true => Diagnostic::DETECTION_TIME_EXPIRED,
                false => self.diagnostic,
            },
            state: self.state,
            flags: Flags::default(),
            detect_multiplier: self.config.detect_multiplier,
            my_discriminator: self.discriminator,
            your_discriminator: self.remote.discriminator,
            desired_min_tx_us: self.tx.told,
            required_min_rx_us: self.rx.told,
            required_min_echo_rx_us: 0,
        }
    }

    fn jittered(&mut self) -> Duration {
        let least = match self.config.detect_multiplier {
            1 => JITTER_LEAST_PERCENT,
            _ => 0,
        };
        let left_out = least + self.random.up_to(JITTER_PERCENT - least);
        Duration::from_ns(self.interval().as_ns() * (100 - left_out) / 100)
    }

    /// Returns a number that is not zero and that nobody expects.
    fn draw(&mut self) -> u32 {
        let most = u64::from(u32::MAX) - 1;
        u32::try_from(1 + self.random.up_to(most)).expect("32 bits suffice")
    }
}

fn us(us: u32) -> Duration {
    Duration::from_us(us.into())
}

#[cfg(test)]
mod tests;
