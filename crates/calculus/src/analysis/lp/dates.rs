//! The dates of a program's servers, and which of them are known to be older.
//!
//! At each server stand the arrivals of what leaves at the dates of the server
//! behind it, in the same order, and behind these the starts of service for some of
//! the arrivals. What left no later arrived no later, and its service began no
//! later: the start of service for a date is where arrivals and the service curve
//! together are least, and as the curve is convex that moves on with the date. Of a
//! start and the arrival of something older nothing is known.

/// For which arrivals a program asks since when the server has served them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Starts {
    /// The oldest one: all dates of a server are then in one order, and each server
    /// has one more than the one behind it (PLP).
    Oldest,
    /// All: each server has twice as many as the one behind it.
    All,
}

/// The dates of one server.
#[derive(Clone, Debug)]
pub(super) struct Dates {
    arrivals: usize,
    /// By start, the arrival that it is for.
    starts: Vec<usize>,
    /// By date, one that is known to be newer; the first has none.
    newer: Vec<usize>,
    /// Pairs of an older and a newer one, from which all others that are known follow.
    known: Vec<(usize, usize)>,
    /// By older and newer date, whether that is known.
    older: Vec<Vec<bool>>,
}

impl Dates {
    /// Returns the dates of a server with those `behind` it, or of the last one.
    pub(super) fn before(behind: Option<&Self>, starts: Starts) -> Self {
        let arrivals = behind.map_or(1, Self::len);
        let starts: Vec<usize> = match starts {
            Starts::Oldest => vec![arrivals - 1],
            Starts::All => (0..arrivals).collect(),
        };
        let mut newer = behind.map_or_else(|| vec![0], |behind| behind.newer.clone());
        newer.extend(&starts);
        let mut known = behind.map_or_else(Vec::new, |behind| behind.known.clone());
        let start_of = |arrival: usize| {
            let at = starts.iter().position(|of| *of == arrival);
            at.map(|at| arrivals + at)
        };
        let both = |(older, newer): &(usize, usize)| Some((start_of(*older)?, start_of(*newer)?));
        let of_starts: Vec<_> = known.iter().filter_map(both).collect();
        known.extend(of_starts);
        known.extend(
            (arrivals..)
                .zip(&starts)
                .map(|(start, arrival)| (start, *arrival)),
        );
        let mut dates = Self {
            arrivals,
            older: vec![vec![false; newer.len()]; newer.len()],
            starts,
            newer,
            known,
        };
        dates.follow();
        dates
    }

    /// Returns how many there are.
    pub(super) fn len(&self) -> usize {
        self.newer.len()
    }

    /// Returns how many of them are arrivals; these come first.
    pub(super) fn arrivals(&self) -> usize {
        self.arrivals
    }

    /// Returns the starts, each with the arrival that it is for.
    pub(super) fn starts(&self) -> impl Iterator<Item = (usize, usize)> {
        (self.arrivals..).zip(self.starts.iter().copied())
    }

    /// Returns the arrival that a start is for.
    pub(super) fn arrival_of(&self, date: usize) -> Option<usize> {
        self.starts.get(date.checked_sub(self.arrivals)?).copied()
    }

    /// Returns a date and the newer ones along one chain, without the newest of all.
    pub(super) fn chain(&self, date: usize) -> impl Iterator<Item = usize> {
        let next = |date: &usize| Some(self.newer[*date]).filter(|newer| *newer > 0);
        std::iter::successors(Some(date).filter(|date| *date > 0), next)
    }

    /// Returns whether a date stands right behind another along its chain.
    pub(super) fn follows(&self, older: usize, newer: usize) -> bool {
        older > 0 && self.newer[older] == newer
    }

    /// Returns the pairs of an older and a newer date that have to be said.
    pub(super) fn known(&self) -> &[(usize, usize)] {
        &self.known
    }

    /// Returns all pairs of an older and a newer date.
    pub(super) fn pairs(&self) -> impl Iterator<Item = (usize, usize)> {
        let all =
            (0..self.len()).flat_map(|newer| (0..self.len()).map(move |older| (older, newer)));
        all.filter(|(older, newer)| self.older[*older][*newer])
    }

    /// Finds what follows from what is known.
    fn follow(&mut self) {
        for (older, newer) in &self.known {
            self.older[*older][*newer] = true;
        }
        for between in 0..self.len() {
            for older in 0..self.len() {
                if self.older[older][between] {
                    for newer in 0..self.len() {
                        self.older[older][newer] |= self.older[between][newer];
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn with_one_start_each_all_dates_are_in_one_order() {
        let last = Dates::before(None, Starts::Oldest);
        let before = Dates::before(Some(&last), Starts::Oldest);

        assert_eq!((last.len(), before.len()), (2, 3));
        assert_eq!(before.pairs().count(), 3);
        assert_eq!(before.chain(2).collect::<Vec<_>>(), [2, 1]);
        assert_eq!(before.starts().collect::<Vec<_>>(), [(2, 1)]);
    }

    #[test]
    fn of_a_start_and_an_older_arrival_nothing_is_known() {
        let last = Dates::before(None, Starts::All);
        let before = Dates::before(Some(&last), Starts::All);

        // Arrivals of both dates behind, then the starts for them.
        assert_eq!(before.starts().collect::<Vec<_>>(), [(2, 0), (3, 1)]);
        let pairs: Vec<_> = before.pairs().collect();
        assert_eq!(pairs, [(1, 0), (2, 0), (3, 0), (3, 1), (3, 2)]);
        assert_eq!(before.chain(3).collect::<Vec<_>>(), [3, 1]);
    }
}
