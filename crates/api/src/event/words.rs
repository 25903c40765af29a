//! What is said of an event, for people.

use std::fmt;

use wire::openflow::taktos::ExceedAction;

use super::{About, Event};
use crate::count::Count;
use crate::flow::{FlowId, Travels};

impl fmt::Display for Event {
    /// Says it in words.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.about() {
            About::Switches => self.of_switch(f),
            About::Links => self.of_link(f),
            About::Hosts => self.of_host(f),
            About::Flows => self.of_flow(f),
            About::Rules => self.of_rules(f),
            About::Routes => self.of_routes(f),
            About::Modes => self.of_mode(f),
            About::Anything => self.of_anything(f),
        }
    }
}

impl Event {
    fn of_switch(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SwitchConnected { name, ports, .. } => {
                write!(f, "switch {name} connected, {}", Count(*ports, "port"))
            }
            Self::SwitchLost { name, .. } => write!(f, "switch {name} lost"),
            Self::OtherMaster { name, .. } => write!(
                f,
                "another controller is master of switch {name}: nothing is written there \
                 (`taktos controller --take-over` would)"
            ),
            Self::SwitchGone { name, .. } => write!(
                f,
                "switch {name} is gone: it answers nobody, and no echo comes back from it"
            ),
            Self::SwitchUnreadable { datapath } => write!(
                f,
                "what is stored of switch {datapath} cannot be read: left alone"
            ),
            Self::DuplicateSwitch { name, .. } => {
                write!(f, "a second connection claimed to be switch {name}: closed")
            }
            Self::ConnectionClosed { peer, reason } => {
                write!(f, "connection from {peer} closed: {reason}")
            }
            other => other.of_profile(f),
        }
    }

    fn of_profile(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ProfileContradicted {
                flow,
                name,
                at,
                explained,
                longest,
                certain,
            } => {
                let flow = named(*flow, name);
                let why = match certain {
                    true => "it is slower than its profile says",
                    false => "it is slower than its profile says, or more came than is known",
                };
                write!(
                    f,
                    "switch {}: {flow} stayed up to {longest} at {at}, where {explained} are \
                     explained: {why}",
                    at.switch
                )
            }
            Self::ProfileAdopted {
                name,
                processor,
                late,
                ..
            } => {
                write!(
                    f,
                    "switch {name} is taken to have a latency of {} and {} a frame",
                    processor.latency, processor.per_frame
                )?;
                match late {
                    0 => Ok(()),
                    late => write!(f, "; {} may be late", Count(*late, "flow")),
                }
            }
            Self::ProfileUnusable { name, .. } => write!(
                f,
                "what is stored of the profile of switch {name} cannot be used: left alone"
            ),
            Self::SwitchDoubted { name, doubt, .. } => {
                write!(f, "switch {name} speaks of {doubt}: not believed")
            }
            other => other.by_name(f),
        }
    }

    fn of_link(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LinkFound { link } => write!(f, "link {link} found"),
            Self::LinkLost { link, detection } => write!(f, "link {link} lost ({detection})"),
            Self::LinkFlaps { link, .. } => write!(
                f,
                "link {link} is lost again and again, and taken to be down for a while"
            ),
            Self::LinkDoubted { link } => write!(
                f,
                "link {link} is not believed: hosts are there, and nothing was plugged"
            ),
            Self::RestorationStarted { link, .. } => {
                write!(f, "moving flows away from link {link}")
            }
            Self::RestorationSent { link, flows, .. } => {
                write!(f, "{} told to leave link {link}", Count(*flows, "flow"))
            }
            Self::Restored {
                link,
                took,
                flows,
                switches,
                ..
            } => write!(
                f,
                "{} moved away from link {link} in {took}, {} confirmed it",
                Count(*flows, "flow"),
                Count(*switches, "switch")
            ),
            Self::Returned { flows } => {
                write!(f, "{} back on the usual way", Count(*flows, "flow"))
            }
            Self::PromisesSuspended { broken } => write!(
                f,
                "promises suspended: {} broken at once",
                Count(*broken, "link")
            ),
            Self::PromisesResumed => f.write_str("promises in force again"),
            other => other.by_name(f),
        }
    }

    fn of_host(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::HostFound { name, at } => write!(f, "host {name} is at {at}"),
            Self::HostMoved { name, from, to } => {
                write!(f, "host {name} moved from {from} to {to}")
            }
            Self::HostAddressed { name, addresses } => {
                write!(f, "host {name} has")?;
                addresses.iter().try_for_each(|it| write!(f, " {it}"))
            }
            Self::HostRemoved { name } => write!(f, "host {name} removed"),
            Self::HostUnusable { mac } => {
                write!(f, "what is stored of host {mac} cannot be used: left alone")
            }
            Self::HostDoubted { name, at, stays } => write!(
                f,
                "host {name} was seen at {at} and is taken to be at {stays}: a loop, or a forged \
                 address"
            ),
            Self::StationsCrowded { at } => write!(
                f,
                "more stations appear at {at} than there is room for: many hosts, or made-up \
                 addresses"
            ),
            Self::AddressDisputed {
                address,
                holder,
                claimant,
            } => write!(
                f,
                "host {claimant} claims {address}, which host {holder} has"
            ),
            other => other.by_name(f),
        }
    }

    fn of_flow(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Admitted { flow, name } => write!(f, "flow {name} admitted, number {}", flow.0),
            Self::Withdrawn { flow, name } => {
                write!(f, "flow {name} withdrawn, number {}", flow.0)
            }
            Self::Installed { flow, name } => write!(f, "{} installed", named(*flow, name)),
            Self::PromiseChanged {
                flow,
                name,
                promise,
                travels,
            } => {
                let flow = named(*flow, name);
                write!(f, "the promise of {flow}: {}", promise.state)?;
                if let Some(cause) = &promise.cause {
                    write!(f, " ({cause})")?;
                }
                match travels {
                    Travels::Nowhere => f.write_str("; it waits for a link"),
                    Travels::Base => Ok(()),
                    Travels::Alternative { .. } | Travels::Detour => {
                        write!(f, "; it takes {travels}")
                    }
                }
            }
            Self::GuaranteesMoved {
                flows,
                slowdown_thousandths,
            } => write!(
                f,
                "budgets chosen anew: {flows} flows have another guarantee, and switches may take \
                 {}.{} times as long as stated",
                slowdown_thousandths / 1_000,
                slowdown_thousandths / 100 % 10
            ),
            Self::ContractExceeded { .. } | Self::HopExceeded { .. } => self.of_excess(f),
            Self::CopiesMissing {
                flow,
                name,
                switch,
                passed,
                copies,
            } => {
                let flow = named(*flow, &Some(name.clone()));
                write!(
                    f,
                    "one of the two ways of {flow} is not what it should be: of {passed} frames \
                     {copies} copies came to switch {switch}; nothing is lost yet, but the next \
                     failure may lose something"
                )
            }
            Self::Readmitted { flow, name } => {
                let flow = named(*flow, name);
                write!(
                    f,
                    "{flow} decided upon anew: a host of it moved, or it goes another way"
                )
            }
            Self::RecordUnreadable { flow } => write!(
                f,
                "what is stored of flow {} cannot be read: left alone",
                flow.0
            ),
            other => other.by_name(f),
        }
    }

    fn of_excess(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ContractExceeded {
                flow,
                name,
                source,
                at,
                frames,
                excess,
                ..
            } => {
                let flow = named(*flow, name);
                let fate = match excess {
                    ExceedAction::Drop => "dropped",
                    ExceedAction::BestEffort => "sent on as best effort",
                };
                write!(
                    f,
                    "host {source} exceeds the contract of {flow}: {frames} frames {fate} at {at}"
                )
            }
            Self::HopExceeded {
                flow,
                name,
                at,
                budget,
                longest,
                frames,
            } => {
                let flow = named(*flow, name);
                write!(
                    f,
                    "{frames} frames of {flow} stayed up to {longest} at {at}, where {budget} \
                     are its budget"
                )
            }
            other => other.by_name(f),
        }
    }

    fn of_rules(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::EntryRefused {
                datapath,
                flow,
                name,
                error,
            } => match flow.map(|flow| named(flow, name)) {
                Some(flow) => write!(f, "switch {datapath} refused an entry of {flow}: {error}"),
                None => write!(f, "switch {datapath} refused an entry: {error}"),
            },
            Self::Synchronised {
                datapath,
                added,
                removed,
            } => write!(
                f,
                "switch {datapath} has its rules: {} added, {removed} removed",
                Count(*added, "rule")
            ),
            Self::Mended {
                datapath,
                added,
                changed,
                removed,
            } => write!(
                f,
                "switch {datapath} is mended: {} added, {changed} changed, {removed} removed",
                Count(*added, "rule")
            ),
            Self::Consistent { datapath } => {
                write!(f, "switch {datapath} has the rules that it should have")
            }
            Self::NotMended {
                datapath,
                lacking,
                different,
                excess,
            } => write!(
                f,
                "switch {datapath} cannot be mended: {} lacking, {different} different, {excess} \
                 in excess",
                Count(*lacking, "rule")
            ),
            Self::Dialect { datapath, entries } => write!(
                f,
                "switch {datapath} says {} in words of its own",
                Count(*entries, "rule")
            ),
            Self::GivenUp {
                datapath,
                subject,
                error,
            } => write!(
                f,
                "switch {datapath} refuses an entry of {subject} for good: {error}"
            ),
            Self::RulesSettled { subject, outcome } => write!(f, "rules of {subject}: {outcome}"),
            Self::IntentChanged { name, state, .. } => write!(f, "intent {name} {state}"),
            Self::IntentUnreadable { intent } => write!(
                f,
                "what is stored of intent {} cannot be read: left alone",
                intent.0
            ),
            other => other.by_name(f),
        }
    }

    fn of_mode(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ModeEntered {
                switch,
                level,
                era,
                served,
                ..
            } => write!(
                f,
                "switch {switch} entered level {level} (era {era}), serves {served}"
            ),
            Self::ModeViolation {
                switch,
                flow,
                level,
                beyond,
                times,
                ..
            } => {
                write!(
                    f,
                    "flow {flow} asks switch {switch} for level {level}, {times} times"
                )?;
                match beyond {
                    true => f.write_str(", and keeps no contract"),
                    false => Ok(()),
                }
            }
            Self::ModeSignalsRefused { at, fault, times } => write!(
                f,
                "{times} signals at port {} of switch {} did not count: {}",
                at.port.0,
                at.switch,
                format!("{fault:?}").to_lowercase()
            ),
            Self::ModeIncomplete {
                switch,
                level,
                served,
            } => write!(
                f,
                "switch {switch} lacks entries of level {level}: it serves {served}"
            ),
            Self::ModeComplete { switch } => {
                write!(f, "switch {switch} has the entries of all levels")
            }
            Self::ModeRefused { switch, reason } => {
                write!(f, "switch {switch} refuses something about modes: {reason}")
            }
            Self::ModeRewritten { level, .. } => write!(f, "entries of level {level} are written"),
            other => other.by_name(f),
        }
    }

    fn of_routes(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::RoutesChanged {
                announced,
                withdrawn,
                refused,
            } => write!(
                f,
                "routes: {announced} announced, {withdrawn} withdrawn, {refused} refused"
            ),
            Self::RouteQuotaReached { limit } => {
                write!(f, "{limit} routes are taken, and there is room for no more")
            }
            Self::RoutesDamped { damped } => {
                write!(
                    f,
                    "{damped} routes come and go, and are not used for a while"
                )
            }
            Self::NextHopResolved { next_hop, mac, at } => {
                write!(f, "next hop {next_hop} is {mac} at {at}")
            }
            Self::NextHopLost { next_hop } => write!(f, "next hop {next_hop} does not answer"),
            Self::SpeakerLost { kept } => write!(
                f,
                "the BGP speaker is not heard: its routes are kept for {kept}"
            ),
            Self::SpeakerBack => f.write_str("the BGP speaker is heard"),
            Self::StaleRoutesWithdrawn { routes } => write!(
                f,
                "the BGP speaker was not heard for too long: {routes} routes withdrawn"
            ),
            other => other.by_name(f),
        }
    }

    fn of_anything(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ready => f.write_str("ready to decide on flows"),
            Self::ApplicationLoaded { name } => write!(f, "application {name} loaded"),
            Self::ApplicationUnloaded { name } => write!(f, "application {name} unloaded"),
            Self::SettingsUnreadable => {
                f.write_str("what is stored of settings cannot be read: left alone")
            }
            Self::StoreFailed { reason } => write!(f, "the store failed: {reason}"),
            Self::StoreRecovered => f.write_str("the store works again"),
            Self::Gap { missed: Some(most) } => write!(f, "up to {most} events are missing here"),
            Self::Gap { missed: None } => f.write_str("events are missing here"),
            other => other.by_name(f),
        }
    }

    /// Says what kind it is: better than nothing.
    fn by_name(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.kind().replace('-', " "))
    }
}

/// Calls a flow by its name, or by its number where the name is not known.
fn named(flow: FlowId, name: &Option<String>) -> String {
    match name {
        Some(name) => format!("flow {name}"),
        None => format!("flow {}", flow.0),
    }
}
