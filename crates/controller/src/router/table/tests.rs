use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

/// A switch that does what the table says, and whoever knows all routes.
#[derive(Default)]
struct Pair {
    table: RouteTable,
    entries: BTreeMap<IpPrefix, HopId>,
    routes: BTreeMap<IpPrefix, HopId>,
}

impl Pair {
    /// Changes a route. After each entry that is written on the way, `look` is called with
    /// what the switch has.
    fn set(
        &mut self,
        prefix: IpPrefix,
        wish: Option<Wish>,
        mut look: impl FnMut(&BTreeMap<IpPrefix, HopId>),
    ) {
        let mut touched = Vec::new();
        self.table.set(prefix, wish, (0, 0), &mut |prefix| {
            touched.push(prefix);
            touched.len() as u64
        });
        for prefix in touched {
            match self.table.entry(prefix) {
                Some(hop) => self.entries.insert(prefix, hop),
                None => self.entries.remove(&prefix),
            };
            look(&self.entries);
        }
        match wish {
            Some(wish) if !wish.is_damped => self.routes.insert(prefix, wish.next_hop),
            Some(_) | None => self.routes.remove(&prefix),
        };
    }
}

/// Finds the longest prefix by looking at all of them.
fn longest(routes: &BTreeMap<IpPrefix, HopId>, address: IpAddr) -> Option<HopId> {
    let mut found: Option<(u8, HopId)> = None;
    for (prefix, hop) in routes {
        if prefix.contains(address) && found.is_none_or(|(length, _)| length < prefix.length()) {
            found = Some((prefix.length(), *hop));
        }
    }
    found.map(|(_, hop)| hop)
}

fn prefix() -> impl Strategy<Value = IpPrefix> {
    // Few addresses and many lengths: prefixes cover each other often.
    let v4 = (0_u32..64, 0_u8..=32).prop_map(|(bits, length)| {
        let address = IpAddr::V4(Ipv4Addr::from_bits(bits.reverse_bits() | bits));
        IpPrefix::of(address, length).unwrap()
    });
    let v6 = (0_u128..64, 0_u8..=128).prop_map(|(bits, length)| {
        let address = IpAddr::V6(Ipv6Addr::from_bits(bits.reverse_bits() | bits));
        IpPrefix::of(address, length).unwrap()
    });
    prop_oneof![v4, v6]
}

fn wish() -> impl Strategy<Value = Option<Wish>> {
    prop::option::weighted(0.7, (0_u16..3, prop::bool::weighted(0.1))).prop_map(|wish| {
        let (hop, is_damped) = wish?;
        Some(Wish {
            next_hop: HopId(hop),
            is_damped,
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// What is left out changes nothing, at any time: every address goes where it would
    /// with all routes, and while entries are written one by one it goes where it did
    /// before or will after.
    #[test]
    fn entries_lead_every_address_where_the_longest_prefix_does(
        changes in prop::collection::vec((prefix(), wish()), 1..80),
        addresses in prop::collection::vec(prefix().prop_map(IpPrefix::address), 16),
    ) {
        let mut pair = Pair::default();
        for (prefix, wish) in changes {
            let before = addresses.iter().map(|it| longest(&pair.routes, *it)).collect::<Vec<_>>();
            let mut on_the_way = Vec::new();
            pair.set(prefix, wish, |entries| {
                on_the_way.push(addresses.iter().map(|it| longest(entries, *it)).collect::<Vec<_>>());
            });
            let after = addresses.iter().map(|it| longest(&pair.routes, *it)).collect::<Vec<_>>();
            for seen in &on_the_way {
                for (place, hop) in seen.iter().enumerate() {
                    prop_assert!(*hop == before[place] || *hop == after[place]);
                }
            }
            let now = addresses.iter().map(|it| longest(&pair.entries, *it)).collect::<Vec<_>>();
            prop_assert_eq!(&now, &after);
        }
        let used = pair.routes.len();
        prop_assert_eq!(pair.table.entries() as usize, pair.entries.len());
        prop_assert_eq!((pair.table.count() - pair.table.damped()) as usize, used);
        let listed = pair.table.after(None).map(|(prefix, _)| prefix).collect::<Vec<_>>();
        prop_assert!(listed.is_sorted() && listed.len() == pair.table.count() as usize);
    }

    /// A list in parts is the list.
    #[test]
    fn routes_are_listed_behind_any_of_them(
        prefixes in prop::collection::btree_set(prefix(), 1..40), part in 1_usize..7,
    ) {
        let mut pair = Pair::default();
        let wish = Some(Wish { next_hop: HopId(0), is_damped: false });
        for prefix in &prefixes {
            pair.set(*prefix, wish, |_| {});
        }
        let (mut all, mut after) = (Vec::new(), None);
        loop {
            let some: Vec<_> = pair.table.after(after).take(part).map(|it| it.0).collect();
            let Some(last) = some.last() else { break };
            after = Some(*last);
            all.extend(some);
        }
        prop_assert_eq!(all, prefixes.into_iter().collect::<Vec<_>>());
    }
}
