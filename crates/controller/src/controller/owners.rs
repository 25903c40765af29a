//! Who has entries at switches: flows, intents and applications.
//!
//! They are told what becomes of their entries by the tables, and know nothing of these.

use units::Duration;
use wire::ethernet::MacAddress;
use wire::openflow::{Cookie, DatapathId};

use crate::admission::ReservationId;
use crate::applications::Applications;
use crate::desired::{Contest, EntryOwner, Outcome};
use crate::flows::{Flow, Flows, Installation, Standing as FlowStanding, Way};
use crate::forwarding::{self, Forwarding};
use crate::intents::Intents;
use crate::mac_table::Station;
use crate::modes::Modes;
use crate::northbound::{
    self, ApplicationId, ApplicationKind, Asker, Event, FlowId, Manifest, Permission, Reply,
    Request, RuleOwner,
};
use crate::packet_in_classes::Budgets;
use crate::place::{LinkEnds, PortId};
use crate::record::Admission;
use crate::refusal::Refusal;
use crate::rules::FlowRule;
use crate::store::{Key, StoreWrite};
use crate::view::{Carrier, Control, Host, HostOrigin};

use super::leaving::Leaving;
use super::{Context, Topology};

/// In a network of so many switches floods follow each change at once.
const FOLLOWED_AT_ONCE: usize = 64;
/// How long floods stay as they are after they have followed the links, for each
/// switch of the network: some ten times as long as it takes to follow them.
const FLOODS_REST_A_SWITCH: Duration = Duration::from_us(100);

/// Who has entries at switches.
#[derive(Debug)]
pub struct Owners {
    pub flows: Flows,
    pub leaving: Leaving,
    pub intents: Intents,
    pub applications: Applications,
    /// The application that forwards what no flow claims, if one is to.
    pub forwarding: Option<Forwarding>,
    /// Whether every two known hosts are to be connected.
    pub is_proactive: bool,
}

impl Owners {
    /// Starts with the applications that are configured.
    ///
    /// # Panics
    ///
    /// If they cannot be loaded together.
    pub fn new(configured: Vec<Manifest>) -> Self {
        let applications = Applications::configured(configured)
            .unwrap_or_else(|error| panic!("the configuration cannot be: {error}"));
        Self {
            flows: Flows::default(),
            leaving: Leaving::default(),
            intents: Intents::default(),
            applications,
            forwarding: None,
            is_proactive: false,
        }
    }

