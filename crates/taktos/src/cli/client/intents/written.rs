//! Intents as the command line says them.

use api::{Extent, FrameAction, IntentKind, Scope, Waypoint};
use wire::openflow::PortNumber;

use super::super::endpoint::WrittenEndpoint;
use super::super::frames::FrameMatchArgs;
use crate::web::document::EndpointDocument;
use crate::web::document::intent::{FrameMatchDocument, IntentDocument};

/// What is to hold.
#[derive(Debug, clap::Subcommand)]
pub enum WrittenIntent {
    /// Two hosts reach each other, wherever they are.
    HostToHost {
        /// One host.
        one: String,
        /// The other.
        other: String,
    },
    /// What enters at one place and matches leaves at another.
    PointToPoint {
        /// Where frames enter: a host, or a port as SWITCH:PORT.
        from: WrittenEndpoint,
        /// Where they leave.
        to: WrittenEndpoint,
        #[command(flatten)]
        frames: MatchedFrames,
    },
    /// What enters at one place and matches leaves at several.
    Multicast {
        /// Where frames enter: a host, or a port as SWITCH:PORT.
        from: WrittenEndpoint,
        /// Where they leave.
        #[arg(required = true)]
        to: Vec<WrittenEndpoint>,
        #[command(flatten)]
        frames: MatchedFrames,
    },
    /// What enters at one place and matches leaves at another, and passes certain
    /// places in this order.
    Path {
        /// Where frames enter: a host, or a port as SWITCH:PORT.
        from: WrittenEndpoint,
        /// Where they leave.
        to: WrittenEndpoint,
        /// What they pass: switches by name, links as in `1:2-3:1`.
        #[arg(long, value_name = "PLACE", value_delimiter = ',')]
        through: Vec<String>,
        /// That is the whole path: where a link of it breaks, frames wait.
        #[arg(long)]
        whole: bool,
        /// What the last switch does with them before they leave; may be repeated.
        #[arg(long, value_name = "ACTION", value_parser = action)]
        action: Vec<FrameAction<String>>,
        #[command(flatten)]
        frames: MatchedFrames,
    },
    /// Switches do something with the frames that match.
    MatchAction {
        /// At these switches [default: at all, and those to come].
        #[arg(long, value_name = "SWITCH", value_delimiter = ',')]
        at: Vec<String>,
        /// Above which others, 0 to 99.
        #[arg(long, default_value_t = 0)]
        priority: u8,
        /// What is done, in this order: `output:N`, `flood`, `controller`, `queue:N`,
        /// `set-vlan:N`, `strip-vlan`, `set-source:MAC`, `set-destination:MAC`; may
        /// be repeated. Without any, frames are dropped.
        #[arg(long, value_name = "ACTION", value_parser = action)]
        action: Vec<FrameAction<String>>,
        #[command(flatten)]
        frames: MatchedFrames,
    },
}

/// Which frames.
#[derive(Debug, clap::Args)]
pub struct MatchedFrames {
    /// The port by which they come in.
    #[arg(long, value_name = "PORT", help_heading = "Which frames")]
    in_port: Option<u32>,
    /// The address they come from.
    #[arg(long, value_name = "MAC", help_heading = "Which frames")]
    from_address: Option<String>,
    #[command(flatten)]
    frames: FrameMatchArgs,
}

fn action(text: &str) -> Result<FrameAction<String>, String> {
    let (word, value) = text.split_once(':').unwrap_or((text, ""));
    let number = || "expected a number behind the colon".to_owned();
    Ok(match (word, value) {
        ("flood", "") => FrameAction::Flood,
        ("controller", "") => FrameAction::Controller,
        ("strip-vlan", "") => FrameAction::StripVlan,
        ("output", port) => FrameAction::Output(PortNumber(port.parse().map_err(|_| number())?)),
        ("queue", queue) => FrameAction::Queue(queue.parse().map_err(|_| number())?),
        ("set-vlan", vlan) => FrameAction::SetVlan(vlan.parse().map_err(|_| number())?),
        ("set-source", mac) => FrameAction::SetSource(mac.to_owned()),
        ("set-destination", mac) => FrameAction::SetDestination(mac.to_owned()),
        _ => {
            return Err(
                "expected output:N, flood, controller, queue:N, set-vlan:N, strip-vlan, \
                 set-source:MAC or set-destination:MAC"
                    .to_owned(),
            );
        }
    })
}

impl MatchedFrames {
    fn document(&self) -> FrameMatchDocument {
        let frames = self.frames.document();
        FrameMatchDocument {
            input_port: self.in_port,
            source_mac: self.from_address.clone(),
            ether_type: frames.ether_type,
            destination_mac: frames.destination_mac,
            vlan: frames.vlan,
            ipv4_source: frames.ipv4_source,
            ipv4_destination: frames.ipv4_destination,
            protocol: frames.protocol,
            source_port: frames.source_port,
            destination_port: frames.destination_port,
        }
    }
}

impl WrittenIntent {
    /// Returns what is to hold, under a name.
    pub fn named(&self, name: &str) -> IntentDocument {
        let place = |written: &WrittenEndpoint| -> EndpointDocument { written.0.clone() };
        let kind = match self {
            Self::HostToHost { one, other } => IntentKind::HostToHost {
                one: one.clone(),
                other: other.clone(),
            },
            Self::PointToPoint { from, to, frames } => IntentKind::PointToPoint {
                from: place(from),
                to: place(to),
                matching: frames.document(),
            },
            Self::Multicast { from, to, frames } => IntentKind::Multicast {
                from: place(from),
                to: to.iter().map(place).collect(),
                matching: frames.document(),
            },
            Self::Path {
                from,
                to,
                through,
                whole,
                action,
                frames,
            } => IntentKind::Path {
                from: place(from),
                to: place(to),
                through: through.iter().map(|it| passed(it)).collect(),
                extent: match whole {
                    true => Extent::Full,
                    false => Extent::Partial,
                },
                matching: frames.document(),
                actions: action.clone(),
            },
            Self::MatchAction {
                at,
                priority,
                action,
                frames,
            } => IntentKind::MatchAction {
                at: match at.is_empty() {
                    true => Scope::Everywhere,
                    false => Scope::Switches(at.clone()),
                },
                priority: *priority,
                matching: frames.document(),
                actions: action.clone(),
            },
        };
        IntentDocument {
            name: name.to_owned(),
            kind,
        }
    }
}

/// Returns what is passed: links have a port at each end.
fn passed(text: &str) -> Waypoint<String, String> {
    let ends = text.split_once('-');
    match ends.is_some_and(|(a, b)| a.contains(':') && b.contains(':')) {
        true => Waypoint::Link(text.to_owned()),
        false => Waypoint::Switch(text.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn actions_are_read_as_they_are_shown() {
        assert_eq!(action("output:3"), Ok(FrameAction::Output(PortNumber(3))));
        assert_eq!(action("flood"), Ok(FrameAction::Flood));
        let mac = "02:00:00:00:00:01";
        let source = FrameAction::SetSource(mac.to_owned());
        assert_eq!(action(&format!("set-source:{mac}")), Ok(source));
        for bad in ["", "flood:1", "output", "output:x", "queue:256", "drop"] {
            assert!(action(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn links_and_switches_are_told_apart() {
        assert_eq!(passed("1:2-3:1"), Waypoint::Link("1:2-3:1".to_owned()));
        assert_eq!(passed("bay-1"), Waypoint::Switch("bay-1".to_owned()));
    }
}
