"""A learning switch in two tables, as an os-ken application.

Table 0 knows sources, table 1 destinations. A source that table 0 does not know
is reported to the controller while its frame goes on, so no frame ever waits for
the controller.
"""

from os_ken.base.app_manager import OSKenApp
from os_ken.controller import ofp_event
from os_ken.controller.handler import (
    CONFIG_DISPATCHER, MAIN_DISPATCHER, set_ev_cls)
from os_ken.lib.packet import ethernet, packet
from os_ken.ofproto import ofproto_v1_3

SOURCES, DESTINATIONS = 0, 1
MISS, KNOWN = 0, 1


class TwoTables(OSKenApp):
    OFP_VERSIONS = [ofproto_v1_3.OFP_VERSION]

    @set_ev_cls(ofp_event.EventOFPSwitchFeatures, CONFIG_DISPATCHER)
    def on_features(self, event):
        switch = event.msg.datapath
        openflow, parser = switch.ofproto, switch.ofproto_parser
        report = parser.OFPActionOutput(
            openflow.OFPP_CONTROLLER, openflow.OFPCML_NO_BUFFER)
        flood = parser.OFPActionOutput(openflow.OFPP_FLOOD)
        everything = parser.OFPMatch()
        self.add(switch, SOURCES, MISS, everything, [report], DESTINATIONS)
        self.add(switch, DESTINATIONS, MISS, everything, [flood])

    @set_ev_cls(ofp_event.EventOFPPacketIn, MAIN_DISPATCHER)
    def on_packet_in(self, event):
        switch = event.msg.datapath
        parser = switch.ofproto_parser
        port = event.msg.match['in_port']
        host = packet.Packet(event.msg.data).get_protocol(ethernet.ethernet).src
        forward = [parser.OFPActionOutput(port)]
        # The destination first: who is no longer reported can be reached.
        self.add(switch, DESTINATIONS, KNOWN,
                 parser.OFPMatch(eth_dst=host), forward)
        self.add(switch, SOURCES, KNOWN,
                 parser.OFPMatch(in_port=port, eth_src=host), [], DESTINATIONS)

    def add(self, switch, table, priority, match, actions, next_table=None):
        openflow, parser = switch.ofproto, switch.ofproto_parser
        instructions = [parser.OFPInstructionActions(
            openflow.OFPIT_APPLY_ACTIONS, actions)] if actions else []
        if next_table is not None:
            instructions.append(parser.OFPInstructionGotoTable(next_table))
        switch.send_msg(parser.OFPFlowMod(
            switch, table_id=table, priority=priority, match=match,
            instructions=instructions))
