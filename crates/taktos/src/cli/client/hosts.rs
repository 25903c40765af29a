//! `taktos hosts`: the hosts that a controller knows, and those that somebody
//! names.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use api::{About, Place, topology};
use serde_json::{Value, json};

use super::super::exit::Exit;
use super::sheet::{count, harmless, harmless_document};
use super::topology::hosts as table;
use super::{Page, Target, at, endpoint, failure, put, segment};
use crate::web::document::HostRequestDocument;

/// Where all hosts are.
const ALL: &str = "/api/v1/hosts";

/// What `taktos hosts` is told.
#[derive(Debug, clap::Args)]
pub struct HostsArgs {
    #[command(subcommand)]
    change: Option<HostsCommand>,
    /// Show them again whenever they change, until Ctrl-C.
    #[arg(long, short)]
    watch: bool,
    #[command(flatten)]
    target: Target,
}

/// What can be done to hosts.
#[derive(Debug, clap::Subcommand)]
enum HostsCommand {
    /// Give a host a name, or say anew what is known of it.
    Add(Add),
    /// Forget hosts; a frame of one makes it known again.
    Remove {
        /// Their names.
        #[arg(required = true, value_name = "NAME")]
        names: Vec<String>,
    },
}

/// A host.
#[derive(Debug, clap::Args)]
struct Add {
    /// Its name.
    name: String,
    /// Its address, as in 00:00:00:00:00:01.
    #[arg(long)]
    mac: String,
    /// Its IPv4 address.
    #[arg(long, value_name = "ADDRESS")]
    ipv4: Option<Ipv4Addr>,
    /// Its IPv6 address.
    #[arg(long, value_name = "ADDRESS")]
    ipv6: Option<Ipv6Addr>,
    /// Its port [default: where its first frame comes in].
    #[arg(long, value_name = "SWITCH:PORT", value_parser = endpoint::required_port)]
    port: Option<Place<String>>,
}

/// Shows hosts, names one, or forgets some.
pub fn hosts(arguments: &HostsArgs) -> Exit {
    let target = &arguments.target;
    match &arguments.change {
        Some(HostsCommand::Add(host)) => add(target, host),
        Some(HostsCommand::Remove { names }) => super::remove(target, "host", ALL, names),
        None => {
            let page = Page {
                title: "hosts",
                ask: &at(ALL),
                text: &text,
            };
            match arguments.watch {
                true => target.watch(&page, concerns),
                false => target.show(&page),
            }
        }
    }
}

const fn concerns(about: About) -> bool {
    match about {
        About::Hosts | About::Links | About::Modes | About::Anything => true,
        About::Switches | About::Flows | About::Rules | About::Routes => false,
    }
}

fn text(document: &topology::Hosts) -> String {
    let known = &document.hosts;
    match known.is_empty() {
        true => "no host is known yet: one is when its first frame comes in, or by \
                 `taktos hosts add`\n"
            .to_owned(),
        false => format!("{}{}\n", table(known), count(known.len(), "host")),
    }
}

fn add(target: &Target, host: &Add) -> Exit {
    let controller = match target.controller() {
        Ok(controller) => controller,
        Err(exit) => return exit,
    };
    let path = format!("/api/v1/hosts/{}", segment(&host.name));
    let done = controller.get(ALL).and_then(|known: topology::Hosts| {
        let document = said(host, &known.hosts);
        controller.put::<Value>(&path, &document)
    });
    match done {
        Err(error) => failure::complain(&error),
        Ok(_) if target.json => put(&harmless_document(&format!(
            "{:#}\n",
            json!({"host": host.name, "mac": host.mac})
        ))),
        Ok(_) => put(&format!(
            "{} is called {}\n",
            harmless(&host.mac),
            harmless(&host.name)
        )),
    }
}

/// Returns what is said of a host: what is left out stays as it is known.
fn said(host: &Add, known: &[topology::Host]) -> HostRequestDocument {
    let same = |it: &&topology::Host| it.mac.to_string().eq_ignore_ascii_case(&host.mac);
    let addresses = known.iter().find(same).map(|it| it.addresses.as_slice());
    let addresses = addresses.unwrap_or_default();
    let ipv4 = addresses.iter().find_map(|it| match it {
        IpAddr::V4(address) => Some(*address),
        IpAddr::V6(_) => None,
    });
    let ipv6 = addresses.iter().find_map(|it| match it {
        IpAddr::V4(_) => None,
        IpAddr::V6(address) => Some(*address),
    });
    HostRequestDocument {
        mac: host.mac.clone(),
        ipv4: host.ipv4.or(ipv4),
        ipv6: host.ipv6.or(ipv6),
        attachment: host.port.clone(),
    }
}
