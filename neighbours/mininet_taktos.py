"""Taktos' switch for Mininet.

    sudo mn --custom mininet_taktos.py --switch taktos --controller remote
    sudo mn --custom mininet_taktos.py --switch taktos,engine=packet --controller none

or, in a program, `Mininet(topo=..., switch=TaktosSwitch)`. Hosts keep their defaults.
"""

import os
import signal
import time

from mininet.node import Switch

# How long a switch may take to open its ports, in seconds.
PATIENCE = 60


class TaktosSwitch(Switch):
    """`taktos switch` on the interfaces of a node.

    program: the program, found by PATH or by its path
    engine: auto, kernel, xdp or packet
    failMode: secure or standalone; standalone if there is no controller
    opts: further options of `taktos switch`
    """

    def __init__(self, name, program="taktos", engine="auto", failMode=None, **params):
        super().__init__(name, **params)
        self.program = program
        self.engine = engine
        self.fail_mode = failMode
        self.process = None
        self.log = f"/tmp/taktos-{name}.log"
        self.control = f"/tmp/taktos-{name}.sock"

    def start(self, controllers):
        """Starts the switch and waits until it carries its ports."""
        ports = [f"{port}={intf}" for intf, port in self.ports.items() if port]
        words = [self.program, "switch", "--ports", ",".join(ports), "--dpid", f"0x{self.dpid}"]
        words += ["--engine", self.engine, "--control", self.control]
        words += ["--fail-mode", self.fail_mode or ("secure" if controllers else "standalone")]
        for controller in controllers:
            words += ["--controller", f"tcp:{controller.IP()}:{controller.port}"]
        line = " ".join(words + [self.opts])
        self.process = int(self.cmd(f"{line} > {self.log} 2>&1 & echo $!").split()[-1])
        give_up = time.monotonic() + PATIENCE
        while "\nrunning" not in self.told():
            if time.monotonic() > give_up or not self.is_alive():
                raise RuntimeError(f"{self.name} does not run: {self.told()}")
            time.sleep(0.02)

    def stop(self, deleteIntfs=True):
        """Ends the switch, which gives its interfaces back, then lets Mininet delete them."""
        if self.process is not None and self.is_alive():
            os.kill(self.process, signal.SIGTERM)
            self.cmd(f"wait {self.process}")
        self.process = None
        super().stop(deleteIntfs)

    def connected(self):
        """Tells whether the last that was said of a controller is that it is there."""
        said = [line for line in self.told().splitlines() if line.startswith("controller ")]
        return bool(said) and said[-1].endswith(" connected")

    def dpctl(self, *arguments):
        """Asks the switch by `ovs-ofctl`."""
        command, *rest = arguments
        words = ["ovs-ofctl", "-O", "OpenFlow13", command, f"unix:{self.control}", *rest]
        return self.cmd(*words)

    def told(self):
        """Returns what the switch has printed."""
        try:
            with open(self.log, encoding="utf-8") as log:
                return log.read()
        except FileNotFoundError:
            return ""

    def is_alive(self):
        """Tells whether the process runs."""
        try:
            with open(f"/proc/{self.process}/stat", encoding="utf-8") as stat:
                return stat.read().rsplit(")", 1)[1].split()[0] != "Z"
        except FileNotFoundError:
            return False


switches = {"taktos": TaktosSwitch}
