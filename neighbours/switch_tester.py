"""os-ken's tester of switches, with two mistakes of it put right.

It computes the checksum of SCTP over how Python writes bytes down, not over the
bytes: no switch that changes a port could meet that.

It sends the frames of ten milliseconds, then sleeps as long. Every sleep lasts a
little longer than asked for, so fewer frames leave than the test says, and cases
that expect as many fail by that. Here it sends those of the time that has passed.
"""

import time

from os_ken.lib.packet.sctp import sctp
from os_ken.tests.switch.tester import CONTINUOUS_THREAD_INTVL, OfTester

# CRC-32C, RFC 9260 appendix A, and as which bits and bytes it is sent.
POLYNOMIAL = 0x82f63b78


def sctp_checksum(_, data):
    remainder = 0xffffffff
    for byte in bytes(data):
        remainder ^= byte
        for _ in range(8):
            remainder = remainder >> 1 ^ (POLYNOMIAL if remainder & 1 else 0)
    return int.from_bytes((remainder ^ 0xffffffff).to_bytes(4, 'little'), 'big')


sctp._checksum = sctp_checksum


class SwitchTester(OfTester):
    def _send_packet_thread(self, arg):
        now = time.monotonic()
        rate = arg.setdefault(
            'rate', arg['packet_counter_inc'] / CONTINUOUS_THREAD_INTVL)
        arg['packet_counter_inc'] = rate * (now - arg.get('last', now))
        arg['last'] = now
        super()._send_packet_thread(arg)
