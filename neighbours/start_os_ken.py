"""Starts os-ken applications: os-ken has no command of its own since version 4.

usage: python start_os_ken.py [--OPTION=VALUE ...] MODULE...

The tester of switches, `switch_tester`, needs `OSKEN_HUB_TYPE=eventlet` in the
environment: with os-ken's own threads it hangs.
"""

import sys

import os_ken.flags  # Declares the options of the tester.
from os_ken import cfg, log
from os_ken.base.app_manager import AppManager
from os_ken.controller import controller  # Declares where to listen.


def main(words):
    options = [word for word in words if word.startswith('--')]
    modules = [word for word in words if not word.startswith('--')]
    log.early_init_log()
    cfg.CONF(options, project='os_ken')
    log.init_log()
    AppManager.run_apps(modules)


main(sys.argv[1:])
