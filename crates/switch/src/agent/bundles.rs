//! Several changes as one: bundles, ONF-230.
//!
//! A message is read and checked when it is added, and whatever is wrong with it
//! by itself is answered then. Whether it can be carried out hangs on those
//! before it, so that is found out at the commit, which takes place between two
//! frames. Every bundle is committed in order and as one, whether that was asked
//! for or not: if a message fails, everything before it is taken back (see
//! [`journal`](super::journal)), the message is answered with its error and the
//! commit with another. Then the bundle is gone.
//!
//! # Left out
//!
//! Packet-outs in bundles, and flow-mods that name a kept frame: what has been
//! sent cannot be taken back. Bundles that expire: they are bounded, and go with
//! their connection.

use std::collections::BTreeMap;

use units::Instant;
use wire::openflow::{
    BadAction, BadRequest, BufferId, BundleAdd, BundleControl, BundleControlKind, BundleFailed,
    BundleFlags, BundleId, BundleProperty, ErrorKind, FlowMod, FlowModCommand, FlowModFlags,
    GroupMod, GroupModCommand, GroupModFailed, Header, Message, MeterMod, MeterModCommand,
    MeterModFailed, PortMod, Sequence, TransactionId, first_message,
};

use super::flow_mods::Order;
use super::journal::{Journal, Reach};
use super::ports::check_port_mod;
use super::session::ConnectionId;
use super::{Agent, group_mods, meter_mods};
use crate::pipeline::Pipeline;

/// How many bundles a connection has at a time.
const BUNDLES_MAX: usize = 16;
/// How many messages a bundle has: what a commit keeps frames waiting for.
const MESSAGES_MAX: usize = 16 * 1024;
/// How many of them look at whole tables.
const SEARCHES_MAX: usize = 128;
/// How many bytes the messages in all bundles of a connection have.
const BYTES_MAX: usize = 4 * 1024 * 1024;

const FLAGS: BundleFlags = BundleFlags::ATOMIC.with(BundleFlags::ORDERED);

