"""A learning switch by OpenFlow 1.0, as an os-ken application.

What no entry matches comes to the controller by itself: so says OpenFlow 1.0.
"""

from os_ken.base.app_manager import OSKenApp
from os_ken.controller import ofp_event
from os_ken.controller.handler import MAIN_DISPATCHER, set_ev_cls
from os_ken.lib.mac import haddr_to_bin
from os_ken.lib.packet import ethernet, packet
from os_ken.ofproto import ofproto_v1_0


class LearningSwitch(OSKenApp):
    OFP_VERSIONS = [ofproto_v1_0.OFP_VERSION]

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.ports = {}

    @set_ev_cls(ofp_event.EventOFPPacketIn, MAIN_DISPATCHER)
    def on_packet_in(self, event):
        message, switch = event.msg, event.msg.datapath
        openflow, parser = switch.ofproto, switch.ofproto_parser
        frame = packet.Packet(message.data).get_protocol(ethernet.ethernet)
        self.ports[frame.src] = message.in_port
        port = self.ports.get(frame.dst)
        actions = [parser.OFPActionOutput(port or openflow.OFPP_FLOOD)]
        if port is not None:
            match = parser.OFPMatch(
                in_port=message.in_port, dl_src=haddr_to_bin(frame.src),
                dl_dst=haddr_to_bin(frame.dst))
            switch.send_msg(parser.OFPFlowMod(
                switch, match=match, cookie=0, command=openflow.OFPFC_ADD,
                actions=actions))
        buffered = message.buffer_id != openflow.OFP_NO_BUFFER
        switch.send_msg(parser.OFPPacketOut(
            switch, buffer_id=message.buffer_id, in_port=message.in_port,
            actions=actions, data=None if buffered else message.data))
