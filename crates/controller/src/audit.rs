//! Compares what a switch has with what it should have.
//!
//! A switch is asked for all of our entries, or for one slice of them. Each
//! entry that it reports is held against the one that it should have at that
//! place, whole: somebody may have changed an entry and left its cookie alone.
//! What differs, lacks or is in excess is a [`Finding`]; what was changed while
//! the switch was asked is left out, as nobody knows which state it reported.
//!
//! A switch may say an entry in words of its own that even the one [`Form`] does
//! not make the same. Such an entry looks different, and still does after it was
//! written over. From then on those words count as that entry: they are the
//! switch's [`Dialect`].

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use wire::openflow::multipart::{FlowStatistics, FlowStatisticsRequest};
use wire::openflow::{Cookie, DatapathId, TableId};

use crate::desired::{
    COOKIE_MASK_OURS, COOKIE_MASK_SLICE, COOKIE_OURS, Desired, Form, Rule, RulePlace, slice_cookie,
};

/// The most entries of one report that are kept. What is beyond is not looked
/// at, and found lacking.
pub const MAX_KEPT: usize = 1 << 20;

/// Which entries a switch is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Those of ours in a slice.
    Slice(u8),
    Ours,
    All,
}

impl Scope {
    #[must_use]
    pub const fn question(self) -> FlowStatisticsRequest<'static> {
        let mut question = FlowStatisticsRequest::all(TableId::ALL);
        (question.cookie, question.cookie_mask) = match self {
            Self::Slice(slice) => (slice_cookie(slice), COOKIE_MASK_SLICE),
            Self::Ours => (COOKIE_OURS, COOKIE_MASK_OURS),
            Self::All => (Cookie::NONE, Cookie::NONE),
        };
        question
    }

    const fn has(self, cookie: Cookie) -> bool {
        let question = self.question();
        cookie.matches(question.cookie, question.cookie_mask)
    }

    const fn places(self) -> RangeInclusive<RulePlace> {
        match self {
            Self::Slice(slice) => RulePlace::slice_range(slice),
            Self::Ours | Self::All => RulePlace::ALL,
        }
    }
}

/// An entry as a switch reports it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reported {
    pub cookie: Cookie,
    /// What it is; `None` if that cannot be read.
    pub form: Option<Form>,
}

impl Reported {
    fn digest(&self) -> u64 {
        self.form
            .as_ref()
            .map_or(0, |form| form.digest(form.place()))
    }
}

/// The entries that a switch says in words of its own: by cookie, a digest of
/// what it says.
#[derive(Clone, Debug, Default)]
pub struct Dialect {
    known: BTreeMap<Cookie, u64>,
    /// What it said of entries that were written over since.
    suspected: BTreeMap<Cookie, u64>,
}

impl Dialect {
    /// Notes that a different entry is written over. If the next report says of
    /// it the same, these are the switch's words.
    pub fn written_over(&mut self, different: &Different) {
        self.suspected.insert(different.wanted, different.digest);
    }

    fn knows(&self, cookie: Cookie, digest: u64) -> bool {
        self.known.get(&cookie) == Some(&digest)
    }

    /// Forgets the words for entries that a switch should not have any more.
    fn forget_others(&mut self, datapath: DatapathId, desired: &Desired) {
        let is_wanted =
            |cookie: &Cookie, _: &mut u64| desired.by_cookie(datapath, *cookie).is_some();
        self.known.retain(is_wanted);
    }
}

/// An entry that a switch has otherwise than it should.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Different {
    pub place: RulePlace,
    /// The cookie that it should have.
    pub wanted: Cookie,
    /// A digest of what the switch says.
    pub digest: u64,
}

/// What is to be mended on a switch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Finding {
    pub missing: Vec<RulePlace>,
    /// Entries that it has otherwise.
    pub different: Vec<Different>,
    /// Entries that it should not have.
    pub excess: Vec<Reported>,
    /// How many entries it turned out to say in words of its own.
    pub words: usize,
}

