//! What the controller is told of switches and hosts before it starts.

use std::collections::BTreeMap;
use std::path::Path;

use calculus::admission::Spare;
use controller::Config;
use controller::modes::Modes;
use scenario::{Scenario, SwitchIndex};
use wire::openflow::DatapathId;

use super::super::exit::Exit;
use super::super::{run_page, scenario_file, text_file};
use crate::web::layout::Spot;
use run::experiment::plan::{Open, controller_config, fix_hosts, keeps_budgets, unnamed_switch};

/// Reads the network file, if there is one, and the profile of switches that it
/// does not name; or says on standard error why that cannot be.
pub fn config(network: Option<&Path>, profile: &str) -> Result<Config, Exit> {
    let unnamed = scenario_with(profile)?;
    let known = match network {
        Some(path) => {
            let scenario = scenario_file::read(path)?;
            let mut config = awaiting(&scenario);
            fix_hosts(&scenario, &mut config.hosts);
            config
        }
        None => Config {
            switches: Default::default(),
            hosts: Vec::new(),
            ..awaiting(&unnamed)
        },
    };
    let modes = known.modes.map(|modes| Modes {
        // What a flow gets at levels comes with the requirement.
        flows: BTreeMap::new(),
        ..modes
    });
    let open = match known.fit {
        Some(_) => Open::Least,
        None => Open::Usual,
    };
    Ok(Config {
        unknown_switch: unnamed_switch(&unnamed, SwitchIndex(0), open),
        modes,
        ..known
    })
}

/// Returns where switches stand by the network file, as far as that says so. It was read
/// before; nobody stands anywhere if it is gone.
#[must_use]
pub fn places(network: Option<&Path>) -> BTreeMap<DatapathId, Spot> {
    let scenario = network.and_then(|path| scenario_file::read(path).ok());
    scenario.as_ref().map(run_page::places).unwrap_or_default()
}

/// Returns what a controller is told that knows no flow yet: budgets follow the flows,
/// unless something is promised at levels of criticality.
fn awaiting(scenario: &Scenario) -> Config {
    match keeps_budgets(scenario) {
        true => controller_config(scenario, Open::Usual),
        false => Config {
            fit: Some(Spare::Shared),
            ..controller_config(scenario, Open::Least)
        },
    }
}

/// Returns a scenario with one switch of this profile, which is either built in or
/// a file.
fn scenario_with(profile: &str) -> Result<Scenario, Exit> {
    // A text in quotes is the same in JSON as in TOML.
    let name = serde_json::Value::from(profile);
    let text = format!(
        "[scenario]\ntitle = \"A switch\"\nduration = \"1 s\"\n\n\
         [switches]\nswitch = {{ profile = {name} }}\n\n\
         [hosts]\none = {{ at = \"switch\" }}\nother = {{ at = \"switch\" }}\n\n\
         [flows.any]\nkind = \"sampled-values\"\nfrom = \"one\"\nto = \"other\"\n\
         frame = \"122 B\"\nperiod = \"1 ms\"\ndeadline = \"10 ms\"\n"
    );
    let mut load = |file: &str| run::text_file::load(Path::new(file), scenario::LONGEST_FILE);
    Scenario::parse("--profile", &text, &mut load).map_err(|error| text_file::show(&error))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use units::Delay;

    use super::*;

    #[test]
    fn a_switch_that_nobody_names_is_like_its_profile_and_can_promise_something() {
        let config = config(None, "unknown-switch").unwrap();

        let unknown = config.unknown_switch;
        assert!(config.switches.is_empty() && config.hosts.is_empty());
        assert_eq!(unknown.processing.unwrap().latency, Delay::from_us(1_000));
        assert!(unknown.other_ports.budgets[6].is_some());
        assert_eq!(unknown.name, "");
    }

    #[test]
    fn levels_are_those_of_the_network_file_and_its_flows_say_nothing_of_them() {
        let scenarios = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");

        let config = config(
            Some(&scenarios.join("emergency-braking.toml")),
            "unknown-switch",
        );

        let modes = config.unwrap().modes.unwrap();
        assert_eq!(modes.levels.len(), 2);
        assert!(modes.flows.is_empty());
        assert!(modes.change_bound > Delay::ZERO);
    }

    #[test]
    fn hosts_are_at_the_ports_of_the_network_file_and_stay_there() {
        let scenarios = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");

        let config = config(Some(&scenarios.join("afdx.toml")), "unknown-switch").unwrap();

        let hosts = config.hosts.iter();
        let ports: BTreeSet<_> = hosts.filter_map(|host| host.attachment).collect();
        assert!(config.hosts.len() > 2);
        // Each has a port of its own, at a switch of the file.
        assert_eq!(ports.len(), config.hosts.len());
        assert!(config.hosts.iter().all(|host| host.is_fixed));
        let mut switches = ports.iter().map(|port| port.datapath);
        assert!(switches.all(|switch| config.switches.contains_key(&switch)));
    }

    #[test]
    fn a_profile_that_is_not_there_is_bad_input() {
        assert_eq!(config(None, "no-such").unwrap_err(), Exit::BadInput);
        assert_eq!(config(None, "x\" }\n[y]").unwrap_err(), Exit::BadInput);
    }
}
