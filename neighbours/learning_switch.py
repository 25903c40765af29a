"""A learning switch in one table by OpenFlow 1.3, as an os-ken application.

Frames to an unknown host come to the controller, which has them flooded. Once it
knows where the host is, it adds an entry and hands the waiting frame to it.
"""

from os_ken.base.app_manager import OSKenApp
from os_ken.controller import ofp_event
from os_ken.controller.handler import (
    CONFIG_DISPATCHER, MAIN_DISPATCHER, set_ev_cls)
from os_ken.lib.packet import ethernet, packet
from os_ken.ofproto import ofproto_v1_3


class LearningSwitch(OSKenApp):
    OFP_VERSIONS = [ofproto_v1_3.OFP_VERSION]

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.ports = {}

    @set_ev_cls(ofp_event.EventOFPSwitchFeatures, CONFIG_DISPATCHER)
    def on_features(self, event):
        switch = event.msg.datapath
        openflow, parser = switch.ofproto, switch.ofproto_parser
        # A part of the frame will do: the switch keeps the whole in a buffer.
        report = parser.OFPActionOutput(openflow.OFPP_CONTROLLER, 128)
        self.add(switch, 0, parser.OFPMatch(), report)

    @set_ev_cls(ofp_event.EventOFPPacketIn, MAIN_DISPATCHER)
    def on_packet_in(self, event):
        message, switch = event.msg, event.msg.datapath
        openflow, parser = switch.ofproto, switch.ofproto_parser
        arrived_at = message.match['in_port']
        frame = packet.Packet(message.data).get_protocol(ethernet.ethernet)
        self.ports[frame.src] = arrived_at
        buffered = message.buffer_id != openflow.OFP_NO_BUFFER
        port = self.ports.get(frame.dst)
        if port is not None:
            match = parser.OFPMatch(
                in_port=arrived_at, eth_src=frame.src, eth_dst=frame.dst)
            self.add(switch, 1, match, parser.OFPActionOutput(port),
                     message.buffer_id)
            if buffered:
                return
        output = parser.OFPActionOutput(port or openflow.OFPP_FLOOD)
        switch.send_msg(parser.OFPPacketOut(
            switch, buffer_id=message.buffer_id, in_port=arrived_at,
            actions=[output], data=None if buffered else message.data))

    def add(self, switch, priority, match, action, buffer_id=None):
        openflow, parser = switch.ofproto, switch.ofproto_parser
        if buffer_id is None:
            buffer_id = openflow.OFP_NO_BUFFER
        apply = parser.OFPInstructionActions(
            openflow.OFPIT_APPLY_ACTIONS, [action])
        switch.send_msg(parser.OFPFlowMod(
            switch, priority=priority, match=match, buffer_id=buffer_id,
            instructions=[apply]))
