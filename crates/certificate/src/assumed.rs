//! What a proof rests on that no document can prove.

use crate::document::{Certificate, Changes, Protection};
use crate::map::LARGEST_UNPROMISED_FRAME;

/// Returns what has to be so for the promises of a certificate to hold, a sentence each.
#[must_use]
pub fn assumptions(certificate: &Certificate) -> Vec<String> {
    let network = &certificate.network;
    let mut assumed = Vec::new();
    for profile in &network.profiles {
        let switches = network.switches.iter();
        let count = switches.filter(|it| it.profile == profile.name).count();
        let figures = profile.figures;
        let ns = |ps: u64| ps.div_ceil(1_000);
        assumed.push(format!(
            "Profile `{}` ({}): each of {} switches begins a frame within {} ns, takes no more \
             than {} ns for it, and holds {} frames, {} in a queue.",
            profile.name,
            profile.sha256.get(..12).unwrap_or(&profile.sha256),
            count,
            ns(figures.latency_ps),
            ns(figures.per_frame_ps),
            figures.pool_frames,
            figures.queue_frames,
        ));
    }
    assumed.push(
        "The processors of switches have no other work than frames: messages of the controller \
         are not counted."
            .to_owned(),
    );
    let links = network.links.len();
    assumed.push(format!(
        "The {links} links have the stated rates and lengths, and nothing else is plugged in."
    ));
    let flows = certificate.flows.len();
    assumed.push(format!(
        "The sources of the {flows} flows send no more than they agreed to, and no host sends \
         in classes {} but them.",
        numbers(&network.classes)
    ));
    let sending = network
        .hosts
        .iter()
        .filter(|host| host.unpromised.is_some());
    assumed.push(match sending.count() {
        0 => "No host sends without a promise.".to_owned(),
        1 => "One host sends without a promise, no more and no smaller frames than stated."
            .to_owned(),
        some => format!(
            "{some} hosts send without a promise, no more and no smaller frames than stated."
        ),
    });
    assumed.push(format!(
        "Frames without a promise have no more than {} bytes on the wire.",
        LARGEST_UNPROMISED_FRAME / 8
    ));
    let probes = network.probe_interval_ps.div_ceil(1_000);
    assumed.push(format!(
        "The controller sends no more than five probes of 128 bytes to a port in {probes} ns, in \
         the least urgent class that has promises."
    ));
    assumed.extend(protections(certificate));
    assumed.extend(levels(certificate));
    assumed
}

/// Says what is assumed of failures.
fn protections(certificate: &Certificate) -> Vec<String> {
    let mut assumed = Vec::new();
    let are = |protection| {
        let flows = certificate.flows.iter();
        flows
            .filter(|flow| flow.demand.protection == protection)
            .count()
    };
    let (unprotected, restored, turned, copied) = (
        are(Protection::None),
        are(Protection::Restore),
        are(Protection::FastFailover),
        are(Protection::Copies),
    );
    if unprotected > 0 {
        assumed.push(format!(
            "Nothing on the way of the {unprotected} flows without protection breaks."
        ));
    }
    if restored > 0 {
        assumed.push(format!(
            "One link breaks at a time, and the {restored} flows that move are moved as \
             docs/promises.md asks; what is lost until then, and how long that takes, is not \
             proven here."
        ));
    }
    if turned > 0 {
        assumed.push(format!(
            "One link breaks at a time, and the switch before it sends the frames of the {turned} \
             flows that are turned back on by the stated way, by entries that tell frames apart \
             by the port they come in by; what is lost until then is not proven here."
        ));
    }
    if copied > 0 {
        assumed.push(format!(
            "One of the two ways of the {copied} flows with second copies is whole, and who \
             drops second copies forgets none too early."
        ));
    }
    assumed
}

/// Says what is assumed of levels.
fn levels(certificate: &Certificate) -> Vec<String> {
    let text = match certificate.network.changes {
        Changes::Nobody => return Vec::new(),
        Changes::Switches => {
            "While the level changes no link is lost, no processor takes longer for a signal than \
             its budget at the lowest level, and switches drop what a level gives up at the first \
             of them."
        }
        Changes::Controller => {
            "The level does not change: the controller would write entries anew, and no promise \
             covers that."
        }
    };
    vec![text.to_owned()]
}

fn numbers(numbers: &[u8]) -> String {
    let numbers: Vec<_> = numbers.iter().map(u8::to_string).collect();
    numbers.join(", ")
}
