//! Hosts that are gone: what was learned at a port is forgotten when the port has had
//! no carrier for a while.
//!
//! Silence says nothing, as what a host sends by an entry of its switch is not seen
//! here; a cable that is out does. Hosts that somebody named, or that flows or intents
//! need, stay.
//!
//! And switches that never were one: whoever may connect can make up datapath ids. One
//! that is away, that no link was ever seen at and no host that anybody needs, and that no
//! configuration names, is a stranger. It is forgotten after a while, and at once where a switch that is
//! new finds no place; one that is configured finds a place beside strangers that are
//! connected, too.

use wire::ethernet::MacAddress;
use wire::openflow::DatapathId;

use crate::place::PortId;
use crate::view::Control;

use super::{Context, HostDesk, Network};

impl HostDesk {
    /// Forgets the hosts that were learned at ports which have had no carrier for long.
    pub fn forget_unplugged(ctx: &mut Context, network: &mut Network) {
        let (now, timeout) = (ctx.now, ctx.timers.host_timeout);
        let since = network.topology.unplugged.since.iter();
        let due = since.filter(|(_, since)| now.saturating_since(**since) >= timeout);
        let due: Vec<PortId> = due.map(|(port, _)| *port).collect();
        for port in due {
            let hosts = network.topology.view.hosts_at(port);
            let gone = hosts.filter(|host| network.owners.is_to_be_forgotten(host));
            let gone: Vec<MacAddress> = gone.map(|host| host.mac).collect();
            for mac in gone {
                Self::drop_host(ctx, network, mac);
            }
            if network.topology.view.hosts_at(port).next().is_none() {
                network.topology.unplugged.since.remove(&port);
            }
        }
    }

    /// Forgets the strangers that have been away for long.
    pub fn forget_strangers(ctx: &mut Context, network: &mut Network) {
        let (now, timeout) = (ctx.now, ctx.timers.host_timeout);
        let away = network.topology.strangers.away_since.iter();
        let due = away.filter(|(_, since)| now.saturating_since(**since) >= timeout);
        let due: Vec<DatapathId> = due.map(|(datapath, _)| *datapath).collect();
        for datapath in due {
            network.topology.strangers.away_since.remove(&datapath);
            if network
                .owners
                .is_stranger(&network.topology, datapath, Control::Lost)
            {
                Self::drop_stranger(ctx, network, datapath);
            }
        }
    }

    /// Forgets a stranger with the hosts that it has told of.
    pub fn drop_stranger(ctx: &mut Context, network: &mut Network, datapath: DatapathId) {
        let hosts = network.topology.view.hosts().iter();
        let told = hosts.filter(|host| host.attachment.is_some_and(|at| at.datapath == datapath));
        let told: Vec<MacAddress> = told.map(|host| host.mac).collect();
        for mac in told {
            Self::drop_host(ctx, network, mac);
        }
        network.drop_switch(ctx, datapath);
    }
}
