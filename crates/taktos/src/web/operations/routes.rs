//! Routes to other networks, and the daemon that speaks BGP.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use api::{IpPrefix, MAX_ROUTES_AT_ONCE, RoutedPrefix, RoutingStatus};
use axum::body::Body;
use axum::extract::State;
use axum::http::{Response, StatusCode};
use controller::northbound::{Reply, Request};

use super::Operation;
use crate::web::describe::wall_clock;
use crate::web::document::routing::{RoutesDocument, RoutingDocument, SpeakerDocument};
use crate::web::gate::Caller;
use crate::web::problem::{Problem, json};
use crate::web::query::Query;
use crate::web::site::Site;

const PARAMETERS: [(&str, &str); 3] = [
    (
        "after",
        "only routes behind this prefix, as `next` of the part before",
    ),
    ("limit", "how many; at most 4096"),
    ("prefix", "only the route of this prefix"),
];

/// Returns what can be asked about them.
#[must_use]
pub fn operations() -> Vec<Operation> {
    let list = "List routes to other networks, with what became of each, in parts.";
    let show = "Show how the network is as a router, and the daemon that speaks BGP.";
    vec![
        Operation::get("list-routes", "/api/v1/routes", list, routes)
            .parameters(&PARAMETERS)
            .gives::<RoutesDocument>(StatusCode::OK),
        Operation::get("show-routing", "/api/v1/routing", show, routing)
            .gives::<RoutingDocument>(StatusCode::OK),
    ]
}

async fn routes(
    State(site): State<Site>,
    caller: Caller,
    query: Query,
) -> Result<Response<Body>, Problem> {
    query.only(&PARAMETERS.map(|(name, _)| name))?;
    let only = prefix(&query, "prefix")?;
    let limit = query.number("limit")?.unwrap_or(MAX_ROUTES_AT_ONCE as u64);
    let limit = usize::try_from(limit).unwrap_or(MAX_ROUTES_AT_ONCE);
    let most = match only {
        Some(_) => 1,
        None => limit.clamp(1, MAX_ROUTES_AT_ONCE),
    };
    let after = match only {
        Some(only) => before(only),
        None => prefix(&query, "after")?,
    };
    let request = Request::RoutesAfter { after, most };
    let mut routes = match site.ask(caller.asker, request).await? {
        Reply::Routes(routes) => routes,
        Reply::NotRouting => return Err(not_routing()),
        _ => return Err(Problem::fault()),
    };
    let next = match only {
        Some(only) => {
            routes.retain(|route| route.prefix == only);
            None
        }
        None => routes
            .last()
            .filter(|_| routes.len() == most)
            .map(|it| it.prefix),
    };
    let routes = routes.into_iter().map(|route| RoutedPrefix {
        since: wall_clock(route.since),
        ..route
    });
    let routes = routes.collect();
    Ok(json(StatusCode::OK, &RoutesDocument { routes, next }))
}

async fn routing(State(site): State<Site>, caller: Caller) -> Result<Response<Body>, Problem> {
    let routing = match site.ask(caller.asker, Request::RoutingStatus).await? {
        Reply::RoutingStatus(status) => RoutingStatus {
            speaker_since: wall_clock(status.speaker_since),
            ..*status
        },
        Reply::NotRouting => return Err(not_routing()),
        _ => return Err(Problem::fault()),
    };
    let speaker = site.speaker.as_ref();
    let speaker = speaker.map(|it| SpeakerDocument::from(it.now()));
    Ok(json(StatusCode::OK, &RoutingDocument { routing, speaker }))
}

fn not_routing() -> Problem {
    Problem::not_found("not-routing", "this network is no router among others")
        .help("start its controller with --app sdn-ip --sdn-ip FILE")
}

fn prefix(query: &Query, name: &str) -> Result<Option<IpPrefix>, Problem> {
    let text = query.one(name)?;
    let parsed = text.map(|text| {
        text.parse().map_err(|error| {
            Problem::bad("unusable-value", format!("{name}: {error}"))
                .help("/api/v1/openapi.json shows what is expected")
        })
    });
    parsed.transpose()
}

/// Returns the last prefix before another one in the order of lists.
fn before(prefix: IpPrefix) -> Option<IpPrefix> {
    let length = prefix.length();
    let last_of = |address: IpAddr, length: u8| IpPrefix::of(address, length).ok();
    let (all_ones, address) = match prefix.address() {
        IpAddr::V4(address) => {
            let before = address.to_bits().checked_sub(1);
            let before = before.map(|it| IpAddr::V4(Ipv4Addr::from_bits(it)));
            (IpAddr::V4(Ipv4Addr::BROADCAST), before)
        }
        IpAddr::V6(address) => {
            let before = address.to_bits().checked_sub(1);
            let before = before.map(|it| IpAddr::V6(Ipv6Addr::from_bits(it)));
            (IpAddr::V6(Ipv6Addr::from_bits(u128::MAX)), before)
        }
    };
    match (address, length.checked_sub(1), all_ones) {
        (Some(address), _, _) => last_of(address, length),
        (None, Some(shorter), all_ones) => last_of(all_ones, shorter),
        (None, None, IpAddr::V4(_)) => None,
        (None, None, IpAddr::V6(_)) => last_of(IpAddr::V4(Ipv4Addr::BROADCAST), 32),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn drawn() -> impl Strategy<Value = IpPrefix> {
        let four = (any::<u32>(), 0..=32u8);
        let four = four.prop_map(|(bits, length)| {
            IpPrefix::of(IpAddr::V4(Ipv4Addr::from_bits(bits)), length).unwrap()
        });
        let six = (any::<u128>(), 0..=128u8);
        let six = six.prop_map(|(bits, length)| {
            IpPrefix::of(IpAddr::V6(Ipv6Addr::from_bits(bits)), length).unwrap()
        });
        prop_oneof![four, six]
    }

    #[test]
    fn the_first_prefix_of_each_length_follows_the_last_shorter_one() {
        for (prefix, is) in [
            ("0.0.0.0/0", None),
            ("0.0.0.0/1", Some("0.0.0.0/0")),
            ("10.0.0.0/8", Some("9.0.0.0/8")),
            ("0.0.0.0/8", Some("254.0.0.0/7")),
            ("::/0", Some("255.255.255.255/32")),
            (
                "::/128",
                Some("ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffe/127"),
            ),
        ] {
            let before = before(prefix.parse().unwrap()).map(|it| it.to_string());

            assert_eq!(before.as_deref(), is);
        }
    }

    proptest! {
        /// Nothing stands between a prefix and the one before it.
        #[test]
        fn none_is_left_out(prefix in drawn(), other in drawn()) {
            if let Some(before) = before(prefix) {
                prop_assert!(before < prefix);
                prop_assert!(other <= before || other >= prefix);
            }
        }
    }
}
