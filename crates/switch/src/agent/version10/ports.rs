//! Ports in version 1.0: what they are and what may be changed about them,
//! OF10 sections 5.2.1, 5.3.1 and 5.3.3.

use wire::openflow::{self, Sequence, TransactionId};
use wire::openflow10::{
    ActionKinds, Capabilities, ErrorKind, FeaturesReply, Message, PortConfig, PortDescription,
    PortMod,
};

use crate::agent::Agent;
use crate::agent::ports::describe;
use crate::agent::session::ConnectionId;
use crate::pipeline::Pipeline;
use crate::port::NO_FLOOD;

impl Agent {
    /// Says who the switch is, which in version 1.0 includes its ports.
    pub(super) fn narrow_features(
        &mut self,
        pipeline: &Pipeline,
        id: ConnectionId,
        transaction: TransactionId,
    ) {
        let ports = pipeline.egress.ports.iter();
        let ports: Vec<_> = ports
            .filter_map(|it| PortDescription::from_of13(&describe(it)))
            .collect();
        let features = FeaturesReply {
            datapath: self.datapath_id,
            buffers: self.features(pipeline).buffers,
            tables: 1,
            capabilities: Capabilities::FLOW_STATISTICS
                .with(Capabilities::TABLE_STATISTICS)
                .with(Capabilities::PORT_STATISTICS)
                .with(Capabilities::QUEUE_STATISTICS)
                .with(Capabilities::ARP_MATCH_IP),
            actions: ActionKinds::ALL,
            ports: Sequence::of(&ports),
        };
        self.narrow_reply(id, transaction, &Message::FeaturesReply(features));
    }

    /// Changes a port. There is no spanning tree to take part in.
    pub(super) fn narrow_port_mod(
        &mut self,
        pipeline: &mut Pipeline,
        port_mod: &PortMod,
    ) -> Result<(), ErrorKind> {
        let common = |config: PortConfig| openflow::PortConfig(config.0 & PortConfig::COMMON.0);
        let wide = openflow::PortMod {
            port: port_mod.port.to_of13(),
            address: port_mod.address,
            config: common(port_mod.config),
            mask: common(port_mod.mask),
            advertise: openflow::PortFeatures(port_mod.advertise.0),
        };
        let found = pipeline.egress.find_port(wide.port);
        if let Some(port) = found.map(|at| pipeline.egress.port_mut(at))
            && port.config.mac == port_mod.address
            && port_mod.mask.contains(PortConfig::NO_FLOOD)
        {
            port.policy = match port_mod.config.contains(PortConfig::NO_FLOOD) {
                true => port.policy.with(NO_FLOOD),
                false => port.policy.without(NO_FLOOD),
            };
        }
        self.port_mod(pipeline, &wide).map_err(ErrorKind::from_of13)
    }
}
