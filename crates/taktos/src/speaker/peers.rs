//! What the speaker says of its peers.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use super::messages::{Peer, PeerFamily, SessionState};

/// The most peers that are remembered.
const MOST_PEERS: usize = 4_096;
/// How long nothing may have changed where peers do not say that they have said all.
const QUIET: Duration = Duration::from_secs(1);

/// A session of the speaker with a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerSession {
    pub as_number: u32,
    pub state: SessionState,
}

/// The sessions of the speaker, by the peer's address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PeerSessions {
    peers: BTreeMap<IpAddr, PeerSession>,
}

impl PeerSessions {
    /// Takes what is said of a peer, and returns whether that is something new. One without
    /// an address is none.
    pub fn take(&mut self, peer: &Peer) -> bool {
        let Some((address, session)) = read(peer) else {
            return false;
        };
        if self.peers.len() >= MOST_PEERS && !self.peers.contains_key(&address) {
            return false;
        }
        self.peers.insert(address, session) != Some(session)
    }

    /// Returns the sessions by address.
    pub fn iter(&self) -> impl Iterator<Item = (IpAddr, PeerSession)> {
        self.peers
            .iter()
            .map(|(&address, &session)| (address, session))
    }

    /// Returns how many are established.
    #[must_use]
    pub fn established(&self) -> usize {
        let states = self.peers.values().map(|it| it.state);
        states.filter(|&it| it == SessionState::Established).count()
    }
}

fn read(peer: &Peer) -> Option<(IpAddr, PeerSession)> {
    let state = peer.state.as_ref()?;
    let configured = peer.configured.as_ref();
    let texts = [
        Some(state.neighbor_address.as_str()),
        configured.map(|it| it.neighbor_address.as_str()),
    ];
    let address = texts.into_iter().flatten().find_map(|it| it.parse().ok())?;
    let as_numbers = [state.peer_as, configured.map_or(0, |it| it.peer_as)];
    let session = PeerSession {
        as_number: as_numbers
            .into_iter()
            .find(|&it| it > 0)
            .unwrap_or_default(),
        state: SessionState::try_from(state.session_state).unwrap_or(SessionState::Unknown),
    };
    Some((address, session))
}

/// Tells whether a speaker that was started anew knows again what its peers have to say, which
/// until then would be taken for withdrawn (RFC 4724 section 4.1): each has its session and
/// has said that this was all, and nothing has changed for a moment.
#[must_use]
pub fn have_said_all(peers: &[Peer], quiet: Duration) -> bool {
    let is_down = |peer: &Peer| peer.configured.as_ref().is_some_and(|it| it.admin_down);
    let has_said_all = |peer: &Peer| {
        let session = read(peer).map(|(_, session)| session.state);
        let is_behind = |family: &PeerFamily| {
            let restart = family.graceful_restart.and_then(|it| it.state);
            restart.is_some_and(|it| it.received && !it.end_of_rib_received)
        };
        session == Some(SessionState::Established) && !peer.families.iter().any(is_behind)
    };
    quiet >= QUIET && peers.iter().all(|peer| is_down(peer) || has_said_all(peer))
}

#[cfg(test)]
mod tests {
    use super::super::messages::{FamilyRestart, FamilyRestartState, PeerConfiguration, PeerState};
    use super::*;

    fn peer(state: SessionState, end_of_rib_received: Option<bool>) -> Peer {
        let restart = end_of_rib_received.map(|end_of_rib_received| FamilyRestart {
            state: Some(FamilyRestartState {
                received: true,
                end_of_rib_received,
            }),
        });
        Peer {
            configured: Some(PeerConfiguration {
                neighbor_address: "192.0.2.1".to_owned(),
                peer_as: 65_001,
                admin_down: false,
            }),
            state: Some(PeerState {
                session_state: state.into(),
                ..PeerState::default()
            }),
            families: vec![PeerFamily {
                graceful_restart: restart,
            }],
        }
    }

    #[test]
    fn a_peer_is_known_by_its_address_and_told_of_when_it_changes() {
        let mut sessions = PeerSessions::default();

        assert!(sessions.take(&peer(SessionState::Active, None)));
        assert!(!sessions.take(&peer(SessionState::Active, None)));
        assert!(sessions.take(&peer(SessionState::Established, None)));
        assert!(!sessions.take(&Peer::default()));

        assert_eq!((sessions.iter().count(), sessions.established()), (1, 1));
        let (address, session) = sessions.iter().next().unwrap();
        assert_eq!(
            (address.to_string(), session.as_number),
            ("192.0.2.1".to_owned(), 65_001)
        );
    }

    #[test]
    fn all_is_said_once_each_peer_that_is_to_be_there_has_said_so() {
        let established = SessionState::Established;
        let mut down = peer(SessionState::Idle, None);
        down.configured.as_mut().unwrap().admin_down = true;

        for (peers, is) in [
            (vec![], true),
            (
                vec![peer(established, None), peer(established, Some(true))],
                true,
            ),
            (
                vec![
                    peer(established, Some(true)),
                    peer(established, Some(false)),
                ],
                false,
            ),
            (vec![peer(SessionState::OpenConfirm, None)], false),
            (vec![peer(established, Some(true)), down], true),
        ] {
            assert_eq!(have_said_all(&peers, QUIET), is, "{peers:?}");
            assert!(!have_said_all(&peers, QUIET / 2));
        }
    }
}
