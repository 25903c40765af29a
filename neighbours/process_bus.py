"""Writes a capture with frames that open61850 encodes: process_bus.py FILE."""

import sys
from datetime import datetime, timezone

from open61850 import goose, pcap, sv
from open61850.data import BoolData


def samples(first):
    """Two samples a frame, as IEC 61869-9 prefers for protection."""
    values = [(channel * 1000 + first, 0) for channel in range(8)]
    asdus = [
        sv.SvAsdu(
            sv_id="OTHERMU01",
            smp_cnt=first + place,
            conf_rev=1,
            smp_synch=2,
            sample=sv.encode_int32_samples(values),
        )
        for place in range(2)
    ]
    return sv.encode_sv_frame(
        sv.SvPDU(asdus=asdus),
        dst_mac="01:0c:cd:04:00:07",
        src_mac="02:00:00:00:00:07",
        app_id=0x4007,
        vlan_id=7,
        vlan_priority=4,
    )


def state(number):
    """One state of a control block."""
    pdu = goose.GoosePDU(
        gocb_ref="OTHERLD0/LLN0$GO$gcb01",
        time_allowed_to_live=12,
        dat_set="OTHERLD0/LLN0$ds01",
        go_id="gcb01",
        timestamp=datetime(2024, 1, 1, tzinfo=timezone.utc),
        st_num=number,
        sq_num=0,
        simulation=False,
        conf_rev=1,
        nds_com=False,
        num_dat_set_entries=1,
        all_data=[BoolData(number % 2 == 0)],
    )
    return goose.encode_goose_frame(
        pdu,
        dst_mac="01:0c:cd:01:00:07",
        src_mac="02:00:00:00:00:07",
        app_id=0x0007,
        vlan_id=0,
        vlan_priority=4,
    )


with pcap.PcapWriter(sys.argv[1]) as writer:
    for number in range(100):
        writer.write(samples(2 * number), 1_700_000_000 + number / 2_400)
    for number in range(1, 11):
        writer.write(state(number), 1_700_000_001 + number / 10)
