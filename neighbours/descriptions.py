"""Prints the addresses that open61850 reads of substation descriptions: descriptions.py FILE…"""

import sys

from open61850.scl import load_ieds

for path in sys.argv[1:]:
    for ied in load_ieds(path):
        for block in [*ied.goose_controls, *ied.sv_controls]:
            at = block.address
            if at is not None:
                print(f"{ied.name}/{block.name} {at.mac} {at.app_id} {at.vlan_id} {at.vlan_priority}")