    /// Returns what is taken of the frames that switches hand over.
    pub const fn budgets(&self) -> &'static Budgets {
        match self.forwarding {
            Some(_) => &Budgets::FORWARDING,
            None => &Budgets::LEARNING,
        }
    }

    /// Takes in that a switch has said all that it has of reactive forwarding.
    pub fn entries_adopted(&mut self, ctx: &Context, datapath: DatapathId) {
        let slot = ctx.sessions.of_switch(datapath);
        let session = slot.and_then(|slot| ctx.sessions.get(slot));
        if let (Some(session), Some(forwarding)) = (session, &mut self.forwarding) {
            forwarding.adopted(session.connection);
        }
    }

    /// Returns whether nobody knows more of a switch than what it says itself.
    pub fn is_stranger(&self, topology: &Topology, datapath: DatapathId, control: Control) -> bool {
        let switch = topology.view.switch(datapath);
        !topology.strangers.configured.contains(&datapath)
            && switch.is_some_and(|switch| {
                let is_so = topology.view.switches()[switch.index()].control == control;
                let is_needed = |host: &Host| {
                    let is_there = host.attachment.is_some_and(|at| at.datapath == datapath);
                    is_there && !self.is_to_be_forgotten(host)
                };
                is_so
                    && topology.view.is_alone(switch)
                    && !topology.view.hosts().iter().any(is_needed)
            })
    }

    pub fn is_to_be_forgotten(&self, host: &Host) -> bool {
        let is_learned = match host.origin {
            HostOrigin::Learned => true,
            HostOrigin::Configured | HostOrigin::Named => false,
        };
        is_learned
            && self.flow_of_host(&host.name).is_none()
            && self.intents.of_host(&host.name).next().is_none()
    }

    /// Tells the owner of rules what became of them.
    pub fn rules_settled(&mut self, ctx: &mut Context, subject: EntryOwner, outcome: Outcome) {
        ctx.modes_changed();
        match subject {
            EntryOwner::Service
            | EntryOwner::KnownHost(_)
            | EntryOwner::Gathering(_)
            | EntryOwner::Route(_)
            | EntryOwner::Modes
            | EntryOwner::Levels(_)
            | EntryOwner::Guard(_)
            | EntryOwner::NextHop(_)
            | EntryOwner::Peering(_) => {}
            EntryOwner::Flow(flow) => self.flow_settled(ctx, flow, outcome),
            EntryOwner::Intent(intent) => self.intent_settled(ctx, intent, outcome),
            EntryOwner::Application(_) => {
                let (subject, outcome) = (subject.to_string(), ctx.in_words(outcome));
                ctx.outbox.notify(Event::RulesSettled { subject, outcome });
            }
        }
    }

    fn flow_settled(&mut self, ctx: &mut Context, id: FlowId, outcome: Outcome) {
        ctx.promises_changed();
        let Some(flow) = self.flows.get_mut(id) else {
            return;
        };
        match outcome {
            Outcome::Confirmed => {
                let is_news = flow.installation != Installation::Confirmed
                    && flow.standing == FlowStanding::Admitted;
                if is_news {
                    flow.installation = Installation::Confirmed;
                    let name = Some(flow.admission.requirement.name.clone());
                    ctx.outbox.notify(Event::Installed { flow: id, name });
                }
            }
            Outcome::Refused { .. } | Outcome::Contested { .. } | Outcome::TooMany => {
                flow.installation = Installation::Refused;
            }
            Outcome::Away { .. } => {}
        }
    }

    /// Lets floods follow the links that are up now. In a large network that has
    /// just happened it is done after a while, with all that changes until then: one
    /// that comes up has thousands of changes, and each concerns all of it. Returns
    /// whether it is done.
    pub fn follow_links(&mut self, ctx: &mut Context, topology: &Topology) -> bool {
        ctx.are_routes_stale = true;
        self.try_waiting_intents(ctx);
        let switches = topology.view.switches().len();
        let last = ctx.schedule.floods_followed;
        let last = last.filter(|_| switches > FOLLOWED_AT_ONCE);
        let rest = FLOODS_REST_A_SWITCH * u64::try_from(switches).unwrap_or(u64::MAX);
        match last {
            Some(last) if ctx.now.saturating_since(last) < rest => {
                ctx.schedule.floods = Some(last + rest);
                false
            }
            Some(_) | None => {
                self.follow_links_now(ctx, topology);
                true
            }
        }
    }

    /// Lets floods follow a link that was found, or keep off it until they follow
    /// all: meanwhile frames may go too few ways, but never in a circle.
    pub fn follow_link(&mut self, ctx: &mut Context, topology: &Topology, link: LinkEnds) {
        if !self.follow_links(ctx, topology)
            && let Some(forwarding) = &mut self.forwarding
        {
            forwarding.keep_off(ctx.now, &topology.view, link);
        }
    }

    /// Lets floods follow the links that are up now.
    pub fn follow_links_now(&mut self, ctx: &mut Context, topology: &Topology) {
        ctx.schedule.floods = None;
        let Some(forwarding) = &mut self.forwarding else {
            return;
        };
        ctx.schedule.floods_followed = Some(ctx.now);
        let connected = ctx.sessions.iter();
        let connected =
            connected.filter_map(|(_, session)| Some((session.datapath()?, session.connection)));
        let connected: Vec<_> = connected.collect();
        for (datapath, deletion) in forwarding.change(ctx.now, &topology.view, &connected) {
            if let Some(slot) = ctx.sessions.of_switch(datapath) {
                deletion.emit(ctx.outbox.to(slot));
            }
        }
    }

    /// Has switches forget a station that has appeared at a port of another one.
    pub fn forget_elsewhere(&mut self, ctx: &mut Context, station: Station, now_at: DatapathId) {
        let Some(forwarding) = &mut self.forwarding else {
            return;
        };
        for (slot, session) in ctx.sessions.iter() {
            let is_elsewhere = session.datapath().is_some_and(|it| it != now_at);
            if is_elsewhere && forwarding.forget(session.connection, station) {
                forwarding::emit_deletion(Some(station.mac), ctx.outbox.to(slot));
            }
        }
    }

    /// Returns whose an entry is that nobody wants: what `reactive-forwarding` has
    /// learned goes by itself, and is in no desired state.
    pub fn owner_of_unwanted(&self, cookie: Cookie) -> RuleOwner {
        let is_learned = self.forwarding.is_some() && forwarding::is_learned(cookie);
        let kind = ApplicationKind::ReactiveForwarding;
        match self.applications.of_kind(kind).filter(|_| is_learned) {
            Some(id) => self.owner_of_application(id),
            None => RuleOwner::Foreign,
        }
    }

    pub fn owner_of_application(&self, id: ApplicationId) -> RuleOwner {
        let loaded = self.applications.get(id);
        let name = loaded.map(|loaded| loaded.manifest.name.clone());
        let name = name.unwrap_or_default();
        RuleOwner::Application { id, name }
    }

    pub fn owner(&self, subject: EntryOwner) -> RuleOwner {
        match subject {
            EntryOwner::Service
            | EntryOwner::KnownHost(_)
            | EntryOwner::Gathering(_)
            | EntryOwner::Modes => RuleOwner::Controller,
            EntryOwner::Flow(id) | EntryOwner::Levels(id) | EntryOwner::Guard(id) => {
                let flow = self.flows.get(id);
                let name = flow.map(|flow| flow.admission.requirement.name.clone());
                let name = name.unwrap_or_default();
                RuleOwner::Flow { id, name }
            }
            EntryOwner::Intent(id) => {
                let held = self.intents.get(id);
                let name = held.map(|held| held.intent.name.clone());
                let name = name.unwrap_or_default();
                RuleOwner::Intent { id, name }
            }
            EntryOwner::Application(id) => self.owner_of_application(id),
            EntryOwner::Route(_) => self.owner_of_kind(ApplicationKind::ProactiveRoutes),
            EntryOwner::NextHop(_) | EntryOwner::Peering(_) => {
                self.owner_of_kind(ApplicationKind::SdnIp)
            }
        }
    }

    /// Lets flows that are not on their own way return after a while, if they can.
    pub fn return_soon(&self, ctx: &mut Context) {
        if self.flows.displaced().next().is_some() {
            ctx.schedule.returns = Some(ctx.now + ctx.timers.return_wait);
        }
    }

    /// Returns whether more is broken than promises cover.
    pub fn promises_are_suspended(&self, topology: &Topology) -> bool {
        let carries_promises = |link: &&LinkEnds| {
            let mut flows = self.flows.over(**link).filter_map(|id| self.flows.get(id));
            flows.any(|flow| flow.reservation.is_some())
        };
        topology.broken.len() > 1
            && topology
                .broken
                .iter()
                .filter(carries_promises)
                .nth(1)
                .is_some()
    }

    /// Lets a flow take another way.
    pub fn change_way(&mut self, ctx: &mut Context, id: FlowId, way: Way) {
        self.flows.set_way(id, way);
        ctx.promises_changed();
    }

    /// Tells which flows are back.
    pub fn moved(&self, ctx: &mut Context, flows: &[FlowId]) {
        let mut back = 0;
        for id in flows {
            let flow = self.flows.get(*id);
            back += usize::from(flow.is_some_and(|flow| flow.way == Way::Base));
        }
        ctx.promises_changed();
        if back > 0 {
            ctx.outbox.notify(Event::Returned { flows: back });
        }
    }

    /// Shows the network, without its hosts to whom was not granted to see them.
    pub fn show_view(&self, topology: &Topology, by: &Asker) -> Reply {
        let mut view = Box::new(topology.view.clone());
        if !self.applications.is_granted(by, Permission::SeeHosts) {
            view.hide_hosts();
        }
        Reply::View(view)
    }

    pub fn topology_summary(&self, topology: &Topology) -> northbound::TopologyCount {
        let switches = topology.view.switches().iter();
        let links = topology.view.links().iter();
        let hosts = topology.view.hosts().iter();
        northbound::TopologyCount {
            switches: switches
                .filter(|switch| switch.control == Control::Connected)
                .count(),
            links: links
                .filter(|link| link.carrier == Carrier::Up && !topology.view.is_out_of_sight(link))
                .count(),
            hosts: hosts.filter(|host| host.attachment.is_some()).count(),
            flows: self.flows.iter().filter(|flow| flow.is_admitted()).count(),
        }
    }

    pub fn name_of_flow(&self, flow: FlowId) -> Option<String> {
        let flow = self.flows.get(flow)?;
        Some(flow.admission.requirement.name.clone())
    }

    /// Returns the name of a flow that begins or ends at a host.
    pub fn flow_of_host(&self, host: &str) -> Option<String> {
        let flows = self.flows.iter();
        let mut requirements = flows.map(|flow| &flow.admission.requirement);
        let uses = requirements.find(|requirement| {
            let mut destinations = requirement.destinations.iter();
            requirement.source == host || destinations.any(|other| other == host)
        });
        uses.map(|requirement| requirement.name.clone())
    }

    pub fn mark_refused(&mut self, ctx: &mut Context, id: FlowId) {
        if let Some(flow) = self.flows.get_mut(id) {
            flow.installation = Installation::Refused;
        }
        ctx.promises_changed();
    }

    /// Returns why a request is not looked at.
    pub fn not_looked_at(&mut self, ctx: &Context, by: &Asker, request: &Request) -> Option<Reply> {
        let lack = self.applications.lack(by, request);
        match lack {
            Some((application, needs)) => Some(Reply::Denied { application, needs }),
            None => (!ctx.is_answerable(request)).then_some(Reply::Starting),
        }
    }

    /// Asks the store to keep a flow that is reserved.
    pub fn propose(&self, ctx: &mut Context, id: FlowId) {
        if let Some(flow) = self.flows.get(id) {
            ctx.outbox.store(StoreWrite {
                key: Key::Admission(id.0),
                value: Some(flow.admission.to_bytes()),
            });
        }
    }

    pub fn check_distinguishable(
        &self,
        source: PortId,
        id: FlowId,
        rule: &FlowRule,
    ) -> Result<(), Refusal> {
        let rivals = self.flows.rivals(source, rule);
        let mut others = rivals.filter(|flow| flow.id != id);
        match others.find(|other| other.rule.conflicts_with(rule)) {
            None => Ok(()),
            Some(other) => Err(Refusal::Indistinguishable {
                other: other.admission.requirement.name.clone(),
            }),
        }
    }

    /// Makes an admission with what is reserved for it a flow.
    pub fn take_over(
        &mut self,
        ctx: &mut Context,
        topology: &mut Topology,
        id: FlowId,
        admission: Admission,
        reservation: Option<ReservationId>,
    ) {
        let links = admission.ways.links().iter().copied();
        let unconfirmed =
            links.filter(|link| !topology.view.is_up(*link) && !topology.broken.contains(link));
        topology
            .expected
            .extend(unconfirmed.map(|link| (link, None)));
        let mut flow = Flow::new(id, admission, reservation);
        flow.rule.set_contract(ctx.contract(&flow.admission));
        self.flows.insert(flow);
        self.end_hosts(ctx, topology, id);
        ctx.promises_changed();
    }

    /// Returns the longest time for which a frame with a promise may be on its
    /// way. Frames without one are not waited for.
    pub fn travel_time(&self, flows: &[FlowId]) -> Duration {
        let flows = flows.iter().filter_map(|flow| self.flows.get(*flow));
        let longest = flows.filter_map(|flow| flow.admission.guarantee).max();
        longest.unwrap_or_default().round_up()
    }

    pub fn lost_contest(&mut self, ctx: &mut Context, contest: Contest) {
        let Contest {
            datapath,
            loser,
            holder,
        } = contest;
        let outcome = Outcome::Contested {
            datapath,
            with: holder,
        };
        self.rules_settled(ctx, loser, outcome);
    }

    /// Returns the name of the host with this address if it is elsewhere than at `port` and
    /// no frame moves it.
    pub fn contested(
        &self,
        ctx: &Context,
        topology: &Topology,
        port: PortId,
        mac: MacAddress,
    ) -> Option<String> {
        if mac.is_multicast() || !topology.view.is_access(port) {
            return None;
        }
        let home = topology
            .hosts
            .held_at(&topology.view, mac, self.end(ctx, topology, mac))?;
        (home != port).then(|| topology.name_of_host(mac))
    }

    /// Returns where the host with this address is, as the flows say that begin or end at
    /// it; nothing if none does, or its switch is gone.
    pub fn end(&self, ctx: &Context, topology: &Topology, mac: MacAddress) -> Option<PortId> {
        if self.flows.is_empty() {
            return None;
        }
        let end = self.flows.home(&topology.name_of_host(mac))?;
        let known = topology
            .view
            .host_by_mac(mac)
            .and_then(|host| host.attachment);
        let switch = topology.view.switch(known.unwrap_or(end).datapath);
        let is_gone = switch.is_some_and(|switch| topology.view.is_cut_off(switch));
        (!is_gone || ctx.is_settling()).then_some(end)
    }

    /// Has switches delete what they forward by reactive forwarding for hosts from which or
    /// to which a flow has just been admitted, if there is any: it may have been forged.
    pub fn end_hosts(&mut self, ctx: &mut Context, topology: &Topology, id: FlowId) {
        let Some((forwarding, flow)) = self.forwarding.as_mut().zip(self.flows.get(id)) else {
            return;
        };
        let requirement = &flow.admission.requirement;
        let names = std::iter::once(&requirement.source).chain(&requirement.destinations);
        let macs = names.filter_map(|name| topology.view.host(name).map(|host| host.mac));
        let senders: Vec<MacAddress> = macs.filter(|mac| forwarding.take_sender(*mac)).collect();
        for mac in senders {
            for (slot, session) in ctx.sessions.iter() {
                if session.datapath().is_some() {
                    forwarding::emit_silence(mac, ctx.outbox.to(slot));
                }
            }
        }
    }

    /// Returns the flows that have something to say about levels and are in force.
    pub fn modal_flows<'a>(&'a self, modes: &'a Modes) -> impl Iterator<Item = &'a Flow> + 'a {
        let configured = modes.flows.keys();
        let configured = configured.filter_map(|name| self.flows.get(self.flows.by_name(name)?));
        let configured = configured.filter(|flow| flow.admission.requirement.modes.is_none());
        let flows = configured.chain(self.flows.modal());
        flows.filter(|flow| flow.standing == FlowStanding::Admitted)
    }
}
