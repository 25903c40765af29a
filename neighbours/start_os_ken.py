"""Starts os-ken applications: os-ken has no command of its own since version 4.

usage: python start_os_ken.py [--OPTION=VALUE ...] MODULE...

The tester of switches needs `OSKEN_HUB_TYPE=eventlet` in the environment: with
os-ken's own threads it hangs.

os-ken computes the checksum of SCTP over how Python writes bytes down, not over
the bytes. No switch that changes a port could meet that; so it is put right.
"""

import sys

import os_ken.flags  # Declares the options of the tester.
from os_ken import cfg, log
from os_ken.base.app_manager import AppManager
from os_ken.controller import controller  # Declares where to listen.
from os_ken.lib.packet.sctp import sctp

# CRC-32C, RFC 9260 appendix A, and as which bits and bytes it is sent.
POLYNOMIAL = 0x82f63b78


def sctp_checksum(_, data):
    remainder = 0xffffffff
    for byte in bytes(data):
        remainder ^= byte
        for _ in range(8):
            remainder = remainder >> 1 ^ (POLYNOMIAL if remainder & 1 else 0)
    return int.from_bytes((remainder ^ 0xffffffff).to_bytes(4, 'little'), 'big')


def main(words):
    options = [word for word in words if word.startswith('--')]
    modules = [word for word in words if not word.startswith('--')]
    log.early_init_log()
    cfg.CONF(options, project='os_ken')
    log.init_log()
    sctp._checksum = sctp_checksum
    AppManager.run_apps(modules)


main(sys.argv[1:])