/// The bundles of a connection.
#[derive(Debug, Default)]
pub(super) struct Bundles {
    open: BTreeMap<BundleId, Bundle>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BundleState {
    Open,
    Closed,
}

/// A message that can be in a bundle.
#[derive(Debug)]
enum Bundled<'a> {
    Flow(FlowMod<'a>),
    Group(GroupMod<'a>),
    Meter(MeterMod<'a>),
    Port(PortMod),
}

/// Messages to be carried out together.
#[derive(Debug)]
struct Bundle {
    flags: BundleFlags,
    stage: BundleState,
    reach: Reach,
    count: usize,
    searches: usize,
    /// One message after the other, as they came.
    messages: Vec<u8>,
}

impl Bundles {
    /// Begins a bundle. One that exists already is forgotten.
    fn open(&mut self, id: BundleId, flags: BundleFlags) -> Result<(), BundleFailed> {
        if self.open.remove(&id).is_some() {
            return Err(BundleFailed::BundleExist);
        }
        if !FLAGS.contains(flags) {
            return Err(BundleFailed::BadFlags);
        }
        if self.open.len() >= BUNDLES_MAX {
            return Err(BundleFailed::OutOfBundles);
        }
        self.open.insert(id, Bundle::new(flags));
        Ok(())
    }

    fn close(&mut self, id: BundleId, flags: BundleFlags) -> Result<(), BundleFailed> {
        let bundle = self.find(id, flags)?;
        match bundle.stage {
            BundleState::Closed => Err(BundleFailed::BundleClosed),
            BundleState::Open => {
                bundle.stage = BundleState::Closed;
                Ok(())
            }
        }
    }

    /// Takes a bundle away: to be carried out, or to be forgotten.
    fn take(&mut self, id: BundleId) -> Result<Bundle, BundleFailed> {
        self.open.remove(&id).ok_or(BundleFailed::BadId)
    }

    fn find(&mut self, id: BundleId, flags: BundleFlags) -> Result<&mut Bundle, BundleFailed> {
        let bundle = self.open.get_mut(&id).ok_or(BundleFailed::BadId)?;
        match bundle.flags == flags {
            true => Ok(bundle),
            false => Err(BundleFailed::BadFlags),
        }
    }

    /// Adds a message to a bundle, which begins with its first message if nobody
    /// opened it.
    fn add(&mut self, add: &BundleAdd<'_>, message: &Bundled<'_>) -> Result<(), BundleFailed> {
        let bytes = self
            .open
            .values()
            .map(|it| it.messages.len())
            .sum::<usize>();
        if !self.open.contains_key(&add.bundle) {
            self.open(add.bundle, add.flags)?;
        }
        let bundle = self.find(add.bundle, add.flags)?;
        if bundle.stage == BundleState::Closed {
            return Err(BundleFailed::BundleClosed);
        }
        let searches = bundle.searches + usize::from(message.searches());
        let many = bundle.count >= MESSAGES_MAX || searches > SEARCHES_MAX;
        if many || bytes + add.message.len() > BYTES_MAX {
            return Err(BundleFailed::MessageTooMany);
        }
        bundle.count += 1;
        bundle.searches = searches;
        bundle.reach = bundle.reach.max(message.reach());
        bundle.messages.extend_from_slice(add.message);
        Ok(())
    }
}

impl Bundle {
    const fn new(flags: BundleFlags) -> Self {
        Self {
            flags,
            stage: BundleState::Open,
            reach: Reach::Entries,
            count: 0,
            searches: 0,
            messages: Vec::new(),
        }
    }

    fn messages(&self) -> impl Iterator<Item = &[u8]> {
        let mut rest = &self.messages[..];
        std::iter::from_fn(move || {
            let next = first_message(rest).expect("its length was checked when it was added")?;
            rest = &rest[next.len()..];
            Some(next)
        })
    }
}

impl Agent {
    pub(super) fn bundle_control(
        &mut self,
        now: Instant,
        pipeline: &mut Pipeline,
        id: ConnectionId,
        transaction: TransactionId,
        control: &BundleControl<'_>,
    ) -> Result<(), ErrorKind> {
        self.may_change(id)?;
        refuse_properties(control.properties)?;
        let Some(session) = self.sessions.get_mut(&id) else {
            return Ok(());
        };
        let (bundles, bundle, flags) = (&mut session.bundles, control.bundle, control.flags);
        let kind = match control.kind {
            BundleControlKind::OpenRequest => {
                bundles.open(bundle, flags)?;
                BundleControlKind::OpenReply
            }
            BundleControlKind::CloseRequest => {
                bundles.close(bundle, flags)?;
                BundleControlKind::CloseReply
            }
            BundleControlKind::CommitRequest => {
                bundles.find(bundle, flags)?;
                let bundle = bundles.take(bundle)?;
                self.commit(now, pipeline, id, &bundle)?;
                BundleControlKind::CommitReply
            }
            BundleControlKind::DiscardRequest => {
                bundles.take(bundle)?;
                BundleControlKind::DiscardReply
            }
            BundleControlKind::OpenReply
            | BundleControlKind::CloseReply
            | BundleControlKind::CommitReply
            | BundleControlKind::DiscardReply => return Err(BundleFailed::BadType.into()),
        };
        let properties = Sequence::EMPTY;
        let reply = BundleControl {
            kind,
            properties,
            ..*control
        };
        self.reply(id, transaction, &Message::BundleControl(reply));
        Ok(())
    }

    /// Takes a message into a bundle, if nothing is wrong with it.
    pub(super) fn bundle_add(
        &mut self,
        now: Instant,
        pipeline: &Pipeline,
        id: ConnectionId,
        transaction: TransactionId,
        add: &BundleAdd<'_>,
    ) -> Result<(), ErrorKind> {
        self.may_change(id)?;
        refuse_properties(add.properties)?;
        let header = Header::parse(add.message).map_err(|error| error.kind())?;
        if header.transaction != transaction {
            return Err(BundleFailed::MessageBadTransaction.into());
        }
        let message = Bundled::parse(add.message)?;
        message.check(now, pipeline)?;
        if let Some(session) = self.sessions.get_mut(&id) {
            session.bundles.add(add, &message)?;
        }
        Ok(())
    }

    /// Carries out a bundle, whole or not at all.
    fn commit(
        &mut self,
        now: Instant,
        pipeline: &mut Pipeline,
        id: ConnectionId,
        bundle: &Bundle,
    ) -> Result<(), ErrorKind> {
        self.journal = Some(Journal::new(pipeline, bundle.reach));
        for message in bundle.messages() {
            if let Err(kind) = self.carry_out_bundled(now, pipeline, message) {
                self.take_back(now, pipeline);
                self.refuse(id, message, kind);
                return Err(BundleFailed::MessageFailed.into());
            }
        }
        self.confirm(now, pipeline);
        Ok(())
    }

    fn carry_out_bundled(
        &mut self,
        now: Instant,
        pipeline: &mut Pipeline,
        message: &[u8],
    ) -> Result<(), ErrorKind> {
        match Bundled::parse(message)? {
            Bundled::Flow(flow_mod) => self.flow_mod(now, pipeline, &flow_mod),
            Bundled::Group(group_mod) => self.group_mod(now, pipeline, &group_mod),
            Bundled::Meter(meter_mod) => self.meter_mod(now, pipeline, &meter_mod),
            Bundled::Port(port_mod) => self.port_mod(pipeline, &port_mod),
        }
    }
}

/// Refuses what an experimenter wants of a bundle: no properties are known.
fn refuse_properties(properties: Sequence<'_, BundleProperty<'_>>) -> Result<(), ErrorKind> {
    match properties.iter().next() {
        None => Ok(()),
        Some(Ok(_)) => Err(ErrorKind::BadRequest(BadRequest::BadExperimenter)),
        Some(Err(error)) => Err(error.kind()),
    }
}

impl<'a> Bundled<'a> {
    /// Reads a message, if it is one that can be in a bundle.
    fn parse(message: &'a [u8]) -> Result<Self, ErrorKind> {
        let (_, message) = Message::parse(message).map_err(|error| error.kind())?;
        if let Message::FlowMod(flow_mod) = message
            && flow_mod.buffer == BufferId::NONE
        {
            Ok(Self::Flow(flow_mod))
        } else if let Message::GroupMod(group_mod) = message {
            Ok(Self::Group(group_mod))
        } else if let Message::MeterMod(meter_mod) = message {
            Ok(Self::Meter(meter_mod))
        } else if let Message::PortMod(port_mod) = message {
            Ok(Self::Port(port_mod))
        } else {
            Err(BundleFailed::MessageUnsupported.into())
        }
    }

    /// Checks what is wrong with the message whatever those before it do.
    fn check(&self, now: Instant, pipeline: &Pipeline) -> Result<(), ErrorKind> {
        let checked = match self {
            Self::Flow(flow_mod) => Order::compile(pipeline, flow_mod).map(drop),
            Self::Port(port_mod) => check_port_mod(pipeline, port_mod).map(drop),
            Self::Group(group_mod) => group_mods::check_mod(pipeline, group_mod),
            Self::Meter(meter_mod) => meter_mods::check_mod(now, pipeline, meter_mod),
        };
        match checked {
            Err(kind) if !may_pass_later(kind) => Err(kind),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    const fn reach(&self) -> Reach {
        match self {
            Self::Flow(_) | Self::Port(_) => Reach::Entries,
            Self::Group(_) | Self::Meter(_) => Reach::GroupsAndMeters,
        }
    }

    /// Returns whether the message may make the switch look at every entry.
    fn searches(&self) -> bool {
        match self {
            Self::Flow(flow_mod) => match flow_mod.command {
                FlowModCommand::Add => flow_mod.flags.contains(FlowModFlags::CHECK_OVERLAP),
                FlowModCommand::Modify | FlowModCommand::Delete => true,
                FlowModCommand::ModifyStrict | FlowModCommand::DeleteStrict => false,
            },
            Self::Port(_) => false,
            Self::Group(group_mod) => group_mod.command == GroupModCommand::Delete,
            Self::Meter(meter_mod) => meter_mod.command == MeterModCommand::Delete,
        }
    }
}

/// Returns whether a message before could remove the cause of an error: a group
/// or a meter that is not there yet.
const fn may_pass_later(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::BadAction(BadAction::BadOutGroup)
            | ErrorKind::GroupModFailed(GroupModFailed::BadWatch)
            | ErrorKind::MeterModFailed(MeterModFailed::UnknownMeter)
    )
}
