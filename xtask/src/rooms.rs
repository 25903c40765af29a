//! The crates and what each may know: the one table that the boundary checks
//! read. `ARCHITECTURE.md` says why.

/// One crate and its boundary.
#[derive(Debug)]
pub struct CrateBoundary {
    /// The folder under `crates/`, which is also the crate's name.
    pub name: &'static str,
    /// Whether it may touch the machine.
    pub kind: CrateKind,
    /// The crates of this workspace that it may depend on.
    pub may_know: &'static [&'static str],
    /// What it may take from outside.
    pub outside: Outside,
}

/// Whether a crate may touch the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CrateKind {
    /// No clock, thread, socket, environment or unordered map.
    Pure,
    /// Runs the cores on a machine.
    World,
}

/// Packages from outside that a crate may depend on.
#[derive(Clone, Copy, Debug)]
pub enum Outside {
    /// These and no other.
    Only(&'static [&'static str]),
    /// Any: the program is where heavy packages belong.
    Any,
}

/// Every crate of the workspace but `xtask`, the lowest first.
pub const ROOMS: [CrateBoundary; 16] = [
    CrateBoundary {
        name: "units",
        kind: CrateKind::Pure,
        may_know: &[],
        outside: Outside::Only(&["serde"]),
    },
    CrateBoundary {
        name: "wire",
        kind: CrateKind::Pure,
        may_know: &["units"],
        outside: Outside::Only(&["serde", "thiserror"]),
    },
    CrateBoundary {
        name: "api",
        kind: CrateKind::Pure,
        may_know: &["units", "wire"],
        outside: Outside::Only(&["schemars", "serde", "serde_json", "thiserror"]),
    },
    CrateBoundary {
        name: "calculus",
        kind: CrateKind::Pure,
        may_know: &["units"],
        outside: Outside::Only(&["thiserror"]),
    },
    CrateBoundary {
        name: "certificate",
        kind: CrateKind::Pure,
        may_know: &["units"],
        outside: Outside::Only(&[
            "num-rational",
            "num-traits",
            "serde",
            "serde_json",
            "sha2",
            "thiserror",
        ]),
    },
    CrateBoundary {
        name: "switch",
        kind: CrateKind::Pure,
        may_know: &["units", "wire"],
        outside: Outside::Only(&["thiserror"]),
    },
    CrateBoundary {
        name: "controller",
        kind: CrateKind::Pure,
        may_know: &["units", "wire", "api", "calculus"],
        outside: Outside::Only(&["postcard", "serde", "thiserror"]),
    },
    CrateBoundary {
        name: "scenario",
        kind: CrateKind::Pure,
        may_know: &["units"],
        outside: Outside::Only(&[
            "miette",
            "roxmltree",
            "schemars",
            "serde",
            "serde_json",
            "strsim",
            "thiserror",
            "toml",
        ]),
    },
    CrateBoundary {
        name: "measure",
        kind: CrateKind::Pure,
        may_know: &["units", "wire"],
        outside: Outside::Only(&[
            "hdrhistogram",
            "rand_core",
            "rand_xoshiro",
            "serde",
            "serde_json",
            "thiserror",
        ]),
    },
    CrateBoundary {
        name: "sim",
        kind: CrateKind::Pure,
        may_know: &[
            "units",
            "wire",
            "calculus",
            "switch",
            "controller",
            "scenario",
            "measure",
        ],
        outside: Outside::Only(&["rand_core", "rand_xoshiro", "thiserror"]),
    },
    CrateBoundary {
        name: "linux",
        kind: CrateKind::World,
        may_know: &["units", "wire", "switch", "controller"],
        outside: Outside::Only(&["libc", "rustix", "thiserror"]),
    },
    CrateBoundary {
        name: "lab",
        kind: CrateKind::World,
        may_know: &[
            "units",
            "wire",
            "calculus",
            "switch",
            "controller",
            "scenario",
            "measure",
            "linux",
        ],
        outside: Outside::Only(&["rustix", "thiserror"]),
    },
    CrateBoundary {
        name: "store",
        kind: CrateKind::World,
        may_know: &["units", "wire", "controller"],
        outside: Outside::Only(&[
            "futures-util",
            "prost",
            "redb",
            "rustix",
            "thiserror",
            "tokio",
            "tonic",
            "tonic-prost",
        ]),
    },
    CrateBoundary {
        name: "run",
        kind: CrateKind::World,
        may_know: &[
            "units",
            "wire",
            "calculus",
            "certificate",
            "switch",
            "controller",
            "scenario",
            "measure",
            "sim",
            "linux",
            "lab",
            "store",
        ],
        outside: Outside::Only(&["rustix", "serde", "serde_json", "thiserror"]),
    },
    CrateBoundary {
        name: "papers",
        kind: CrateKind::World,
        may_know: &[
            "units",
            "wire",
            "calculus",
            "switch",
            "controller",
            "scenario",
            "measure",
            "sim",
            "lab",
            "store",
            "run",
        ],
        outside: Outside::Only(&["rand_core", "rand_xoshiro", "ring", "rustix"]),
    },
    CrateBoundary {
        name: "taktos",
        kind: CrateKind::World,
        may_know: &[
            "units",
            "wire",
            "api",
            "calculus",
            "certificate",
            "switch",
            "controller",
            "scenario",
            "measure",
            "sim",
            "linux",
            "lab",
            "store",
            "run",
            "papers",
        ],
        outside: Outside::Any,
    },
];

/// The one crate whose `unsafe` is reviewed rather than forbidden.
pub const UNSAFE_ROOM: &str = "linux";

/// What the `clippy.toml` of a pure crate has to ban.
pub const BANNED_IN_PURE_ROOMS: [&str; 9] = [
    "std::time::Instant::now",
    "std::time::SystemTime::now",
    "std::thread::sleep",
    "std::thread::spawn",
    "std::env::var",
    "std::collections::HashMap",
    "std::collections::HashSet",
    "std::net::TcpStream",
    "std::net::UdpSocket",
];

/// Where the parts of the controller are.
pub const PARTS_FOLDER: &str = "crates/controller/src/controller";

/// The parts of the controller, the lowest last: a part is given those above it, and knows
/// none below (decision 0028).
pub const PARTS: [&str; 14] = [
    "Context",
    "Topology",
    "Owners",
    "Tables",
    "Network",
    "Recovery",
    "ModeDesk",
    "Promises",
    "Programs",
    "Southbound",
    "HostDesk",
    "Loading",
    "SettingsDesk",
    "Controller",
];

#[cfg(test)]
mod tests {
    use super::ROOMS;

    #[test]
    fn a_room_knows_only_rooms_below_it() {
        for (index, room) in ROOMS.iter().enumerate() {
            for known in room.may_know {
                let below = ROOMS[..index].iter().any(|it| it.name == *known);
                assert!(below, "{} knows {known}, which is not below it", room.name);
            }
        }
    }
}
