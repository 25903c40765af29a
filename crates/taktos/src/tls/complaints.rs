//! What is told of those who are not let in: enough to find out why, and not more
//! than anybody wants to read.

use std::fmt;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use super::refusal::TlsRefusal;

/// How much is told within [`QUIET`].
pub const MOST_TOLD: u64 = 16;
/// For how long the rest is only counted.
pub const QUIET: Duration = Duration::from_secs(60);

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Complaint {
    /// Somebody was not let in.
    Refused {
        peer: SocketAddr,
        reason: TlsRefusal,
    },
    /// So many more were not let in during the last minute.
    More(u64),
}

impl fmt::Display for Complaint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused { peer, reason } => write!(f, "refused {peer}: {reason}"),
            Self::More(count) => write!(f, "refused {count} more within a minute"),
        }
    }
}

/// What was told within the last minute.
#[derive(Debug)]
pub struct Complaints {
    since: Instant,
    count: u64,
}

impl Complaints {
    #[must_use]
    pub const fn new(now: Instant) -> Self {
        Self {
            since: now,
            count: 0,
        }
    }

    /// Returns what is to be told of this refusal: first the rest of an earlier
    /// minute, then itself.
    pub fn about(&mut self, now: Instant, peer: SocketAddr, reason: TlsRefusal) -> Vec<Complaint> {
        let mut told = Vec::new();
        if now.saturating_duration_since(self.since) >= QUIET {
            let more = self.count.saturating_sub(MOST_TOLD);
            if more > 0 {
                told.push(Complaint::More(more));
            }
            *self = Self::new(now);
        }
        self.count += 1;
        if self.count <= MOST_TOLD {
            told.push(Complaint::Refused { peer, reason });
        }
        told
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_of_refusals_is_counted_rather_than_told() {
        let begin = Instant::now();
        let mut complaints = Complaints::new(begin);
        let peer = SocketAddr::from(([192, 0, 2, 1], 1));
        let mut refuse = |now| complaints.about(now, peer, TlsRefusal::Late);

        let told: Vec<_> = (0..100).flat_map(|_| refuse(begin)).collect();
        let later = refuse(begin + QUIET);

        assert_eq!(told.len(), 16);
        assert_eq!(later[0], Complaint::More(84));
        assert!(matches!(later[1], Complaint::Refused { .. }));
    }
}