impl Finding {
    /// Returns whether there is nothing to mend.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.missing.is_empty() && self.different.is_empty() && self.excess.is_empty()
    }
}

/// The comparison of one report.
#[derive(Debug)]
pub struct Audit {
    scope: Scope,
    /// The places of entries that are as they should be.
    seen: BTreeSet<RulePlace>,
    odd: Vec<Reported>,
}

impl Audit {
    #[must_use]
    pub const fn new(scope: Scope) -> Self {
        Self {
            scope,
            seen: BTreeSet::new(),
            odd: Vec::new(),
        }
    }

    /// Takes an entry that a switch reports.
    pub fn take(&mut self, datapath: DatapathId, entry: &FlowStatistics<'_>, desired: &Desired) {
        if !self.scope.has(entry.cookie) {
            return;
        }
        let form = Form::read(entry).ok();
        if let Some(form) = &form {
            let place = form.place();
            let wanted = desired.get(datapath, place);
            if wanted.is_some_and(|rule| rule.cookie == entry.cookie && rule.form == *form) {
                self.seen.insert(place);
                return;
            }
        }
        if self.odd.len() < MAX_KEPT {
            let cookie = entry.cookie;
            self.odd.push(Reported { cookie, form });
        }
    }

    /// Ends. `changed` are the places of entries that were changed meanwhile;
    /// `is_to_go` tells of a cookie whether an entry with it that should not be
    /// there is to go.
    pub fn finish(
        mut self,
        datapath: DatapathId,
        desired: &Desired,
        dialect: &mut Dialect,
        changed: &BTreeSet<RulePlace>,
        is_to_go: impl Fn(Cookie) -> bool,
    ) -> Finding {
        let mut finding = Finding::default();
        let suspected = std::mem::take(&mut dialect.suspected);
        for reported in std::mem::take(&mut self.odd) {
            let Some(rule) = self.meant(&reported, datapath, desired) else {
                let place = reported.form.as_ref().map(Form::place);
                let is_changed = place.is_some_and(|place| changed.contains(&place));
                if !is_changed && is_to_go(reported.cookie) {
                    finding.excess.push(reported);
                }
                continue;
            };
            let (place, wanted) = (rule.form.place(), rule.cookie);
            self.seen.insert(place);
            let digest = reported.digest();
            let is_word = wanted == reported.cookie && dialect.knows(wanted, digest);
            if is_word || changed.contains(&place) {
                continue;
            }
            if wanted == reported.cookie && suspected.get(&wanted) == Some(&digest) {
                dialect.known.insert(wanted, digest);
                finding.words += 1;
            } else {
                finding.different.push(Different {
                    place,
                    wanted,
                    digest,
                });
            }
        }
        let wanted = desired.range(datapath, self.scope.places());
        let places = wanted.map(|(place, _)| place);
        let missing = places.filter(|at| !self.seen.contains(at) && !changed.contains(at));
        finding.missing.extend(missing);
        match self.scope {
            Scope::Ours | Scope::All => dialect.forget_others(datapath, desired),
            Scope::Slice(_) => {}
        }
        finding
    }

    /// Returns the entry that one which is not as it should be stands for: the
    /// one of the same place, or else the one with the same cookie, if no other
    /// one stands for it.
    fn meant<'a>(
        &self,
        reported: &Reported,
        datapath: DatapathId,
        desired: &'a Desired,
    ) -> Option<&'a Rule> {
        let place = reported.form.as_ref().map(Form::place);
        let at_place = place.and_then(|place| desired.get(datapath, place));
        let same_cookie = || {
            let (place, rule) = desired.by_cookie(datapath, reported.cookie)?;
            (!self.seen.contains(&place)).then_some(rule)
        };
        at_place.or_else(same_cookie)
    }
}

#[cfg(test)]
mod tests;
