//! Which entries that a switch has beyond those that it should have are to go, and whether
//! sums of digests say that there are none.

use wire::openflow::taktos::{CookieClass, DigestSum, TableDigest};
use wire::openflow::{Cookie, TableId};

use crate::desired::{COOKIE_MASK_OURS, COOKIE_OURS, DigestSums, is_derived, is_of_routes};
use crate::forwarding;
use crate::northbound::{ApplicationKind, ForeignRules};

use super::{Context, Owners};

/// What is known of entries that nobody wants.
#[derive(Clone, Copy, Debug)]
pub struct Claims {
    foreign: ForeignRules,
    is_forwarding: bool,
    is_settling: bool,
    awaits_routes: bool,
}

impl Claims {
    pub fn now(ctx: &Context, owners: &Owners, foreign: ForeignRules) -> Self {
        let routes = owners.applications.of_kind(ApplicationKind::SdnIp);
        Self {
            foreign,
            is_forwarding: owners.forwarding.is_some(),
            is_settling: ctx.is_settling(),
            awaits_routes: routes.is_some() && !ctx.left_routes.are_known,
        }
    }

    /// Returns whether an entry may be of a way that is found anew, and stays until then.
    pub fn is_of_awaited_routes(self, cookie: Cookie) -> bool {
        self.awaits_routes && is_of_routes(cookie)
    }

    /// Returns whether an entry with this cookie goes that should not be there.
    pub fn is_to_go(self, cookie: Cookie) -> bool {
        let is_learned = self.is_forwarding && forwarding::is_learned(cookie);
        let is_ours = cookie.matches(COOKIE_OURS, COOKIE_MASK_OURS);
        let is_awaited =
            is_ours && self.is_settling && is_derived(cookie) || self.is_of_awaited_routes(cookie);
        let is_removing = self.foreign == ForeignRules::Remove;
        !is_awaited && (is_ours || is_removing && !is_learned)
    }

    /// Returns whether what a switch says of its tables is so of one that has what it should,
    /// and nothing that is to go or has to be looked at. All that is asked here of a cookie
    /// its first bits tell.
    pub fn are_met(self, wanted: &DigestSums, told: &[TableDigest]) -> bool {
        let told = told.iter().map(|it| ((it.table, it.class), it.sum));
        let told: DigestSums = told.collect();
        let is_there = |(key, sum): (_, &DigestSum)| told.get(key) == Some(sum);
        let may_stay = |key: &(TableId, CookieClass)| {
            let cookie = key.1.lowest();
            wanted.contains_key(key) || !self.is_to_go(cookie) && !self.is_of_awaited_routes(cookie)
        };
        wanted.iter().all(is_there) && told.keys().all(may_stay)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// So sums by these bits say of each class whether it may stay.
        #[test]
        fn what_becomes_of_an_entry_the_first_bits_of_its_cookie_say(
            first in prop_oneof![Just(0x52), Just(0x54), 0u64..256],
            rest in 0u64..1 << 56,
            is_removing: bool,
            is_forwarding: bool,
            is_settling: bool,
            awaits_routes: bool,
        ) {
            let cookie = Cookie(first << 56 | rest);
            let lowest = CookieClass::of(cookie).lowest();
            let claims = Claims {
                foreign: match is_removing {
                    true => ForeignRules::Remove,
                    false => ForeignRules::Keep,
                },
                is_forwarding,
                is_settling,
                awaits_routes,
            };

            prop_assert_eq!(claims.is_to_go(cookie), claims.is_to_go(lowest));
            let awaited = [cookie, lowest].map(|it| claims.is_of_awaited_routes(it));
            prop_assert_eq!(awaited[0], awaited[1]);
        }
    }
}
