//! Waits until the controller knows the network that the scenario describes.

use std::fmt;

use controller::northbound::{Reply, Request};
use scenario::{HostDiscovery, HostIndex, Node, Scenario};
use units::Duration;
use wire::ethernet::MacAddress;

use super::world::World;
use super::{Experiment, ExperimentError};

/// How long the network may take to come up.
const PATIENCE: Duration = Duration::from_secs(20);
/// How often hosts that are not known yet speak up.
const ANNOUNCEMENT_INTERVAL: Duration = Duration::from_ms(200);

/// What is known of the network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Discovered {
    pub switches: usize,
    pub links: usize,
    pub hosts: usize,
}

impl fmt::Display for Discovered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            switches,
            links,
            hosts,
        } = self;
        write!(f, "{switches} switches, {links} links, {hosts} hosts")
    }
}

impl Discovered {
    /// Returns all that there is to know.
    #[must_use]
    pub fn everything(scenario: &Scenario) -> Self {
        let between_switches = |link: &&scenario::Link| {
            link.ends
                .iter()
                .all(|end| matches!(end.node, Node::Switch(_)))
        };
        Self {
            switches: scenario.switches.len(),
            links: scenario.links.iter().filter(between_switches).count(),
            hosts: scenario.hosts.len(),
        }
    }
}

impl Experiment<'_> {
    /// Waits until everything is known.
    pub(super) fn discover(&self, world: &mut dyn World) -> Result<Discovered, ExperimentError> {
        let expected = Discovered::everything(self.scenario);
        let begun = world.now();
        let mut announce_at = begun;
        let mut found = Discovered::default();
        while found != expected {
            self.go_on()?;
            let now = world.now();
            if now >= begun + PATIENCE {
                let waited = PATIENCE;
                return Err(ExperimentError::Undiscovered {
                    waited,
                    found,
                    expected,
                });
            }
            if now >= announce_at {
                announce_at = now + ANNOUNCEMENT_INTERVAL;
                self.announce_hosts(world);
            }
            world.listen(announce_at)?;
            // Counted whatever was said: the last news may have come together
            // with an answer that did not know of it.
            found = self
                .ask(world, Request::Topology, PATIENCE, counted)?
                .unwrap_or(found);
        }
        Ok(found)
    }

    fn announce_hosts(&self, world: &mut dyn World) {
        if self.scenario.control.hosts == HostDiscovery::Scenario {
            return;
        }
        for host in 0..self.scenario.hosts.len() {
            self.announce(world, HostIndex(host));
        }
    }

    /// Lets a host say where it is, as hosts do when their link comes up.
    pub(super) fn announce(&self, world: &mut dyn World, host: HostIndex) {
        let HostIndex(number) = host;
        let host = &self.scenario.hosts[number];
        world.announce(
            number,
            &announcement(MacAddress(host.mac), host.ip.octets()),
        );
    }
}

fn counted(reply: Reply) -> Option<Discovered> {
    match reply {
        Reply::Topology(topology) => Some(Discovered {
            switches: topology.switches,
            links: topology.links,
            hosts: topology.hosts,
        }),
        _ => None,
    }
}

/// Returns the frame by which a host makes itself known: it announces its own
/// address to everyone (RFC 5227 section 2.3).
fn announcement(mac: MacAddress, ip: [u8; 4]) -> Vec<u8> {
    const ARP_FOR_IPV4_ON_ETHERNET: [u8; 8] = [0, 1, 8, 0, 6, 4, 0, 1];
    let mut frame = vec![0xff; 6];
    frame.extend(mac.0);
    frame.extend([0x08, 0x06]);
    frame.extend(ARP_FOR_IPV4_ON_ETHERNET);
    frame.extend(mac.0);
    frame.extend(ip);
    frame.extend([0; 6]);
    frame.extend(ip);
    frame.resize(60, 0);
    frame
}
